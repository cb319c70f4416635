// Tables of names, one per family of trunks.
//
// A rule holds for every name that begins with its pattern (formats/names/naming_pattern.h) and
// keeps the rest of the name.  The first rule that fits applies.
#include "formats/names/naming_layout.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text/text.h"
#include "formats/names/naming_flat.h"
#include "formats/weights/weights.h"

enum { SIDES = SR_N_NAMES + 1, MOST_ANCHORS = 2, MOST_RULES = 26 };

typedef const char
    *Rule[SIDES]; // torchvision, VISSL, timm, older torchvision; NULL: as torchvision

typedef struct SrLayout {
    const char *family;
    const char *anchors[SIDES][MOST_ANCHORS]; // names that only this writer's files have
    Rule rules[MOST_RULES];
    const char *classifier[SIDES];
    bool feature_blocks; // VISSL keeps the parts in a ModuleDict named _feature_blocks
    SrFlat flat;
} SrLayout;

#define BLOCK(tv, vissl, timm) \
    { "features.<2a+1>.<b>." tv, "stages.<a>.<b>." vissl, "stages.<a>.blocks.<b>." timm }
#define WINDOWS(tv, timm) \
    { "features.<2a+1>.<b>." tv, "layers.<a>.blocks.<b>." timm, "layers.<a>.blocks.<b>." timm }
#define STAGE(tv, vissl, timm)                                                    \
    {                                                                             \
        "trunk_output.block<a>.block<a>-<b>." tv, "res<a+1>.block<a>-<b>." vissl, \
            "s<a>.b<b+1>." timm                                                   \
    }
#define INVERTED(tv, vissl, timm) \
    { "features.<a+1>.<b>.block." tv, "block<a>-<b>." vissl, "blocks.<a>.<b>." timm }
#define FIRST(tv, vissl, timm) \
    { "features.1.<b>.block." tv, "block0-<b>." vissl, "blocks.0.<b>." timm }
#define FUSED(stage, before, tv, timm) \
    { "features." stage ".<b>.block." tv, NULL, "blocks." before ".<b>." timm }
// Rules for a stem and for inverted residuals that are not fused.
#define INVERTED_RULES                                                                      \
    {"features.0.0.", "conv1.0.", "conv_stem."}, {"features.0.1.", "conv1.1.", "bn1."},     \
        INVERTED("0.0.", "expand_conv.", "conv_pw."), INVERTED("0.1.", "bn0.", "bn1."),     \
        INVERTED("1.0.", "depthwise_conv.", "conv_dw."), INVERTED("1.1.", "bn1.", "bn2."),  \
        INVERTED("2.fc1.", "se_reduce.", "se.conv_reduce."),                                \
        INVERTED("2.fc2.", "se_expand.", "se.conv_expand."),                                \
        INVERTED("3.0.", "project_conv.", "conv_pwl."), INVERTED("3.1.", "bn2.", "bn3."), { \
        "classifier.1.", NULL, "classifier."                                                \
    }
#define FUSED_RULES                                                            \
    FUSED("1", "0", "0.0.", "conv."), FUSED("1", "0", "0.1.", "bn1."),         \
        FUSED("2", "1", "0.0.", "conv_exp."), FUSED("2", "1", "0.1.", "bn1."), \
        FUSED("2", "1", "1.0.", "conv_pwl."), FUSED("2", "1", "1.1.", "bn2."), \
        FUSED("3", "2", "0.0.", "conv_exp."), FUSED("3", "2", "0.1.", "bn1."), \
        FUSED("3", "2", "1.0.", "conv_pwl."), FUSED("3", "2", "1.1.", "bn2."), INVERTED_RULES
#define LAST(stage)                                             \
    {"features." stage ".0.", "conv_final.0.", "conv_head."}, { \
        "features." stage ".1.", "conv_final.1.", "bn2."        \
    }
// torchvision numbers the blocks of a MobileNet through.
#define MOBILE(stage, tv, timm) \
    { "features." stage "-<b>." tv, NULL, "blocks." stage ".<b>." timm }
#define MOBILE_ANY(tv, timm) \
    { "features.<a>-<b>." tv, NULL, "blocks.<a>.<b>." timm }
#define MOBILE_BLOCKS(...)                                                 \
    .flat = {.prefix = "features.",                                        \
             .side = SR_NAMES_TORCHVISION,                                 \
             .first = 1,                                                   \
             .block = {[SR_NAMES_TIMM] = "blocks.<a>.<b>.conv_dw.weight"}, \
             .blocks = {__VA_ARGS__}}
