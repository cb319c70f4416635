// Tests which trunk a file of weights holds by its names and shapes alone: depths and widths of
// ResNets, widths of transformers, copies of a trunk, and names that belong to none.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "formats/names/naming.h"
#include "formats/weights/safetensors.h"
#include "formats/weights/weights.h"
#include "tests/check.h"
#include "tests/temp_dir.h"

enum { MOST = 1200 };

static SrNamedTensor tensors[MOST];
static char names[MOST][80];
static int n_tensors;

SR_PRINTF(2, 3) static void add(SrShape shape, const char *fmt, ...) {
    static const uint8_t zeros[1 << 20];
    va_list args;
    CHECK(n_tensors < MOST && sr_shape_count(shape) <= (int64_t)sizeof zeros);
    va_start(args, fmt);
    vsnprintf(names[n_tensors], sizeof names[0], fmt, args);
    va_end(args);
    tensors[n_tensors] =
        (SrNamedTensor){names[n_tensors], {shape, SR_U8, (void *)(uintptr_t)zeros}};
    n_tensors++;
}

// Writes the tensors that were added, forgets them, and detects their trunk.
static SrNaming detect(void) {
    SrNaming naming;
    SrWeights w;
    char dir[64], path[128];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/x.safetensors", dir);
    CHECK_OK(sr_safetensors_save(path, tensors, n_tensors, NULL, NULL, 0));
    CHECK_OK(sr_weights_open(&w, path));
    sr_naming_detect(&w, &naming);
    sr_weights_close(&w);
    temp_dir_remove(dir);
    n_tensors = 0;
    return naming;
}

// ---- ResNets ------------------------------------------------------------------------------------

#define ONE SR_SHAPE(1, 1, 1, 1)
#define STEM(channels) SR_SHAPE(channels, 3, 7, 7)
static const SrShape none = {.rank = -1};

// Adds a ResNet of these blocks; the shapes of its first block's layers, or `none`.
static void add_resnet(const char *prefix, const int blocks[4], SrShape stem, SrShape second,
                       SrShape third) {
    if (stem.rank >= 0)
        add(stem, "%sconv1.weight", prefix);
    if (second.rank >= 0)
        add(second, "%slayer1.0.conv2.weight", prefix);
    if (third.rank >= 0)
        add(third, "%slayer1.0.conv3.weight", prefix);
    for (int s = 0; s < 4; s++)
        for (int b = 0; b < blocks[s]; b++)
            add(ONE, "%slayer%d.%d.conv1.weight", prefix, s + 1, b);
}

static const int of_18[] = {2, 2, 2, 2}, of_50[] = {3, 4, 6, 3}, of_101[] = {3, 4, 23, 3},
                 of_152[] = {3, 8, 36, 3};

