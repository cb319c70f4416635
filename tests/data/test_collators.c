// Tests the contract of collators, checked for every collator of the registry: batches have the
// same bits for any number of threads, a last batch of another size works, and filling a batch
// allocates nothing. Then what mixing and masking do.
#include <string.h>

#include "base/mem.h"
#include "base/text/yaml_load.h"
#include "data/collation.h"
#include "data/collator.h"
#include "data/collators/mix.h"
#include "data/extras.h"
#include "data/load/loader.h"
#include "data/pipeline.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

enum { IMAGES = 13, BATCH = 5, CLASSES = 3 };

static int64_t length(const void *set) { return *(const int *)set; }
static int64_t label(const void *set, int64_t i) { return (void)set, i % CLASSES; }
static int classes(const void *set) { return (void)set, CLASSES; }
static SrStatus read_item(const void *set, int64_t i, SrImagePool *pool, SrSample *out) {
    (void)set;
    *out = (SrSample){.path = "some.jpg"};
    out->image = fixture_image(pool, 12, 12, (uint64_t)i + 1);
    return SR_OK;
}
static const SrDataset dataset = {
    .name = "test", .length = length, .label = label, .classes = classes, .read = read_item};

typedef struct {
    SrArena arena;
    SrPipeline *pipeline;
    SrCollation collation;
    int images;
} Case;

static SrYaml *yaml(SrArena *arena, const char *text) {
    SrYaml *out;
    CHECK_OK(sr_yaml_parse(arena, text, strlen(text), "test", &out));
    return out;
}

// Makes a pipeline whose views have the sizes of the example, of which at most two differ.
static void pipeline_of(Case *c, const SrCollatorExample *e) {
    char text[512];
    int n = 0, first = 0;
    while (n < 8 && e->sizes[n])
        n++;
    while (first < n && e->sizes[first] == e->sizes[0])
        first++;
    snprintf(
        text, sizeof text,
        "[{name: ImgPilToMultiCrop, total_num_crops: %d, num_crops: [%d, %d], size_crops: [%d, "
        "%d], crop_scales: [[0.3, 1], [0.1, 0.3]]}, {name: ToTensor}%s]",
        n, first, n - first, e->sizes[0], first < n ? e->sizes[first] : 4,
        e->masks ? ", {name: MaskedImageModeling, patch_size: 2}" : "");
    if (first == n)
        snprintf(text, sizeof text,
                 "[{name: ImgReplicatePil, num_times: %d}, {name: RandomResizedCrop, size: %d}, "
                 "{name: ToTensor}%s]",
                 n, e->sizes[0], e->masks ? ", {name: MaskedImageModeling, patch_size: 2}" : "");
    CHECK_OK(sr_pipeline_new(yaml(&c->arena, text), "TRANSFORMS", &c->pipeline));
}

static void begin(Case *c, const SrCollator *collator, const SrCollatorExample *e, int images) {
    SrCollateViews views = {.n = 0};
    *c = (Case){.images = images};
    pipeline_of(c, e);
    CHECK_OK(sr_pipeline_shape(c->pipeline, &views.n, views.h, views.w));
    CHECK_OK(sr_pipeline_extras(c->pipeline, &views.extras));
    CHECK_OK(sr_collation_new(collator->name, e->options ? yaml(&c->arena, e->options) : NULL,
                              "DATA.TRAIN", &views, &c->arena, &c->collation));
}

static void end(Case *c) {
    sr_pipeline_free(c->pipeline);
    sr_arena_deinit(&c->arena);
}

static SrLoader *loader_of(Case *c, int threads) {
    SrLoaderConfig config = {.dataset = &dataset,
                             .set = &c->images,
                             .limit = -1,
                             .pipeline = c->pipeline,
                             .collation = &c->collation,
                             .batch = BATCH,
                             .shuffle = true,
                             .label_type = "standard",
                             .threads = threads,
                             .prefetch = 2,
                             .gray_size = 16,
                             .max_bad_share = 1,
                             .seed = 11};
    SrLoader *loader;
    CHECK_OK(sr_loader_new(&config, &loader));
    return loader;
}

