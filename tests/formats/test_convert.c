// Tests writing, renaming and converting weights: a written file reads back equal, with the
// requested names.
#include "formats/convert.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "formats/stats.h"
#include "formats/weights/nested_dict.h"
#include "formats/weights/save_item.h"
#include "formats/weights/weights.h"
#include "tests/check.h"
#include "tests/failures.h"
#include "tests/formats/convert_tried.h"

#define FILES "tests/formats/files/"

typedef struct {
    char dir[64], path[160];
} Folder;

static const char *in_folder(Folder *f, const char *name) {
    CHECK_OK(sr_file_join(f->path, sizeof f->path, f->dir, name));
    return f->path;
}

static void folder_init(Folder *f) {
    snprintf(f->dir, sizeof f->dir, "/tmp/sslrun-convert-XXXXXX");
    CHECK(mkdtemp(f->dir));
}

static void folder_deinit(Folder *f) {
    char **names;
    int n;
    CHECK_OK(sr_file_list(f->dir, &names, &n));
    for (int i = 0; i < n; i++)
        CHECK_OK(sr_file_remove(in_folder(f, names[i])));
    sr_file_list_free(names, n);
    rmdir(f->dir);
}

static void check_same(const char *a_path, const char *b_path) {
    SrWeights a, b;
    SrTensor x, y;
    SrTensorDiff diff;
    CHECK_OK(sr_weights_open(&a, a_path));
    CHECK_OK(sr_weights_open(&b, b_path));
    CHECK_INT(a.n, b.n);
    for (int i = 0; i < a.n; i++) {
        int j = sr_weights_find(&b, a.tensors[i].name);
        CHECK(j >= 0);
        CHECK(sr_shape_equal(a.tensors[i].shape, b.tensors[j].shape));
        CHECK_OK(sr_weights_read(&a, i, &x));
        CHECK_OK(sr_weights_read(&b, j, &y));
        sr_tensor_diff(&x, &y, &diff);
        CHECK(diff.same_bits);
    }
    sr_weights_close(&a);
    sr_weights_close(&b);
}

TEST(test_formats) {
    static const char *const names[] = {"a.pth", "a.safetensors", "b.pt"};
    SrConvertOptions options = {.rename = false};
    SrConvertResult result;
    Folder f;
    folder_init(&f);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(convert_tried(FILES "nested.pth", in_folder(&f, names[i]), &options, &result));
        CHECK_INT(result.tensors, 9);
        check_same(FILES "nested.pth", f.path);
    }
    CHECK_FAILS(sr_convert(FILES "nested.pth", in_folder(&f, "a.npz"), &options, &result),
                SR_ERR_CONFIG, "NumPy has no BF16");
    CHECK(!sr_file_exists(f.path)); // no partial file is left
    CHECK_OK(convert_tried(FILES "arrays.npz", in_folder(&f, "a.npz"), &options, &result));
    check_same(FILES "arrays_deflated.npz", f.path);
    CHECK_FAILS(sr_convert(FILES "arrays.npz", "a.xyz", &options, &result), SR_ERR_CONFIG,
                ".safetensors");
    CHECK_FAILS(sr_convert(FILES "bomb.npz", in_folder(&f, "bomb.pth"), &options, &result),
                SR_ERR_CONFIG, "would need");
    CHECK(!sr_file_exists(f.path));
    folder_deinit(&f);
}

static SrStatus read_zeros(void *arg, int i, const void **data) {
    (void)i;
    *data = arg;
    return SR_OK;
}

