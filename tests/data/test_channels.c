// Tests images of any number of channels and of 16 bits: readers against Pillow and against the
// samples that files were made of (channels.py), geometry against Pillow's mode F and against the
// arithmetic on bytes, transforms that need colours, and damaged files.
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/yaml_load.h"

#include "base/mem.h"
#include "base/npy.h"
#include "base/text/text.h"
#include "data/dataset.h"
#include "data/decode.h"
#include "data/image_form.h"
#include "data/image_pool.h"
#include "data/pipeline.h"
#include "data/pixels/pixel.h"
#include "data/pixels/pixel_blur.h"
#include "data/pixels/pixel_geometry.h"
#include "data/pixels/pixel_resample.h"
#include "gen/build.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/temp_dir.h"

static char dir[64];
static SrImagePool *pool;

static int set_up(void **state) {
    (void)state;
    temp_dir_make(dir);
    CHECK_OK(sr_image_pool_new(&pool));
    return fixture_pillow("channels.py", dir);
}

static int tear_down(void **state) {
    (void)state;
    sr_image_pool_free(pool);
    temp_dir_remove(dir);
    return 0;
}

static SrStatus decode(const char *bytes, size_t n, int channels, SrImage *out) {
    SR_TRY(sr_image_open(bytes, n, out));
    out->channels = channels;
    return sr_image_finish(out, 1, pool);
}

// ---- readers

// Calls `each` with every file that has floats next to it.
static int each_file(void (*each)(const char *name, const char *stem, int channels)) {
    int n = 0;
    DIR *d = opendir(dir);
    CHECK(d != NULL);
    for (const struct dirent *e; (e = readdir(d));) {
        char stem[64], name[80];
        int channels;
        const char *ending = NULL;
        if (sscanf(e->d_name, "%63[^.].%d.f32", stem, &channels) != 2 ||
            !sr_text_ends(e->d_name, ".f32"))
            continue;
        ending = strstr(stem, "png") ? ".png" : strstr(stem, "ppm") ? ".ppm" : ".tif";
        if (strcmp(ending, ".tif") == 0 && !SR_TIFF)
            continue;
        snprintf(name, sizeof name, "%s%s", stem, ending);
        sr_image_pool_reset(pool);
        each(name, stem, channels);
        n++;
    }
    closedir(d);
    return n;
}

static void check_floats(const char *name, const char *stem, int channels) {
    char floats[96];
    size_t n, bytes;
    SrImage image;
    char *file = fixture_read(dir, name, &n);
    snprintf(floats, sizeof floats, "%s.%d.f32", stem, channels);
    float *expected = (float *)(void *)fixture_read(dir, floats, &bytes);
    if (decode(file, n, channels, &image) != SR_OK)
        fail_msg("%s: %s", name, sr_status_message());
    CHECK_INT(sr_image_samples(&image) * sizeof(float), bytes);
    for (size_t i = 0; i < sr_image_samples(&image); i++)
        if (image.f[i] != expected[i])
            fail_msg("%s: sample %zu is %.9g, expected %.9g", name, i, (double)image.f[i],
                     (double)expected[i]);
    sr_free(file);
    sr_free(expected);
}

TEST(test_readers) {
    fixture_need_pillow();
    CHECK(each_file(check_floats) >= (SR_TIFF ? 20 : 7));
}

static void damage(const char *name, const char *stem, int channels) {
    size_t n;
    (void)stem;
    char *file = fixture_read(dir, name, &n);
    fixture_check_damaged_floats(file, n, channels, 0, 6, 60, 5);
    fixture_check_damaged_floats(file, n / 2, channels, n / 4, 2, 5, 6); // cut off
    sr_free(file);
}

TEST(test_damaged) {
    fixture_need_pillow();
    CHECK(each_file(damage) > 0);
}

