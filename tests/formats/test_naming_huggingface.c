// Tests Hugging Face's names: queries, keys and values are joined and split, every family converts
// there and back, and a part that is missing is refused by its name.
#include <stdio.h>
#include <string.h>

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

typedef struct {
    char dir[64], a[100], b[100];
} Files;

static SrStatus read_values(void *arg, int i, const void **data) {
    *data = ((const Tensor *)arg)[i].values;
    return SR_OK;
}

static void write_tensors(const char *path, Tensor *tensors, int n) {
    SrSaveItem items[24];
    for (int i = 0; i < n; i++)
        items[i] =
            (SrSaveItem){.name = tensors[i].name, .shape = tensors[i].shape, .dtype = SR_F32};
    SrSave save = {items, n, read_values, tensors};
    CHECK_OK(sr_save(path, &save));
}

static void check_tensors(const char *path, const Tensor *tensors, int n) {
    SrWeights w;
    SrTensor t;
    CHECK_OK(sr_weights_open(&w, path));
    CHECK_INT(w.n, n);
    for (int i = 0; i < n; i++) {
        int at = sr_weights_find(&w, tensors[i].name);
        if (at < 0)
            print_message("%s is missing\n", tensors[i].name);
        CHECK(at >= 0);
        CHECK(sr_shape_equal(w.tensors[at].shape, tensors[i].shape));
        CHECK_OK(sr_weights_read(&w, at, &t));
        for (int64_t k = 0; k < sr_shape_count(t.shape); k++)
            CHECK_NEAR(((const float *)t.data)[k], tensors[i].values[k], 0);
    }
    sr_weights_close(&w);
}

static void begin(Files *f) {
    temp_dir_make(f->dir);
    snprintf(f->a, sizeof f->a, "%s/a.safetensors", f->dir);
    snprintf(f->b, sizeof f->b, "%s/b.safetensors", f->dir);
}

static const SrConvertOptions to_meta = {.rename = true, .names = SR_NAMES_VISSL, .plain = true},
                              to_theirs = {
                                  .rename = true, .names = SR_NAMES_VISSL, .huggingface = true};

// Converts both files into each other.
static void there_and_back(const Files *f, Tensor *theirs, int n_theirs, Tensor *ours, int n_ours) {
    SrConvertResult result;
    write_tensors(f->a, theirs, n_theirs);
    CHECK_OK(convert_tried(f->a, f->b, &to_meta, &result));
    CHECK_STR(result.naming.writer, "Hugging Face");
    check_tensors(f->b, ours, n_ours);
    CHECK_OK(convert_tried(f->b, f->a, &to_theirs, &result));
    check_tensors(f->a, theirs, n_theirs);
}

#define THEIRS "layer.0.attention."
#define OURS "blocks.0.attn."

static Tensor dinov3[] = {{"embeddings.cls_token", SR_SHAPE(1, 1, 1), {5}},
                          {"embeddings.register_tokens", SR_SHAPE(1, 1, 1), {6}},
                          {"embeddings.patch_embeddings.weight", SR_SHAPE(1, 1, 1, 1), {7}},
                          {THEIRS "q_proj.weight", SR_SHAPE(1, 1), {1}},
                          {THEIRS "k_proj.weight", SR_SHAPE(1, 1), {2}},
                          {THEIRS "v_proj.weight", SR_SHAPE(1, 1), {3}},
                          {THEIRS "q_proj.bias", SR_SHAPE(1), {8}},
                          {THEIRS "v_proj.bias", SR_SHAPE(1), {9}},
                          {"layer.0.layer_scale1.lambda1", SR_SHAPE(1), {4}},
                          {"layer.0.mlp.up_proj.weight", SR_SHAPE(2, 1), {1, 2}},
                          {"layer.0.mlp.down_proj.weight", SR_SHAPE(1, 2), {3, 4}}};