// Values of every kind: a .pth keeps all under nested keys, the other formats keep the tensors.
TEST(test_kinds_of_values) {
    static float zeros[4];
    const SrSaveItem items[] = {
        {.name = "model/a/w", .shape = SR_SHAPE(2, 2), .dtype = SR_F32},
        {.name = "model/a/text", .kind = SR_SAVE_TEXT, .text = "words"},
        {.name = "model/b", .kind = SR_SAVE_INT, .i = -5},
        {.name = "far", .kind = SR_SAVE_INT, .i = (int64_t)1 << 40},
        {.name = "near", .kind = SR_SAVE_INT, .i = -((int64_t)1 << 31) - 1},
        {.name = "real", .kind = SR_SAVE_FLOAT, .f = -0.375},
        {.name = "yes", .kind = SR_SAVE_BOOL, .i = 1},
        {.name = "no", .kind = SR_SAVE_BOOL, .i = 0},
        {.name = "none", .kind = SR_SAVE_NONE},
        {.name = "empty", .kind = SR_SAVE_DICT},
    };
    static const char *const values[][2] = {{"model.a.text", "words"}, {"model.b", "-5"},
                                            {"far", "1099511627776"},  {"near", "-2147483649"},
                                            {"real", "-0.375"},        {"yes", "True"},
                                            {"no", "False"},           {"none", "None"}};
    static const char *const names[] = {"a.pth", "a.npz", "a.safetensors"};
    SrSave save = {items, SR_COUNT(items), read_zeros, zeros};
    SrWeights w;
    Folder f;
    folder_init(&f);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(sr_save(in_folder(&f, names[i]), &save));
        CHECK_OK(sr_weights_open(&w, f.path));
        CHECK_INT(w.n, 1);
        CHECK_STR(w.tensors[0].name, "model.a.w");
        for (int k = 0; i == 0 && k < SR_COUNT(values); k++)
            CHECK_STR(sr_weights_meta(&w, values[k][0]), values[k][1]);
        CHECK_INT(w.n_meta, i == 0 ? SR_COUNT(values) : i == 1 ? 0 : 1);
        sr_weights_close(&w);
    }
    char long_name[1100] = "";
    memset(long_name, 'x', sizeof long_name - 1);
    const SrSaveItem item = {.name = long_name, .shape = SR_SHAPE(1), .dtype = SR_F32};
    save = (SrSave){&item, 1, read_zeros, zeros};
    CHECK_FAILS(sr_save(in_folder(&f, "b.npz"), &save), SR_ERR_CONFIG, "is too long");
    CHECK(!sr_file_exists(f.path));
    CHECK_FAILS(sr_save(in_folder(&f, "b.zip"), &save), SR_ERR_CONFIG, "the format is not known");
    const SrSaveItem huge = {.name = "x", .shape = SR_SHAPE(1 << 15, 1 << 15), .dtype = SR_F32};
    save.items = &huge;
    CHECK_FAILS(sr_save(in_folder(&f, "b.pth"), &save), SR_ERR_CONFIG, "has more than 4 GiB");
    CHECK(!sr_file_exists(f.path));
    folder_deinit(&f);
}

typedef struct {
    SrSave save;
    const char *path;
} Saving;

static SrStatus save_again(void *arg) {
    const Saving *s = arg;
    return sr_save(s->path, &s->save);
}

// A disk that is full within each part of an archive: names, headers, padding and numbers.
TEST(test_full_disk) {
    enum { N = 60 };
    static float zeros[40 * N];
    static char names[N][700];
    static const char *const files[] = {"a.npz", "a.pth"};
    SrSaveItem items[N];
    Folder f;
    folder_init(&f);
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "%d%0*d", i, 10 + 11 * i, 0);
        items[i] =
            (SrSaveItem){.name = names[i], .shape = SR_SHAPE(i % 3 ? 40 * i : 0), .dtype = SR_F32};
    }
    items[N - 1].shape = SR_SHAPE(0);
    for (int i = 0; i < 2; i++) {
        Saving s = {{items, N, read_zeros, zeros}, in_folder(&f, files[i])};
        fail_writes(save_again, &s, s.path, 25);
    }
    folder_deinit(&f);
}

// ---- names --------------------------------------------------------------------------------------