// Grey and RGB become each other, and opacity is dropped; other numbers must match.
TEST(test_other_channels) {
    size_t n;
    SrImage image, grey;
    fixture_need_pillow();
    char *rgba = fixture_read(dir, "png8_RGBA.png", &n);
    CHECK_OK(decode(rgba, n, 3, &image));
    CHECK_OK(decode(rgba, n, 1, &grey));
    for (int i = 0; i < 13 * 21; i++)
        CHECK_NEAR(grey.f[i],
                   0.299 * image.f[3 * i] + 0.587 * image.f[3 * i + 1] + 0.114 * image.f[3 * i + 2],
                   1e-4);
    CHECK_FAILS(decode(rgba, n, 13, &image), SR_ERR_IO,
                "the image has 4 channels, and DATA.CHANNELS is 13");
    sr_free(rgba);
    char *deep = fixture_read(dir, "png16.png", &n);
    CHECK_OK(decode(deep, n, 3, &image));
    CHECK(image.f[0] == image.f[1] && image.f[1] == image.f[2]);
    sr_free(deep);
    if (!SR_TIFF)
        return;
    char *many = fixture_read(dir, "tiff_13.tif", &n);
    CHECK_FAILS(decode(many, n, 12, &image), SR_ERR_IO, "13 channels, and DATA.CHANNELS is 12");
    sr_free(many);
    many = fixture_read(dir, "tiff_40.tif", &n);
    CHECK_FAILS(sr_image_decode(many, n, pool, &image), SR_ERR_IO, "DATA.CHANNELS=40 reads all");
    sr_free(many);
}

// ---- numpy_stack

static void check_stack(const char *descr, SrShape shape, const void *items, size_t bytes,
                        double white, int step) {
    const SrDataset *source;
    SrSample s;
    void *set;
    char path[96];
    int channels, bits;
    snprintf(path, sizeof path, "%s/stack.npy", dir);
    CHECK_OK(sr_npy_save(path, descr, shape, items, bytes));
    CHECK_OK(sr_dataset_find("numpy_stack", &source));
    CHECK_OK(source->samples(path, &channels, &bits));
    CHECK(channels == 5 && bits == 8 * (descr[2] - '0'));
    SrDatasetConfig config = {.split = "TRAIN", .data_path = path, .channels = 5};
    CHECK_OK(sr_dataset_open(source, &config, &set));
    CHECK_OK(source->read(set, 1, pool, &s));
    CHECK(s.image.channels == 5 && s.image.H == 6 && s.image.W == 7 && !s.image.rgb);
    for (int i = 0; i < 6 * 7; i++)
        for (int c = 0; c < 5; c++) {
            int at = 6 * 7 * 5 + (step == 1 ? c * 42 + i : i * 5 + c);
            double v = descr[1] == 'f'   ? (double)((const float *)items)[at]
                       : descr[2] == '2' ? ((const uint16_t *)items)[at]
                                         : ((const uint8_t *)items)[at];
            CHECK(s.image.f[i * 5 + c] == (isfinite(v) ? (float)v / (float)white : 0));
        }
    sr_dataset_close(source, set);
    config.channels = 4;
    CHECK_FAILS(sr_dataset_open(source, &config, &set), SR_ERR_CONFIG,
                "for DATA.CHANNELS 4; set DATA.CHANNELS to the number of channels (5?)");
    config.channels = 0;
    CHECK_FAILS(sr_dataset_open(source, &config, &set), SR_ERR_CONFIG, "DATA.CHANNELS=5 all of");
}

TEST(test_numpy_stack) {
    enum { N = 2 * 5 * 6 * 7 };
    uint8_t bytes[N];
    uint16_t words[N];
    float floats[N];
    for (int i = 0; i < N; i++) {
        bytes[i] = (uint8_t)(i * 37);
        words[i] = (uint16_t)(i * 7919);
        floats[i] = i % 50 == 0 ? NAN : (float)i * 1.25f - 300;
    }
    check_stack("|u1", SR_SHAPE(2, 5, 6, 7), bytes, sizeof bytes, 255, 1);
    check_stack("|u1", SR_SHAPE(2, 6, 7, 5), bytes, sizeof bytes, 255, 5);
    check_stack("<u2", SR_SHAPE(2, 5, 6, 7), words, sizeof words, 65535, 1);
    check_stack("<u2", SR_SHAPE(2, 6, 7, 5), words, sizeof words, 65535, 5);
    check_stack("<f4", SR_SHAPE(2, 5, 6, 7), floats, sizeof floats, 1, 1);
}

// ---- arithmetic

static SrImage floats_of(const SrImage *rgb) {
    SrImage out = *rgb;
    CHECK_OK(sr_image_to_floats(&out, 3, pool));
    return out;
}