TEST(test_dinov3) {
    Files f;
    SrWeights w;
    SrConvertResult result;
    begin(&f);
    write_tensors(f.a, dinov3, SR_COUNT(dinov3));
    CHECK_OK(convert_tried(f.a, f.b, &to_meta, &result));
    CHECK_STR(result.naming.trunk, "dinov3_other_patch1");
    static const Tensor meta[] = {{"cls_token", SR_SHAPE(1, 1, 1), {5}},
                                  {"storage_tokens", SR_SHAPE(1, 1, 1), {6}},
                                  {"patch_embed.proj.weight", SR_SHAPE(1, 1, 1, 1), {7}},
                                  {OURS "qkv.weight", SR_SHAPE(3, 1), {1, 2, 3}},
                                  {OURS "qkv.bias", SR_SHAPE(3), {8, 0, 9}},
                                  {OURS "qkv.bias_mask", SR_SHAPE(3), {1, 0, 1}},
                                  {"blocks.0.ls1.gamma", SR_SHAPE(1), {4}},
                                  {"blocks.0.mlp.fc1.weight", SR_SHAPE(2, 1), {1, 2}},
                                  {"blocks.0.mlp.fc2.weight", SR_SHAPE(1, 2), {3, 4}}};
    CHECK_OK(sr_weights_open(&w, f.b));
    CHECK_INT(w.n, SR_COUNT(meta) + 1); // the periods of the rotations
    int periods = sr_weights_find(&w, "rope_embed.periods");
    SrTensor t;
    CHECK(periods >= 0);
    CHECK_OK(sr_weights_read(&w, periods, &t));
    CHECK_INT(sr_shape_count(t.shape), 16);
    CHECK_NEAR(((const float *)t.data)[8], 10, 1e-5); // 100^(4 8 / 64)
    sr_weights_close(&w);
    CHECK_OK(convert_tried(f.b, f.a, &to_theirs, &result));
    check_tensors(f.a, dinov3, SR_COUNT(dinov3));
    temp_dir_remove(f.dir);
}

// timm stores no bias where all numbers are zero, and those of queries and values where not.
TEST(test_dinov3_of_timm) {
    Files f;
    SrConvertResult result;
    SrConvertOptions to_timm = {.rename = true, .names = SR_NAMES_TIMM};
    static Tensor timm[] = {{"reg_token", SR_SHAPE(1, 1, 2), {6, 7}},
                            {"patch_embed.proj.weight", SR_SHAPE(2, 1, 1, 1), {7}},
                            {"blocks.0.gamma_1", SR_SHAPE(2), {4, 5}},
                            {OURS "qkv.weight", SR_SHAPE(6, 2), {1, 2, 3}},
                            {OURS "q_bias", SR_SHAPE(2), {1, 2}},
                            {OURS "v_bias", SR_SHAPE(2), {3, 4}},
                            {"blocks.0.mlp.fc1_g.weight", SR_SHAPE(1, 2), {1, 2}},
                            {"blocks.0.mlp.fc1_x.weight", SR_SHAPE(1, 2), {3, 4}},
                            {"blocks.0.mlp.fc2.weight", SR_SHAPE(2, 1), {5, 6}}};
    static const Tensor meta[] = {{"storage_tokens", SR_SHAPE(1, 1, 2), {6, 7}},
                                  {"patch_embed.proj.weight", SR_SHAPE(2, 1, 1, 1), {7}},
                                  {"blocks.0.ls1.gamma", SR_SHAPE(2), {4, 5}},
                                  {OURS "qkv.weight", SR_SHAPE(6, 2), {1, 2, 3}},
                                  {OURS "qkv.bias", SR_SHAPE(6), {1, 2, 0, 0, 3, 4}},
                                  {OURS "qkv.bias_mask", SR_SHAPE(6), {1, 1, 0, 0, 1, 1}},
                                  {"blocks.0.mlp.w1.weight", SR_SHAPE(1, 2), {1, 2}},
                                  {"blocks.0.mlp.w2.weight", SR_SHAPE(1, 2), {3, 4}},
                                  {"blocks.0.mlp.w3.weight", SR_SHAPE(2, 1), {5, 6}}};
    begin(&f);
    write_tensors(f.a, timm, SR_COUNT(timm));
    CHECK_OK(convert_tried(f.a, f.b, &to_meta, &result));
    CHECK_STR(result.naming.writer, "timm, DINOv3's");
    check_tensors(f.b, meta, SR_COUNT(meta));
    CHECK_OK(convert_tried(f.b, f.a, &to_timm, &result));
    check_tensors(f.a, timm, SR_COUNT(timm));
    timm[4] = timm[8]; // no biases: the authors' form has zeros
    static Tensor zeros = {OURS "qkv.bias", SR_SHAPE(6), {0}};
    write_tensors(f.a, (Tensor[]){timm[0], timm[1], timm[2], timm[3], timm[6], timm[7], timm[8]},
                  7);
    CHECK_OK(convert_tried(f.a, f.b, &to_meta, &result));
    check_tensors(
        f.b,
        (Tensor[]){meta[0], meta[1], meta[2], meta[3], zeros, meta[5], meta[6], meta[7], meta[8]},
        9);
    CHECK_OK(convert_tried(f.b, f.a, &to_timm, &result));
    CHECK_INT(result.tensors, 7);
    temp_dir_remove(f.dir);
}