static uint64_t fold(uint64_t hash, const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ p[i]) * 1099511628211u;
    return hash;
}

static uint64_t hash_batch(const SrBatch *b, const SrBatchPlan *plan) {
    size_t n = (size_t)b->batch;
    uint64_t hash = n;
    for (int v = 0; v < b->n_views; v++)
        hash = fold(hash, b->view[v],
                    sizeof(float) * n * (size_t)(b->rows[v] * b->h[v] * b->w[v] * 3));
    for (int i = 0; i < plan->extras.n; i++)
        hash = fold(hash, b->extra[i], n * sr_batch_extra_bytes(&plan->extras.v[i]));
    hash = fold(hash, b->label, sizeof *b->label * n * (size_t)SR_MAX(b->n_targets, 1));
    return fold(hash, b->index, sizeof *b->index * n);
}

// Reads one epoch, checks the number of images in every batch, and stores the hash of each.
// Returns the number of batches.
static int epoch(Case *c, SrLoader *loader, int64_t number, uint64_t hash[8]) {
    const SrBatch *batch;
    int n = 0;
    CHECK_OK(sr_loader_start(loader, number, 0));
    for (;; n++) {
        CHECK_OK(sr_loader_next(loader, &batch, NULL));
        if (!batch)
            return n;
        int left = SR_MIN(BATCH, c->images - n * BATCH);
        CHECK_INT(batch->batch, sr_batch_plan_images(&c->collation.plan, left));
        hash[n] = hash_batch(batch, &c->collation.plan);
    }
}

static void check_contract(const SrCollator *collator, const SrCollatorExample *e) {
    Case c;
    uint64_t first[8], again[8], later[8];
    begin(&c, collator, e, IMAGES);
    for (int threads = 0; threads <= 3; threads += 3) {
        SrLoader *loader = loader_of(&c, threads);
        int n = epoch(&c, loader, 0, threads ? again : first);
        CHECK_INT(n, 3);
        if (threads && memcmp(first, again, 3 * sizeof *first) != 0)
            fail_msg("%s: threads change its batches", collator->name);
        epoch(&c, loader, 1, later); // scratch memory has grown to its final size
        int64_t calls = sr_mem_calls();
        epoch(&c, loader, 1, later);
        CHECK(threads > 0 || sr_mem_calls() == calls);
        sr_loader_free(loader);
    }
    CHECK(memcmp(first, later, 3 * sizeof *first) != 0);
    end(&c);
}

TEST(test_every_collator) {
    int64_t live = sr_mem_live();
    const SrCollator *collator;
    for (int i = 0; (collator = sr_collator_at(i)); i++)
        for (int k = 0; k < collator->n_examples; k++)
            check_contract(collator, &collator->examples[k]);
    CHECK_INT(sr_mem_live(), live);
}

// Soft labels are distributions, the label is their heaviest class, and every batch draws its own
// lambda.
TEST(test_soft_labels) {
    static const SrCollatorExample example = {
        .options = "{mixup_alpha: 1.0, cutmix_alpha: 1.0, num_classes: 3, label_smoothing: 0.1}",
        .sizes = {8}};
    const SrCollator *collator;
    const SrBatch *batch;
    Case c;
    float first = 0;
    bool differ = false;
    CHECK_OK(sr_collator_find("cutmixup_collator", &collator));
    begin(&c, collator, &example, 40);
    SrLoader *loader = loader_of(&c, 0);
    CHECK_OK(sr_loader_start(loader, 0, 0));
    for (int k = 0; k < 8; k++) {
        CHECK_OK(sr_loader_next(loader, &batch, NULL));
        for (int i = 0; i < batch->batch; i++) {
            const float *q = (const float *)batch->extra[0] + i * CLASSES;
            CHECK_NEAR(q[0] + q[1] + q[2], 1, 1e-6);
            for (int j = 0; j < CLASSES; j++)
                CHECK(q[j] >= 0.1F / 3 - 1e-6F && q[j] <= q[batch->label[i]]);
        }
        float most = ((const float *)batch->extra[0])[batch->label[0]];
        differ = differ || (k > 0 && most != first);
        first = most;
    }
    CHECK(differ);
    sr_loader_free(loader);
    end(&c);
}

