// Tests the loader: the same bits for any number of threads and from any starting batch,
// unreadable images, errors, shares of ranks, and a clean end from any state.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/yaml_load.h"
#include "data/image_pool.h"
#include "data/load/loader.h"
#include "data/pipeline.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

// A data set whose image i has 12 x 10 pixels of value i. Images in `bad` cannot be read.
typedef struct {
    int n, every_bad; // every k-th image is bad; 0: none
    SrStatus failure; // status that an unreadable image returns
} Set;

static int64_t length(const void *set) { return ((const Set *)set)->n; }
static int64_t label(const void *set, int64_t i) {
    (void)set;
    return i % 3;
}
static int classes(const void *set) {
    (void)set;
    return 3;
}
static SrStatus read_item(const void *opened, int64_t i, SrImagePool *pool, SrSample *out) {
    const Set *set = opened;
    *out = (SrSample){.path = "some.jpg"};
    if (i % 4 == 3)
        usleep(300); // lets other threads overtake
    if (set->every_bad && i % set->every_bad == 0)
        SR_FAIL(set->failure, "cannot open some.jpg: test");
    SR_TRY(sr_image_new(pool, 12, 10, &out->image));
    memset(out->image.rgb, (int)i, 12 * 10 * 3);
    return SR_OK;
}
static const SrDataset dataset = {
    .name = "test", .length = length, .label = label, .classes = classes, .read = read_item};

static SrPipeline *parse(const char *yaml) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *list;
    SrPipeline *out;
    CHECK_OK(sr_yaml_parse(&arena, yaml, strlen(yaml), "test", &list));
    CHECK_OK(sr_pipeline_new(list, "TRANSFORMS", &out));
    sr_arena_deinit(&arena);
    return out;
}

static SrPipeline *pipeline(void) {
    return parse(
        "[{name: ImgPilToMultiCrop, total_num_crops: 3, num_crops: [1, 2], size_crops: [8, 4],"
        " crop_scales: [[0.3, 1], [0.1, 0.3]]}, {name: ImgPilColorDistortion},"
        " {name: ToTensor}]");
}

static SrLoaderConfig config_of(Set *set, const SrPipeline *p, int threads) {
    return (SrLoaderConfig){
        .dataset = &dataset,
        .set = set,
        .limit = -1,
        .pipeline = p,
        .batch = 8,
        .shuffle = true,
        .label_type = "standard",
        .threads = threads,
        .prefetch = 2,
        .gray_size = 16,
        .max_bad_share = 0.5,
        .seed = 11,
    };
}

// Returns the hash with n bytes mixed in; it depends on each byte and its place.
static uint64_t fold(uint64_t hash, const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ p[i]) * 1099511628211u;
    return hash;
}

static uint64_t hash_batch(const SrBatch *b) {
    uint64_t hash = (uint64_t)b->batch;
    size_t n = (size_t)b->batch;
    for (int v = 0; v < b->n_views; v++)
        hash = fold(hash, b->view[v], sizeof(float) * n * (size_t)(b->h[v] * b->w[v] * 3));
    hash = fold(hash, b->label, sizeof *b->label * n);
    hash = fold(hash, b->index, sizeof *b->index * n);
    return fold(hash, b->valid, n);
}

// Stores the hashes of an epoch's batches from `first` on; returns how many there are.
static int epoch(SrLoader *loader, int64_t number, int64_t first, uint64_t *hash) {
    const SrBatch *batch;
    int n = 0;
    CHECK_OK(sr_loader_start(loader, number, first));
    for (;;) {
        CHECK_OK(sr_loader_next(loader, &batch, NULL));
        if (!batch)
            return n;
        hash[n++] = hash_batch(batch);
    }
}

