// Tests DATA_LIMIT and the order of an epoch.
#include <string.h>

#include "base/mem.h"
#include "data/dataset.h"
#include "data/load/sampler.h"
#include "tests/check.h"

// The data set has 100 images; classes 0, 1 and 2 have 60, 30 and 10 of them, interleaved.
static int64_t length(const void *set) { return *(const int *)set; }
static int64_t label(const void *set, int64_t i) {
    (void)set;
    return i % 10 < 6 ? 0 : i % 10 < 9 ? 1 : 2;
}
static int classes(const void *set) {
    (void)set;
    return 3;
}
static int no_classes(const void *set) {
    (void)set;
    return 0;
}
static const SrDataset labelled = {
    .name = "test", .length = length, .label = label, .classes = classes};
static const SrDataset bare = {
    .name = "test", .length = length, .label = label, .classes = no_classes};
static int hundred = 100;

static SrSubset limited(int64_t limit, int64_t skip, bool balanced) {
    return (SrSubset){.dataset = &labelled,
                      .set = &hundred,
                      .limit = limit,
                      .limit_skip = skip,
                      .limit_balanced = balanced,
                      .limit_seed = 3};
}

TEST(test_plain) {
    uint32_t *all, *ten, *again, *skipped;
    int64_t n;
    SrSubset config = limited(-1, 0, false);
    CHECK_OK(sr__sampler_subset(&config, &all, &n));
    CHECK(all == NULL && n == 100);
    config = limited(10, 0, false);
    CHECK_OK(sr__sampler_subset(&config, &ten, &n));
    CHECK_OK(sr__sampler_subset(&config, &again, &n));
    CHECK_INT(n, 10);
    CHECK(memcmp(ten, again, 10 * sizeof *ten) == 0);
    bool used[100] = {false};
    for (int i = 0; i < 10; i++) {
        CHECK(ten[i] < 100 && !used[ten[i]]);
        used[ten[i]] = true;
    }
    // A draw that skips the first ten takes ten others: a held-out part.
    config = limited(10, 10, false);
    CHECK_OK(sr__sampler_subset(&config, &skipped, &n));
    for (int i = 0; i < 10; i++)
        CHECK(!used[skipped[i]]);
    sr_free(ten);
    sr_free(again);
    sr_free(skipped);
}

TEST(test_balanced) {
    uint32_t *subset;
    int64_t n;
    SrSubset config = limited(20, 4, true);
    CHECK_OK(sr__sampler_subset(&config, &subset, &n));
    CHECK_INT(n, 20);
    // 20 images are 7 + 7 + 6, grouped by label.
    for (int i = 0; i < 20; i++)
        CHECK_INT(label(NULL, subset[i]), i < 7 ? 0 : i < 14 ? 1 : 2);
    for (int i = 0; i < 20; i++)
        for (int k = 0; k < i; k++)
            CHECK(subset[i] != subset[k]);
    sr_free(subset);
}

// Two draws of different sizes, one after the other, are balanced each, and no image is in both.
TEST(test_balanced_counts) {
    static const int first[3] = {7, 7, 7}, second[3] = {3, 2, 2}; // of 21 and of 7 images
    uint32_t *subset[2];
    int64_t n[2];
    int taken[100] = {0};
    SrSubset config[2] = {limited(21, 0, true), limited(7, 21, true)};
    for (int s = 0; s < 2; s++) {
        int count[3] = {0};
        CHECK_OK(sr__sampler_subset(&config[s], &subset[s], &n[s]));
        for (int64_t i = 0; i < n[s]; i++) {
            count[label(NULL, subset[s][i])]++;
            CHECK_INT(taken[subset[s][i]]++, 0);
        }
        for (int c = 0; c < 3; c++)
            CHECK_INT(count[c], s ? second[c] : first[c]);
        sr_free(subset[s]);
    }
}

// The remainder that fills no round of batches is shuffled too; otherwise it would keep the order
// of the shard.
TEST(test_rest_of_runs_is_shuffled) {
    static const int64_t first[2] = {0, 100};
    uint32_t order[100];
    int steps = 0;
    bool used[100] = {false};
    CHECK_OK(sr__sampler_runs(3, 1, (SrRuns){.first = first, .n = 1}, 1, 64, order, 100));
    for (int i = 64; i < 100; i++) {
        CHECK(order[i] >= 64 && order[i] < 100 && !used[order[i]]);
        used[order[i]] = true;
        steps += i > 64 && order[i] == order[i - 1] + 1;
    }
    CHECK(steps < 10);
}

TEST(test_errors) {
    uint32_t *subset;
    int64_t n, live = sr_mem_live();
    SrSubset config = limited(101, 0, false);
    CHECK_FAILS(sr__sampler_subset(&config, &subset, &n), SR_ERR_CONFIG,
                "the 100 images there are");
    config = limited(60, 41, false);
    CHECK_FAILS(sr__sampler_subset(&config, &subset, &n), SR_ERR_CONFIG, "SKIP_NUM_SAMPLES 41");
    config = limited(2, 0, true);
    CHECK_FAILS(sr__sampler_subset(&config, &subset, &n), SR_ERR_CONFIG, "at least 3");
    config = limited(60, 0, true);
    CHECK_FAILS(sr__sampler_subset(&config, &subset, &n), SR_ERR_CONFIG,
                "20 images of class 2, but there are 10");
    config.dataset = &bare;
    CHECK_FAILS(sr__sampler_subset(&config, &subset, &n), SR_ERR_CONFIG, "needs labels");
    CHECK_INT(sr_mem_live(), live);
}

TEST(test_order) {
    uint32_t a[50], b[50];
    bool used[50] = {false};
    sr__sampler_order(1, 0, true, a, 50);
    sr__sampler_order(1, 0, true, b, 50);
    CHECK(memcmp(a, b, sizeof a) == 0);
    for (int i = 0; i < 50; i++) {
        CHECK(a[i] < 50 && !used[a[i]]);
        used[a[i]] = true;
    }
    sr__sampler_order(1, 1, true, b, 50);
    CHECK(memcmp(a, b, sizeof a) != 0);
    sr__sampler_order(2, 0, true, b, 50);
    CHECK(memcmp(a, b, sizeof a) != 0);
    sr__sampler_order(1, 0, false, b, 50);
    for (uint32_t i = 0; i < 50; i++)
        CHECK_INT(b[i], i);
}

SR_TESTS(sampler, unit(test_plain), unit(test_balanced), unit(test_balanced_counts),
         unit(test_rest_of_runs_is_shuffled), unit(test_errors), unit(test_order))
