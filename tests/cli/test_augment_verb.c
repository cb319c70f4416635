// Tests sslrun augment: the sheet shows the views that the loader makes, is the same for one
// seed, and lists what was drawn.
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/yaml_load.h"
#include "data/decode.h"
#include "data/encode.h"
#include "data/image_pool.h"
#include "data/load/loader.h"
#include "data/load/sampler.h"
#include "data/view_preview.h"
#include "pages/canvas.h"
#include "pages/photos/contact_sheet.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/failures.h"
#include "tests/program.h"
#include "tests/temp_dir.h"
#include "trainer/data/data_split.h"

static ProgramResult result; // two 64 kB texts: too large for the stack of a test

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})
#define CONFIG "tests/cli/tiny.yaml"

static void expect(int code, const char *text) {
    if (result.code != code || !strstr(code ? result.err : result.out, text))
        fail_msg("expected exit code %d and \"%s\", got %d and:\n%s%s", code, text, result.code,
                 result.out, result.err);
}

static bool same_files(const char *a, const char *b) {
    char *x, *y;
    size_t n, m;
    CHECK_OK(sr_file_read(a, 1 << 24, &x, &n));
    CHECK_OK(sr_file_read(b, 1 << 24, &y, &m));
    bool same = n == m && memcmp(x, y, n) == 0;
    sr_free(x);
    sr_free(y);
    return same;
}

TEST(test_the_same_for_a_seed) {
    char dir[64], file[3][96];
    temp_dir_make(dir);
    for (int i = 0; i < 3; i++)
        snprintf(file[i], sizeof file[i], "%s/%d.png", dir, i);
    RUN("augment", CONFIG, "--out", file[0], "--images", "5");
    expect(0, ": 5 images of epoch 0 with 3 views each, ");
    expect(0, "next:\n");
    RUN("augment", CONFIG, "--out", file[1], "--images", "5");
    expect(0, "5 images");
    CHECK(same_files(file[0], file[1]));
    RUN("augment", CONFIG, "--out", file[2], "--images", "5", "SEED_VALUE=8");
    expect(0, "5 images");
    expect(0, " tests/cli/tiny.yaml SEED_VALUE=8\n"); // the next command has the same keys
    CHECK(!same_files(file[0], file[2]));
    RUN("augment", CONFIG, "--out", file[2]);
    expect(2, "--force");
    RUN("augment", CONFIG, "--out", file[2], "--force", "--epoch", "3", "--images", "5");
    expect(0, "of epoch 3");
    CHECK(!same_files(file[0], file[2]));
    RUN("augment", CONFIG);
    expect(2, "--out");
    temp_dir_remove(dir);
}

// The PNG decodes to the size that it declares.
TEST(test_it_is_a_picture) {
    SrConfig *config;
    SrText png = SR_TEXT_INIT;
    SrSheetReport report;
    SrSheetOptions options = {.images = 3};
    SrImagePool *pool;
    SrImage image;
    CHECK_OK(sr_config_load(CONFIG, NULL, 0, &config));
    CHECK_OK(sr_contact_sheet(config, &options, &png, &report));
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_OK(sr_image_decode(png.s, png.len, pool, &image));
    CHECK_INT(image.H, report.h);
    CHECK_INT(image.W, report.w);
    CHECK_INT(report.views, 3);
    sr_image_pool_free(pool);
    sr_text_deinit(&png);
    sr_config_free(config);
}

typedef struct {
    const SrLoaderConfig *source;
    int64_t index;
    const SrViewPreview *whole;
} Preview;

// Makes a preview once more.  Where memory is short it says so, or has all words of the draws.
static SrStatus preview_again(void *arg) {
    const Preview *p = arg;
    SrViewPreview shown;
    SrImagePool *pool;
    SR_TRY(sr_image_pool_new(&pool));
    SrStatus status = sr_view_preview_make(p->source, 2, p->index, p->index, pool, &shown);
    for (int v = 0; status == SR_OK && v < 3; v++)
        CHECK_STR(shown.told[v].s, p->whole->told[v].s);
    sr_view_preview_deinit(&shown);
    sr_image_pool_free(pool);
    return status;
}

