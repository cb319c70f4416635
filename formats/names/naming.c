// Recognises writers by their prefixes and trunks by their keys and shapes, and renames tensors.
#include "formats/names/naming.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text/text.h"
#include "formats/names/naming_layout.h"
#include "formats/names/naming_pattern.h"
#include "formats/naming_huggingface.h"
#include "formats/weights/weights.h"

// A name that ends in an anchor belongs to that kind of trunk; the text before it is the prefix.
static const struct {
    const char *name;
    SrTrunkKind kind;
} anchors[] = {{"layer1.0.conv1.weight", SR_TRUNK_RESNET},
               {"4.0.conv1.weight", SR_TRUNK_SEQUENTIAL},
               {"blocks.0.attn.qkv.weight", SR_TRUNK_VIT_TIMM},
               {"blocks.0.0.attn.qkv.weight", SR_TRUNK_VIT_TIMM}, // DINOv2 trains blocks in chunks
               {"encoder.layers.encoder_layer_0.ln_1.weight", SR_TRUNK_VIT}};

static bool find_anchor(const char *name, SrTrunkKind *kind, size_t *prefix_len) {
    for (int i = 0; i < SR_COUNT(anchors); i++) {
        size_t len = strlen(name), tail = strlen(anchors[i].name);
        if (len < tail || strcmp(name + len - tail, anchors[i].name) != 0)
            continue;
        if (len > tail && name[len - tail - 1] != '.')
            continue; // "14.0.conv1.weight"
        *kind = anchors[i].kind;
        *prefix_len = len - tail;
        return true;
    }
    return false;
}

static void find_trunk(const SrWeights *w, SrNaming *out) {
    int best = SR_NAMING_NEVER; // excludes optimiser state
    for (int i = 0; i < w->n; i++) {
        SrTrunkKind kind;
        size_t len;
        char prefix[sizeof out->prefix];
        if (!find_anchor(w->tensors[i].name, &kind, &len) || len >= sizeof prefix)
            continue;
        snprintf(prefix, sizeof prefix, "%.*s", (int)len, w->tensors[i].name);
        if (sr_naming_rank(prefix) <= best)
            continue;
        best = sr_naming_rank(prefix);
        out->kind = kind;
        memcpy(out->prefix, prefix, sizeof prefix);
    }
}

static bool any_name_with(const SrWeights *w, const char *part) {
    for (int i = 0; i < w->n; i++)
        if (strstr(w->tensors[i].name, part))
            return true;
    return false;
}

static bool has_part(const SrWeights *w, const SrNaming *n, const char *bare) {
    char name[512];
    snprintf(name, sizeof name, "%s%s", n->prefix, bare);
    return sr_weights_find(w, name) >= 0;
}

// Parts that the transformers of one author have and others lack.
static const struct {
    const char *part, *writer, *kind;
    bool own;        // torchvision's transformer lacks this part
    bool timm_alone; // the authors' names are not known here
} vit_parts[] = {
    {"storage_tokens", "DINOv3", "dinov3", true, false},
    {"norm_pre.weight", "timm, CLIP's", "clip", true, true},
    {"attn_pool.latent", "timm, SigLIP's", "siglip", true, true},
    {"decoder_embed.weight", "MAE", "vit", false, false},
    {"blocks.0.attn.q_bias", "BEiT", "beit", true, false},
    {"blocks.0.gamma_1", "BEiT", "beit", true, false},
    {"blocks.0.attn.relative_position_bias_table", "BEiT", "beit", true, false},
    {"register_tokens", "DINOv2", "dinov2", true, false},
    {"reg_token", "timm, DINOv2's with registers", "dinov2", true, false},
    {"blocks.0.ls1.gamma", "DINOv2", "dinov2", true, false},
    {"blocks.0.0.ls1.gamma", "DINOv2", "dinov2", true, false},
};

// timm's DINOv3 has registers as its DINOv2 has, and scales named as BEiT's.
static bool is_timms_dinov3(const SrWeights *w, const SrNaming *n) {
    return has_part(w, n, "reg_token") && has_part(w, n, "blocks.0.gamma_1");
}

static int vit_part(const SrWeights *w, const SrNaming *n) {
    if (is_timms_dinov3(w, n))
        return 0;
    for (int i = 0; i < SR_COUNT(vit_parts); i++)
        if (has_part(w, n, vit_parts[i].part))
            return i;
    return -1;
}