TEST(test_threads_do_not_matter) {
    int64_t live = sr_mem_live();
    Set set = {.n = 61, .every_bad = 9, .failure = SR_ERR_IO};
    SrPipeline *p = pipeline();
    uint64_t first[2][8], other[8];
    for (int threads = 0; threads <= 4; threads++) {
        SrLoaderConfig config = config_of(&set, p, threads);
        SrLoader *loader;
        CHECK_OK(sr_loader_new(&config, &loader));
        CHECK_INT(sr_loader_batches(loader), 8);
        CHECK_INT(sr_loader_length(loader), 61);
        for (int e = 0; e < 2; e++) {
            CHECK_INT(epoch(loader, e, 0, threads ? other : first[e]), 8);
            CHECK(threads == 0 || memcmp(other, first[e], sizeof other) == 0);
        }
        // An epoch can resume at any batch, also after a start that was never read.
        for (int64_t start = 0; start <= 8; start += 3) {
            CHECK_OK(sr_loader_start(loader, 0, 2));
            CHECK_INT(epoch(loader, 1, start, other), 8 - start);
            CHECK(memcmp(other, first[1] + start, sizeof *other * (size_t)(8 - start)) == 0);
        }
        sr_loader_free(loader);
    }
    CHECK(memcmp(first[0], first[1], sizeof first[0]) != 0);
    sr_pipeline_free(p);
    CHECK_INT(sr_mem_live(), live);
}

TEST(test_contents) {
    Set set = {.n = 20, .every_bad = 7, .failure = SR_ERR_IO};
    SrPipeline *p = pipeline();
    SrLoaderConfig config = config_of(&set, p, 2);
    config.shuffle = false;
    SrLoader *loader;
    const SrBatch *b;
    double wait_s = -1;
    CHECK_OK(sr_loader_new(&config, &loader));
    CHECK_OK(sr_loader_next(loader, &b, NULL)); // before any epoch there is no batch
    CHECK(b == NULL);
    CHECK_OK(sr_loader_start(loader, 0, 0));
    for (int k = 0; k < 3; k++) {
        CHECK_OK(sr_loader_next(loader, &b, &wait_s));
        CHECK(wait_s >= 0);
        CHECK_INT(b->batch, k < 2 ? 8 : 4);
        CHECK_INT(b->n_views, 3);
        CHECK(b->h[0] == 8 && b->w[2] == 4);
        for (int i = 0; i < b->batch; i++) {
            CHECK_INT(b->index[i], 8 * k + i);
            CHECK_INT(b->label[i], (8 * k + i) % 3);
            CHECK_INT(b->valid[i], (8 * k + i) % 7 ? 1 : -1);
        }
    }
    CHECK_OK(sr_loader_next(loader, &b, &wait_s));
    CHECK(b == NULL);
    CHECK_OK(sr_loader_next(loader, &b, NULL)); // the end repeats
    CHECK(b == NULL);
    CHECK_FAILS(sr_loader_start(loader, 0, 4), SR_ERR_CONFIG, "batch 4 of 3");
    SrBadReport report;
    sr_loader_bad(loader, &report);
    CHECK_INT(report.seen, 20);
    CHECK_INT(report.bad, 3);
    CHECK_INT(report.n_listed, 1); // the same line is listed once
    CHECK_STR(report.listed[0], "cannot open some.jpg: test");
    sr_loader_free(loader);
    sr_pipeline_free(p);
}

TEST(test_label_types) {
    Set set = {.n = 30};
    SrPipeline *p = pipeline();
    SrLoaderConfig config = config_of(&set, p, 1);
    config.limit = 9;
    config.label_type = "sample_index";
    config.batch = 9;
    for (int type = 0; type < 2; type++) {
        SrLoader *loader;
        const SrBatch *b;
        CHECK_OK(sr_loader_new(&config, &loader));
        CHECK_OK(sr_loader_start(loader, 0, 0));
        CHECK_OK(sr_loader_next(loader, &b, NULL));
        for (int i = 0; i < 9; i++)
            CHECK_INT(b->label[i], type ? 0 : b->index[i]); // positions in the subset
        sr_loader_free(loader);
        config.label_type = "zero";
    }
    config.label_type = "standrad";
    SrLoader *loader;
    CHECK_FAILS(sr_loader_new(&config, &loader), SR_ERR_CONFIG, "LABEL_TYPE is 'standrad'");
    sr_pipeline_free(p);
}

static const int8_t *targets(const void *set, int64_t i) {
    static const int8_t of[3][3] = {{1, 0, -1}, {0, 1, 1}, {0, 0, 1}};
    (void)set;
    return of[i % 3];
}

