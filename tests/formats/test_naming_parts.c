// Tests tensors that writers split differently: the biases of Swin V2's attention, and DINOv2's
// position of the class token in models with registers.
#include <stdio.h>

#include "formats/convert.h"
#include "formats/weights/save_item.h"
#include "formats/weights/weights.h"
#include "tests/check.h"
#include "tests/failures.h"
#include "tests/formats/convert_tried.h"
#include "tests/temp_dir.h"

typedef struct {
    const char *name;
    SrShape shape;
    float values[12];
} Tensor;

static SrStatus read_values(void *arg, int i, const void **data) {
    *data = ((const Tensor *)arg)[i].values;
    return SR_OK;
}

static void write_tensors(const char *path, Tensor *tensors, int n, SrDtype dtype) {
    SrSaveItem items[8];
    for (int i = 0; i < n; i++)
        items[i] = (SrSaveItem){.name = tensors[i].name, .shape = tensors[i].shape, .dtype = dtype};
    SrSave save = {items, n, read_values, tensors};
    CHECK_OK(sr_save(path, &save));
}

static void check_tensors(const char *path, const char *prefix, const Tensor *tensors, int n) {
    SrWeights w;
    SrTensor t;
    char name[200];
    CHECK_OK(sr_weights_open(&w, path));
    CHECK_INT(w.n, n);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, tensors[i].name);
        int at = sr_weights_find(&w, name);
        if (at < 0)
            print_message("%s is missing\n", name);
        CHECK(at >= 0);
        CHECK(sr_shape_equal(w.tensors[at].shape, tensors[i].shape));
        CHECK_OK(sr_weights_read(&w, at, &t));
        for (int64_t k = 0; k < sr_shape_count(t.shape); k++)
            CHECK_NEAR(((const float *)t.data)[k], tensors[i].values[k], 0);
    }
    sr_weights_close(&w);
}

#define BLOCK "layers.0.blocks.0.attn."
#define SHARED                                                                                  \
    {BLOCK "qkv.weight", SR_SHAPE(6, 2), {1, 2, 3}}, {BLOCK "logit_scale", SR_SHAPE(1), {7}}, { \
        "layers.1.downsample.norm.weight", SR_SHAPE(4), { 5 }                                   \
    }

TEST(test_swin_biases) {
    static Tensor timm[] = {
        SHARED, {BLOCK "q_bias", SR_SHAPE(2), {1, 2}}, {BLOCK "v_bias", SR_SHAPE(2), {5, 6}}};
    static Tensor tv[] = {{"features.1.0.attn.qkv.weight", SR_SHAPE(6, 2), {1, 2, 3}},
                          {"features.1.0.attn.logit_scale", SR_SHAPE(1), {7}},
                          {"features.2.norm.weight", SR_SHAPE(4), {5}},
                          {"features.1.0.attn.qkv.bias", SR_SHAPE(6), {1, 2, 0, 0, 5, 6}}};
    SrConvertOptions to_tv = {.rename = true}, to_timm = {.rename = true, .names = SR_NAMES_TIMM};
    SrConvertResult result;
    char dir[64], a[100], b[100];
    temp_dir_make(dir);
    snprintf(a, sizeof a, "%s/a.pth", dir);
    snprintf(b, sizeof b, "%s/b.pth", dir);
    write_tensors(a, timm, 5, SR_F32);
    CHECK_OK(convert_tried(a, b, &to_tv, &result));
    check_tensors(b, "", tv, 4);
    CHECK_OK(convert_tried(b, a, &to_timm, &result));
    check_tensors(a, "", timm, 5);
    tv[1].name = "features.1.0.attn.other"; // in the first Swin the biases are one tensor
    write_tensors(b, tv, 4, SR_F32);
    CHECK_OK(convert_tried(b, a, &to_timm, &result));
    CHECK_INT(result.tensors, 4);
    tv[1].name = "features.1.0.attn.logit_scale";
    temp_dir_remove(dir);
}