#define ENCODER "encoder.layer.0."

TEST(test_encoders) {
    Files f;
    static Tensor theirs[] = {
        {"vit.embeddings.position_embeddings", SR_SHAPE(1, 2, 1), {1, 2}},
        {ENCODER "attention.attention.query.weight", SR_SHAPE(1, 1), {1}},
        {ENCODER "attention.attention.key.weight", SR_SHAPE(1, 1), {2}},
        {ENCODER "attention.attention.value.weight", SR_SHAPE(1, 1), {3}},
        {ENCODER "attention.attention.query.bias", SR_SHAPE(1), {4}},
        {ENCODER "attention.attention.key.bias", SR_SHAPE(1), {5}},
        {ENCODER "attention.attention.value.bias", SR_SHAPE(1), {6}},
        {ENCODER "attention.output.dense.bias", SR_SHAPE(1), {7}},
        {ENCODER "layernorm_before.weight", SR_SHAPE(1), {8}},
        {ENCODER "output.dense.bias", SR_SHAPE(1), {9}},
    };
    theirs[0].name += strlen("vit.");
    static Tensor ours[] = {
        {"pos_embed", SR_SHAPE(1, 2, 1), {1, 2}},    {OURS "qkv.weight", SR_SHAPE(3, 1), {1, 2, 3}},
        {OURS "qkv.bias", SR_SHAPE(3), {4, 5, 6}},   {OURS "proj.bias", SR_SHAPE(1), {7}},
        {"blocks.0.norm1.weight", SR_SHAPE(1), {8}}, {"blocks.0.mlp.fc2.bias", SR_SHAPE(1), {9}}};
    begin(&f);
    there_and_back(&f, theirs, SR_COUNT(theirs), ours, SR_COUNT(ours));
    temp_dir_remove(f.dir);
}

#define TOWER "vision_model.encoder.layers.0."

// Converts a vision tower to timm's names and back; nothing else has names for it.
static void tower_there_and_back(Tensor *theirs, int n_theirs, Tensor *timm, int n_timm) {
    static const SrConvertOptions to_timm = {.rename = true, .names = SR_NAMES_TIMM},
                                  to_vissl = {.rename = true, .names = SR_NAMES_VISSL};
    Files f;
    SrConvertResult result;
    begin(&f);
    write_tensors(f.a, theirs, n_theirs);
    CHECK_OK(convert_tried(f.a, f.b, &to_timm, &result));
    CHECK_STR(result.naming.writer, "Hugging Face");
    check_tensors(f.b, timm, n_timm);
    CHECK_FAILS(sr_convert(f.b, f.a, &to_vissl, &result), SR_ERR_CONFIG,
                "names of timm and Hugging Face only");
    CHECK_FAILS(sr_convert(f.b, f.a, &to_meta, &result), SR_ERR_CONFIG, "convert to timm");
    CHECK_OK(convert_tried(f.b, f.a, &to_theirs, &result));
    check_tensors(f.a, theirs, n_theirs);
    temp_dir_remove(f.dir);
}