TEST(test_resnets) {
    const struct {
        const int *blocks;
        SrShape stem, second, third;
        const char *trunk, *unlike;
    } cases[] = {
        {of_18, STEM(64), SR_SHAPE(64, 64, 3, 3), none, "resnet18", ""},
        {of_50, STEM(64), SR_SHAPE(64, 64, 3, 3), none, "resnet34", ""},
        {of_50, STEM(64), SR_SHAPE(64, 64, 3, 3), ONE, "resnet50", ""},
        {of_101, none, SR_SHAPE(64, 64, 3, 3), ONE, "resnet101", ""},
        {of_152, STEM(64), SR_SHAPE(64, 64, 3, 3), ONE, "resnet152", ""},
        {of_50, STEM(64), SR_SHAPE(128, 4, 3, 3), ONE, "resnext50_32x4d", ""},
        {of_101, STEM(64), SR_SHAPE(256, 8, 3, 3), ONE, "resnext101_32x8d", ""},
        {of_50, STEM(64), SR_SHAPE(128, 128, 3, 3), ONE, "wide_resnet50_2", ""},
        {of_50, STEM(256), SR_SHAPE(256, 256, 3, 3), ONE, "resnet50w4", ""},
        {of_50, STEM(64), SR_SHAPE(256, 256, 3, 3), ONE, "resnet50w4",
         "conv1 is [64, 3, 7, 7], a resnet50w4's is [256, 3, 7, 7]"},
        {of_50, SR_SHAPE(64, 3, 3, 3), SR_SHAPE(64, 64, 3, 3), ONE, "resnet50",
         "conv1 is [64, 3, 3, 3], a resnet50's is [64, 3, 7, 7]"},
        {of_50, STEM(64), SR_SHAPE(96, 96, 3, 3), ONE, "resnet50", ""},
        {of_50, STEM(64), SR_SHAPE(64, 64), ONE, "resnet50", ""},
        {of_50, STEM(64), SR_SHAPE(64, 0, 3, 3), ONE, "resnet50", ""},
        {of_50, STEM(32), none, ONE, "resnet50",
         "conv1 is [32, 3, 7, 7], a resnet50's is [64, 3, 7, 7]"},
        {of_18, STEM(64), SR_SHAPE(64, 64, 3, 3), ONE, "", ""}, // no bottlenecks are so few
        {of_101, STEM(64), SR_SHAPE(64, 64, 3, 3), none, "", ""},
        {(const int[]){3, 3, 3, 0}, SR_SHAPE(16, 3, 3, 3), none, none, "resnet20", ""},
        {(const int[]){9, 9, 9, 0}, SR_SHAPE(16, 3, 3, 3), none, none, "resnet56", ""},
        {(const int[]){3, 3, 2, 0}, SR_SHAPE(16, 3, 3, 3), none, none, "", ""},
        {(const int[]){3, 2, 2, 0}, SR_SHAPE(16, 3, 3, 3), none, none, "", ""},
        {(const int[]){3, 3, 3, 0}, SR_SHAPE(16, 3, 3, 3), none, ONE, "", ""},
        {(const int[]){1100, 0, 0, 0}, STEM(64), none, none, "", ""},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        add_resnet("", cases[i].blocks, cases[i].stem, cases[i].second, cases[i].third);
        SrNaming n = detect();
        CHECK_INT(n.kind, SR_TRUNK_RESNET);
        if (strcmp(n.trunk, cases[i].trunk) != 0 || strcmp(n.unlike, cases[i].unlike) != 0)
            fail_msg("case %d: \"%s\", \"%s\"", i, n.trunk, n.unlike);
    }
}

// A Sequential of torchvision's layers has numbers in place of names.
TEST(test_sequential) {
    add(STEM(64), "backbone.0.weight");
    for (int s = 0; s < 4; s++)
        for (int b = 0; b < of_50[s]; b++)
            add(ONE, "backbone.%d.%d.conv1.weight", s + 4, b);
    add(SR_SHAPE(64, 64, 3, 3), "backbone.4.0.conv2.weight");
    add(ONE, "backbone.4.0.conv3.weight");
    SrNaming n = detect();
    char bare[200];
    CHECK_INT(n.kind, SR_TRUNK_SEQUENTIAL);
    CHECK_STR(n.trunk, "resnet50");
    CHECK_STR(n.unlike, "");
    CHECK(sr_naming_bare(&n, "backbone.1.bias", SR_NAMES_TIMM, bare, sizeof bare));
    CHECK_STR(bare, "bn1.bias");
    static const char *const others[] = {"backbone.2.weight",  "backbone.8.weight",
                                         "backbone.x.weight",  "backbone.4weight",
                                         "backbone.-1.weight", "backbone.10000.weight"};
    for (int i = 0; i < SR_COUNT(others); i++)
        CHECK(!sr_naming_bare(&n, others[i], SR_NAMES_TIMM, bare, sizeof bare));
    add(STEM(8), "14.0.conv1.weight"); // the number of another layer
    CHECK_INT(detect().kind, SR_TRUNK_UNKNOWN);
}

// ---- writers ------------------------------------------------------------------------------------

#define ANCHOR "layer1.0.conv1.weight"

