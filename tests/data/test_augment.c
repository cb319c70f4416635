// Tests the contract of transforms, checked for every transform of the registry, and properties
// of single ones.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/yaml_load.h"
#include "data/augment/shared/jitter.h"
#include "data/extras.h"
#include "data/image_pool.h"
#include "data/pipeline.h"
#include "data/pixels/pixel_geometry.h"
#include "data/transform.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

// Parses a list in YAML flow style into a pipeline. ToTensor and Normalize are not added.
static SrPipeline *pipeline(const char *yaml) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *list;
    SrPipeline *out;
    CHECK_OK(sr_yaml_parse(&arena, yaml, strlen(yaml), "test", &list));
    CHECK_OK(sr_pipeline_new(list, "DATA.TRAIN.TRANSFORMS", &out));
    sr_arena_deinit(&arena);
    return out;
}

static SrViews run_with(const SrPipeline *p, SrImagePool *pool, const SrImage *start,
                        int64_t sample, int64_t *label, const SrExtras *extras, void **extra) {
    SrViews views = {.n = 1};
    SrTransformContext ctx = {.seed = 5,
                              .epoch = 2,
                              .sample = sample,
                              .pool = pool,
                              .label = label,
                              .extras = extras,
                              .extra = extra};
    int n;
    CHECK_OK(sr_pixel_copy(start, pool, &views.view[0]));
    if (sr_pipeline_shape(p, &n, views.h, views.w) != SR_OK)
        CHECK(!extras || extras->n == 0);
    CHECK_OK(sr_pipeline_apply(p, &ctx, &views));
    return views;
}

static SrViews run(const SrPipeline *p, SrImagePool *pool, const SrImage *start, int64_t sample,
                   int64_t *label) {
    return run_with(p, pool, start, sample, label, NULL, NULL);
}

// Tensors that a pipeline makes of an image in addition to its views, in memory of the pool.
typedef struct {
    SrExtras named;
    void *data[SR_MAX_EXTRAS];
} Extras;

static void take_extras(const SrPipeline *p, SrImagePool *pool, Extras *out) {
    out->named.n = 0;
    // Without ToTensor a pipeline makes bytes, which have no extra tensors
    if (sr_pipeline_extras(p, &out->named) != SR_OK)
        out->named.n = 0;
    for (int i = 0; i < out->named.n; i++) {
        size_t bytes = sr_batch_extra_bytes(&out->named.v[i]);
        out->data[i] = sr_image_pool_take(pool, bytes);
        memset(out->data[i], 0x5a, bytes);
    }
}

static bool equal_extras(const Extras *a, const Extras *b) {
    for (int i = 0; i < a->named.n; i++)
        if (memcmp(a->data[i], b->data[i], sr_batch_extra_bytes(&a->named.v[i])) != 0)
            return false;
    return true;
}

static bool equal(const SrViews *a, const SrViews *b) {
    if (a->n != b->n)
        return false;
    for (int v = 0; v < a->n; v++) {
        size_t n = (size_t)a->view[v].H * (size_t)a->view[v].W * 3;
        if (a->view[v].H != b->view[v].H || a->view[v].W != b->view[v].W ||
            (a->view[v].rgb ? memcmp(a->view[v].rgb, b->view[v].rgb, n)
                            : memcmp(a->view[v].f, b->view[v].f, n * sizeof(float))))
            return false;
    }
    return true;
}

// One key gives the same bits each time, and another sample another result if the transform draws.
// Sizes are the announced ones, and all memory is given back.
static void check_contract(const SrTransform *t, SrImagePool *pool) {
    char yaml[1024];
    const char *before = t->stands_on      ? t->stands_on
                         : t->takes_floats ? "{name: ToTensor}"
                                           : "{name: ImgReplicatePil}";
    snprintf(yaml, sizeof yaml, "[{name: Resize, size: [250, 240]}%s%s, {name: %s%s%s}]",
             *before ? ", " : "", before, t->name, t->example ? ", " : "",
             t->example ? t->example : "");
    SrPipeline *p = pipeline(yaml);
    SrImage start = fixture_image(pool, 60, 70, 9);
    bool differs = false;
    for (int64_t sample = 0; sample < 8; sample++) {
        int64_t label[2] = {-7, -7};
        Extras x, y, z;
        take_extras(p, pool, &x);
        take_extras(p, pool, &y);
        take_extras(p, pool, &z);
        SrViews a = run_with(p, pool, &start, sample, &label[0], &x.named, x.data),
                b = run_with(p, pool, &start, sample, &label[1], &y.named, y.data);
        CHECK(equal(&a, &b) && equal_extras(&x, &y));
        CHECK_INT(label[0], label[1]);
        SrViews other = run_with(p, pool, &start, sample + 100, NULL, &z.named, z.data);
        differs = differs || !equal(&a, &other) || !equal_extras(&x, &z);
        CHECK(a.n >= 1 && a.n <= 64);
    }
    if (differs == t->fixed)
        fail_msg("%s %s between samples", t->name, differs ? "differs" : "never differs");
    sr_pipeline_free(p);
}

