// Tests models whose blocks are numbered through all stages: names of whole models from each
// writer to each other and back.
#include <stdarg.h>
#include <stdio.h>

#include "formats/convert.h"
#include "formats/weights/save_item.h"
#include "formats/weights/weights.h"
#include "tests/check.h"
#include "tests/formats/convert_tried.h"
#include "tests/temp_dir.h"

static SrStatus read_zeros(void *arg, int i, const void **data) {
    (void)i;
    *data = arg;
    return SR_OK;
}

enum { MOST_TENSORS = 96 };
typedef struct {
    SrSaveItem items[MOST_TENSORS];
    char names[MOST_TENSORS][64];
    int n;
} List;

SR_PRINTF(3, 4) static void list_add(List *l, SrShape shape, const char *fmt, ...) {
    va_list args;
    CHECK(l->n < MOST_TENSORS);
    va_start(args, fmt);
    vsnprintf(l->names[l->n], sizeof l->names[0], fmt, args);
    va_end(args);
    l->items[l->n] = (SrSaveItem){.name = l->names[l->n], .shape = shape, .dtype = SR_F32};
    l->n++;
}

static void list_write(const List *l, const char *path) {
    static float zeros[1280];
    SrSave save = {l->items, l->n, read_zeros, zeros};
    CHECK_OK(sr_save(path, &save));
}

// Fails unless the file has exactly the tensors of `theirs`, with their shapes, under a prefix.
static void list_check(const List *theirs, const char *prefix, const char *path) {
    SrWeights w;
    char name[200];
    CHECK_OK(sr_weights_open(&w, path));
    for (int i = 0; i < theirs->n; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, theirs->names[i]);
        int at = sr_weights_find(&w, name);
        if (at < 0)
            print_message("%s is missing\n", name);
        CHECK(at >= 0);
        CHECK(sr_shape_equal(w.tensors[at].shape, theirs->items[i].shape));
    }
    CHECK_INT(w.n, theirs->n);
    sr_weights_close(&w);
}

// Converts one model from each writer's names (NULL: this writer has none) to the others' and
// back.
static void check_lists(const List *const lists[SR_N_NAMES]) {
    static const char *const prefixes[] = {
        "", "classy_state_dict.base_model.model.trunk._feature_blocks.", ""};
    SrConvertResult result;
    char dir[64], first[160], second[160], back[160];
    temp_dir_make(dir);
    snprintf(first, sizeof first, "%s/first.pth", dir);
    snprintf(second, sizeof second, "%s/second.pth", dir);
    snprintf(back, sizeof back, "%s/back.pth", dir);
    for (int from = 0; from < SR_N_NAMES; from++)
        for (int to = 0; to < SR_N_NAMES; to++) {
            SrConvertOptions there = {.rename = true, .names = (SrNames)to};
            SrConvertOptions home = {.rename = true, .names = (SrNames)from};
            if (!lists[from] || !lists[to])
                continue;
            list_write(lists[from], first);
            CHECK_OK(convert_tried(first, second, &there, &result));
            CHECK_INT(result.left_out, 0);
            list_check(lists[to], prefixes[to], second);
            CHECK_OK(convert_tried(second, back, &home, &result));
            list_check(lists[from], prefixes[from], back);
        }
    temp_dir_remove(dir);
}