// Writes a .pth with one tensor (4, 4, 1, 1) per name; NULL ends the names.
static void write_names(const char *path, const char *const *names) {
    static float zeros[16];
    SrSaveItem items[32];
    int n = 0;
    for (; names[n]; n++)
        items[n] = (SrSaveItem){.name = names[n], .shape = SR_SHAPE(4, 4, 1, 1), .dtype = SR_F32};
    SrSave save = {items, n, read_zeros, zeros};
    CHECK_OK(sr_save(path, &save));
}

TEST(test_writers) {
    static const struct {
        const char *names[6];
        const char *writer, *prefix;
        const char *from, *to; // one tensor and its torchvision name
    } cases[] = {
        {{"layer1.0.conv1.weight", "fc.weight"},
         "torchvision's names",
         "",
         "fc.weight",
         "fc.weight"},
        {{"module.layer1.0.conv1.weight", "module.conv1.weight", "module.prototypes.weight"},
         "SwAV",
         "module.",
         "module.conv1.weight",
         "conv1.weight"},
        {{"state_dict/module.encoder_k.layer1.0.conv1.weight",
          "state_dict/module.encoder_q.layer1.0.conv1.weight",
          "state_dict/module.encoder_q.bn1.bias"},
         "MoCo",
         "state_dict.module.encoder_q.",
         "state_dict.module.encoder_q.bn1.bias",
         "bn1.bias"},
        {{"student/module.backbone.layer1.0.conv1.weight",
          "teacher/backbone.layer1.0.conv1.weight"},
         "DINO",
         "teacher.backbone.",
         "teacher.backbone.layer1.0.conv1.weight",
         "layer1.0.conv1.weight"},
        {{"teacher/backbone.blocks.0.attn.qkv.weight", "teacher/backbone.cls_token"},
         "DINO",
         "teacher.backbone.",
         "teacher.backbone.cls_token",
         "class_token"},
        {{"state_dict/backbone.0.weight", "state_dict/backbone.4.0.conv1.weight",
          "state_dict/backbone.7.1.bn2.bias"},
         "lightly",
         "state_dict.backbone.",
         "state_dict.backbone.7.1.bn2.bias",
         "layer4.1.bn2.bias"},
        {{"state_dict/momentum_backbone.layer1.0.conv1.weight",
          "state_dict/backbone.layer1.0.conv1.weight"},
         "solo-learn",
         "state_dict.backbone.",
         "state_dict.backbone.layer1.0.conv1.weight",
         "layer1.0.conv1.weight"},
        {{"trunk._feature_blocks.layer1.0.conv1.weight", "heads.0.clf.0.weight"},
         "VISSL",
         "trunk._feature_blocks.",
         "trunk._feature_blocks.layer1.0.conv1.weight",
         "layer1.0.conv1.weight"},
        {{"classy_state_dict/ema_model/model/trunk/_feature_blocks.layer1.0.conv1.weight",
          "classy_state_dict/base_model/model/trunk/_feature_blocks.layer1.0.conv1.weight",
          "classy_state_dict/base_model/model/heads/0.clf.0.weight"},
         "VISSL",
         "classy_state_dict.base_model.model.trunk._feature_blocks.",
         "classy_state_dict.base_model.model.trunk._feature_blocks.layer1.0.conv1.weight",
         "layer1.0.conv1.weight"},
        {{"trunk.base_model._feature_blocks.layer1.0.conv1.weight"}, // VISSL's feature extractor
         "VISSL",
         "trunk.base_model._feature_blocks.",
         "trunk.base_model._feature_blocks.layer1.0.conv1.weight",
         "layer1.0.conv1.weight"},
        {{"state_dict/module.momentum_encoder.layer1.0.conv1.weight",
          "state_dict/module.base_encoder.layer1.0.conv1.weight"},
         "MoCo", // MoCo v3
         "state_dict.module.base_encoder.",
         "state_dict.module.base_encoder.layer1.0.conv1.weight",
         "layer1.0.conv1.weight"},
        {{"state_dict/encoder.layer1.0.conv1.weight", "state_dict/encoder.bn1.bias"},
         "solo-learn", // before solo-learn 1.0.4
         "state_dict.encoder.",
         "state_dict.encoder.bn1.bias",
         "bn1.bias"},
        {{"class_token", "conv_proj.weight", "encoder.layers.encoder_layer_0.ln_1.weight"},
         "torchvision's names",
         "",
         "encoder.layers.encoder_layer_0.ln_1.weight",
         "encoder.layers.encoder_layer_0.ln_1.weight"},
        {{"blocks.0.attn.qkv.weight", "blocks.0.mlp.fc2.bias"},
         "timm",
         "",
         "blocks.0.mlp.fc2.bias",
         "encoder.layers.encoder_layer_0.mlp.3.bias"},
    };
    Folder f;
    folder_init(&f);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        SrWeights w;
        SrNaming naming;
        char bare[256];
        write_names(in_folder(&f, "x.pth"), cases[i].names);
        CHECK_OK(sr_weights_open(&w, f.path));
        sr_naming_detect(&w, &naming);
        CHECK_STR(naming.writer, cases[i].writer);
        CHECK_STR(naming.prefix, cases[i].prefix);
        CHECK(sr_naming_bare(&naming, cases[i].from, SR_NAMES_TORCHVISION, bare, sizeof bare));
        CHECK_STR(bare, cases[i].to);
        CHECK(!sr_naming_bare(&naming, "optimizer.state.0.step", SR_NAMES_TORCHVISION, bare,
                              sizeof bare) ||
              !*cases[i].prefix);
        sr_weights_close(&w);
    }
    folder_deinit(&f);
}