TEST(test_every_transform) {
    SrImagePool *pool;
    int64_t live = sr_mem_live();
    CHECK_OK(sr_image_pool_new(&pool));
    const SrTransform *t;
    int n = 0;
    for (; (t = sr_transform_at(n)); n++) {
        const SrTransform *found;
        CHECK(t->name && t->help && t->apply);
        CHECK_OK(sr_transform_find(t->name, &found));
        CHECK(found == t);
        sr_image_pool_reset(pool);
        check_contract(t, pool);
    }
    CHECK(n >= 18);
    CHECK(sr_transform_at(-1) == NULL && sr_transform_at(n) == NULL);
    sr_image_pool_free(pool);
    CHECK_INT(sr_mem_live(), live);
}

TEST(test_multicrop_shape) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrPipeline *p = pipeline(
        "[{name: ImgPilToMultiCrop, total_num_crops: 5, num_crops: [2, 3], size_crops: [24, 9],"
        " crop_scales: [[0.14, 1], [0.05, 0.14]]}, {name: ToTensor}]");
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    CHECK_OK(sr_pipeline_shape(p, &n, h, w));
    CHECK_INT(n, 5);
    CHECK_INT(h[1], 24);
    CHECK_INT(w[4], 9);
    SrImage start = fixture_gradient(pool, 50, 40);
    SrViews views = run(p, pool, &start, 3, NULL);
    CHECK_INT(views.n, 5);
    for (int v = 0; v < 5; v++)
        CHECK(views.view[v].f && views.view[v].H == h[v] && views.view[v].W == w[v]);
    CHECK(memcmp(views.view[0].f, views.view[1].f, sizeof(float) * 24 * 24 * 3) != 0);
    sr_pipeline_free(p);
    sr_image_pool_free(pool);
}

// The shares of flipped, grey and blurred images lie within four standard errors of the option p.
TEST(test_probabilities) {
    static const struct {
        const char *yaml;
        double p;
    } cases[] = {
        {"[{name: RandomHorizontalFlip, p: 0.3}]", 0.3},
        {"[{name: RandomGrayscale, p: 0.2}]", 0.2},
        {"[{name: ImgPilGaussianBlur, p: 0.5, radius_min: 1.0, radius_max: 2.0}]", 0.5},
        {"[{name: ImgPilRandomSolarize, p: 0.66, threshold: 100}]", 0.66},
        {"[{name: ImgPilRandomColorJitter, p: 0.8}]", 0.8},
        {"[{name: ImgPilColorDistortion}]", 1 - 0.2 * 0.8},
        {"[{name: ImgPilMultiCropRandomApply, prob: [0.1], transforms: [{name: RandomGrayscale, p: "
         "1}]}]",
         0.1},
    };
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        SrPipeline *p = pipeline(cases[k].yaml);
        int changed = 0, n = 2000;
        for (int i = 0; i < n; i++) {
            sr_image_pool_reset(pool);
            SrImage start = fixture_image(pool, 6, 6, 1);
            SrViews views = run(p, pool, &start, i, NULL);
            changed += memcmp(views.view[0].rgb, start.rgb, 6 * 6 * 3) != 0;
        }
        CHECK_NEAR((double)changed / n, cases[k].p, 4 * sqrt(cases[k].p * (1 - cases[k].p) / n));
        sr_pipeline_free(p);
    }
    sr_image_pool_free(pool);
}

TEST(test_rotation_labels) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrPipeline *p = pipeline("[{name: ImgRotatePil, num_angles: 4}]");
    int seen[4] = {0};
    for (int i = 0; i < 100; i++) {
        SrImage start = fixture_image(pool, 9, 9, 1), expected;
        int64_t label = -1;
        SrViews views = run(p, pool, &start, i, &label);
        CHECK(label >= 0 && label < 4);
        seen[label]++;
        CHECK_OK(sr_pixel_copy(&start, pool, &expected));
        CHECK_OK(sr_pixel_rotate(&expected, 90.0 * (double)label, pool));
        CHECK(memcmp(views.view[0].rgb, expected.rgb, 9 * 9 * 3) == 0);
    }
    for (int c = 0; c < 4; c++)
        CHECK(seen[c] > 8);
    sr_pipeline_free(p);
    sr_image_pool_free(pool);
}