// For every transform, reporting the draws changes no bit of the views, and every view has a
// report.
TEST(test_views_are_the_loaders) {
    static const char *const transforms =
        "[{name: ImgPilToMultiCrop, total_num_crops: 3, num_crops: [2, 1], size_crops: [24, 16], "
        "crop_scales: [[0.3, 1], [0.1, 0.4]]}, {name: RandomHorizontalFlip}, "
        "{name: ImgPilColorDistortion}, {name: ImgPilRandomColorJitter}, {name: "
        "ImgPilGaussianBlur}, "
        "{name: ImgPilRandomSolarize}, {name: ImgPilRandomPhotometric}, {name: RandomGrayscale}, "
        "{name: RandAugment}, {name: VisslAutoAugment}, "
        "{name: ImgPilMultiCropRandomApply, prob: [1, 0.5, 1], transforms: [{name: ColorJitter, "
        "hue: 0.2}]}, "
        "{name: ToTensor}, {name: Normalize}, {name: RandomErasing, p: 1}]";
    char override[1024];
    snprintf(override, sizeof override, "DATA.TRAIN.TRANSFORMS=%s", transforms);
    const char *overrides[] = {override};
    SrConfig *config;
    SrSplit split = {.note = ""};
    SrImagePool *pool;
    const SrBatch *batch;
    CHECK_OK(sr_config_load(CONFIG, overrides, 1, &config));
    CHECK_OK(sr_split_open_train(config, &split));
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_OK(sr_loader_start(split.loader, 2, 0));
    CHECK_OK(sr_loader_next(split.loader, &batch, NULL));
    SrLoaderConfig source = {.dataset = split.source,
                             .set = split.set,
                             .limit = config->train.data_limit,
                             .pipeline = split.pipeline,
                             .seed = config->seed};
    uint32_t *subset;
    int64_t n_subset;
    const SrSubset chosen = sr_loader_subset(&source);
    CHECK_OK(sr__sampler_subset(&chosen, &subset, &n_subset));
    for (int i = 0; i < batch->batch; i++) {
        SrViewPreview shown;
        CHECK_OK(sr_view_preview_make(&source, 2, batch->index[i],
                                      subset ? subset[batch->index[i]] : batch->index[i], pool,
                                      &shown));
        CHECK_INT(shown.views.n, 3);
        for (int v = 0; v < 3; v++) {
            size_t n = (size_t)(batch->h[v] * batch->w[v] * 3);
            CHECK(memcmp(batch->view[v] + n * (size_t)i, shown.views.view[v].f,
                         n * sizeof(float)) == 0);
            CHECK(strstr(shown.told[v].s, "crop ") && strstr(shown.told[v].s, "erased "));
            CHECK(v == 1 || strstr(shown.told[v].s, "hue "));
        }
        CHECK_INT(shown.original.H, 20);
        if (i == 0)
            CHECK(fail_allocations(preview_again, &(Preview){&source, batch->index[0], &shown}) >=
                  3);
        sr_view_preview_deinit(&shown);
        sr_image_pool_reset(pool);
    }
    sr_free(subset);
    sr_image_pool_free(pool);
    sr_split_close(&split);
    sr_config_free(config);
}

TEST(test_normalize_is_undone) {
    static const char list[] = "[{name: ToTensor}, {name: Normalize, mean: [0.5, 0.4, 0.3], std: "
                               "[0.1, 0.2, 0.3]}]";
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree;
    SrUnnormalize un;
    const float x[6] = {0, 0, 0, 1, -2, 99};
    uint8_t rgb[6];
    CHECK_OK(sr_yaml_parse(&arena, list, strlen(list), "test", &tree));
    sr_unnormalize_of(tree, &un);
    sr_unnormalize(&un, x, 1, 2, rgb);
    static const uint8_t expected[6] = {128, 102, 76, 153, 0, 255};
    for (int i = 0; i < 6; i++)
        CHECK_INT(rgb[i], expected[i]);
    sr_unnormalize_of(NULL, &un);
    CHECK_NEAR(un.std[2], 1, 0);
    sr_arena_deinit(&arena);
}

// Words stay within their width, however long they are, and nothing is written outside the
// canvas.
TEST(test_words_wrap) {
    SrCanvas canvas;
    CHECK_OK(sr_canvas_init(&canvas, 100, 60, 0xFFFFFF));
    int lines =
        sr_canvas_text(&canvas, 5, 2, 40, 0, "one two threefourfivesixseven eight \xC3\xA4");
    CHECK_INT(lines, 7);
    CHECK_INT(lines,
              sr_canvas_text(NULL, 5, 2, 40, 0, "one two threefourfivesixseven eight \xC3\xA4"));
    int dark = 0, outside = 0;
    for (int i = 0; i < 100 * 60; i++)
        if (canvas.rgb[3 * i] == 0) {
            dark++;
            outside += i % 60 < 5 || i % 60 > 46;
        }
    CHECK_INT(dark, 333);
    CHECK_INT(outside, 0);
    sr_canvas_text(&canvas, -30, 95, 400, 0, "beyond all borders of the canvas");
    sr_canvas_deinit(&canvas);
}

SR_TESTS(augment_verb, unit(test_the_same_for_a_seed), unit(test_it_is_a_picture),
         unit(test_views_are_the_loaders), unit(test_normalize_is_undone), unit(test_words_wrap))