TEST(test_rename) {
    static const char *const names[] = {"conv1.weight", "layer1.0.conv1.weight",
                                        "layer4.0.conv1.weight", "fc.weight", NULL};
    SrConvertOptions vissl = {.rename = true, .names = SR_NAMES_VISSL};
    SrConvertOptions torchvision = {.rename = true}, trunk = {.only_trunk = true};
    SrConvertResult result;
    SrWeights w;
    Folder f;
    char first[160], second[160];
    folder_init(&f);
    snprintf(first, sizeof first, "%s/first.pth", f.dir);
    snprintf(second, sizeof second, "%s/vissl.torch", f.dir);
    write_names(first, names);
    CHECK_OK(convert_tried(first, second, &vissl, &result));
    CHECK_OK(sr_weights_open(&w, second));
    CHECK(sr_weights_find(
              &w, "classy_state_dict.base_model.model.trunk._feature_blocks.conv1.weight") >= 0);
    CHECK(sr_weights_find(&w, "classy_state_dict.base_model.model.heads.0.clf.0.weight") >= 0);
    CHECK_STR(sr_weights_meta(&w, "type"), "consolidated");
    sr_weights_close(&w);
    CHECK_OK(convert_tried(second, in_folder(&f, "back.pth"), &torchvision, &result));
    check_same(first, f.path);
    CHECK_OK(convert_tried(first, second, &trunk, &result));
    CHECK_INT(result.tensors, 3);
    CHECK_INT(result.left_out, 1);
    CHECK_OK(convert_tried(second, in_folder(&f, "strict.pth"), &torchvision, &result));
    CHECK(result.blank_classifier);
    CHECK_OK(sr_weights_open(&w, f.path));
    int fc = sr_weights_find(&w, "fc.weight");
    CHECK(fc >= 0);
    CHECK_INT(w.tensors[fc].shape.d[0], 1000);
    CHECK_INT(w.tensors[fc].shape.d[1], 4);
    sr_weights_close(&w);
    CHECK_FAILS(sr_convert(FILES "nested.pth", in_folder(&f, "n.pth"), &torchvision, &result),
                SR_ERR_CONFIG, "no trunk of a known kind");
    folder_deinit(&f);
}

// Writes tensors of these names and shapes; a name of NULL ends the list.
typedef struct {
    const char *name;
    SrShape shape;
} Shaped;