// Masks belong to the largest views only and hide the configured share.
TEST(test_masks) {
    const SrCollator *collator;
    const SrBatch *batch;
    Case c;
    CHECK_OK(sr_collator_find("ibot_multicrop_masking_collator", &collator));
    begin(&c, collator, &collator->examples[0], 10);
    CHECK_INT(c.collation.plan.extras.n, 2);
    CHECK_STR(c.collation.plan.input[1].name, "global_views");
    CHECK_STR(c.collation.plan.input[2].name, "local_views");
    SrLoader *loader = loader_of(&c, 0);
    CHECK_OK(sr_loader_start(loader, 0, 0));
    CHECK_OK(sr_loader_next(loader, &batch, NULL));
    CHECK_INT(sr_shape_count(c.collation.plan.extras.v[1].shape), 16);
    float hidden = 0;
    for (int i = 0; i < BATCH * 16; i++) {
        float m = ((const float *)batch->extra[1])[i];
        CHECK(m == 0 || m == 1);
        hidden += m;
    }
    CHECK(hidden > 0 && hidden <= BATCH * 4); // int(16 * 0.3) patches each
    sr_loader_free(loader);
    end(&c);
}

// Sums the numbers of image i in view v.
static double sum_of(const SrBatch *b, int v, int i) {
    int64_t n = (int64_t)b->h[v] * b->w[v] * 3;
    double sum = 0;
    for (int64_t p = 0; p < n; p++)
        sum += (double)b->view[v][i * n + p];
    return sum;
}

// Fills a batch of n images whose pixels are (i + 1) (v + 1), and mixes it.
static void mix(const SrCollator *collator, const SrCollation *c, SrCollateContext at, int n,
                SrBatch *b) {
    static float views[2][BATCH * 24 * 24 * 3];
    *b = (SrBatch){.n_views = 2, .batch = n, .h = {24, 8}, .w = {24, 8}};
    for (int v = 0; v < 2; v++) {
        int64_t pixels = (int64_t)b->h[v] * b->w[v] * 3;
        b->view[v] = views[v];
        for (int64_t p = 0; p < n * pixels; p++)
            views[v][p] = (float)((p / pixels + 1) * (v + 1));
    }
    collator->fill(c->params, &c->plan, &at, b);
}

// Each image is l x_i + (1 - l) x_j with one l and one j - i per batch, in all views; the weights
// over many batches are uniform.
TEST(test_mixup) {
    enum { DRAWS = 400 };
    const SrCollator *collator;
    SrArena arena = SR_ARENA_INIT;
    SrCollation c;
    SrCollateViews views = {.n = 2, .h = {24, 8}, .w = {24, 8}};
    SrBatch b;
    double mean = 0, square = 0;
    int n_weights = 0, partners[BATCH] = {0};
    CHECK_OK(sr_collator_find("mixup_collator", &collator));
    CHECK_OK(sr_collation_new("mixup_collator", NULL, "DATA.TRAIN", &views, &arena, &c));
    for (int draw = 0; draw < DRAWS; draw++) {
        mix(collator, &c, (SrCollateContext){5, 1, draw}, BATCH, &b);
        // x_i - (i + 1) = (1 - l) (j - i): of the step k forwards, or of k - n after the end
        double first = sum_of(&b, 0, 0) / (24 * 24 * 3) - 1,
               last = sum_of(&b, 0, BATCH - 1) / (24 * 24 * 3) - BATCH;
        double rest = (first - last) / BATCH; // (k - (k - n)) (1 - l) / n
        int k = rest > 1e-6 ? (int)(first / rest + 0.5) : 0;
        partners[k]++;
        for (int i = 0; i < BATCH; i++)
            for (int v = 0; v < 2; v++) {
                double pixels = b.h[v] * b.w[v] * 3, j = (i + k) % BATCH;
                double want = (1 + v) * (i + 1 + rest * (j - i));
                CHECK_NEAR(sum_of(&b, v, i) / pixels, want, 1e-4);
            }
        if (k > 0) {
            mean += rest;
            square += rest * rest;
            n_weights++;
        }
    }
    mean /= n_weights;
    CHECK_NEAR(mean, 0.5, 0.06);
    CHECK_NEAR(square / n_weights - mean * mean, 1.0 / 12, 0.015);
    for (int k = 0; k < BATCH; k++)
        CHECK(partners[k] > DRAWS / BATCH / 2);
    mix(collator, &c, (SrCollateContext){5, 1, 0}, 1, &b); // an image alone stays as it is
    CHECK_NEAR(sum_of(&b, 0, 0), 24 * 24 * 3, 1e-3);
    sr_arena_deinit(&arena);
}

