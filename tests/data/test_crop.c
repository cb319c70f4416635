// Tests crops that are fused with flip, ToTensor and Normalize and write into the batch, and
// crops that decode a JPEG only as far as they need.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/yaml_load.h"
#include "data/augment/shared/crop.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "data/pipeline.h"
#include "data/pixels/pixel_float.h"
#include "data/pixels/pixel_geometry.h"
#include "data/pixels/pixel_resample.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

#define CROPS                                                                                \
    "{name: ImgPilToMultiCrop, total_num_crops: 4, num_crops: [1, 3], size_crops: [40, 17]," \
    " crop_scales: [[0.6, 1], [0.3, 0.6]]}"
#define NORMALIZE "{name: Normalize, mean: [0.1, 0.2, 0.3], std: [0.5, 0.25, 2]}"

static const double mean[3] = {0.1, 0.2, 0.3}, std[3] = {0.5, 0.25, 2};

static SrViews run(const char *yaml, SrTransformContext ctx, SrImage start, float *out) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *list;
    SrPipeline *p;
    CHECK_OK(sr_yaml_parse(&arena, yaml, strlen(yaml), "test", &list));
    CHECK_OK(sr_pipeline_new(list, "TRANSFORMS", &p));
    sr_arena_deinit(&arena);
    SrViews views = {.n = 1, .view = {start}, .out = {out}, .h = {40}, .w = {40}};
    CHECK_OK(sr_pipeline_apply(p, &ctx, &views));
    sr_pipeline_free(p);
    return views;
}

// A fused crop equals crop, flip, ToTensor and Normalize one after the other; view 0 lands in the
// given buffer.
TEST(test_joined_is_the_same) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage start = fixture_image(pool, 70, 90, 2);
    float *out = sr_image_pool_take(pool, sizeof(float) * 40 * 40 * 3);
    int flipped = 0;
    for (int64_t sample = 0; sample < 12; sample++) {
        SrTransformContext ctx = {.seed = 3, .sample = sample, .pool = pool};
        SrViews joined = run(
            "[" CROPS ", {name: RandomHorizontalFlip, p: 0.5}, {name: ToTensor}, " NORMALIZE "]",
            ctx, start, out);
        SrViews plain = run("[" CROPS "]", ctx, start, NULL);
        CHECK_INT(joined.n, 4);
        CHECK(joined.view[0].f == out);
        for (int v = 0; v < 4; v++) {
            SrImage *a = &plain.view[v];
            bool flip = sr__flip_drawn(&(SrFlip){0.5}, &ctx, v, 1);
            flipped += flip;
            if (flip)
                sr_pixel_flip(a);
            CHECK_OK(sr_pixel_to_tensor(a, pool));
            sr_pixel_normalize(a, mean, std);
            for (int i = 0; i < a->H * a->W * 3; i++)
                CHECK_NEAR(joined.view[v].f[i], a->f[i], 1e-6);
        }
    }
    CHECK(flipped > 12 && flipped < 36);
    sr_image_pool_free(pool);
}

// An area may start between pixels: a ramp sampled half a pixel further right is half a step
// brighter.
TEST(test_between_pixels) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage ramp, a, b;
    CHECK_OK(sr_image_new(pool, 20, 60, &ramp));
    for (int i = 0; i < 20 * 60 * 3; i++)
        ramp.rgb[i] = (uint8_t)(4 * (i / 3 % 60));
    for (int filter = 1; filter < 6; filter++) {
        CHECK_OK(sr_pixel_resample(&ramp, (SrArea){2, 10, 10, 40},
                                   (SrResample){5, 20, (SrFilter)filter, false, false}, pool, &a));
        CHECK_OK(sr_pixel_resample(&ramp, (SrArea){2.5, 10.5, 10, 40},
                                   (SrResample){5, 20, (SrFilter)filter, false, false}, pool, &b));
        for (int x = 3; x < 17; x++)
            CHECK_NEAR(b.rgb[3 * x] - a.rgb[3 * x], 2, filter == SR_FILTER_BOX ? 2 : 1);
        CHECK_OK(sr_pixel_resample(&ramp, (SrArea){2.5, 10.5, 10, 40},
                                   (SrResample){5, 20, (SrFilter)filter, true, false}, pool, &a));
        sr_pixel_flip(&a);
        CHECK(memcmp(a.rgb, b.rgb, 5 * 20 * 3) == 0);
    }
    sr_image_pool_free(pool);
}