static const char *vit_writer(const SrWeights *w, const SrNaming *n) {
    int part = vit_part(w, n);
    if (is_timms_dinov3(w, n))
        return "timm, DINOv3's";
    return part < 0 ? "timm" : vit_parts[part].writer;
}

static const char *guess_writer(const SrWeights *w, const SrNaming *n) {
    const char *p = n->prefix;
    if (sr_weights_meta(w, "sslrun_version"))
        return "sslrun";
    if (strcmp(p, SR_HUGGINGFACE) == 0)
        return "Hugging Face";
    if (strstr(p, "classy_state_dict") || strstr(p, "_feature_blocks"))
        return "VISSL";
    if (strstr(p, "encoder_q") || strstr(p, "base_encoder"))
        return "MoCo";
    if (n->kind == SR_TRUNK_SEQUENTIAL)
        return "lightly";
    if ((strstr(p, "teacher") || strstr(p, "student")) && strstr(p, "backbone"))
        return "DINO";
    if (strstr(p, "backbone") || strstr(p, "encoder."))
        return "solo-learn";
    if (any_name_with(w, "projection_head") || any_name_with(w, "prototypes"))
        return "SwAV";
    if (n->kind == SR_TRUNK_VIT_TIMM)
        return vit_writer(w, n);
    if (n->kind == SR_TRUNK_LAYOUT && n->side == SR_NAMES_VISSL)
        return "its authors' names, which VISSL uses too";
    if (n->kind == SR_TRUNK_LAYOUT && n->side == SR_NAMES_TIMM)
        return "timm";
    if (n->kind != SR_TRUNK_UNKNOWN)
        return *p ? "torchvision's names in a wrapper" : "torchvision's names";
    return "unknown";
}

// ---- which trunk --------------------------------------------------------------------------------

static const SrWeightsTensor *find(const SrWeights *w, const SrNaming *n, const char *bare) {
    char name[512];
    snprintf(name, sizeof name, "%s%s", n->prefix, bare);
    int i = sr_weights_find(w, name);
    return i < 0 ? NULL : &w->tensors[i];
}

// Counts the blocks of stages 1 to 4: the first index without a conv1.
static int count_blocks(const SrWeights *w, const SrNaming *n, int stage) {
    char name[64];
    int blocks = 0;
    do {
        if (n->kind == SR_TRUNK_SEQUENTIAL)
            snprintf(name, sizeof name, "%d.%d.conv1.weight", stage + 3, blocks);
        else
            snprintf(name, sizeof name, "layer%d.%d.conv1.weight", stage, blocks);
    } while (find(w, n, name) && ++blocks < 1000);
    return blocks;
}

// Models of these names begin with 7x7 filters on 64 channels.  VISSL's wider models ("resnet50w2")
// multiply these channels too.
static void compare_stem(const SrWeights *w, SrNaming *n) {
    const SrWeightsTensor *stem =
        find(w, n, n->kind == SR_TRUNK_SEQUENTIAL ? "0.weight" : "conv1.weight");
    const char *wide = sr_text_starts(n->trunk, "wide") ? NULL : strrchr(n->trunk, 'w');
    SrShape usual = SR_SHAPE(64 * (wide ? atoi(wide + 1) : 1), 3, 7, 7);
    char a[SR_SHAPE_TEXT_BYTES], b[SR_SHAPE_TEXT_BYTES];
    if (stem && !sr_shape_equal(stem->shape, usual))
        snprintf(n->unlike, sizeof n->unlike, "conv1 is %s, a %s's is %s",
                 sr_shape_text(stem->shape, a, sizeof a), n->trunk,
                 sr_shape_text(usual, b, sizeof b));
}