#define MOBILE_V3_RULES(last, stage)                                                          \
    {"features." last ".0.", NULL, "blocks." stage ".0.conv."},                               \
        {"features." last ".1.", NULL, "blocks." stage ".0.bn1."},                            \
        MOBILE_ANY("block.0.0.", "conv_pw."), MOBILE_ANY("block.0.1.", "bn1."),               \
        MOBILE_ANY("block.1.0.", "conv_dw."), MOBILE_ANY("block.1.1.", "bn2."),               \
        MOBILE_ANY("block.2.fc1.", "se.conv_reduce."),                                        \
        MOBILE_ANY("block.2.fc2.", "se.conv_expand."), MOBILE_ANY("block.3.0.", "conv_pwl."), \
        MOBILE_ANY("block.3.1.", "bn3."), {"features.0.0.", NULL, "conv_stem."},              \
        {"features.0.1.", NULL, "bn1."}, {"classifier.0.", NULL, "conv_head."}, {             \
        "classifier.3.", NULL, "classifier."                                                  \
    }
#define DENSE(now, before)                                       \
    {                                                            \
        "features.denseblock<a>.denselayer<b>." now, NULL, NULL, \
            "features.denseblock<a>.denselayer<b>." before       \
    }

static const SrLayout layouts[] = {
    {"convnext",
     {{"features.1.0.layer_scale"},
      {"stages.0.0.dwconv.weight"},
      {"stages.0.blocks.0.conv_dw.weight"}},
     {{"features.0.0.", "downsample_layers.0.0.", "stem.0."},
      {"features.0.1.", "downsample_layers.0.1.", "stem.1."},
      {"features.<2a+2>.0.", "downsample_layers.<a+1>.0.", "stages.<a+1>.downsample.0."},
      {"features.<2a+2>.1.", "downsample_layers.<a+1>.1.", "stages.<a+1>.downsample.1."},
      BLOCK("block.0.", "dwconv.", "conv_dw."),
      BLOCK("block.2.", "norm.", "norm."),
      BLOCK("block.3.", "pwconv1.", "mlp.fc1."),
      BLOCK("block.5.", "pwconv2.", "mlp.fc2."),
      BLOCK("layer_scale", "gamma", "gamma"),
      {"classifier.0.", "norm.", "head.norm."},
      {"classifier.2.", "head.", "head.fc."}},
     .classifier = {"classifier.2.", "head.", "head.fc."}},
    // timm merges patches at the start of a stage, the authors at the end of the previous one.
    {"swin",
     {{"features.1.0.attn.qkv.weight"},
      {"layers.0.blocks.0.attn.qkv.weight", "layers.0.downsample.norm.weight"},
      {"layers.0.blocks.0.attn.qkv.weight", "layers.1.downsample.norm.weight"}},
     {{"features.0.0.", "patch_embed.proj.", "patch_embed.proj."},
      {"features.0.2.", "patch_embed.norm.", "patch_embed.norm."},
      {"features.<2a+2>.norm.", "layers.<a>.downsample.norm.", "layers.<a+1>.downsample.norm."},
      {"features.<2a+2>.reduction.", "layers.<a>.downsample.reduction.",
       "layers.<a+1>.downsample.reduction."},
      WINDOWS("norm1.", "norm1."),
      WINDOWS("norm2.", "norm2."),
      WINDOWS("attn_mask", "attn_mask"),
      WINDOWS("attn.", "attn."),
      WINDOWS("mlp.0.", "mlp.fc1."),
      WINDOWS("mlp.3.", "mlp.fc2."),
      {"norm."},
      {"head.", "head.", "head.fc."}},
     .classifier = {"head.", "head.", "head.fc."}},
    {"regnet",
     {{"trunk_output.block1.block1-0.f.a.0.weight"},
      {"res2.block1-0.f.a.0.weight"},
      {"s1.b1.conv1.conv.weight"}},
     {{"stem.0.", "conv1.stem.0.", "stem.conv."},
      {"stem.1.", "conv1.stem.1.", "stem.bn."},
      STAGE("proj.0.", "proj.", "downsample.conv."),
      STAGE("proj.1.", "bn.", "downsample.bn."),
      STAGE("f.a.0.", "f.a.0.", "conv1.conv."),
      STAGE("f.a.1.", "f.a.1.", "conv1.bn."),
      STAGE("f.b.0.", "f.b.0.", "conv2.conv."),
      STAGE("f.b.1.", "f.b.1.", "conv2.bn."),
      STAGE("f.se.fc1.", "f.se.excitation.0.", "se.fc1."),
      STAGE("f.se.fc2.", "f.se.excitation.2.", "se.fc2."),
      STAGE("f.c.0.", "f.c.", "conv3.conv."),
      STAGE("f.c.1.", "f.final_bn.", "conv3.bn."),
      {"fc.", "fc.", "head.fc."}},
     .classifier = {"fc.", "fc.", "head.fc."},
     .feature_blocks = true},
    {"efficientnet",
     {{"features.1.0.block.1.fc1.weight", "features.7.0.block.3.0.weight"},
      {"block0.depthwise_conv.weight", "conv_final.0.weight"},
      {"blocks.0.0.se.conv_reduce.weight", "blocks.6.0.conv_pwl.weight"}},
     {FIRST("0.0.", "depthwise_conv.", "conv_dw."), FIRST("0.1.", "bn1.", "bn1."),
      FIRST("1.fc1.", "se_reduce.", "se.conv_reduce."),
      FIRST("1.fc2.", "se_expand.", "se.conv_expand."), FIRST("2.0.", "project_conv.", "conv_pw."),
      FIRST("2.1.", "bn2.", "bn2."), LAST("8"), INVERTED_RULES},
     .classifier = {"classifier.1.", NULL, "classifier."},
     .feature_blocks = true,
     .flat = {.prefix = "block",
              .side = SR_NAMES_VISSL,
              .block = {"features.<a+1>.<b>.block.0.0.weight", NULL,
                        "blocks.<a>.<b>.conv_dw.weight"}}},
    {"efficientnet_v2_m", // v2_l has seven stages too
     {{"features.1.0.block.0.0.weight", "features.7.0.block.3.0.weight"},
      {NULL},
      {"blocks.0.0.conv.weight", "blocks.6.0.conv_pwl.weight"}},
     {LAST("8"), FUSED_RULES},
     .classifier = {"classifier.1.", NULL, "classifier."}},
    {"efficientnet_v2_s",
     {{"features.1.0.block.0.0.weight", "features.6.0.block.3.0.weight"},
      {NULL},
      {"blocks.0.0.conv.weight", "blocks.1.0.conv_exp.weight"}},
     {LAST("7"), FUSED_RULES},
     .classifier = {"classifier.1.", NULL, "classifier."}},
    {"mobilenet_v2",
     {{"features.1.conv.0.0.weight", "features.18.0.weight"},
      {NULL},
      {"blocks.3.3.conv_pwl.weight", "blocks.6.0.conv_pwl.weight"}},
     {MOBILE("0", "conv.0.0.", "conv_dw."),
      MOBILE("0", "conv.0.1.", "bn1."),
      MOBILE("0", "conv.1.", "conv_pw."),
      MOBILE("0", "conv.2.", "bn2."),
      MOBILE_ANY("conv.0.0.", "conv_pw."),
      MOBILE_ANY("conv.0.1.", "bn1."),
      MOBILE_ANY("conv.1.0.", "conv_dw."),
      MOBILE_ANY("conv.1.1.", "bn2."),
      MOBILE_ANY("conv.2.", "conv_pwl."),
      MOBILE_ANY("conv.3.", "bn3."),
      {"features.0.0.", NULL, "conv_stem."},
      {"features.0.1.", NULL, "bn1."},
      LAST("18"),
      {"classifier.1.", NULL, "classifier."}},
     .classifier = {"classifier.1.", NULL, "classifier."},
     MOBILE_BLOCKS(1, 2, 3, 4, 3, 3, 1)},
    // Squeeze-excitation shifts the numbers of the layers after it in torchvision's blocks.
    {"mobilenet_v3_large",
     {{"features.4.block.2.fc1.weight", "features.16.0.weight"},
      {NULL},
      {"blocks.4.0.se.conv_reduce.weight", "blocks.6.0.conv.weight"}},
     {MOBILE("0", "block.0.0.", "conv_dw."), MOBILE("0", "block.0.1.", "bn1."),
      MOBILE("0", "block.1.0.", "conv_pw."), MOBILE("0", "block.1.1.", "bn2."),
      MOBILE("1", "block.2.0.", "conv_pwl."), MOBILE("1", "block.2.1.", "bn3."),
      MOBILE("3", "block.2.0.", "conv_pwl."), MOBILE("3", "block.2.1.", "bn3."),
      MOBILE_V3_RULES("16", "6")},
     .classifier = {"classifier.3.", NULL, "classifier."},
     MOBILE_BLOCKS(1, 2, 3, 4, 2, 3)},
    {"mobilenet_v3_small",
     {{"features.1.block.1.fc1.weight", "features.12.0.weight"},
      {NULL},
      {"blocks.2.0.se.conv_reduce.weight", "blocks.5.0.conv.weight"}},
     {MOBILE("0", "block.0.0.", "conv_dw."), MOBILE("0", "block.0.1.", "bn1."),
      MOBILE("0", "block.1.fc1.", "se.conv_reduce."),
      MOBILE("0", "block.1.fc2.", "se.conv_expand."), MOBILE("0", "block.2.0.", "conv_pw."),
      MOBILE("0", "block.2.1.", "bn2."), MOBILE("1", "block.2.0.", "conv_pwl."),
      MOBILE("1", "block.2.1.", "bn3."), MOBILE_V3_RULES("12", "5")},
     .classifier = {"classifier.3.", NULL, "classifier."},
     MOBILE_BLOCKS(1, 2, 3, 2, 3)},
    {"densenet", // the files that torchvision publishes use the names of its version 0.1
     {{"features.denseblock1.denselayer1.norm1.weight"},
      {NULL},
      {NULL},
      {"features.denseblock1.denselayer1.norm.1.weight"}},
     {DENSE("norm1.", "norm.1."),
      DENSE("norm2.", "norm.2."),
      DENSE("conv1.", "conv.1."),
      DENSE("conv2.", "conv.2."),
      {"features."},
      {"classifier."}},
     .classifier = {"classifier."}},
};