static void write_shaped(const char *path, const Shaped *tensors) {
    static float zeros[1 << 18];
    SrSaveItem items[32];
    int n = 0;
    for (; tensors[n].name; n++)
        items[n] =
            (SrSaveItem){.name = tensors[n].name, .shape = tensors[n].shape, .dtype = SR_F32};
    SrSave save = {items, n, read_zeros, zeros};
    CHECK_OK(sr_save(path, &save));
}

static void check_shape(const char *path, const char *name, SrShape shape) {
    SrWeights w;
    char text[SR_SHAPE_TEXT_BYTES];
    CHECK_OK(sr_weights_open(&w, path));
    int at = sr_weights_find(&w, name);
    if (at < 0 || !sr_shape_equal(w.tensors[at].shape, shape))
        fail_msg("%s is %s", name,
                 at < 0 ? "missing" : sr_shape_text(w.tensors[at].shape, text, sizeof text));
    sr_weights_close(&w);
}

#define ONE SR_SHAPE(4, 4, 1, 1)
#define VISSL_HEADS "classy_state_dict.base_model.model.heads."

// Heads go to VISSL's place, and only its linear head becomes torchvision's classifier.
TEST(test_heads) {
    static const Shaped ours[] = {{"trunk._feature_blocks.layer1.0.conv1.weight", ONE},
                                  {"trunk._feature_blocks.layer4.0.conv1.weight", ONE},
                                  {"heads.0.clf.0.weight", SR_SHAPE(3, 4)},
                                  {"heads.0.clf.0.bias", SR_SHAPE(3)},
                                  {"heads.1.weight", SR_SHAPE(2, 4)},
                                  {NULL}};
    static const Shaped trunk[] = {{"trunk._feature_blocks.layer1.0.conv1.weight", ONE},
                                   {"heads.1.weight", SR_SHAPE(2, 4)},
                                   {NULL}};
    SrConvertOptions vissl = {.rename = true, .names = SR_NAMES_VISSL},
                     torchvision = {.rename = true},
                     vissl_trunk = {.rename = true, .names = SR_NAMES_VISSL, .only_trunk = true},
                     kept = {.only_trunk = true};
    SrConvertResult result;
    SrWeights w;
    char a[160], b[160];
    Folder f;
    folder_init(&f);
    snprintf(a, sizeof a, "%s/a.pth", f.dir);
    snprintf(b, sizeof b, "%s/b.pth", f.dir);
    write_shaped(a, ours);
    CHECK_OK(convert_tried(a, b, &vissl, &result));
    check_shape(b, VISSL_HEADS "0.clf.0.weight", SR_SHAPE(3, 4));
    check_shape(b, VISSL_HEADS "1.weight", SR_SHAPE(2, 4));
    CHECK_INT(result.left_out, 0);
    CHECK_OK(convert_tried(a, b, &torchvision, &result));
    check_shape(b, "fc.weight", SR_SHAPE(3, 4));
    check_shape(b, "fc.bias", SR_SHAPE(3));
    CHECK_INT(result.tensors, 4);
    CHECK(!result.blank_classifier);
    CHECK_OK(convert_tried(a, b, &vissl_trunk, &result));
    CHECK_INT(result.tensors, 2);
    CHECK_OK(convert_tried(a, b, &kept, &result));
    check_shape(b, "trunk._feature_blocks.layer1.0.conv1.weight", ONE);
    CHECK_INT(result.tensors, 2);
    write_shaped(a, trunk); // without a last stage no classifier fits
    CHECK_OK(convert_tried(a, b, &torchvision, &result));
    CHECK_INT(result.tensors, 1);
    CHECK(!result.blank_classifier);
    CHECK_OK(sr_safetensors_save(in_folder(&f, "none.safetensors"), NULL, 0, NULL, NULL, 0));
    CHECK_OK(sr_weights_open(&w, f.path));
    CHECK_INT(sr_weights_find(&w, "x"), -1);
    CHECK_FAILS(sr_weights_descend(&w, "x"), SR_ERR_CONFIG, "has no key 'x'; it has: none");
    sr_weights_close(&w);
    for (int renamed = 0; renamed < 2; renamed++)
        CHECK_FAILS(sr_convert(f.path, b, renamed ? &torchvision : &(SrConvertOptions){0}, &result),
                    SR_ERR_CONFIG, "no tensors to convert");
    folder_deinit(&f);
}