// With unlabel_bad, an unreadable image has the label -1 in each of its targets, so that no loss
// counts it; otherwise it keeps its labels.
TEST(test_bad_of_several_labels) {
    static SrDataset several;
    Set set = {.n = 8, .every_bad = 3, .failure = SR_ERR_IO};
    SrPipeline *p = pipeline();
    SrLoaderConfig config = config_of(&set, p, 0);
    several = dataset;
    several.targets = targets;
    config.dataset = &several;
    config.shuffle = false;
    for (int unlabel = 0; unlabel < 2; unlabel++) {
        SrLoader *loader;
        const SrBatch *b;
        config.unlabel_bad = unlabel;
        CHECK_OK(sr_loader_new(&config, &loader));
        CHECK_OK(sr_loader_start(loader, 0, 0));
        CHECK_OK(sr_loader_next(loader, &b, NULL));
        CHECK_INT(b->n_targets, 3);
        for (int i = 0; i < 8; i++)
            for (int c = 0; c < 3; c++)
                CHECK_INT(b->label[3 * i + c], unlabel && i % 3 == 0 ? -1 : targets(NULL, i)[c]);
        sr_loader_free(loader);
    }
    sr_pipeline_free(p);
}

TEST(test_too_many_bad) {
    Set set = {.n = 200, .every_bad = 3, .failure = SR_ERR_IO};
    SrPipeline *p = pipeline();
    for (int threads = 0; threads < 3; threads++) {
        SrLoaderConfig config = config_of(&set, p, threads);
        config.max_bad_share = 0.2;
        SrLoader *loader;
        const SrBatch *b;
        CHECK_OK(sr_loader_new(&config, &loader));
        CHECK_OK(sr_loader_start(loader, 0, 0));
        for (int k = 0; k < 7; k++) // the share is judged only after 64 images
            CHECK_OK(sr_loader_next(loader, &b, NULL));
        CHECK_FAILS(sr_loader_next(loader, &b, NULL), SR_ERR_RUN, "cannot open some.jpg");
        CHECK(b == NULL);
        sr_loader_free(loader);
        // With fewer images the share is judged at the end of the epoch.
        config.limit = 20;
        config.max_bad_share = 0;
        CHECK_OK(sr_loader_new(&config, &loader));
        CHECK_OK(sr_loader_start(loader, 0, 0));
        CHECK_OK(sr_loader_next(loader, &b, NULL));
        CHECK_OK(sr_loader_next(loader, &b, NULL));
        CHECK_FAILS(sr_loader_next(loader, &b, NULL), SR_ERR_RUN, "share of 0");
        sr_loader_free(loader);
    }
    sr_pipeline_free(p);
}

TEST(test_other_failures_stop) {
    Set set = {.n = 100, .every_bad = 50, .failure = SR_ERR_RUN};
    SrPipeline *p = pipeline();
    for (int threads = 0; threads < 3; threads++) {
        SrLoaderConfig config = config_of(&set, p, threads);
        SrLoader *loader;
        const SrBatch *b;
        SrStatus status = SR_OK;
        CHECK_OK(sr_loader_new(&config, &loader));
        CHECK_OK(sr_loader_start(loader, 0, 0));
        for (int k = 0; k < 13 && status == SR_OK; k++)
            status = sr_loader_next(loader, &b, NULL);
        CHECK_INT(status, SR_ERR_RUN);
        sr_loader_free(loader);
    }
    sr_pipeline_free(p);
}

// A failure of memory or of the system says nothing about the image: the run ends, and no image
// is replaced by grey.
TEST(test_failing_system) {
    static const SrStatus failures[] = {SR_ERR_MEMORY, SR_ERR_RUN};
    for (int i = 0; i < SR_COUNT(failures); i++) {
        Set set = {.n = 16, .every_bad = 5, .failure = failures[i]};
        SrPipeline *p = pipeline();
        SrLoaderConfig config = config_of(&set, p, 1);
        SrLoader *loader;
        SrBadReport report;
        const SrBatch *batch;
        CHECK_OK(sr_loader_new(&config, &loader));
        CHECK_OK(sr_loader_start(loader, 0, 0));
        CHECK_FAILS(sr_loader_next(loader, &batch, NULL), failures[i],
                    "cannot open some.jpg: test");
        sr_loader_bad(loader, &report);
        CHECK_INT(report.bad, 0);
        sr_loader_free(loader);
        sr_pipeline_free(p);
    }
}