TEST(test_class_place) {
    static Tensor theirs[] = {{"cls_token", SR_SHAPE(1, 1, 2), {10, 20}},
                              {"pos_embed", SR_SHAPE(1, 5, 2), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
                              {"register_tokens", SR_SHAPE(1, 1, 2), {4, 3}},
                              {"blocks.0.attn.qkv.weight", SR_SHAPE(2), {1}},
                              {"blocks.0.mlp.w12.weight", SR_SHAPE(4, 2), {1}},
                              {"blocks.0.mlp.w3.weight", SR_SHAPE(2, 2), {1}}};
    static Tensor timm[] = {{"cls_token", SR_SHAPE(1, 1, 2), {11, 22}},
                            {"pos_embed", SR_SHAPE(1, 4, 2), {3, 4, 5, 6, 7, 8, 9, 10}},
                            {"reg_token", SR_SHAPE(1, 1, 2), {4, 3}},
                            {"blocks.0.attn.qkv.weight", SR_SHAPE(2), {1}},
                            {"blocks.0.mlp.fc1.weight", SR_SHAPE(4, 2), {1}},
                            {"blocks.0.mlp.fc2.weight", SR_SHAPE(2, 2), {1}}};
    SrConvertOptions to_timm = {.rename = true, .names = SR_NAMES_TIMM},
                     to_vissl = {.rename = true, .names = SR_NAMES_VISSL, .only_trunk = true};
    SrConvertResult result;
    char dir[64], a[100], b[100];
    temp_dir_make(dir);
    snprintf(a, sizeof a, "%s/a.pth", dir);
    snprintf(b, sizeof b, "%s/b.pth", dir);
    write_tensors(a, theirs, 6, SR_F32);
    CHECK_OK(convert_tried(a, b, &to_timm, &result));
    check_tensors(b, "", timm, 6);
    // The position that was added to the class token stays there.
    CHECK_OK(convert_tried(b, a, &to_vissl, &result));
    memcpy(theirs[0].values, timm[0].values, sizeof theirs[0].values);
    theirs[1].values[0] = theirs[1].values[1] = 0;
    check_tensors(a, "classy_state_dict.base_model.model.trunk.", theirs, 6);
    write_tensors(a, theirs, 6, SR_F16);
    CHECK_FAILS(sr_convert(a, b, &to_timm, &result), SR_ERR_CONFIG, "needs both as F32");
    temp_dir_remove(dir);
}

// ---- large and odd parts ------------------------------------------------------------------------

enum { LARGE = 80000 }; // more than an arena takes at once, so that each part is an allocation

static SrStatus read_zeros(void *arg, int i, const void **data) {
    static const float zeros[8 * LARGE];
    (void)arg, (void)i;
    *data = zeros;
    return SR_OK;
}

typedef struct {
    char dir[64], in[100], out[100];
    SrConvertOptions options;
} Conversion;

static SrStatus convert(void *arg) {
    const Conversion *c = arg;
    SrConvertResult result;
    return sr_convert(c->in, c->out, &c->options, &result);
}

typedef struct {
    const char *name;
    SrShape shape;
} Part;

// Converts tensors of zeros with every allocation failing in turn; returns the tensors written.
static int convert_parts(const Part *parts, SrDtype dtype, SrNames names, bool plain) {
    Conversion c = {.options = {.rename = true, .names = names, .plain = plain}};
    SrSaveItem items[8];
    SrConvertResult result;
    int n = 0;
    temp_dir_make(c.dir);
    snprintf(c.in, sizeof c.in, "%s/in.safetensors", c.dir);
    snprintf(c.out, sizeof c.out, "%s/out.safetensors", c.dir);
    for (; parts[n].name; n++)
        items[n] = (SrSaveItem){.name = parts[n].name, .shape = parts[n].shape, .dtype = dtype};
    SrSave save = {items, n, read_zeros, NULL};
    CHECK_OK(sr_save(c.in, &save));
    CHECK(fail_allocations(convert, &c) > 0);
    CHECK_OK(sr_convert(c.in, c.out, &c.options, &result));
    temp_dir_remove(c.dir);
    return result.tensors;
}

#define SWIN(bias, shape) \
    {BLOCK "qkv.weight", SR_SHAPE(6, 2)}, { BLOCK bias, shape }
#define NORM_OF_TIMM \
    { "layers.1.downsample.norm.weight", SR_SHAPE(4) }
#define OF_TV(bias, shape)                                                                         \
    {"features.1.0.attn.qkv.weight", SR_SHAPE(6, 2)},                                              \
        {"features.1.0.attn.logit_scale", SR_SHAPE(1)}, {"features.2.norm.weight", SR_SHAPE(4)}, { \
        "features.1.0.attn." bias, shape                                                           \
    }
#define VIT \
    { "blocks.0.attn.qkv.weight", SR_SHAPE(3, 1) }
#define DINOV3(token) \
    VIT, { token, SR_SHAPE(1, 1, 1) }

// Parts that do not fit together are converted as they are.
TEST(test_large_and_odd_parts) {
    static const SrShape large = {.rank = 1, .d = {LARGE}}, thrice = {.rank = 1, .d = {3 * LARGE}};
    static const SrShape four = {.rank = 1, .d = {4}}, pair = {.rank = 2, .d = {3, 2}};
    static const struct {
        Part parts[6];
        SrNames to;
        int tensors;
        bool plain;
    } cases[] = {
        {{SWIN("q_bias", large), {BLOCK "v_bias", large}, NORM_OF_TIMM},
         SR_NAMES_TORCHVISION,
         3,
         0},
        {{SWIN("q_bias", large), NORM_OF_TIMM}, SR_NAMES_TORCHVISION, 3, 0},
        {{SWIN("q_bias", four), {BLOCK "v_bias", large}, NORM_OF_TIMM}, SR_NAMES_TORCHVISION, 4, 0},
        {{SWIN("q_bias", pair), {BLOCK "v_bias", pair}, NORM_OF_TIMM}, SR_NAMES_TORCHVISION, 4, 0},
        {{OF_TV("qkv.bias", thrice)}, SR_NAMES_TIMM, 5, 0},
        {{OF_TV("qkv.bias", four)}, SR_NAMES_TIMM, 4, 0},
        {{OF_TV("qkv.bias", pair)}, SR_NAMES_TIMM, 4, 0},
        {{VIT, {"reg_token", SR_SHAPE(1, 1, LARGE)}, {"pos_embed", SR_SHAPE(1, 4, LARGE)}},
         SR_NAMES_VISSL,
         3,
         1},
        {{VIT, {"reg_token", SR_SHAPE(1, 1, 2)}, {"pos_embed", SR_SHAPE(1, 5, 2)}},
         SR_NAMES_VISSL,
         3,
         1},
        {{VIT, {"reg_token", SR_SHAPE(1, 1, 2)}, {"pos_embed", SR_SHAPE(2, 4, 2)}},
         SR_NAMES_VISSL,
         3,
         1},
        {{VIT, {"reg_token", SR_SHAPE(1, 1, 2)}, {"pos_embed", SR_SHAPE(4, 2)}},
         SR_NAMES_VISSL,
         3,
         1},
        {{VIT, {"reg_token", SR_SHAPE(1, 1, 2)}, {"pos_embed", SR_SHAPE(1, 0, 2)}},
         SR_NAMES_VISSL,
         3,
         1},
        {{VIT,
          {"register_tokens", SR_SHAPE(1, 1, LARGE)},
          {"pos_embed", SR_SHAPE(1, 5, LARGE)},
          {"cls_token", SR_SHAPE(1, 1, LARGE)}},
         SR_NAMES_TIMM,
         4,
         0},
        {{VIT, {"register_tokens", SR_SHAPE(1, 1, 2)}, {"pos_embed", SR_SHAPE(1, 5, 2)}},
         SR_NAMES_TIMM,
         3,
         0},
        {{VIT,
          {"register_tokens", SR_SHAPE(1, 1, 2)},
          {"pos_embed", SR_SHAPE(1, 4, 2)},
          {"cls_token", SR_SHAPE(1, 1, 2)}},
         SR_NAMES_TIMM,
         4,
         0},
        {{VIT,
          {"register_tokens", SR_SHAPE(1, 1, 2)},
          {"pos_embed", SR_SHAPE(2, 5, 2)},
          {"cls_token", SR_SHAPE(1, 1, 2)}},
         SR_NAMES_TIMM,
         4,
         0},
        {{VIT,
          {"register_tokens", SR_SHAPE(1, 1, 2)},
          {"pos_embed", SR_SHAPE(1, 5, 2)},
          {"cls_token", SR_SHAPE(1, 1, 3)}},
         SR_NAMES_TIMM,
         4,
         0},
        {{DINOV3("storage_tokens"), {"blocks.0.attn.qkv.bias", thrice}}, SR_NAMES_TIMM, 2, 0},
        {{DINOV3("storage_tokens"), {"blocks.0.attn.qkv.bias", four}}, SR_NAMES_TIMM, 3, 0},
        {{DINOV3("storage_tokens"), {"blocks.0.attn.qkv.bias", pair}}, SR_NAMES_TIMM, 3, 0},
        {{DINOV3("storage_tokens"), {"blocks.0.attn.qkv.bias", four}}, SR_NAMES_VISSL, 3, 1},
        {{DINOV3("storage_tokens"), {"blocks.0.attn.qkv.bias", pair}}, SR_NAMES_VISSL, 3, 1},
        {{DINOV3("storage_tokens"),
          {"blocks.0.attn.qkv.bias", thrice},
          {"cls_token", SR_SHAPE(1, 1, 4096)}},
         SR_NAMES_VISSL,
         6,
         1},
        {{DINOV3("reg_token"),
          {"blocks.0.gamma_1", SR_SHAPE(2)},
          {"blocks.0.attn.q_bias", large},
          {"blocks.0.attn.v_bias", large}},
         SR_NAMES_VISSL,
         5,
         1},
        {{{"blocks.0.attn.qkv.weight", SR_SHAPE(1, 4096)},
          {"reg_token", SR_SHAPE(1, 1, 2)},
          {"blocks.0.gamma_1", SR_SHAPE(2)}},
         SR_NAMES_VISSL,
         3,
         1},
        {{{"blocks.0.attn.qkv.weight", SR_SHAPE(6)},
          {"reg_token", SR_SHAPE(1, 1, 2)},
          {"blocks.0.gamma_1", SR_SHAPE(2)}},
         SR_NAMES_VISSL,
         3,
         1},
        {{{"blocks.0.attn.qkv.weight", SR_SHAPE(3 * LARGE, 1)},
          {"reg_token", SR_SHAPE(1, 1, 2)},
          {"blocks.0.gamma_1", SR_SHAPE(2)}},
         SR_NAMES_VISSL,
         5,
         1},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        int tensors = convert_parts(cases[i].parts, SR_F32, cases[i].to, cases[i].plain);
        if (tensors != cases[i].tensors)
            print_message("case %d: %d tensors\n", i, tensors);
        CHECK_INT(tensors, cases[i].tensors);
    }
    // Constants are made for numbers of 32 bits only.
    static const Part half[] = {DINOV3("storage_tokens"),
                                {"cls_token", SR_SHAPE(1, 1, 2)},
                                {"blocks.0.attn.qkv.bias", SR_SHAPE(3)},
                                {NULL}};
    CHECK_INT(convert_parts(half, SR_F16, SR_NAMES_VISSL, true), 4);
}

SR_TESTS(naming_parts, unit(test_swin_biases), unit(test_class_place),
         unit(test_large_and_odd_parts))