static const char *side_of(const char *const *words, int side) {
    return words[side] ? words[side] : words[SR_NAMES_TORCHVISION];
}

bool sr_layout_rename(const SrNaming *naming, const char *bare, SrNames to, char *out,
                      size_t bytes) {
    const SrLayout *layout = naming->layout;
    int values[SR_PATTERN_LETTERS];
    char staged[1200];
    if (layout->flat.prefix && naming->side == layout->flat.side)
        bare = sr_flat_with_stage(&layout->flat, naming->blocks, bare, staged, sizeof staged);
    for (int i = 0; i < MOST_RULES && layout->rules[i][0]; i++) {
        const char *rest = sr_pattern_match(side_of(layout->rules[i], naming->side), bare, values);
        if (!rest)
            continue;
        sr_pattern_write(side_of(layout->rules[i], (int)to), values, rest, out, bytes);
        if (layout->flat.prefix && (int)to == layout->flat.side)
            sr_flat_without_stage(&layout->flat, naming->blocks, out);
        return true;
    }
    return false;
}

bool sr_layout_is_classifier(const SrNaming *naming, const char *bare, SrNames to) {
    return sr_text_starts(bare, side_of(naming->layout->classifier, (int)to));
}

bool sr_layout_writes(const SrNaming *naming, SrNames to) {
    return to != SR_NAMES_VISSL || naming->layout->anchors[to][0];
}