TEST(test_small_sets) {
    Set set = {.n = 5};
    SrPipeline *p = pipeline();
    SrLoaderConfig config = config_of(&set, p, 1);
    SrLoader *loader;
    config.drop_last = true;
    CHECK_FAILS(sr_loader_new(&config, &loader), SR_ERR_CONFIG,
                "BATCHSIZE_PER_REPLICA to at most 5");
    set.n = 19;
    CHECK_OK(sr_loader_new(&config, &loader));
    CHECK_INT(sr_loader_batches(loader), 2);
    CHECK_INT(sr_loader_length(loader), 16);
    uint64_t hash[3];
    CHECK_INT(epoch(loader, 0, 0, hash), 2);
    sr_loader_free(loader);
    config.batch = 0;
    CHECK_FAILS(sr_loader_new(&config, &loader), SR_ERR_CONFIG, "BATCHSIZE_PER_REPLICA is 0");
    sr_pipeline_free(p);
}

TEST(test_steady_state_allocates_nothing) {
    Set set = {.n = 64};
    SrPipeline *p = pipeline();
    for (int threads = 0; threads <= 2; threads += 2) {
        SrLoaderConfig config = config_of(&set, p, threads);
        SrLoader *loader;
        uint64_t hash[8];
        CHECK_OK(sr_loader_new(&config, &loader));
        epoch(loader, 0, 0, hash);
        epoch(loader, 1, 0, hash);
        int64_t calls = sr_mem_calls();
        epoch(loader, 2, 0, hash);
        CHECK_INT(sr_mem_calls(), calls);
        sr_loader_free(loader);
    }
    sr_pipeline_free(p);
}

TEST(test_ends_from_any_state) {
    int64_t live = sr_mem_live();
    Set set = {.n = 61};
    SrPipeline *p = pipeline();
    for (int stop = 0; stop < 8; stop++) {
        SrLoaderConfig config = config_of(&set, p, 3);
        SrLoader *loader;
        const SrBatch *b;
        CHECK_OK(sr_loader_new(&config, &loader));
        if (stop) // 0: freed before any start
            CHECK_OK(sr_loader_start(loader, 0, 0));
        for (int k = 1; k < stop; k++)
            CHECK_OK(sr_loader_next(loader, &b, NULL));
        sr_loader_free(loader);
    }
    sr_loader_free(NULL);
    sr_pipeline_free(p);
    CHECK_INT(sr_mem_live(), live);
}

TEST(test_out_of_memory) {
    Set set = {.n = 61};
    SrPipeline *p = pipeline();
    SrLoaderConfig config = config_of(&set, p, 2);
    config.limit = 20;
    int64_t live = sr_mem_live();
    SrStatus status = SR_ERR_MEMORY;
    SrLoader *loader = NULL;
    for (int at = 1; at < 50 && status != SR_OK; at++) {
        sr_mem_fail_at(at);
        status = sr_loader_new(&config, &loader);
        sr_mem_fail_at(0);
        if (status != SR_OK)
            CHECK_INT(sr_mem_live(), live);
    }
    CHECK_OK(status);
    sr_loader_free(loader);
    CHECK_INT(sr_mem_live(), live);
    sr_pipeline_free(p);
}

// Resize with one number keeps the aspect ratio of an image, but a batch has one size; PyTorch
// cannot stack such images either. Normalize after ToTensor writes directly into the batch, which
// must not change the error.
TEST(test_not_square) {
    static const struct {
        const char *transforms;
        bool fits;
    } rows[] = {{"[{name: Resize, size: 5}, {name: ToTensor}]", false},
                {"[{name: Resize, size: 5}, {name: ToTensor}, {name: Normalize}]", false},
                {"[{name: Resize, size: [5, 5]}, {name: ToTensor}]", true},
                {"[{name: Resize, size: 5}, {name: CenterCrop, size: 5}, {name: ToTensor}]", true}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        Set set = {.n = 16};
        SrPipeline *p = parse(rows[i].transforms);
        SrLoaderConfig config = config_of(&set, p, 1);
        const SrBatch *batch;
        SrLoader *loader;
        CHECK_OK(sr_loader_new(&config, &loader));
        CHECK_OK(sr_loader_start(loader, 0, 0));
        if (rows[i].fits)
            CHECK_OK(sr_loader_next(loader, &batch, NULL));
        else
            CHECK_FAILS(sr_loader_next(loader, &batch, NULL), SR_ERR_CONFIG,
                        "some.jpg: the transforms make a view of 6 x 5 of the image, expected 5 x "
                        "5; for images that are not square, TRANSFORMS need CenterCrop or Resize "
                        "with [height, width]");
        sr_loader_free(loader);
        sr_pipeline_free(p);
    }
}

