// Tests the data set numpy_stack: shapes, element types, labels, inference, refusals.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/npy.h"
#include "base/text/text.h"
#include "data/dataset.h"
#include "data/image_pool.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/temp_dir.h"

enum { N = 3, H = 4, W = 5 };

static char dir[64], path[128];
static SrImagePool *pool;
static void *set;

static const SrDataset *source(void) {
    const SrDataset *s;
    CHECK_OK(sr_dataset_find("numpy_stack", &s));
    return s;
}

static int set_up(void **state) {
    (void)state;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/stack.npy", dir);
    CHECK_OK(sr_image_pool_new(&pool));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    sr_image_pool_free(pool);
    temp_dir_remove(dir);
    return 0;
}

static SrStatus open_stack(const char *labels) {
    SrDatasetConfig config = {.split = "TRAIN", .data_path = path, .label_path = labels};
    return sr_dataset_open(source(), &config, &set);
}

static void save(const char *descr, SrShape shape, const void *items, size_t bytes) {
    CHECK_OK(sr_npy_save(path, descr, shape, items, bytes));
}

// Level of an image, row, column and channel.
static uint8_t level(int i, int y, int x, int c) {
    return (uint8_t)(i * 61 + y * 17 + x * 5 + c * 83);
}

// Every image has its levels; grey ones (channels 1) in all three channels.
static void check_images(int channels) {
    SrSample sample;
    CHECK_OK(open_stack(""));
    CHECK_INT(source()->length(set), N);
    for (int i = 0; i < N; i++) {
        CHECK_OK(source()->read(set, i, pool, &sample));
        CHECK(sample.image.H == H && sample.image.W == W);
        for (int k = 0; k < H * W * 3; k++)
            CHECK_INT(sample.image.rgb[k],
                      level(i, k / 3 / W, k / 3 % W, channels == 1 ? 0 : k % 3));
    }
    sr_dataset_close(source(), set);
}

TEST(test_shapes_and_types) {
    uint8_t last[N][H][W][3], first[N][3][H][W], grey[N][H][W];
    uint16_t words[N][H][W];
    float floats[N][3][H][W];
    for (int k = 0; k < N * H * W; k++) {
        int i = k / (H * W), y = k / W % H, x = k % W;
        for (int c = 0; c < 3; c++) {
            last[i][y][x][c] = first[i][c][y][x] = level(i, y, x, c);
            floats[i][c][y][x] = (float)level(i, y, x, c) / 255;
        }
        grey[i][y][x] = level(i, y, x, 0);
        words[i][y][x] = (uint16_t)(level(i, y, x, 0) * 257 + (k % 2 ? 100 : 0)); // rounded down
    }
    save("|u1", SR_SHAPE(N, H, W, 3), last, sizeof last);
    check_images(3);
    save("|u1", SR_SHAPE(N, 3, H, W), first, sizeof first);
    check_images(3);
    save("<f4", SR_SHAPE(N, 3, H, W), floats, sizeof floats);
    check_images(3);
    save("|u1", SR_SHAPE(N, H, W), grey, sizeof grey);
    check_images(1);
    save("|u1", SR_SHAPE(N, 1, H, W), grey, sizeof grey);
    check_images(1);
    save("|u1", SR_SHAPE(N, H, W, 1), grey, sizeof grey);
    check_images(1);
    save("<u2", SR_SHAPE(N, H, W), words, sizeof words);
    check_images(1);
}

TEST(test_labels) {
    uint8_t grey[N * H * W] = {0};
    char labels[128];
    const int64_t good[N] = {2, -1, 0}, bad[N] = {2, -3, 0};
    snprintf(labels, sizeof labels, "%s/labels.npy", dir);
    save("|u1", SR_SHAPE(N, H, W), grey, sizeof grey);
    CHECK_OK(sr_npy_save(labels, "<i8", SR_SHAPE(N), good, sizeof good));
    CHECK_OK(open_stack(labels));
    CHECK_INT(source()->classes(set), 3);
    CHECK_INT(source()->label(set, 0), 2);
    CHECK_INT(source()->label(set, 1), -1);
    sr_dataset_close(source(), set);
    CHECK_OK(sr_npy_save(labels, "<i8", SR_SHAPE(N), bad, sizeof bad));
    CHECK_FAILS(open_stack(labels), SR_ERR_CONFIG,
                "the label of image 1 is no class: expected a whole number, -1 (none) to 1048575");
    CHECK_OK(sr_npy_save(labels, "<i8", SR_SHAPE(2), good, 16));
    CHECK_FAILS(open_stack(labels), SR_ERR_CONFIG, "expected 3 whole numbers");
}

// A .npy of images is found as a stack, and one of names as a list.
TEST(test_found) {
    uint8_t grey[N * H * W] = {0};
    const SrDataset *found;
    save("|u1", SR_SHAPE(N, H, W), grey, sizeof grey);
    CHECK_OK(sr_dataset_infer(path, "TRAIN", &found));
    CHECK_STR(found->name, "numpy_stack");
    save("|S5", SR_SHAPE(N), "a.jpgb.jpgc.jpg", 15);
    CHECK_OK(sr_dataset_infer(path, "TRAIN", &found));
    CHECK_STR(found->name, "disk_filelist");
    fixture_write(dir, "stack.npy", "\x93NUMPY", 6);
    CHECK_OK(sr_dataset_infer(path, "TRAIN", &found));
    CHECK_STR(found->name, "disk_filelist");
}

TEST(test_refused) {
    static float floats[N * H * W];
    static uint8_t bytes[N * 13 * H * W];
    floats[7] = NAN;
    save("<f4", SR_SHAPE(N, H, W), floats, sizeof floats);
    CHECK_OK(open_stack(""));
    sr_dataset_close(source(), set);
    floats[8] = 300;
    save("<f4", SR_SHAPE(N, H, W), floats, sizeof floats);
    CHECK_FAILS(open_stack(""), SR_ERR_CONFIG, "holds the value 300, expected 0 to 1");
    save("|u1", SR_SHAPE(N, 13, H, W), bytes, sizeof bytes);
    CHECK_FAILS(open_stack(""), SR_ERR_CONFIG, "with 1 or 3 channels; x[..., :3] takes three");
    save("<i4", SR_SHAPE(N, H, W), floats, sizeof floats);
    CHECK_FAILS(open_stack(""), SR_ERR_CONFIG, "expected uint8, uint16 or float32");
    save("|u1", SR_SHAPE(N, H, W), bytes, N * H * W - 1);
    CHECK_FAILS(open_stack(""), SR_ERR_CONFIG, "is cut off: its header says 3 images of 20 bytes");
    save("|u1", SR_SHAPE(N, 70000, 1), bytes, 1);
    CHECK_FAILS(open_stack(""), SR_ERR_CONFIG, "1 x 70000 pixels");
    fixture_write(dir, "stack.npy", "\x93NUMPY", 6);
    CHECK_FAILS(open_stack(""), SR_ERR_CONFIG, "is no .npy file");
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

SR_TESTS(numpy_stack, in_folder(test_shapes_and_types), in_folder(test_labels),
         in_folder(test_found), in_folder(test_refused))