TEST(test_jitter_ranges) {
    SrJitterRanges ranges = sr__jitter_ranges(0.8, 1.6, 0, 0.2);
    CHECK_NEAR(ranges.range[0][0], 0.2, 1e-12);
    CHECK_NEAR(ranges.range[1][0], 0, 0); // never negative
    CHECK_NEAR(ranges.range[1][1], 2.6, 1e-12);
    int first[4] = {0};
    for (uint64_t i = 0; i < 4000; i++) {
        SrRng rng = sr_rng(1, SR_RNG_TEST, 0, i, 0, 0);
        SrJitter j = sr__jitter_draw(&rng, &ranges);
        CHECK_INT(j.order[0] + j.order[1] + j.order[2] + j.order[3], 6);
        CHECK(j.factor[0] >= 0.2 && j.factor[0] < 1.8 && fabs(j.factor[3]) <= 0.2);
        CHECK(j.used[0] && j.used[1] && !j.used[2] && j.used[3]);
        first[j.order[0]]++;
    }
    for (int k = 0; k < 4; k++)
        CHECK_NEAR(first[k] / 4000.0, 0.25, 0.03);
}

TEST(test_random_crop) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrPipeline *p = pipeline("[{name: RandomCrop, size: 8, padding: 2}]");
    SrImage start;
    CHECK_OK(sr_image_new(pool, 8, 8, &start));
    memset(start.rgb, 200, 8 * 8 * 3);
    int black[5] = {0}; // numbers of images with 0, 1 or 2 rows of padding above
    for (int i = 0; i < 500; i++) {
        SrViews views = run(p, pool, &start, i, NULL);
        int rows = 0;
        while (rows < 4 && views.view[0].rgb[(rows * 8 + 3) * 3] == 0)
            rows++;
        black[rows]++;
    }
    CHECK(black[0] > 200 && black[1] > 60 && black[2] > 60 && black[3] == 0);
    sr_pipeline_free(p);
    p = pipeline("[{name: RandomCrop, size: [12, 4]}]"); // taller than the image
    SrViews views = run(p, pool, &start, 1, NULL);
    CHECK_INT(views.view[0].H, 12);
    CHECK_INT(views.view[0].W, 4);
    sr_pipeline_free(p);
    sr_image_pool_free(pool);
}

// Counts how often an operation is among those that were done.
static int times(const char *told, const char *name) {
    int n = 0;
    size_t len = strlen(name);
    for (const char *at = told; (at = strstr(at, name)); at++)
        n += (at == told || at[-1] == ' ') && at[len] == ' ';
    return n;
}

// With weight_choice 0 RandAugment draws by VISSL's weights and without replacement: 13 draws try
// each operation but Invert and Posterize, half of them are done, and none twice.
TEST(test_rand_augment_weights) {
    enum { IMAGES = 600 };
    static const char *const names[] = {
        "AutoContrast", "Equalize",      "Rotate",     "Solarize",  "SolarizeAdd",
        "Color",        "Contrast",      "Brightness", "Sharpness", "ShearX",
        "ShearY",       "TranslateXRel", "Invert",     "Posterize", "TranslateYRel"};
    static const double weights[] = {0.025, 0.005, 0.3, 0.005, 0.005, 0.025, 0.005, 0.005,
                                     0.025, 0.2,   0.2, 0.1,   0,     0,     0.1};
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    for (int layers = 1; layers <= 13; layers += 12) {
        char yaml[100];
        int done[SR_COUNT(names)] = {0};
        snprintf(yaml, sizeof yaml, "[{name: RandAugment, num_layers: %d, weight_choice: 0}]",
                 layers);
        SrPipeline *p = pipeline(yaml);
        for (int i = 0; i < IMAGES; i++) {
            SrText told[SR_MAX_VIEWS] = {SR_TEXT_INIT};
            SrViews views = {.n = 1};
            SrTransformContext ctx = {.seed = 3, .sample = i, .pool = pool, .told = told};
            sr_image_pool_reset(pool);
            views.view[0] = fixture_image(pool, 12, 10, 4);
            CHECK_OK(sr_pipeline_apply(p, &ctx, &views));
            for (int k = 0; k < SR_COUNT(names); k++) {
                int n = told[0].s ? times(told[0].s, names[k]) : 0;
                CHECK(n <= 1);
                done[k] += n;
            }
            sr_text_deinit(&told[0]);
        }
        for (int k = 0; k < SR_COUNT(names); k++) {
            double share = layers == 1 ? weights[k] / 2 : weights[k] > 0 ? 0.5 : 0;
            CHECK_NEAR((double)done[k] / IMAGES, share, share > 0 ? 0.07 : 0);
        }
        sr_pipeline_free(p);
    }
    sr_image_pool_free(pool);
}

SR_TESTS(augment, unit(test_every_transform), unit(test_multicrop_shape), unit(test_probabilities),
         unit(test_rotation_labels), unit(test_jitter_ranges), unit(test_random_crop),
         unit(test_rand_augment_weights))