static void guess_resnet(const SrWeights *w, SrNaming *n) {
    static const struct {
        int blocks[4];
        bool bottleneck;
        const char *depth;
    } known[] = {{{2, 2, 2, 2}, false, "18"},
                 {{3, 4, 6, 3}, false, "34"},
                 {{3, 4, 6, 3}, true, "50"},
                 {{3, 4, 23, 3}, true, "101"},
                 {{3, 8, 36, 3}, true, "152"}};
    bool sequential = n->kind == SR_TRUNK_SEQUENTIAL;
    const SrWeightsTensor *third =
        find(w, n, sequential ? "4.0.conv3.weight" : "layer1.0.conv3.weight");
    const SrWeightsTensor *second =
        find(w, n, sequential ? "4.0.conv2.weight" : "layer1.0.conv2.weight");
    int blocks[4];
    for (int s = 0; s < 4; s++)
        blocks[s] = count_blocks(w, n, s + 1);
    if (blocks[3] == 0 && blocks[0] == blocks[1] && blocks[1] == blocks[2] && !third) { // CIFAR's
        snprintf(n->trunk, sizeof n->trunk, "resnet%d", 6 * blocks[0] + 2);
        return;
    }
    for (int i = 0; i < SR_COUNT(known); i++) {
        if (memcmp(blocks, known[i].blocks, sizeof blocks) != 0 ||
            known[i].bottleneck != (third != NULL))
            continue;
        snprintf(n->trunk, sizeof n->trunk, "resnet%s", known[i].depth);
        if (!third || !second || second->shape.rank != 4 || second->shape.d[1] == 0) {
            compare_stem(w, n);
            return;
        }
        int groups = second->shape.d[0] / second->shape.d[1], width = second->shape.d[1];
        if (groups > 1)
            snprintf(n->trunk, sizeof n->trunk, "resnext%s_%dx%dd", known[i].depth, groups, width);
        else if (width > 64 && width % 64 == 0)
            snprintf(n->trunk, sizeof n->trunk, width == 128 ? "wide_resnet%s_%d" : "resnet%sw%d",
                     known[i].depth, width / 64);
        compare_stem(w, n);
        return;
    }
}

// Detects SwiGLU: the first layer computes both factors.
static bool is_gated(const SrWeights *w, const SrNaming *n) {
    const SrWeightsTensor *in = find(w, n, "blocks.0.mlp.fc1.weight");
    const SrWeightsTensor *out = find(w, n, "blocks.0.mlp.fc2.weight");
    if (find(w, n, "blocks.0.mlp.w1.weight") || find(w, n, "blocks.0.mlp.fc1_g.weight"))
        return true; // DINOv3
    if (find(w, n, "blocks.0.mlp.w12.weight") || find(w, n, "blocks.0.0.mlp.w12.weight"))
        return true;
    return in && out && in->shape.rank == 2 && out->shape.rank == 2 &&
           in->shape.d[0] == 2 * (int64_t)out->shape.d[1];
}

static void guess_vit(const SrWeights *w, SrNaming *n) {
    bool timm = n->kind == SR_TRUNK_VIT_TIMM;
    int part = timm ? vit_part(w, n) : -1;
    n->gated = timm && is_gated(w, n);
    n->dinov3 = part == 0;
    n->family = part < 0 ? "vit" : vit_parts[part].kind;
    n->authors_own = part >= 0 && vit_parts[part].own;
    n->timm_alone = part >= 0 && vit_parts[part].timm_alone;
    const SrWeightsTensor *patch =
        find(w, n, timm ? "patch_embed.proj.weight" : "conv_proj.weight");
    if (!patch || patch->shape.rank != 4)
        return;
    int width = patch->shape.d[0], size = patch->shape.d[2];
    const char *name = width == 192    ? "tiny"
                       : width == 384  ? "small"
                       : width == 768  ? "base"
                       : width == 1024 ? "large"
                                       : "other";
    snprintf(n->trunk, sizeof n->trunk, "%s_%s_patch%d", n->family, name, size);
}

void sr_naming_detect(const SrWeights *w, SrNaming *out) {
    *out = (SrNaming){.kind = SR_TRUNK_UNKNOWN};
    const SrHuggingface *family = sr_huggingface_find(w, out->prefix, sizeof out->prefix);
    if (family) { // sr_naming_open changes the names
        out->writer = "Hugging Face";
        snprintf(out->trunk, sizeof out->trunk, "%s", sr_huggingface_family(family));
        return;
    }
    if (!sr_layout_detect(w, out))
        find_trunk(w, out);
    out->writer = guess_writer(w, out);
    if (out->kind == SR_TRUNK_RESNET || out->kind == SR_TRUNK_SEQUENTIAL)
        guess_resnet(w, out);
    else if (out->kind == SR_TRUNK_LAYOUT)
        snprintf(out->trunk, sizeof out->trunk, "%s", sr_layout_family(out));
    else if (out->kind != SR_TRUNK_UNKNOWN)
        guess_vit(w, out);
}