TEST(test_copies) {
    static const struct {
        const char *names[3];
        const char *prefix, *writer;
    } cases[] = {
        {{"encoder_q." ANCHOR, "encoder_k." ANCHOR}, "encoder_q.", "MoCo"},
        {{"encoder_k." ANCHOR, "encoder_q." ANCHOR}, "encoder_q.", "MoCo"},
        {{"encoder_k." ANCHOR}, "encoder_k.", "torchvision's names in a wrapper"},
        {{"student.backbone." ANCHOR}, "student.backbone.", "DINO"},
        {{"student.backbone." ANCHOR, "teacher.backbone." ANCHOR}, "teacher.backbone.", "DINO"},
        {{"teacher." ANCHOR}, "teacher.", "torchvision's names in a wrapper"},
        {{"student." ANCHOR}, "student.", "torchvision's names in a wrapper"},
        {{"optimizer." ANCHOR}, "", "unknown"},
        {{"a" ANCHOR}, "", "unknown"},
        {{ANCHOR, "projection_head.0.weight"}, "", "SwAV"},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        for (int k = 0; k < 3 && cases[i].names[k]; k++)
            add(ONE, "%s", cases[i].names[k]);
        SrNaming n = detect();
        if (strcmp(n.prefix, cases[i].prefix) != 0 || strcmp(n.writer, cases[i].writer) != 0)
            fail_msg("case %d: \"%s\", \"%s\"", i, n.prefix, n.writer);
    }
}

// Files of Hugging Face are known before their names are changed.
TEST(test_huggingface) {
    add(ONE, "resnet.embedder.embedder.convolution.weight");
    add(ONE, "resnet.encoder.stages.0.layers.0.layer.0.convolution.weight");
    SrNaming n = detect();
    CHECK_STR(n.writer, "Hugging Face");
    CHECK_STR(n.trunk, "resnet");
    CHECK_STR(n.prefix, "resnet.");
}

// ---- transformers -------------------------------------------------------------------------------

TEST(test_transformers) {
    const struct {
        const char *part;
        SrShape patch;
        const char *trunk;
        bool gated;
    } cases[] = {
        {"norm.weight", SR_SHAPE(192, 3, 16, 16), "vit_tiny_patch16", false},
        {"norm.weight", SR_SHAPE(384, 3, 16, 16), "vit_small_patch16", false},
        {"norm.weight", SR_SHAPE(768, 3, 8, 8), "vit_base_patch8", false},
        {"norm.weight", SR_SHAPE(1024, 3, 14, 14), "vit_large_patch14", false},
        {"norm.weight", SR_SHAPE(1280, 3, 4, 4), "vit_other_patch4", false},
        {"norm.weight", SR_SHAPE(768, 768), "", false},
        {"decoder_embed.weight", SR_SHAPE(768, 3, 8, 8), "vit_base_patch8", false},
        {"blocks.0.attn.q_bias", SR_SHAPE(768, 3, 8, 8), "beit_base_patch8", false},
        {"register_tokens", SR_SHAPE(384, 3, 14, 14), "dinov2_small_patch14", false},
        {"blocks.0.0.mlp.w12.weight", SR_SHAPE(384, 3, 14, 14), "vit_small_patch14", true},
        {"blocks.0.mlp.w12.weight", SR_SHAPE(384, 3, 14, 14), "vit_small_patch14", true},
        {"blocks.0.mlp.w1.weight", SR_SHAPE(384, 3, 14, 14), "vit_small_patch14", true},
        {"storage_tokens", SR_SHAPE(384, 3, 16, 16), "dinov3_small_patch16", false},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        add(ONE, "blocks.0.attn.qkv.weight");
        add(ONE, "%s", cases[i].part);
        add(cases[i].patch, "patch_embed.proj.weight");
        SrNaming n = detect();
        if (strcmp(n.trunk, cases[i].trunk) != 0 || n.gated != cases[i].gated)
            fail_msg("case %d: \"%s\", %d", i, n.trunk, n.gated);
    }
    for (int flat = 0; flat < 4; flat++) { // two layers of a branch: 2 D x L and D x L
        add(ONE, "blocks.0.attn.qkv.weight");
        add(flat == 1 ? SR_SHAPE(32) : SR_SHAPE(flat == 3 ? 8 : 16, 4), "blocks.0.mlp.fc1.weight");
        add(flat == 2 ? SR_SHAPE(32) : SR_SHAPE(4, 8), "blocks.0.mlp.fc2.weight");
        CHECK_INT(detect().gated, flat == 0);
    }
    add(ONE, "encoder.layers.encoder_layer_0.ln_1.weight");
    add(SR_SHAPE(768, 3, 16, 16), "conv_proj.weight");
    CHECK_STR(detect().trunk, "vit_base_patch16");
}