static void check_same(const SrImage *floats, const SrImage *rgb, double levels) {
    CHECK(floats->H == rgb->H && floats->W == rgb->W && floats->f && rgb->rgb);
    for (size_t i = 0; i < sr_image_samples(floats); i++)
        CHECK_NEAR(255 * (double)floats->f[i], rgb->rgb[i], levels);
}

// Geometry moves the same pixels as on bytes; filters differ by their rounding to levels.
TEST(test_like_bytes) {
    SrImage rgb = fixture_image(pool, 23, 31, 3), a, b, x = floats_of(&rgb);
    SrBox boxes[] = {{2, 3, 10, 12}, {-3, -4, 40, 50}, {15, 20, 12, 20}};
    for (int i = 0; i < 3; i++) {
        CHECK_OK(sr_pixel_crop(&x, boxes[i], pool, &a));
        CHECK_OK(sr_pixel_crop(&rgb, boxes[i], pool, &b));
        check_same(&a, &b, 1e-4);
        sr_pixel_flip(&a);
        sr_pixel_flip(&b);
        check_same(&a, &b, 1e-4);
        CHECK_OK(sr_pixel_rotate(&a, 90 * i + 10, pool));
        CHECK_OK(sr_pixel_rotate(&b, 90 * i + 10, pool));
        check_same(&a, &b, 1e-4);
    }
    SrArea area = {1.5, 2.25, 17.5, 21};
    SrResample how = {.h = 9, .w = 14, .filter = SR_FILTER_BILINEAR, .flip = true};
    CHECK_OK(sr_pixel_resample(&x, area, how, pool, &a));
    CHECK_OK(sr_pixel_resample(&rgb, area, how, pool, &b));
    check_same(&a, &b, 1.01);
    static const double radii[] = {0.1, 0.7, 2, 5.5};
    for (int i = 0; i < 4; i++) {
        a = floats_of(&rgb);
        CHECK_OK(sr_pixel_copy(&rgb, pool, &b));
        CHECK_OK(sr_pixel_blur(&a, radii[i], pool));
        CHECK_OK(sr_pixel_blur(&b, radii[i], pool));
        check_same(&a, &b, 3); // six roundings
    }
}

TEST(test_resize_like_pillow) {
    static const char *const names[] = {"nearest", "lanczos", "bilinear",
                                        "bicubic", "box",     "hamming"};
    static const int sizes[][2] = {{7, 9}, {29, 17}, {13, 8}};
    fixture_need_pillow();
    SrImage image, small;
    CHECK_OK(sr_image_new_floats(pool, 13, 21, 5, &image));
    for (int i = 0; i < 13 * 21 * 5; i++) {
        int c = i % 5, x = i / 5 % 21, y = i / 105;
        int64_t v = x * 2657 + y * 991 + c * 5303 + x * y * (c + 1) * 77;
        image.f[i] = (float)(v % 65536) / 65535.0f;
    }
    for (int f = 0; f < 6; f++)
        for (int k = 0; k < 3; k++) {
            char name[64];
            size_t bytes;
            int h = sizes[k][0], w = sizes[k][1];
            snprintf(name, sizeof name, "%s_%dx%d.resized", names[f], h, w);
            float *expected = (float *)(void *)fixture_read(dir, name, &bytes);
            CHECK_OK(
                sr_pixel_resize(&image, (SrBox){1, 2, 11, 17}, h, w, (SrFilter)f, pool, &small));
            CHECK_INT(bytes, sr_image_samples(&small) * sizeof(float));
            for (size_t i = 0; i < sr_image_samples(&small); i++)
                CHECK_NEAR(small.f[i], expected[i], 2e-7);
            sr_free(expected);
        }
}

// ---- transforms

#define VIEWS "{name: RandomResizedCrop, size: 8}, {name: RandomHorizontalFlip}"
#define FLOATS \
    "{name: ToTensor}, {name: Normalize, mean: [0.1, 0.2, 0.3, 0.4, 0.5], std: [1, 1, 2, 1, 4]}"

static SrStatus pipeline(const char *list, SrPixelForm form, SrPipeline **out) {
    static SrArena arena;
    SrYaml *tree;
    SR_TRY(sr_yaml_parse(&arena, list, strlen(list), "test", &tree));
    SrStatus status = sr_pipeline_new_for(tree, "T", form, out);
    sr_arena_deinit(&arena);
    return status;
}

