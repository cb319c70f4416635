// Collators: who they fit, and how numbers are repeated.
#include "data/data.h"
#include "tests/check.h"

static const SrCollator *find(const char *name) {
    const SrCollator *collator;
    CHECK_OK(sr_collator_find(name, &collator));
    return collator;
}

static void test_registry(void **state) {
    (void)state;
    const SrCollator *collator;
    CHECK_FAILS(sr_collator_find("multicrop_colator", &collator), SR_ERR_CONFIG,
                "multicrop_collator");
    for (int i = 0; (collator = sr_collator_at(i)); i++)
        CHECK(find(collator->name) == collator && collator->help);
}

static void test_fits(void **state) {
    (void)state;
    const int same[64] = {8, 8}, mixed[64] = {8, 4};
    CHECK_OK(sr_collator_check(find("default_collate"), 1, same, same));
    CHECK_FAILS(sr_collator_check(find("default_collate"), 2, same, same), SR_ERR_CONFIG,
                "needs 1 view an image");
    CHECK_OK(sr_collator_check(find("simclr_collator"), 2, same, same));
    CHECK_FAILS(sr_collator_check(find("simclr_collator"), 2, mixed, mixed), SR_ERR_CONFIG,
                "view 1 is 4 x 4");
    CHECK_OK(sr_collator_check(find("multicrop_collator"), 2, mixed, mixed));
}

static void test_repeat(void **state) {
    (void)state;
    const int64_t in[2] = {7, -3};
    int64_t out[6];
    CHECK_INT(sr_collator_repeat(find("multicrop_collator"), 3, 2, in, out), 6);
    for (int i = 0; i < 6; i++)
        CHECK_INT(out[i], i % 2 ? -3 : 7);
    CHECK_INT(sr_collator_repeat(find("default_collate"), 1, 2, in, out), 2);
}

SR_TESTS(collate, unit(test_registry), unit(test_fits), unit(test_repeat))