// A transformer's file may hold tensors of any name next to its trunk, and torchvision's classifier
// is named as heads are.
TEST(test_heads_of_transformers) {
    enum { HEADS = 28 };
    static const Shaped torchvision[] = {
        {"encoder.layers.encoder_layer_0.ln_1.weight", SR_SHAPE(4)},
        {"encoder.layers.encoder_layer_0.self_attention.in_proj_weight", SR_SHAPE(12, 4)},
        {"heads.head.weight", SR_SHAPE(3, 4)},
        {NULL}};
    SrConvertOptions vissl = {.rename = true, .names = SR_NAMES_VISSL}, back = {.rename = true};
    SrConvertResult result;
    Shaped timm[HEADS + 2] = {{"blocks.0.attn.qkv.weight", SR_SHAPE(12, 4)}};
    char names[HEADS][24], a[160], b[160];
    SrWeights w;
    Folder f;
    folder_init(&f);
    snprintf(a, sizeof a, "%s/a.pth", f.dir);
    snprintf(b, sizeof b, "%s/b.pth", f.dir);
    for (int i = 0; i < HEADS; i++) {
        snprintf(names[i], sizeof names[i], "heads.%d.weight", i);
        timm[1 + i] = (Shaped){names[i], SR_SHAPE(2, 4)};
    }
    write_shaped(a, timm);
    CHECK_OK(sr_convert(a, b, &vissl, &result));
    CHECK_INT(result.tensors, 1 + HEADS); // each once
    CHECK_INT(result.left_out, 0);
    check_shape(b, VISSL_HEADS "27.weight", SR_SHAPE(2, 4));
    CHECK_OK(sr_weights_open(&w, b));
    CHECK_INT(w.n, 1 + HEADS);
    sr_weights_close(&w);
    write_shaped(a, torchvision);
    CHECK_OK(convert_tried(a, b, &vissl, &result));
    check_shape(b, VISSL_HEADS "0.clf.0.weight", SR_SHAPE(3, 4));
    CHECK_INT(result.left_out, 0);
    CHECK_OK(convert_tried(b, a, &back, &result));
    CHECK_INT(result.tensors, 2);
    folder_deinit(&f);
}

// The message on a wrong key names the first twelve of a file.
TEST(test_wrong_key) {
    Shaped many[15] = {{NULL}};
    char names[14][8];
    SrWeights w;
    Folder f;
    folder_init(&f);
    for (int i = 0; i < 14; i++) {
        snprintf(names[i], sizeof names[i], "k%02d.x", i);
        many[i] = (Shaped){names[i], ONE};
    }
    names[1][2] = '0', names[1][4] = 'y'; // a second tensor below the first key
    write_shaped(in_folder(&f, "a.safetensors"), many);
    CHECK_OK(sr_weights_open(&w, f.path));
    CHECK_FAILS(
        sr_weights_descend(&w, "x"), SR_ERR_CONFIG,
        "has no key 'x'; it has: k00, k02, k03, k04, k05, k06, k07, k08, k09, k10, k11, k12");
    CHECK(!strstr(sr_status_message(), "k13"));
    CHECK_OK(sr_weights_descend(&w, "k00"));
    CHECK_INT(w.n, 2);
    CHECK(sr_weights_find(&w, "x") >= 0 && sr_weights_find(&w, "y") >= 0);
    sr_weights_close(&w);
    folder_deinit(&f);
}

// ---- one trunk in the names of three writers