bool sr_layout_has_feature_blocks(const SrNaming *naming) { return naming->layout->feature_blocks; }

const char *sr_layout_family(const SrNaming *naming) { return naming->layout->family; }

// ---- whose names --------------------------------------------------------------------------------

static bool has(const SrWeights *w, const char *prefix, const char *bare) {
    char name[512];
    snprintf(name, sizeof name, "%s%s", prefix, bare);
    return sr_weights_find(w, name) >= 0;
}

// Finds a tensor named like the first anchor whose prefix has the other anchors too.
static bool anchored(const SrWeights *w, const char *const *anchors, int i, char *prefix,
                     size_t bytes) {
    char ungrouped[1024];
    const char *name = sr_naming_without_groups(w->tensors[i].name, ungrouped, sizeof ungrouped);
    if (!sr_text_ends(name, anchors[0]))
        return false;
    size_t len = strlen(name) - strlen(anchors[0]);
    if (len >= bytes || (len > 0 && name[len - 1] != '.' && name[len - 1] != '/'))
        return false;
    snprintf(prefix, bytes, "%.*s", (int)len, name);
    return !anchors[1] || has(w, prefix, anchors[1]);
}

// Among several copies in a file, the prefix with the highest sr_naming_rank is read.
static bool detect_side(const SrWeights *w, const SrLayout *layout, int side, SrNaming *out) {
    char prefix[sizeof out->prefix];
    int best = SR_NAMING_NEVER;
    for (int i = 0; layout->anchors[side][0] && i < w->n; i++) {
        if (!anchored(w, layout->anchors[side], i, prefix, sizeof prefix) ||
            sr_naming_rank(prefix) <= best)
            continue;
        best = sr_naming_rank(prefix);
        memcpy(out->prefix, prefix, sizeof prefix);
    }
    return best > SR_NAMING_NEVER;
}

bool sr_layout_detect(const SrWeights *w, SrNaming *out) {
    for (int i = 0; i < SR_COUNT(layouts); i++)
        for (int side = 0; side < SIDES; side++) {
            if (!detect_side(w, &layouts[i], side, out))
                continue;
            out->layout = &layouts[i];
            out->side = side;
            if (!sr_flat_count(w, &layouts[i].flat, out))
                continue;
            out->kind = SR_TRUNK_LAYOUT;
            return true;
        }
    *out->prefix = '\0';
    return false;
}