SrStatus sr_naming_open(SrWeights *w, SrNaming *out) {
    char prefix[sizeof out->prefix];
    const SrHuggingface *family = sr_huggingface_find(w, prefix, sizeof prefix);
    if (family)
        SR_TRY(sr_huggingface_read(w, family, prefix));
    sr_naming_detect(w, out);
    out->huggingface = family;
    return SR_OK;
}

bool sr_names_parse(const char *text, SrNames *out) {
    static const char *const names[] = {"torchvision", "vissl", "timm"};
    for (int i = 0; i < SR_COUNT(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = (SrNames)i;
            return true;
        }
    }
    return false;
}

const char *sr_naming_vissl_prefix(const SrNaming *n) {
    bool blocks = n->kind == SR_TRUNK_RESNET || n->kind == SR_TRUNK_SEQUENTIAL ||
                  (n->kind == SR_TRUNK_LAYOUT && sr_layout_has_feature_blocks(n));
    return blocks ? "_feature_blocks." : "";
}

SrStatus sr_naming_check(const SrNaming *n, const char *path, SrNames to) {
    if (n->authors_own && to == SR_NAMES_TORCHVISION)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: torchvision has no names for some parts of a %s (layer scales, registers, "
                "position biases); convert to vissl or timm",
                path, n->trunk);
    if (n->kind == SR_TRUNK_LAYOUT && !sr_layout_writes(n, to))
        SR_FAIL(SR_ERR_CONFIG, "%s: VISSL has no names for a %s; convert to torchvision or timm",
                path, n->trunk);
    return SR_OK;
}

// ---- renaming -----------------------------------------------------------------------------------

// Words of torchvision 0.13 and of timm for the parts of a vision transformer.
static const char *const vit_blocks[][2] = {
    {"ln_1.", "norm1."},
    {"ln_2.", "norm2."},
    {"self_attention.in_proj_", "attn.qkv."},
    {"self_attention.out_proj.", "attn.proj."},
    {"mlp.0.", "mlp.fc1."},
    {"mlp.3.", "mlp.fc2."},
    {"mlp.linear_1.", "mlp.fc1."}, // torchvision up to 0.12: read, not written
    {"mlp.linear_2.", "mlp.fc2."},
};
static const char *const vit_whole[][2] = {
    {"class_token", "cls_token"},
    {"encoder.pos_embedding", "pos_embed"},
    {"conv_proj.", "patch_embed.proj."},
    {"encoder.ln.", "norm."},
    {"heads.head.", "head."},
};

// Reads the block number after a prefix and returns the text after its dot; NULL: no such number.
static const char *after_number(const char *name, const char *prefix, int *number) {
    char *end;
    if (!sr_text_starts(name, prefix))
        return NULL;
    long v = strtol(name + strlen(prefix), &end, 10);
    if (end == name + strlen(prefix) || *end != '.' || v < 0 || v > 9999)
        return NULL;
    *number = (int)v;
    return end + 1;
}

static bool rename_vit(const char *name, int from, char *out, size_t bytes) {
    static const char *const prefixes[] = {"encoder.layers.encoder_layer_", "blocks."};
    int to = 1 - from, number;
    const char *rest = after_number(name, prefixes[from], &number);
    for (int i = 0; rest && i < SR_COUNT(vit_blocks); i++) {
        if (!sr_text_starts(rest, vit_blocks[i][from]))
            continue;
        snprintf(out, bytes, "%s%d.%s%s", prefixes[to], number, vit_blocks[i][to],
                 rest + strlen(vit_blocks[i][from]));
        return true;
    }
    for (int i = 0; !rest && i < SR_COUNT(vit_whole); i++) {
        if (!sr_text_starts(name, vit_whole[i][from]))
            continue;
        snprintf(out, bytes, "%s%s", vit_whole[i][to], name + strlen(vit_whole[i][from]));
        return true;
    }
    return false;
}