TEST(test_towers) {
    static Tensor clip[] = {
        {"vision_model.embeddings.class_embedding", SR_SHAPE(2), {1, 2}},
        {"vision_model.embeddings.position_embedding.weight", SR_SHAPE(2, 2), {1, 2, 3, 4}},
        {"vision_model.pre_layrnorm.weight", SR_SHAPE(2), {3, 4}},
        {TOWER "self_attn.q_proj.weight", SR_SHAPE(1, 2), {1, 2}},
        {TOWER "self_attn.k_proj.weight", SR_SHAPE(1, 2), {3, 4}},
        {TOWER "self_attn.v_proj.weight", SR_SHAPE(1, 2), {5, 6}},
        {"visual_projection.weight", SR_SHAPE(1, 2), {7, 8}}};
    static Tensor clip_of_timm[] = {{"cls_token", SR_SHAPE(1, 1, 2), {1, 2}},
                                    {"pos_embed", SR_SHAPE(1, 2, 2), {1, 2, 3, 4}},
                                    {"norm_pre.weight", SR_SHAPE(2), {3, 4}},
                                    {OURS "qkv.weight", SR_SHAPE(3, 2), {1, 2, 3, 4, 5, 6}},
                                    {"head.weight", SR_SHAPE(1, 2), {7, 8}}};
    static Tensor siglip[] = {
        {"vision_model.embeddings.position_embedding.weight", SR_SHAPE(1, 2), {1, 2}},
        {"vision_model.head.probe", SR_SHAPE(1, 1, 2), {5, 6}},
        {"vision_model.head.attention.in_proj_weight", SR_SHAPE(3, 1), {1, 2, 3}},
        {"vision_model.head.attention.in_proj_bias", SR_SHAPE(3), {4, 5, 6}},
        {"vision_model.head.mlp.fc1.bias", SR_SHAPE(1), {7}},
        {TOWER "self_attn.q_proj.weight", SR_SHAPE(1, 1), {1}},
        {TOWER "self_attn.k_proj.weight", SR_SHAPE(1, 1), {2}},
        {TOWER "self_attn.v_proj.weight", SR_SHAPE(1, 1), {3}}};
    static Tensor siglip_of_timm[] = {{"pos_embed", SR_SHAPE(1, 1, 2), {1, 2}},
                                      {"attn_pool.latent", SR_SHAPE(1, 1, 2), {5, 6}},
                                      {"attn_pool.q.weight", SR_SHAPE(1, 1), {1}},
                                      {"attn_pool.kv.weight", SR_SHAPE(2, 1), {2, 3}},
                                      {"attn_pool.q.bias", SR_SHAPE(1), {4}},
                                      {"attn_pool.kv.bias", SR_SHAPE(2), {5, 6}},
                                      {"attn_pool.mlp.fc1.bias", SR_SHAPE(1), {7}},
                                      {OURS "qkv.weight", SR_SHAPE(3, 1), {1, 2, 3}}};
    tower_there_and_back(clip, SR_COUNT(clip), clip_of_timm, SR_COUNT(clip_of_timm));
    tower_there_and_back(siglip, SR_COUNT(siglip), siglip_of_timm, SR_COUNT(siglip_of_timm));
}

TEST(test_convolutional) {
    Files f;
    static Tensor convnext[] = {{"stages.0.downsample_layers.0.weight", SR_SHAPE(1), {1}},
                                {"stages.1.downsample_layers.1.bias", SR_SHAPE(1), {2}},
                                {"stages.0.layers.0.depthwise_conv.weight", SR_SHAPE(1), {3}},
                                {"stages.0.layers.0.layer_norm.weight", SR_SHAPE(1), {4}},
                                {"stages.0.layers.0.pointwise_conv2.bias", SR_SHAPE(1), {5}},
                                {"stages.0.layers.0.gamma", SR_SHAPE(1), {6}},
                                {"layer_norm.weight", SR_SHAPE(1), {7}}};
    static Tensor authors[] = {{"downsample_layers.0.0.weight", SR_SHAPE(1), {1}},
                               {"downsample_layers.1.1.bias", SR_SHAPE(1), {2}},
                               {"stages.0.0.dwconv.weight", SR_SHAPE(1), {3}},
                               {"stages.0.0.norm.weight", SR_SHAPE(1), {4}},
                               {"stages.0.0.pwconv2.bias", SR_SHAPE(1), {5}},
                               {"stages.0.0.gamma", SR_SHAPE(1), {6}},
                               {"norm.weight", SR_SHAPE(1), {7}}};
    static Tensor resnet[] = {
        {"embedder.embedder.convolution.weight", SR_SHAPE(1), {1}},
        {"embedder.embedder.normalization.running_mean", SR_SHAPE(1), {2}},
        {"encoder.stages.0.layers.0.layer.0.convolution.weight", SR_SHAPE(1), {3}},
        {"encoder.stages.2.layers.1.layer.2.normalization.bias", SR_SHAPE(1), {4}},
        {"encoder.stages.1.layers.0.shortcut.convolution.weight", SR_SHAPE(1), {5}},
        {"encoder.stages.1.layers.0.shortcut.normalization.weight", SR_SHAPE(1), {6}}};
    static Tensor torchvision[] = {{"conv1.weight", SR_SHAPE(1), {1}},
                                   {"bn1.running_mean", SR_SHAPE(1), {2}},
                                   {"layer1.0.conv1.weight", SR_SHAPE(1), {3}},
                                   {"layer3.1.bn3.bias", SR_SHAPE(1), {4}},
                                   {"layer2.0.downsample.0.weight", SR_SHAPE(1), {5}},
                                   {"layer2.0.downsample.1.weight", SR_SHAPE(1), {6}}};
    begin(&f);
    there_and_back(&f, convnext, SR_COUNT(convnext), authors, SR_COUNT(authors));
    there_and_back(&f, resnet, SR_COUNT(resnet), torchvision, SR_COUNT(torchvision));
    temp_dir_remove(f.dir);
}