enum { MOST_NAMES = 16 };
static const struct {
    // Names by torchvision, VISSL and timm, each in the order of torchvision's.
    const char *names[3][MOST_NAMES];
} families[] = {
    {{{"features.0.0.weight", "features.0.1.bias", "features.1.0.layer_scale",
       "features.1.0.block.0.weight", "features.1.0.block.2.bias", "features.1.0.block.3.weight",
       "features.1.0.block.5.weight", "features.4.0.weight", "features.4.1.bias",
       "features.5.11.layer_scale", "classifier.0.weight", "classifier.2.weight"},
      {"downsample_layers.0.0.weight", "downsample_layers.0.1.bias", "stages.0.0.gamma",
       "stages.0.0.dwconv.weight", "stages.0.0.norm.bias", "stages.0.0.pwconv1.weight",
       "stages.0.0.pwconv2.weight", "downsample_layers.2.0.weight", "downsample_layers.2.1.bias",
       "stages.2.11.gamma", "norm.weight", "head.weight"},
      {"stem.0.weight", "stem.1.bias", "stages.0.blocks.0.gamma",
       "stages.0.blocks.0.conv_dw.weight", "stages.0.blocks.0.norm.bias",
       "stages.0.blocks.0.mlp.fc1.weight", "stages.0.blocks.0.mlp.fc2.weight",
       "stages.2.downsample.0.weight", "stages.2.downsample.1.bias", "stages.2.blocks.11.gamma",
       "head.norm.weight", "head.fc.weight"}}},
    {{{"features.0.0.weight", "features.0.2.bias", "features.1.0.attn.qkv.weight",
       "features.1.0.attn.relative_position_bias_table", "features.1.0.mlp.0.bias",
       "features.1.1.mlp.3.weight", "features.2.norm.weight", "features.2.reduction.weight",
       "features.4.norm.weight", "features.3.1.norm2.weight", "norm.weight", "head.bias"},
      {"patch_embed.proj.weight", "patch_embed.norm.bias", "layers.0.blocks.0.attn.qkv.weight",
       "layers.0.blocks.0.attn.relative_position_bias_table", "layers.0.blocks.0.mlp.fc1.bias",
       "layers.0.blocks.1.mlp.fc2.weight", "layers.0.downsample.norm.weight",
       "layers.0.downsample.reduction.weight", "layers.1.downsample.norm.weight",
       "layers.1.blocks.1.norm2.weight", "norm.weight", "head.bias"},
      {"patch_embed.proj.weight", "patch_embed.norm.bias", "layers.0.blocks.0.attn.qkv.weight",
       "layers.0.blocks.0.attn.relative_position_bias_table", "layers.0.blocks.0.mlp.fc1.bias",
       "layers.0.blocks.1.mlp.fc2.weight", "layers.1.downsample.norm.weight",
       "layers.1.downsample.reduction.weight", "layers.2.downsample.norm.weight",
       "layers.1.blocks.1.norm2.weight", "norm.weight", "head.fc.bias"}}},
    {{{"stem.0.weight", "stem.1.bias", "trunk_output.block1.block1-0.f.a.0.weight",
       "trunk_output.block1.block1-0.f.a.1.running_mean",
       "trunk_output.block2.block2-0.proj.0.weight", "trunk_output.block2.block2-0.proj.1.bias",
       "trunk_output.block3.block3-11.f.b.0.weight", "trunk_output.block3.block3-11.f.se.fc1.bias",
       "trunk_output.block3.block3-11.f.se.fc2.weight", "trunk_output.block4.block4-0.f.c.0.weight",
       "trunk_output.block4.block4-0.f.c.1.bias", "fc.weight"},
      {"_feature_blocks.conv1.stem.0.weight", "_feature_blocks.conv1.stem.1.bias",
       "_feature_blocks.res2.block1-0.f.a.0.weight",
       "_feature_blocks.res2.block1-0.f.a.1.running_mean",
       "_feature_blocks.res3.block2-0.proj.weight", "_feature_blocks.res3.block2-0.bn.bias",
       "_feature_blocks.res4.block3-11.f.b.0.weight",
       "_feature_blocks.res4.block3-11.f.se.excitation.0.bias",
       "_feature_blocks.res4.block3-11.f.se.excitation.2.weight",
       "_feature_blocks.res5.block4-0.f.c.weight", "_feature_blocks.res5.block4-0.f.final_bn.bias",
       "fc.weight"},
      {"stem.conv.weight", "stem.bn.bias", "s1.b1.conv1.conv.weight", "s1.b1.conv1.bn.running_mean",
       "s2.b1.downsample.conv.weight", "s2.b1.downsample.bn.bias", "s3.b12.conv2.conv.weight",
       "s3.b12.se.fc1.bias", "s3.b12.se.fc2.weight", "s4.b1.conv3.conv.weight",
       "s4.b1.conv3.bn.bias", "head.fc.weight"}}},
    {{{"features.0.1.weight", "features.1.0.block.0.0.weight", "features.1.1.block.0.1.bias",
       "features.2.0.block.0.0.weight", "features.3.2.block.1.0.weight",
       "features.3.2.block.1.1.bias", "features.6.0.block.3.0.weight", "features.7.0.weight",
       "classifier.1.weight"},
      {NULL},
      {"bn1.weight", "blocks.0.0.conv.weight", "blocks.0.1.bn1.bias", "blocks.1.0.conv_exp.weight",
       "blocks.2.2.conv_pwl.weight", "blocks.2.2.bn2.bias", "blocks.5.0.conv_pwl.weight",
       "conv_head.weight", "classifier.weight"}}},
};