// Blocks of EfficientNet-B0 (arXiv:1905.11946, table 1). Stages 4 and 5 differ in their channels
// only.
TEST(test_efficientnet) {
    static const int blocks[] = {1, 2, 2, 3, 3, 4, 1}, kernels[] = {3, 3, 5, 3, 5, 5, 3},
                     channels[] = {16, 24, 40, 80, 112, 192, 320};
    static List tv, vissl, timm;
    SrShape one = SR_SHAPE(4, 4, 1, 1);
    tv.n = vissl.n = timm.n = 0;
    for (int a = 0, i = 0; a < 7; a++)
        for (int b = 0; b < blocks[a]; b++, i++) {
            SrShape depthwise = SR_SHAPE(4, 1, kernels[a], kernels[a]);
            SrShape project = SR_SHAPE(channels[a], 4, 1, 1);
            list_add(&tv, depthwise, "features.%d.%d.block.%d.0.weight", a + 1, b, a > 0);
            list_add(&vissl, depthwise, "block%d.depthwise_conv.weight", i);
            list_add(&timm, depthwise, "blocks.%d.%d.conv_dw.weight", a, b);
            list_add(&tv, project, "features.%d.%d.block.%d.0.weight", a + 1, b, 2 + (a > 0));
            list_add(&vissl, project, "block%d.project_conv.weight", i);
            list_add(&timm, project, "blocks.%d.%d.conv_pw%s.weight", a, b, a ? "l" : "");
            list_add(&tv, one, "features.%d.%d.block.%d.fc1.weight", a + 1, b, 1 + (a > 0));
            list_add(&vissl, one, "block%d.se_reduce.weight", i);
            list_add(&timm, one, "blocks.%d.%d.se.conv_reduce.weight", a, b);
            if (a == 0)
                continue;
            list_add(&tv, one, "features.%d.%d.block.0.0.weight", a + 1, b);
            list_add(&vissl, one, "block%d.expand_conv.weight", i);
            list_add(&timm, one, "blocks.%d.%d.conv_pw.weight", a, b);
        }
    list_add(&tv, one, "features.0.0.weight");
    list_add(&vissl, one, "conv1.0.weight");
    list_add(&timm, one, "conv_stem.weight");
    list_add(&tv, one, "features.8.0.weight");
    list_add(&vissl, one, "conv_final.0.weight");
    list_add(&timm, one, "conv_head.weight");
    check_lists((const List *const[]){&tv, &vissl, &timm});
}

// Lists one tensor per block and one at either end.
static void mobilenet_v2(List *tv, List *timm, const int blocks[7]) {
    SrShape one = SR_SHAPE(4, 4, 1, 1);
    tv->n = timm->n = 0;
    for (int a = 0, i = 1; a < 7; a++)
        for (int b = 0; b < blocks[a]; b++, i++) {
            list_add(tv, one, "features.%d.conv.%d.0.weight", i, a > 0);
            list_add(timm, one, "blocks.%d.%d.conv_dw.weight", a, b);
            list_add(tv, one, "features.%d.conv.%d.weight", i, 1 + (a > 0));
            list_add(timm, one, "blocks.%d.%d.conv_pw%s.weight", a, b, a ? "l" : "");
        }
    list_add(tv, one, "features.0.1.weight");
    list_add(timm, one, "bn1.weight");
    list_add(tv, one, "features.18.0.weight");
    list_add(timm, one, "conv_head.weight");
    list_add(tv, one, "classifier.1.weight");
    list_add(timm, one, "classifier.weight");
}

TEST(test_mobilenet) {
    static List tv, timm;
    SrConvertOptions home = {.rename = true};
    SrConvertResult result;
    char dir[64], deeper[160], out[160];
    mobilenet_v2(&tv, &timm, (const int[]){1, 2, 3, 4, 3, 3, 1});
    check_lists((const List *const[]){&tv, NULL, &timm});
    temp_dir_make(dir);
    snprintf(deeper, sizeof deeper, "%s/deeper.pth", dir);
    snprintf(out, sizeof out, "%s/out.pth", dir);
    mobilenet_v2(&tv, &timm, (const int[]){1, 3, 4, 5, 4, 4, 1});
    list_write(&timm, deeper); // timm's mobilenetv2_120d, which torchvision does not have
    CHECK_FAILS(sr_convert(deeper, out, &home, &result), SR_ERR_CONFIG, "no trunk of a known kind");
    temp_dir_remove(dir);
}

SR_TESTS(naming_flat, unit(test_efficientnet), unit(test_mobilenet))