// Fast weights differ from the exact ones by at most one level per pass; filters with negative
// weights stay exact.
TEST(test_fast_weights) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    for (uint64_t round = 0; round < 60; round++) {
        sr_image_pool_reset(pool);
        SrRng rng = sr_rng(round, SR_RNG_TEST, 0, 0, 0, 0);
        SrImage src = fixture_image(pool, 20 + (int)sr_rng_below(&rng, 90),
                                    20 + (int)sr_rng_below(&rng, 90), round);
        SrArea area = {sr_rng_range(&rng, 0, 9), sr_rng_range(&rng, 0, 9),
                       sr_rng_range(&rng, 1, 11), sr_rng_range(&rng, 1, src.W - 9)};
        SrResample how = {1 + (int)sr_rng_below(&rng, 40), 1 + (int)sr_rng_below(&rng, 40),
                          (SrFilter)(1 + round % 5), round % 2, false};
        SrImage exact, fast;
        CHECK_OK(sr_pixel_resample(&src, area, how, pool, &exact));
        how.fast = true;
        CHECK_OK(sr_pixel_resample(&src, area, how, pool, &fast));
        bool negative = how.filter == SR_FILTER_BICUBIC || how.filter == SR_FILTER_LANCZOS;
        for (int i = 0; i < how.h * how.w * 3; i++)
            CHECK_NEAR(fast.rgb[i], exact.rgb[i], negative ? 0 : 2);
    }
    sr_image_pool_free(pool);
}

// Fast mode decodes a large JPEG at reduced size when all crops are small. The result is close to
// the exact crops, and the random draws are the same.
TEST(test_reduced_decoding) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage source = fixture_gradient(pool, 301, 402), file, part;
    size_t n;
    void *jpeg = fixture_jpeg(source.rgb, 301, 402, 3, &n);
    CHECK_OK(sr_image_open(jpeg, n, &file));
    CHECK_INT(file.H, 301);
    CHECK(file.rgb == NULL);
    part = file;
    CHECK_OK(sr_image_finish(&part, 4, pool));
    bool reduces = strcmp(sr_image_decoder_name(), "libjpeg-turbo") == 0;
    CHECK_INT(part.H, reduces ? 76 : 301);
    CHECK_INT(part.W, reduces ? 101 : 402);
    for (int64_t sample = 0; sample < 6; sample++) {
        SrTransformContext exact = {.seed = 3, .sample = sample, .pool = pool}, fast = exact;
        fast.fast = true;
        SrViews a = run("[" CROPS "]", exact, file, NULL), b = run("[" CROPS "]", fast, file, NULL);
        for (int v = 0; v < 4; v++) {
            double sum = 0;
            int count = a.view[v].H * a.view[v].W * 3;
            for (int i = 0; i < count; i++)
                sum += abs(a.view[v].rgb[i] - b.view[v].rgb[i]);
            CHECK(sum / count < 2);
        }
    }
    free(jpeg);
    sr_image_pool_free(pool);
}

// An image whose header opens may still fail when its pixels are decoded.
TEST(test_damage_found_late) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    SrImage source = fixture_gradient(pool, 16, 16), file;
    size_t n;
    uint8_t *jpeg = fixture_jpeg(source.rgb, 16, 16, 3, &n);
    size_t scan = 2;
    while (jpeg[scan + 1] != 0xDA)
        scan += 2 + ((size_t)jpeg[scan + 2] << 8 | jpeg[scan + 3]);
    jpeg[scan + 5] = 77; // refers to a component that the frame does not have
    CHECK_OK(sr_image_open(jpeg, n, &file));
    CHECK_FAILS(sr_image_finish(&file, 1, pool), SR_ERR_IO, "damaged JPEG");
    free(jpeg);
    sr_image_pool_free(pool);
}

SR_TESTS(crop, unit(test_joined_is_the_same), unit(test_between_pixels), unit(test_fast_weights),
         unit(test_reduced_decoding), unit(test_damage_found_late))