// All channels are mixed by the same weight with the same partner.
TEST(test_mixup_of_channels) {
    enum { CHANNELS = 13, SAMPLES = 8 * 8 * CHANNELS };
    static float x[BATCH * SAMPLES];
    SrArena arena = SR_ARENA_INIT;
    SrCollation c;
    SrCollateViews views = {.n = 1, .h = {8}, .w = {8}, .channels = CHANNELS};
    SrBatch b = {
        .n_views = 1, .batch = BATCH, .channels = CHANNELS, .view = {x}, .h = {8}, .w = {8}};
    int changed = 0;
    CHECK_OK(sr_collation_new("mixup_collator", NULL, "DATA.TRAIN", &views, &arena, &c));
    for (int i = 0; i < BATCH * SAMPLES; i++)
        x[i] = (float)(i / SAMPLES + 1);
    c.collator->fill(c.params, &c.plan, &(SrCollateContext){5, 1, 0}, &b);
    for (int i = 0; i < BATCH * SAMPLES; i++) {
        CHECK_NEAR(x[i], x[i / SAMPLES * SAMPLES], 0);
        changed += x[i] != (float)(i / SAMPLES + 1);
    }
    CHECK_INT(changed, BATCH * SAMPLES);
    sr_arena_deinit(&arena);
}

TEST(test_refusals) {
    SrArena arena = SR_ARENA_INIT;
    SrCollation c;
    SrCollateViews views = {.n = 2, .h = {8, 8}, .w = {8, 8}};
    CHECK_FAILS(
        sr_collation_new("ibot_multicrop_masking_collator", NULL, "DATA.TRAIN", &views, &arena, &c),
        SR_ERR_CONFIG, "MaskedImageModeling");
    CHECK_FAILS(sr_collation_new("cutmixup_collator",
                                 yaml(&arena, "{mixup_alpha: 0, cutmix_alpha: 0}"), "DATA.TRAIN",
                                 &views, &arena, &c),
                SR_ERR_CONFIG, "nothing is mixed");
    views.extras = (SrExtras){1, {{.name = "mask", .view = 1, .shape = SR_SHAPE(4)}}};
    CHECK_FAILS(sr_collation_new("siamese_collator", NULL, "DATA.TRAIN", &views, &arena, &c),
                SR_ERR_CONFIG, "several views into one tensor 'data'");
    CHECK_FAILS(sr_collation_new("cutmixup_collator", NULL, "DATA.TRAIN", &views, &arena, &c),
                SR_ERR_CONFIG, "cannot mix the tensor 'mask'");
    SrPipeline *p;
    SrExtras extras;
    CHECK_OK(sr_pipeline_new(
        yaml(&arena, "[{name: Resize, size: [90, 90]}, {name: ToTensor}, {name: "
                     "MaskedImageModeling, patch_size: 3}, {name: ImgPatchesFromTensor}]"),
        "T", &p));
    CHECK_FAILS(sr_pipeline_extras(p, &extras), SR_ERR_CONFIG, "put it before");
    sr_pipeline_free(p);
    sr_arena_deinit(&arena);
}

SR_TESTS(collators, unit(test_every_collator), unit(test_soft_labels), unit(test_masks),
         unit(test_mixup), unit(test_mixup_of_channels), unit(test_refusals))