// Blocks trained in chunks are numbered through, and a name of no block keeps its own words.
TEST(test_names) {
    static const struct {
        const char *from, *to; // NULL: no part of the trunk
        SrNames names;
    } cases[] = {
        {"blocks.2.17.norm1.weight", "blocks.17.norm1.weight", SR_NAMES_VISSL},
        {"blocks.2.17.norm1.weight", "encoder.layers.encoder_layer_17.ln_1.weight",
         SR_NAMES_TORCHVISION},
        {"blocks.12345.norm1.weight", NULL, SR_NAMES_TORCHVISION},
        {"blocks.x.norm1.weight", NULL, SR_NAMES_TORCHVISION},
        {"blocks.1.other.weight", NULL, SR_NAMES_TORCHVISION},
        {"pos_embed", "encoder.pos_embedding", SR_NAMES_TORCHVISION},
        {"blocks.1.norm1.weight", "blocks.1.norm1.weight", SR_NAMES_TIMM},
        {"decoder_pos_embed", NULL, SR_NAMES_VISSL},
        {"ibot_head.mlp.0.weight", NULL, SR_NAMES_VISSL},
    };
    char bare[128];
    add(ONE, "blocks.0.0.attn.qkv.weight");
    SrNaming n = detect();
    for (int i = 0; i < SR_COUNT(cases); i++) {
        bool found = sr_naming_bare(&n, cases[i].from, cases[i].names, bare, sizeof bare);
        if (found != (cases[i].to != NULL) || (found && strcmp(bare, cases[i].to) != 0))
            fail_msg("%s: %s", cases[i].from, found ? bare : "no part");
    }
    // A name that might not fit after it is written is no part.
    CHECK(!sr_naming_bare(&n, "blocks.1.norm1.weight", SR_NAMES_VISSL, bare, 84));
    CHECK(sr_naming_bare(&n, "blocks.1.norm1.weight", SR_NAMES_VISSL, bare, 85));
    add(ONE, "encoder.layers.encoder_layer_0.ln_1.weight");
    n = detect();
    CHECK(sr_naming_bare(&n, "encoder.layers.encoder_layer_3.mlp.linear_1.bias", SR_NAMES_TIMM,
                         bare, sizeof bare));
    CHECK_STR(bare, "blocks.3.mlp.fc1.bias");
    CHECK(sr_naming_bare(&n, "encoder.layers.encoder_layer_3.mlp.linear_1.bias",
                         SR_NAMES_TORCHVISION, bare, sizeof bare));
    CHECK_STR(bare, "encoder.layers.encoder_layer_3.mlp.0.bias");
}

// A number that a name repeats must agree, and numbers have no leading zeros.
TEST(test_numbers_in_names) {
    static const char *const others[] = {
        "trunk_output.block2.block3-0.f.a.0.weight", "trunk_output.block02.block02-0.f.a.0.weight",
        "trunk_output.block2.block2-00.f.a.0.weight", "trunk_output.blockx.block2-0.f.a.0.weight",
        "trunk_output.block99999.block99999-0.f.a.0.x"};
    char bare[200];
    add(ONE, "trunk_output.block1.block1-0.f.a.0.weight");
    SrNaming n = detect();
    CHECK_STR(n.trunk, "regnet");
    CHECK(sr_naming_bare(&n, "trunk_output.block2.block2-10.f.a.0.weight", SR_NAMES_TIMM, bare,
                         sizeof bare));
    CHECK_STR(bare, "s2.b11.conv1.conv.weight");
    for (int i = 0; i < SR_COUNT(others); i++)
        if (sr_naming_bare(&n, others[i], SR_NAMES_TIMM, bare, sizeof bare))
            fail_msg("%s: %s", others[i], bare);
}

