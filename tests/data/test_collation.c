// Tests collators as the configuration makes them: which transforms they fit, their options, and
// where the pixels of a batch go.
#include <string.h>

#include "base/text/yaml_load.h"
#include "data/collation.h"
#include "data/collator.h"
#include "tests/check.h"

static SrArena arena;

static SrStatus make(const char *name, int n, const int *sizes, SrCollation *out) {
    SrCollateViews views = {.n = n};
    for (int v = 0; v < n; v++)
        views.h[v] = views.w[v] = sizes[v];
    return sr_collation_new(name, NULL, "DATA.TRAIN", &views, &arena, out);
}

TEST(test_registry) {
    const SrCollator *collator, *found;
    CHECK_FAILS(sr_collator_find("multicrop_colator", &collator), SR_ERR_CONFIG,
                "multicrop_collator");
    for (int i = 0; (collator = sr_collator_at(i)); i++) {
        CHECK_OK(sr_collator_find(collator->name, &found));
        CHECK(found == collator && collator->help && collator->plan && collator->n_examples > 0);
    }
}

TEST(test_fits) {
    const int same[] = {32, 32, 32}, mixed[] = {32, 16, 16};
    SrCollation c;
    CHECK_OK(make("default_collate", 1, same, &c));
    CHECK_FAILS(make("default_collate", 2, same, &c), SR_ERR_CONFIG,
                "DATA.TRAIN.COLLATE_FUNCTION: default_collate: needs 1 view");
    CHECK_OK(make("simclr_collator", 2, same, &c));
    CHECK_FAILS(make("simclr_collator", 2, mixed, &c), SR_ERR_CONFIG, "multicrop_collator");
    CHECK_OK(make("multicrop_collator", 2, mixed, &c));
    CHECK_OK(make("moco_collator", 2, mixed, &c));
    CHECK_FAILS(make("moco_collator", 3, same, &c), SR_ERR_CONFIG, "needs 2 views");
    CHECK_FAILS(make("siamese_collator", 3, mixed, &c), SR_ERR_CONFIG,
                "view 1 is 16 x 16 and view 0 is 32 x 32");
    CHECK_OK(make("patch_and_image_collator", 3, mixed, &c));
    CHECK_FAILS(make("patch_and_image_collator", 1, same, &c), SR_ERR_CONFIG,
                "ImgPilToPatchesAndImage");
    sr_arena_deinit(&arena);
}

TEST(test_options) {
    SrYaml *options;
    SrCollation c;
    SrCollateViews views = {.n = 2, .h = {8, 8}, .w = {8, 8}};
    const char *text = "{num_classes: 3}";
    CHECK_OK(sr_yaml_parse(&arena, text, strlen(text), "test", &options));
    CHECK_FAILS(sr_collation_new("moco_collator", options, "DATA.TRAIN", &views, &arena, &c),
                SR_ERR_CONFIG, "num_classes");
    sr_arena_deinit(&arena);
}

// An input of several views stores the rows of an image next to each other; an input of one view
// has one row per image.
TEST(test_places) {
    const int sizes[] = {4, 2, 2};
    SrCollation c;
    CHECK_OK(make("patch_and_image_collator", 3, sizes, &c));
    CHECK_INT(c.plan.n_inputs, 2);
    CHECK_STR(c.plan.input[0].name, "images");
    CHECK_STR(c.plan.input[1].name, "patches");
    CHECK(c.plan.input[0].rows == 1 && c.plan.input[1].rows == 2 && c.plan.input[1].h == 2);
    CHECK(c.plan.place[2].input == 1 && c.plan.place[2].k == 1);
    CHECK_INT(sr_batch_offset(&c.plan, 0, 3), 3 * 4 * 4 * 3);
    CHECK_INT(sr_batch_offset(&c.plan, 2, 3), (3 * 2 + 1) * 2 * 2 * 3);
    CHECK_OK(make("multicrop_collator", 3, sizes, &c));
    CHECK_INT(c.plan.n_inputs, 3);
    CHECK_INT(sr_batch_offset(&c.plan, 2, 3), 3 * 2 * 2 * 3);
    sr_arena_deinit(&arena);
}

SR_TESTS(collation, unit(test_registry), unit(test_fits), unit(test_options), unit(test_places))