// Writes DINOv3's tensors without one of them, or with another shape of it, and expects a refusal.
static void refuse(const Files *f, int without, SrShape shape, const char *why) {
    Tensor tensors[SR_COUNT(dinov3)];
    SrConvertResult result;
    int n = 0;
    for (int i = 0; i < SR_COUNT(dinov3); i++) {
        tensors[n] = dinov3[i];
        if (i == without && shape.rank == 0)
            continue;
        if (i == without)
            tensors[n].shape = shape;
        n++;
    }
    write_tensors(f->a, tensors, n);
    CHECK_FAILS(sr_convert(f->a, f->b, &to_meta, &result), SR_ERR_CONFIG, why);
}

TEST(test_refusals) {
    Files f;
    SrConvertResult result;
    begin(&f);
    refuse(&f, 4, (SrShape){0}, "layer.0.attention.k_proj.weight is missing");
    refuse(&f, 6, (SrShape){0}, "layer.0.attention.q_proj.bias is missing");
    refuse(&f, 7, (SrShape){0}, "layer.0.attention.v_proj.bias is missing");
    refuse(&f, 5, SR_SHAPE(2, 1), "layer.0.attention.v_proj.weight has another shape or type");
    static Tensor unknown[] = {{"features.0.weight", SR_SHAPE(1), {1}}};
    write_tensors(f.a, unknown, 1);
    CHECK_FAILS(sr_convert(f.a, f.b, &to_theirs, &result), SR_ERR_CONFIG, "no trunk of a known");
    static Tensor swin[] = {{"layers.0.blocks.0.attn.qkv.weight", SR_SHAPE(3, 1), {1}},
                            {"layers.0.downsample.norm.weight", SR_SHAPE(1), {1}}};
    write_tensors(f.a, swin, 2);
    CHECK_FAILS(sr_convert(f.a, f.b, &to_theirs, &result), SR_ERR_CONFIG,
                "Hugging Face's names of a swin are not known");
    temp_dir_remove(f.dir);
}

// Parts of SigLIP's pooling that do not fit together have no names of Hugging Face's.
TEST(test_odd_pooling) {
    static const SrShape odd[] = {{.rank = 0}, {.rank = 2, .d = {1, 1}}, {.rank = 1, .d = {2}}};
    static Tensor timm[] = {{"attn_pool.latent", SR_SHAPE(1, 1, 2), {5, 6}},
                            {"attn_pool.q.weight", SR_SHAPE(1), {1}},
                            {"attn_pool.kv.weight", SR_SHAPE(2), {2, 3}},
                            {OURS "qkv.weight", SR_SHAPE(3, 1), {1, 2, 3}}};
    SrConvertResult result;
    Files f;
    begin(&f);
    write_tensors(f.a, timm, SR_COUNT(timm));
    CHECK_OK(sr_convert(f.a, f.b, &to_theirs, &result));
    CHECK_INT(result.tensors, 5); // the probe, the joined layer, queries, keys and values
    for (int i = 0; i < SR_COUNT(odd); i++) {
        timm[1].shape = odd[i];
        write_tensors(f.a, timm, SR_COUNT(timm));
        CHECK_FAILS(sr_convert(f.a, f.b, &to_theirs, &result), SR_ERR_CONFIG,
                    "attn_pool.q.weight and attn_pool.kv.weight do not fit together");
    }
    for (int i = 1; i <= 2; i++) { // one without the other
        timm[i].name = "attn_pool.other";
        write_tensors(f.a, timm, SR_COUNT(timm));
        CHECK_FAILS(sr_convert(f.a, f.b, &to_theirs, &result), SR_ERR_CONFIG, "one is missing");
        timm[i].name = i == 1 ? "attn_pool.q.weight" : "attn_pool.kv.weight";
    }
    temp_dir_remove(f.dir);
}