TEST(test_color_transforms) {
    SrPixelForm five = {.channels = 5}, skip = {.channels = 5, .skip_color = true};
    SrPipeline *p;
    CHECK_FAILS(pipeline("[" VIEWS ", {name: ColorJitter}, " FLOATS "]", five, &p), SR_ERR_CONFIG,
                "T[2].ColorJitter works on RGB of 8 bits only, but DATA.CHANNELS and "
                "DATA.KEEP_BITS ask for floats of 5 channels; DATA.COLOR_TRANSFORMS=skip leaves "
                "such transforms out");
    CHECK_FAILS(pipeline("[{name: MNISTImgPil2RGB}, " FLOATS "]", skip, &p), SR_ERR_CONFIG,
                "remove it from the list");
    CHECK_FAILS(pipeline("[" VIEWS ", {name: ImgPilMultiCropRandomApply, prob: [1], transforms: "
                         "[{name: ImgPilRandomSolarize}]}, " FLOATS "]",
                         five, &p),
                SR_ERR_CONFIG, "ImgPilRandomSolarize works on RGB");
    CHECK_FAILS(pipeline("[" VIEWS ", " FLOATS "]", (SrPixelForm){.channels = 4}, &p),
                SR_ERR_CONFIG, "mean and std have 5 and 5 entries, expected 4 (DATA.CHANNELS)");
    CHECK_OK(pipeline("[" VIEWS ", {name: RandomGrayscale}, {name: ImgPilMultiCropRandomApply, "
                      "prob: [1], transforms: [{name: ImgPilRandomSolarize, p: 1}, {name: "
                      "ImgPilGaussianBlur}]}, {name: ColorJitter}, " FLOATS "]",
                      skip, &p));
    sr_pipeline_free(p);
}

// Colour steps that are left out change nothing for the others, whose draws stay.
TEST(test_skip_keeps_draws) {
    SrPipeline *p[2];
    SrImage seen[2];
    CHECK_OK(pipeline("[{name: ImgPilGaussianBlur, p: 0}, " VIEWS ", " FLOATS "]",
                      (SrPixelForm){.channels = 5}, &p[0]));
    CHECK_OK(pipeline("[{name: ColorJitter, brightness: 0.4}, " VIEWS ", " FLOATS "]",
                      (SrPixelForm){.channels = 5, .skip_color = true}, &p[1]));
    for (int k = 0; k < 2; k++) {
        SrViews views = {.n = 1};
        SrTransformContext ctx = {.seed = 3, .pool = pool};
        CHECK_OK(sr_image_new_floats(pool, 20, 24, 5, &views.view[0]));
        for (int i = 0; i < 20 * 24 * 5; i++)
            views.view[0].f[i] = (float)(i * 31 % 997) / 997;
        CHECK_OK(sr_pipeline_apply(p[k], &ctx, &views));
        seen[k] = views.view[0];
        sr_pipeline_free(p[k]);
    }
    CHECK(seen[0].H == 8 && seen[0].W == 8 && seen[0].channels == 5);
    CHECK(memcmp(seen[0].f, seen[1].f, 8 * 8 * 5 * sizeof(float)) == 0);
}

// An image of floats is shown by its first three channels, or its only one, from black to white.
TEST(test_shown) {
    static const float values[2 * 5] = {1, 2, 3, 90, -90, 4, 5, 6, 90, -90};
    static const uint8_t colours[6] = {0, 51, 102, 153, 204, 255},
                         greys[6] = {0, 0, 0, 255, 255, 255};
    for (int channels = 1; channels <= 5; channels += 4) {
        SrImage image;
        CHECK_OK(sr_image_new_floats(pool, 1, 2, channels, &image));
        for (int i = 0; i < 2 * channels; i++)
            image.f[i] = values[i];
        CHECK_OK(sr_image_to_rgb(&image, pool));
        CHECK(memcmp(image.rgb, channels == 5 ? colours : greys, 6) == 0);
    }
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

SR_TESTS(channels, in_folder(test_readers), in_folder(test_damaged), in_folder(test_other_channels),
         in_folder(test_numpy_stack), in_folder(test_like_bytes),
         in_folder(test_resize_like_pillow), in_folder(test_color_transforms),
         in_folder(test_skip_keeps_draws), in_folder(test_shown))