// Children of torchvision's ResNet in order; 2 (relu), 3 (pool) and 8 (pool) have no parameters.
static bool rename_sequential(const char *name, char *out, size_t bytes) {
    static const char *const children[] = {"conv1",  "bn1",    NULL,     NULL,
                                           "layer1", "layer2", "layer3", "layer4"};
    int number;
    const char *rest = after_number(name, "", &number);
    if (!rest || number >= SR_COUNT(children) || !children[number])
        return false;
    snprintf(out, bytes, "%s.%s", children[number], rest);
    return true;
}

bool sr_naming_is_constant(const char *name) {
    static const char *const leaves[] = {"relative_position_index",
                                         "relative_coords_table",
                                         "attn_mask",
                                         "mask_token",
                                         "bias_mask",
                                         "periods"};
    const char *dot = strrchr(name, '.');
    for (int i = 0; i < SR_COUNT(leaves); i++)
        if (strcmp(dot ? dot + 1 : name, leaves[i]) == 0)
            return true;
    return false;
}

static bool is_classifier(const char *bare) {
    static const char *const names[] = {"fc.", "head.", "heads.head.", "linear.", "classifier."};
    for (int i = 0; i < SR_COUNT(names); i++)
        if (sr_text_starts(bare, names[i]))
            return true;
    return false;
}

bool sr_naming_is_classifier(const SrNaming *n, const char *bare, SrNames to) {
    return n->kind == SR_TRUNK_LAYOUT ? sr_layout_is_classifier(n, bare, to) : is_classifier(bare);
}

// Returns the whole square root; -1: n is no square.
static int root(int64_t n) {
    int64_t r = 0;
    while (r * r < n)
        r++;
    return r * r == n ? (int)r : -1;
}

// Keeps the number of elements: a shape that needs more would read beyond the tensor.
SrShape sr_naming_shape(const char *bare, SrShape s, SrNames to) {
    int64_t count = sr_shape_count(s);
    if (strcmp(bare, "conv_head.weight") == 0 && s.rank == 2) // timm's MobileNetV3: 1x1
        return SR_SHAPE(s.d[0], s.d[1], 1, 1);
    if (strcmp(bare, "classifier.0.weight") == 0 && s.rank == 4 && s.d[2] == 1 && s.d[3] == 1)
        return SR_SHAPE(s.d[0], s.d[1]);
    if (sr_text_ends(bare, "layer_scale") && s.rank == 1)
        return SR_SHAPE(s.d[0], 1, 1);
    if (sr_text_ends(bare, "gamma") && s.rank == 3 && count == s.d[0])
        return SR_SHAPE(s.d[0]);
    bool index = sr_text_ends(bare, "relative_position_index");
    if (index && to == SR_NAMES_TORCHVISION && count <= INT32_MAX)
        return SR_SHAPE((int)count);
    if (index && to != SR_NAMES_TORCHVISION && s.rank == 1 && root(count) >= 0)
        return SR_SHAPE(root(count), root(count));
    return s;
}

// Modules next to a trunk under the same prefix (SwAV keeps its heads there).
static bool is_resnet_name(const char *bare) {
    static const char *const names[] = {"conv1.",  "bn1.",    "layer1.",
                                        "layer2.", "layer3.", "layer4."};
    for (int i = 0; i < SR_COUNT(names); i++)
        if (sr_text_starts(bare, names[i]))
            return true;
    return is_classifier(bare);
}

// Tensors next to a trunk under the same prefix: SwAV's heads, MAE's decoder, heads of BEiT and
// iBOT.
static bool is_beside(const char *bare) {
    static const char *const names[] = {"projection_head.", "prototypes", "decoder_",
                                        "lm_head.",         "dino_head.", "ibot_head.",
                                        "local_cls_norm."};
    for (int i = 0; i < SR_COUNT(names); i++)
        if (sr_text_starts(bare, names[i]))
            return true;
    return false;
}

// Turns "blocks.2.17.norm1" into "blocks.17.norm1": DINOv2 trains its blocks in chunks and numbers
// them through.
static const char *without_chunk(const char *bare, char *out, size_t bytes) {
    int chunk, block;
    const char *in_chunk = after_number(bare, "blocks.", &chunk);
    const char *rest = in_chunk ? after_number(in_chunk, "", &block) : NULL;
    if (!rest)
        return bare;
    snprintf(out, bytes, "blocks.%d.%s", block, rest);
    return out;
}