static void check_names(const char *path, const char *prefix, const char *const *names) {
    SrWeights w;
    char name[200];
    CHECK_OK(sr_weights_open(&w, path));
    for (int i = 0; i < MOST_NAMES && names[i]; i++) {
        bool head = *prefix &&
                    (strstr(names[i], "fc.") == names[i] || strstr(names[i], "head.") == names[i]);
        if (head)
            snprintf(name, sizeof name, "classy_state_dict.base_model.model.heads.0.clf.0%s",
                     strrchr(names[i], '.'));
        else
            snprintf(name, sizeof name, "%s%s", prefix, names[i]);
        if (sr_weights_find(&w, name) < 0)
            print_message("%s is missing\n", name);
        CHECK(sr_weights_find(&w, name) >= 0);
    }
    sr_weights_close(&w);
}

TEST(test_families) {
    static const char *const prefixes[] = {"", "classy_state_dict.base_model.model.trunk.", ""};
    SrConvertResult result;
    Folder f;
    char first[160], second[160], back[160];
    folder_init(&f);
    snprintf(first, sizeof first, "%s/first.pth", f.dir);
    snprintf(second, sizeof second, "%s/second.pth", f.dir);
    snprintf(back, sizeof back, "%s/back.pth", f.dir);
    for (int i = 0; i < SR_COUNT(families); i++) {
        write_names(first, families[i].names[0]);
        for (int to = 0; to < 3; to++) {
            SrConvertOptions there = {.rename = true, .names = (SrNames)to},
                             home = {.rename = true};
            if (!families[i].names[to][0]) {
                CHECK_FAILS(sr_convert(first, second, &there, &result), SR_ERR_CONFIG,
                            "VISSL has no names for a efficientnet_v2");
                continue;
            }
            CHECK_OK(convert_tried(first, second, &there, &result));
            CHECK_INT(result.left_out, 0);
            check_names(second, prefixes[to], families[i].names[to]);
            CHECK_OK(convert_tried(second, back, &home, &result));
            if (to != SR_NAMES_VISSL) // VISSL's file also has heads, which no trunk has
                check_names(back, "", families[i].names[0]);
        }
    }
    folder_deinit(&f);
}

SR_TESTS(convert, unit(test_formats), unit(test_kinds_of_values), unit(test_full_disk),
         unit(test_writers), unit(test_rename), unit(test_heads), unit(test_heads_of_transformers),
         unit(test_wrong_key), unit(test_families))