// An image that is far wider than its place in the batch must not write past that place.
TEST(test_no_row_is_overrun) {
    enum { H = 20, W = 400, ROOM = H * H * 3 };
    static float out[ROOM + 64];
    SrPipeline *p = parse("[{name: Resize, size: 20}, {name: ToTensor}, {name: Normalize}]");
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrTransformContext ctx = {.pool = pool};
    for (int tall = 0; tall < 2; tall++) {
        SrViews views = {.n = 1, .out = {out}, .h = {H}, .w = {H}};
        views.view[0] = fixture_image(pool, tall ? W : H, tall ? H : W, 1);
        for (int i = 0; i < SR_COUNT(out); i++)
            out[i] = 7;
        CHECK_FAILS(sr_pipeline_apply(p, &ctx, &views), SR_ERR_CONFIG, "expected 20 x 20");
        for (int i = 0; i < SR_COUNT(out); i++)
            CHECK(out[i] == 7);
    }
    sr_image_pool_free(pool);
    sr_pipeline_free(p);
}

// Each rank reads two batches in six. Together the shares give the batches of one loader; the
// last batch is a smaller one of the second share.
TEST(test_shares) {
    enum { OF = 6, COUNT = 2 };
    Set set = {.n = 75};
    SrPipeline *p = pipeline();
    uint64_t all[16], own[16];
    SrLoader *loader;
    SrLoaderConfig config = config_of(&set, p, 2);
    CHECK_OK(sr_loader_new(&config, &loader));
    CHECK_INT(epoch(loader, 3, 0, all), 10);
    sr_loader_free(loader);
    for (int first = 0; first < OF; first += COUNT) {
        config.share = (SrShare){.of = OF, .first = first, .count = COUNT};
        CHECK_OK(sr_loader_new(&config, &loader));
        int n = epoch(loader, 3, 0, own);
        CHECK_INT(n, first < 4 ? 4 : 2);
        CHECK_INT(sr_loader_batches(loader), n);
        CHECK_INT(sr_loader_length(loader), 75);
        for (int k = 0; k < n; k++)
            CHECK(own[k] == all[k / COUNT * OF + first + k % COUNT]);
        CHECK_INT(epoch(loader, 3, 1, own), n - 1);
        CHECK(own[0] == all[first + 1]);
        sr_loader_free(loader);
    }
    sr_pipeline_free(p);
}

// The mask of such an image, which has one number per patch of the announced size, is not written
// past its end either.
TEST(test_no_mask_is_overrun) {
    enum { SIDE = 20, PATCHES = (SIDE / 4) * (SIDE / 4) };
    static float mask[PATCHES + 500];
    SrPipeline *p = parse("[{name: Resize, size: 20}, {name: ToTensor},"
                          " {name: MaskedImageModeling, patch_size: 4}]");
    SrImagePool *pool;
    SrExtras extras;
    CHECK_OK(sr_pipeline_extras(p, &extras));
    CHECK_INT(extras.v[0].shape.d[0], PATCHES);
    CHECK_OK(sr_image_pool_new(&pool));
    for (int i = 0; i < SR_COUNT(mask); i++)
        mask[i] = 7;
    SrTransformContext ctx = {.pool = pool, .extras = &extras, .extra = (void *[]){mask}};
    SrViews views = {.n = 1, .h = {SIDE}, .w = {SIDE}};
    views.view[0] = fixture_image(pool, SIDE, 400, 1);
    CHECK_FAILS(sr_pipeline_apply(p, &ctx, &views), SR_ERR_CONFIG, "expected 20 x 20");
    for (int i = 0; i < SR_COUNT(mask); i++)
        CHECK(mask[i] == 7);
    sr_image_pool_free(pool);
    sr_pipeline_free(p);
}

SR_TESTS(loader, unit(test_threads_do_not_matter), unit(test_contents), unit(test_label_types),
         unit(test_bad_of_several_labels), unit(test_too_many_bad), unit(test_other_failures_stop),
         unit(test_failing_system), unit(test_small_sets),
         unit(test_steady_state_allocates_nothing), unit(test_ends_from_any_state),
         unit(test_out_of_memory), unit(test_not_square), unit(test_no_row_is_overrun),
         unit(test_no_mask_is_overrun), unit(test_shares))