TEST(test_words_of_names) {
    static const char *const words[] = {"torchvision", "vissl", "timm"};
    SrNames parsed = SR_NAMES_TIMM;
    for (int i = 0; i < 3; i++) {
        CHECK(sr_names_parse(words[i], &parsed));
        CHECK_INT(parsed, i);
    }
    CHECK(!sr_names_parse("huggingface", &parsed) && !sr_names_parse("", &parsed));
    CHECK_INT(parsed, SR_NAMES_TIMM);
}

// ---- shapes -------------------------------------------------------------------------------------

TEST(test_shapes) {
    static const char index[] = "blocks.0.attn.relative_position_index";
    const struct {
        const char *name;
        SrShape from, to;
        SrNames names;
    } cases[] = {
        {"conv_head.weight", SR_SHAPE(6, 4), SR_SHAPE(6, 4, 1, 1), SR_NAMES_TIMM},
        {"conv_head.weight", SR_SHAPE(6, 4, 1, 1), SR_SHAPE(6, 4, 1, 1), SR_NAMES_TIMM},
        {"classifier.0.weight", SR_SHAPE(6, 4, 1, 1), SR_SHAPE(6, 4), SR_NAMES_TORCHVISION},
        {"classifier.0.weight", SR_SHAPE(6, 4, 1, 3), SR_SHAPE(6, 4, 1, 3), SR_NAMES_TORCHVISION},
        {"classifier.0.weight", SR_SHAPE(6, 4, 3, 1), SR_SHAPE(6, 4, 3, 1), SR_NAMES_TORCHVISION},
        {"features.1.0.layer_scale", SR_SHAPE(5), SR_SHAPE(5, 1, 1), SR_NAMES_TORCHVISION},
        {"stages.0.0.gamma", SR_SHAPE(5, 1, 1), SR_SHAPE(5), SR_NAMES_VISSL},
        {"stages.0.0.gamma", SR_SHAPE(5), SR_SHAPE(5), SR_NAMES_VISSL},
        {index, SR_SHAPE(4, 4), SR_SHAPE(16), SR_NAMES_TORCHVISION},
        {index, SR_SHAPE(16), SR_SHAPE(4, 4), SR_NAMES_VISSL},
        {index, SR_SHAPE(0), SR_SHAPE(0, 0), SR_NAMES_TIMM},
        {index, SR_SHAPE(4, 4), SR_SHAPE(4, 4), SR_NAMES_TIMM},
        {index, SR_SHAPE(5), SR_SHAPE(5), SR_NAMES_TIMM}, // no square: the numbers would not fit
        {"stages.0.0.gamma", SR_SHAPE(5, 2, 1), SR_SHAPE(5, 2, 1), SR_NAMES_VISSL},
        {"stages.0.0.gamma", SR_SHAPE(5, 1, 0), SR_SHAPE(5, 1, 0), SR_NAMES_VISSL},
        {"norm.weight", SR_SHAPE(4), SR_SHAPE(4), SR_NAMES_TIMM},
    };
    for (int i = 0; i < SR_COUNT(cases); i++)
        if (!sr_shape_equal(sr_naming_shape(cases[i].name, cases[i].from, cases[i].names),
                            cases[i].to))
            fail_msg("case %d, %s", i, cases[i].name);
}

SR_TESTS(naming_trunk, unit(test_resnets), unit(test_sequential), unit(test_copies),
         unit(test_huggingface), unit(test_transformers), unit(test_names),
         unit(test_numbers_in_names), unit(test_words_of_names), unit(test_shapes))