// DINOv3's words and timm's.  timm keeps neither constants nor the mask token.
static bool rename_dinov3(const SrNaming *n, const char *bare, SrNames to, char *out,
                          size_t bytes) {
    static const char *const rules[][2] = {
        {"storage_tokens", "reg_token"},
        {"blocks.<a>.ls1.gamma", "blocks.<a>.gamma_1"},
        {"blocks.<a>.ls2.gamma", "blocks.<a>.gamma_2"},
        {"blocks.<a>.mlp.w1.", "blocks.<a>.mlp.fc1_g."},
        {"blocks.<a>.mlp.w2.", "blocks.<a>.mlp.fc1_x."},
        {"blocks.<a>.mlp.w3.", "blocks.<a>.mlp.fc2."},
    };
    int from = to == SR_NAMES_TIMM ? 0 : 1, values[SR_PATTERN_LETTERS];
    if (to == SR_NAMES_TORCHVISION || (to == SR_NAMES_TIMM && sr_naming_is_constant(bare)))
        return false;
    for (int i = 0; i < (n->gated ? SR_COUNT(rules) : 3); i++) {
        const char *rest = sr_pattern_match(rules[i][from], bare, values);
        if (!rest)
            continue;
        sr_pattern_write(rules[i][1 - from], values, rest, out, bytes);
        return true;
    }
    snprintf(out, bytes, "%s", bare);
    return true;
}

// timm has its own words for the registers of DINOv2's transformers and the layers of gated
// branches; all other names are common.
static void write_timm(const SrNaming *n, const char *bare, SrNames to, char *out, size_t bytes) {
    static const char *const gates[][2] = {{"w12.", "fc1."}, {"w3.", "fc2."}}; // DINOv2's, timm's
    int block, from = to == SR_NAMES_TIMM ? 0 : 1;
    const char *part = after_number(bare, "blocks.", &block);
    for (int i = 0; n->gated && part && sr_text_starts(part, "mlp.") && i < 2; i++) {
        const char *leaf = part + strlen("mlp.");
        if (!sr_text_starts(leaf, gates[i][from]))
            continue;
        snprintf(out, bytes, "blocks.%d.mlp.%s%s", block, gates[i][1 - from],
                 leaf + strlen(gates[i][from]));
        return;
    }
    bool registers = strcmp(bare, "register_tokens") == 0 || strcmp(bare, "reg_token") == 0;
    snprintf(out, bytes, "%s",
             !registers            ? bare
             : to == SR_NAMES_TIMM ? "reg_token"
                                   : "register_tokens");
}

bool sr_naming_bare(const SrNaming *n, const char *name, SrNames to, char *out, size_t bytes) {
    char buffer[1024];
    if (n->kind == SR_TRUNK_LAYOUT)
        name = sr_naming_without_groups(name, buffer, sizeof buffer);
    if (n->kind == SR_TRUNK_UNKNOWN || !sr_text_starts(name, n->prefix))
        return false;
    const char *bare = name + strlen(n->prefix);
    if (strlen(bare) + 64 > bytes || is_beside(bare))
        return false;
    if (n->kind == SR_TRUNK_LAYOUT)
        return sr_layout_rename(n, bare, to, out, bytes);
    if (n->kind == SR_TRUNK_SEQUENTIAL)
        return rename_sequential(bare, out, bytes);
    if (n->kind == SR_TRUNK_VIT_TIMM)
        bare = without_chunk(bare, buffer, sizeof buffer);
    if (n->dinov3)
        return rename_dinov3(n, bare, to, out, bytes);
    if (n->kind == SR_TRUNK_VIT_TIMM && to == SR_NAMES_TORCHVISION)
        return rename_vit(bare, 1, out, bytes);
    if (n->kind == SR_TRUNK_VIT && to != SR_NAMES_TORCHVISION)
        return rename_vit(bare, 0, out, bytes);
    if (n->kind == SR_TRUNK_VIT && rename_vit(bare, 0, buffer, sizeof buffer))
        return rename_vit(buffer, 1, out, bytes); // from older words to current ones
    if (n->kind == SR_TRUNK_RESNET && !is_resnet_name(bare))
        return false;
    if (n->kind == SR_TRUNK_VIT_TIMM)
        write_timm(n, bare, to, out, bytes);
    else
        snprintf(out, bytes, "%s", bare);
    return true;
}