enum { LARGE = 80000 }; // floats: more than an arena takes at once

static SrStatus read_zeros(void *arg, int i, const void **data) {
    static const float zeros[3 * LARGE];
    (void)arg, (void)i;
    *data = zeros;
    return SR_OK;
}

typedef struct {
    const Files *files;
    const SrConvertOptions *options;
} Conversion;

static SrStatus convert(void *arg) {
    const Conversion *c = arg;
    SrConvertResult result;
    return sr_convert(c->files->a, c->files->b, c->options, &result);
}

// Queries, keys and values, and the parts of the pooling, so large that each takes memory alone.
TEST(test_large_parts) {
    static const SrConvertOptions to_timm = {.rename = true, .names = SR_NAMES_TIMM};
    static const struct {
        struct {
            const char *name;
            SrShape shape;
        } parts[6];
        const SrConvertOptions *options;
        int tensors;
    } cases[] = {
        {{{THEIRS "q_proj.weight", SR_SHAPE(1, LARGE)},
          {THEIRS "k_proj.weight", SR_SHAPE(1, LARGE)},
          {THEIRS "v_proj.weight", SR_SHAPE(1, LARGE)},
          {"layer.0.mlp.up_proj.weight", SR_SHAPE(2, 1)}},
         &to_meta,
         2},
        {{{OURS "qkv.weight", SR_SHAPE(3, LARGE)}, {"storage_tokens", SR_SHAPE(1, 1, 1)}},
         &to_theirs,
         4},
        {{{OURS "qkv.weight", SR_SHAPE(4, 2)}, {"storage_tokens", SR_SHAPE(1, 1, 1)}},
         &to_theirs,
         1}, // no thirds, and Hugging Face has no name for the whole
        {{{TOWER "self_attn.q_proj.weight", SR_SHAPE(1, 1)},
          {TOWER "self_attn.k_proj.weight", SR_SHAPE(1, 1)},
          {TOWER "self_attn.v_proj.weight", SR_SHAPE(1, 1)},
          {"vision_model.head.probe", SR_SHAPE(1, 1, 2)},
          {"vision_model.head.attention.in_proj_weight", SR_SHAPE(3, LARGE)}},
         &to_timm,
         4},
        {{{OURS "qkv.weight", SR_SHAPE(3, 1)},
          {"attn_pool.latent", SR_SHAPE(1, 1, 2)},
          {"attn_pool.q.weight", SR_SHAPE(1, LARGE)},
          {"attn_pool.kv.weight", SR_SHAPE(2, LARGE)}},
         &to_theirs,
         5},
    };
    SrConvertResult result;
    Files f;
    begin(&f);
    for (int i = 0; i < SR_COUNT(cases); i++) {
        SrSaveItem items[6];
        int n = 0;
        for (; n < 6 && cases[i].parts[n].name; n++)
            items[n] = (SrSaveItem){
                .name = cases[i].parts[n].name, .shape = cases[i].parts[n].shape, .dtype = SR_F32};
        SrSave save = {items, n, read_zeros, NULL};
        Conversion c = {&f, cases[i].options};
        CHECK_OK(sr_save(f.a, &save));
        CHECK(fail_allocations(convert, &c) > 0);
        CHECK_OK(sr_convert(f.a, f.b, cases[i].options, &result));
        if (result.tensors != cases[i].tensors)
            fail_msg("case %d: %d tensors", i, result.tensors);
    }
    temp_dir_remove(f.dir);
}

SR_TESTS(naming_huggingface, unit(test_dinov3), unit(test_dinov3_of_timm), unit(test_encoders),
         unit(test_towers), unit(test_convolutional), unit(test_refusals), unit(test_odd_pooling),
         unit(test_large_parts))
