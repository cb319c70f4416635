// Tables of Hugging Face's names, one per family, and the parts that it stores separately.
//
// A rule holds for every name that begins with its pattern (formats/names/naming_pattern.h) and
// keeps the rest of the name.
#include "formats/naming_huggingface.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text/text.h"
#include "formats/names/naming_pattern.h"
#include "formats/weights/weights.h"

enum { MOST_RULES = 20, N_QKV = 3 };

struct SrHuggingface {
    const char *family;
    bool variant; // gated branches; of ConvNeXt: trained on ImageNet
    bool keys_without_bias;
    const char *anchors[2];           // names that only this family's files have together
    const char *rules[MOST_RULES][2]; // Hugging Face's words, the authors' or torchvision's
};

// SigLIP's pooling: Hugging Face stores one layer, timm one for the query and one for the tokens.
#define POOL_QKV "attn_pool.in_proj."
#define POOL_Q "attn_pool.q."
#define POOL_KV "attn_pool.kv."
#define BLOCK(theirs, ours) \
    { "encoder.layer.<a>." theirs, "blocks.<a>." ours }
#define DINOV3(theirs, ours) \
    { "layer.<a>." theirs, "blocks.<a>." ours }
// Rules of DINOv3's transformers, with gates and without.
#define DINOV3_RULES                                                                            \
    {"embeddings.cls_token", "cls_token"}, {"embeddings.register_tokens", "storage_tokens"},    \
        {"embeddings.mask_token", "mask_token"},                                                \
        {"embeddings.patch_embeddings.", "patch_embed.proj."}, DINOV3("norm1.", "norm1."),      \
        DINOV3("norm2.", "norm2."), DINOV3("attention.q_proj.", "attn.q."),                     \
        DINOV3("attention.k_proj.", "attn.k."), DINOV3("attention.v_proj.", "attn.v."),         \
        DINOV3("attention.o_proj.", "attn.proj."), DINOV3("layer_scale1.lambda1", "ls1.gamma"), \
        DINOV3("layer_scale2.lambda1", "ls2.gamma"), {                                          \
        "norm.", "norm."                                                                        \
    }
// Rules that DINOv2 and ViT share.
#define ENCODER_RULES                                                               \
    {"embeddings.cls_token", "cls_token"}, {"embeddings.mask_token", "mask_token"}, \
        {"embeddings.position_embeddings", "pos_embed"},                            \
        {"embeddings.patch_embeddings.projection.", "patch_embed.proj."},           \
        BLOCK("attention.attention.query.", "attn.q."),                             \
        BLOCK("attention.attention.key.", "attn.k."),                               \
        BLOCK("attention.attention.value.", "attn.v."),                             \
        BLOCK("attention.output.dense.", "attn.proj."), {                           \
        "layernorm.", "norm."                                                       \
    }
// Rules that the vision towers of CLIP and SigLIP share; their families have timm's names.
#define TOWER(theirs, ours) \
    { "vision_model.encoder.layers.<a>." theirs, "blocks.<a>." ours }
#define TOWER_RULES                                                                   \
    {"vision_model.embeddings.patch_embedding.", "patch_embed.proj."},                \
        {"vision_model.embeddings.position_embedding.weight", "pos_embed"},           \
        {"vision_model.post_layernorm.", "norm."}, TOWER("layer_norm1.", "norm1."),   \
        TOWER("layer_norm2.", "norm2."), TOWER("self_attn.q_proj.", "attn.q."),       \
        TOWER("self_attn.k_proj.", "attn.k."), TOWER("self_attn.v_proj.", "attn.v."), \
        TOWER("self_attn.out_proj.", "attn.proj."), TOWER("mlp.fc1.", "mlp.fc1."),    \
        TOWER("mlp.fc2.", "mlp.fc2.")
#define DINOV2_RULES                                                              \
    {"embeddings.register_tokens", "register_tokens"}, BLOCK("norm1.", "norm1."), \
        BLOCK("norm2.", "norm2."), BLOCK("layer_scale1.lambda1", "ls1.gamma"),    \
        BLOCK("layer_scale2.lambda1", "ls2.gamma"), ENCODER_RULES

static const SrHuggingface families[] = {
    {"dinov3",
     true,
     true,
     {"layer.0.attention.q_proj.weight", "layer.0.mlp.gate_proj.weight"},
     {DINOV3("mlp.gate_proj.", "mlp.w1."), DINOV3("mlp.up_proj.", "mlp.w2."),
      DINOV3("mlp.down_proj.", "mlp.w3."), DINOV3_RULES}},
    {"dinov3",
     false,
     true,
     {"layer.0.attention.q_proj.weight", "layer.0.mlp.up_proj.weight"},
     {DINOV3("mlp.up_proj.", "mlp.fc1."), DINOV3("mlp.down_proj.", "mlp.fc2."), DINOV3_RULES}},
    {"dinov2",
     true,
     false,
     {"encoder.layer.0.attention.attention.query.weight", "encoder.layer.0.mlp.weights_in.weight"},
     {BLOCK("mlp.weights_in.", "mlp.w12."), BLOCK("mlp.weights_out.", "mlp.w3."), DINOV2_RULES}},
    {"dinov2",
     false,
     false,
     {"encoder.layer.0.attention.attention.query.weight", "encoder.layer.0.layer_scale1.lambda1"},
     {BLOCK("mlp.fc1.", "mlp.fc1."), BLOCK("mlp.fc2.", "mlp.fc2."), DINOV2_RULES}},
    {"vit",
     false,
     false,
     {"encoder.layer.0.attention.attention.query.weight",
      "encoder.layer.0.layernorm_before.weight"},
     {BLOCK("layernorm_before.", "norm1."), BLOCK("layernorm_after.", "norm2."),
      BLOCK("intermediate.dense.", "mlp.fc1."), BLOCK("output.dense.", "mlp.fc2."), ENCODER_RULES}},
    {"clip",
     false,
     false,
     {"vision_model.encoder.layers.0.self_attn.q_proj.weight",
      "vision_model.embeddings.class_embedding"},
     {{"vision_model.embeddings.class_embedding", "cls_token"},
      {"vision_model.pre_layrnorm.", "norm_pre."}, // Hugging Face's spelling
      {"visual_projection.", "head."},
      TOWER_RULES}},
    {"siglip",
     false,
     false,
     {"vision_model.encoder.layers.0.self_attn.q_proj.weight", "vision_model.head.probe"},
     {{"vision_model.head.probe", "attn_pool.latent"},
      {"vision_model.head.attention.in_proj_", POOL_QKV},
      {"vision_model.head.attention.in_proj_", POOL_Q}, // for messages: the parts of POOL_QKV
      {"vision_model.head.attention.in_proj_", POOL_KV},
      {"vision_model.head.attention.out_proj.", "attn_pool.proj."},
      {"vision_model.head.layernorm.", "attn_pool.norm."},
      {"vision_model.head.mlp.", "attn_pool.mlp."},
      TOWER_RULES}},
    {"convnext",
     false,
     false,
     {"stages.0.layers.0.depthwise_conv.weight", "stages.0.downsample_layers.0.weight"}, // DINOv3's
     {{"stages.<a>.downsample_layers.<b>.", "downsample_layers.<a>.<b>."},
      {"stages.<a>.layers.<b>.depthwise_conv.", "stages.<a>.<b>.dwconv."},
      {"stages.<a>.layers.<b>.layer_norm.", "stages.<a>.<b>.norm."},
      {"stages.<a>.layers.<b>.pointwise_conv", "stages.<a>.<b>.pwconv"},
      {"stages.<a>.layers.<b>.gamma", "stages.<a>.<b>.gamma"},
      {"layer_norm.", "norm."}}},
    {"convnext",
     true,
     false,
     {"encoder.stages.0.layers.0.dwconv.weight", "embeddings.patch_embeddings.weight"},
     {{"embeddings.patch_embeddings.", "downsample_layers.0.0."},
      {"embeddings.layernorm.", "downsample_layers.0.1."},
      {"encoder.stages.<a>.downsampling_layer.<b>.", "downsample_layers.<a>.<b>."},
      {"encoder.stages.<a>.layers.<b>.dwconv.", "stages.<a>.<b>.dwconv."},
      {"encoder.stages.<a>.layers.<b>.layernorm.", "stages.<a>.<b>.norm."},
      {"encoder.stages.<a>.layers.<b>.pwconv", "stages.<a>.<b>.pwconv"},
      {"encoder.stages.<a>.layers.<b>.layer_scale_parameter", "stages.<a>.<b>.gamma"},
      {"layernorm.", "norm."}}},
    {"resnet",
     false,
     false,
     {"embedder.embedder.convolution.weight",
      "encoder.stages.0.layers.0.layer.0.convolution.weight"},
     {{"embedder.embedder.convolution.", "conv1."},
      {"embedder.embedder.normalization.", "bn1."},
      {"encoder.stages.<a>.layers.<b>.layer.<c>.convolution.", "layer<a+1>.<b>.conv<c+1>."},
      {"encoder.stages.<a>.layers.<b>.layer.<c>.normalization.", "layer<a+1>.<b>.bn<c+1>."},
      {"encoder.stages.<a>.layers.<b>.shortcut.convolution.", "layer<a+1>.<b>.downsample.0."},
      {"encoder.stages.<a>.layers.<b>.shortcut.normalization.", "layer<a+1>.<b>.downsample.1."}}},
};

// ---- which family -------------------------------------------------------------------------------

static bool has(const SrWeights *w, const char *prefix, const char *bare) {
    char name[512];
    snprintf(name, sizeof name, "%s%s", prefix, bare);
    return sr_weights_find(w, name) >= 0;
}

// Anchors name the first layer.  A file may lack just that tensor, so the next layer is tried too.
static const char *anchor(const SrHuggingface *f, int i, int layer, char text[128]) {
    snprintf(text, 128, "%s", f->anchors[i]);
    char *zero = strchr(text, '0');
    if (zero)
        *zero = (char)('0' + layer);
    return text;
}

static bool anchored(const SrWeights *w, const SrHuggingface *f, int layer, const char *name,
                     char *prefix, size_t bytes) {
    char first[128], second[128];
    if (!sr_text_ends(name, anchor(f, 0, layer, first)))
        return false;
    size_t len = strlen(name) - strlen(first);
    if (len >= bytes || (len > 0 && name[len - 1] != '.'))
        return false;
    snprintf(prefix, bytes, "%.*s", (int)len, name);
    return has(w, prefix, anchor(f, 1, layer, second));
}

const SrHuggingface *sr_huggingface_find(const SrWeights *w, char *prefix, size_t bytes) {
    for (int f = 0; f < 2 * SR_COUNT(families); f++)
        for (int i = 0; i < w->n; i++)
            if (anchored(w, &families[f / 2], f % 2, w->tensors[i].name, prefix, bytes))
                return &families[f / 2];
    *prefix = '\0';
    return NULL;
}

const SrHuggingface *sr_huggingface_of(const char *family, bool variant) {
    for (int f = 0; f < SR_COUNT(families); f++)
        if (strcmp(families[f].family, family) == 0 && families[f].variant == variant)
            return &families[f];
    return NULL;
}

const char *sr_huggingface_family(const SrHuggingface *family) { return family->family; }

static bool reword(const SrHuggingface *f, int from, const char *name, char *out, size_t bytes) {
    int values[SR_PATTERN_LETTERS];
    for (int i = 0; i < MOST_RULES && f->rules[i][0]; i++) {
        const char *rest = sr_pattern_match(f->rules[i][from], name, values);
        if (!rest)
            continue;
        sr_pattern_write(f->rules[i][1 - from], values, rest, out, bytes);
        return true;
    }
    return false;
}

bool sr_huggingface_name(const SrHuggingface *family, const char *bare, char *out, size_t bytes) {
    return strlen(bare) + 64 <= bytes && reword(family, 1, bare, out, bytes);
}

// ---- queries, keys and values -------------------------------------------------------------------

static const char *const letters[N_QKV] = {"q.", "k.", "v."};
#define QKV "qkv."

typedef struct {
    SrWeights *w;
    const SrHuggingface *family;
    const char *prefix;    // of the file
    bool *drop;            // (w.n) tensors to remove from the list
    SrWeightsTensor *made; // (n_made) tensors that replace them
    int n_made;
} Parts;

static SrStatus start(Parts *p, SrWeights *w, const SrHuggingface *family, const char *prefix) {
    size_t room = N_QKV * (size_t)w->n + 1;
    *p = (Parts){.w = w, .family = family, .prefix = prefix};
    p->drop = sr_arena_alloc(&w->arena, room * sizeof *p->drop);
    p->made = sr_arena_alloc(&w->arena, room * sizeof *p->made);
    return p->drop && p->made ? SR_OK : sr_arena_failure(&w->arena, w->path);
}

// Makes a tensor of zeros; *data gets its numbers.
static SrStatus make(Parts *p, const char *name, const SrWeightsTensor *like, SrShape shape,
                     uint8_t **data) {
    size_t bytes = (size_t)sr_shape_count(shape) * sr_dtype_bytes(like->dtype);
    *data = sr_arena_alloc(&p->w->arena, bytes + 1);
    name = sr_arena_strdup(&p->w->arena, name);
    if (!name || !*data)
        return sr_arena_failure(&p->w->arena, p->w->path);
    p->made[p->n_made++] = (SrWeightsTensor){.name = name,
                                             .origin = sr_weights_origin(like),
                                             .shape = shape,
                                             .dtype = like->dtype,
                                             .bytes = bytes,
                                             .data = *data,
                                             .packed = true};
    return SR_OK;
}

// Returns the leaf after "attn.<part>", "weight" or "bias"; NULL: another tensor.
static const char *leaf_of(const char *name, const char *part) {
    const char *at = strstr(name, ".attn.");
    at = at ? at + strlen(".attn.") : NULL;
    at = at && sr_text_starts(at, part) ? at + strlen(part) : "";
    return strcmp(at, "weight") == 0 || strcmp(at, "bias") == 0 ? at : NULL;
}

static SrStatus missing(const Parts *p, const char *bare) {
    char name[1024];
    if (!sr_huggingface_name(p->family, bare, name, sizeof name))
        snprintf(name, sizeof name, "%s", bare);
    SR_FAIL(SR_ERR_CONFIG,
            "%s: %s%s is missing; queries, keys and values of a block belong together", p->w->path,
            p->prefix, name);
}

// Joins q, k and v of one layer, of which q is given, into qkv.
static SrStatus join(Parts *p, const SrWeightsTensor *q, const char *leaf) {
    int stem = (int)(leaf - q->name - 2);
    char name[1024];
    uint8_t *data;
    bool no_key = p->family->keys_without_bias && strcmp(leaf, "bias") == 0;
    if (q->shape.rank < 1 || q->shape.rank > 2 || q->shape.d[0] > INT_MAX / N_QKV)
        return SR_OK;
    SrShape joined = q->shape;
    joined.d[0] *= N_QKV;
    snprintf(name, sizeof name, "%.*s" QKV "%s", stem, q->name, leaf);
    SR_TRY(make(p, name, q, joined, &data));
    for (int i = 0; i < N_QKV; i++) {
        SrTensor t;
        snprintf(name, sizeof name, "%.*s%s%s", stem, q->name, letters[i], leaf);
        int found = sr_weights_find(p->w, name);
        if (found < 0 && i == 1 && no_key)
            continue;
        if (found < 0)
            return missing(p, name + strlen(SR_HUGGINGFACE));
        const SrWeightsTensor *from = &p->w->tensors[found];
        if (!sr_shape_equal(from->shape, q->shape) || from->dtype != q->dtype)
            SR_FAIL(SR_ERR_CONFIG, "%s: %s has another shape or type than %s", p->w->path,
                    sr_weights_origin(from), sr_weights_origin(q));
        SR_TRY(sr_weights_read(p->w, found, &t));
        memcpy(data + (size_t)i * q->bytes, t.data, q->bytes);
        p->drop[found] = true;
    }
    return SR_OK;
}

// A key or a value without queries: the layer's queries are missing.
static SrStatus check_alone(const Parts *p, const SrWeightsTensor *t, const char *leaf) {
    char name[1024];
    snprintf(name, sizeof name, "%.*sq.%s", (int)(leaf - t->name - 2), t->name, leaf);
    return sr_weights_find(p->w, name) >= 0 ? SR_OK : missing(p, name + strlen(SR_HUGGINGFACE));
}

static SrStatus join_all(SrWeights *w, const SrHuggingface *family, const char *prefix) {
    Parts p;
    SR_TRY(start(&p, w, family, prefix));
    for (int i = 0; i < w->n; i++)
        for (int k = 0; k < N_QKV && sr_text_starts(w->tensors[i].name, SR_HUGGINGFACE); k++) {
            const char *leaf = leaf_of(w->tensors[i].name, letters[k]);
            if (leaf)
                SR_TRY(k == 0 ? join(&p, &w->tensors[i], leaf)
                              : check_alone(&p, &w->tensors[i], leaf));
        }
    return p.n_made ? sr_weights_exchange(w, p.drop, p.made, p.n_made) : SR_OK;
}

// ---- pooling by attention -----------------------------------------------------------------------

// Copies rows `from` to `to` of a tensor's thirds to a tensor of another name.
static SrStatus take_thirds(Parts *p, int index, const char *name, int from, int to) {
    const SrWeightsTensor *whole = &p->w->tensors[index];
    SrShape shape = whole->shape;
    SrTensor t;
    uint8_t *data;
    shape.d[0] = shape.d[0] / N_QKV * (to - from);
    SR_TRY(make(p, name, whole, shape, &data));
    SR_TRY(sr_weights_read(p->w, index, &t));
    size_t third = whole->bytes / N_QKV;
    memcpy(data, (const uint8_t *)t.data + third * (size_t)from, third * (size_t)(to - from));
    return SR_OK;
}

// Cuts the pooling's layer into query and tokens' part.
static SrStatus cut_pool(SrWeights *w) {
    static const char *const leaves[] = {"weight", "bias"};
    char name[128];
    Parts p;
    SR_TRY(start(&p, w, NULL, ""));
    for (int i = 0; i < SR_COUNT(leaves); i++) {
        snprintf(name, sizeof name, SR_HUGGINGFACE POOL_QKV "%s", leaves[i]);
        int at = sr_weights_find(w, name);
        if (at < 0 || w->tensors[at].shape.rank < 1 || w->tensors[at].shape.d[0] % N_QKV)
            continue;
        snprintf(name, sizeof name, SR_HUGGINGFACE POOL_Q "%s", leaves[i]);
        SR_TRY(take_thirds(&p, at, name, 0, 1));
        snprintf(name, sizeof name, SR_HUGGINGFACE POOL_KV "%s", leaves[i]);
        SR_TRY(take_thirds(&p, at, name, 1, N_QKV));
        p.drop[at] = true;
    }
    return p.n_made ? sr_weights_exchange(w, p.drop, p.made, p.n_made) : SR_OK;
}

// True if kv has twice the rows of q and everything else in common.
static bool fits(const SrWeightsTensor *q, const SrWeightsTensor *kv) {
    SrShape twice = q->shape;
    if (twice.rank < 1 || twice.d[0] > INT_MAX / N_QKV)
        return false;
    twice.d[0] *= 2;
    return sr_shape_equal(kv->shape, twice) && kv->dtype == q->dtype;
}

// Joins the two parts of the pooling's layer.  One part has no name of its own in Hugging Face's
// files, so that parts which do not fit are refused.
static SrStatus join_pool(Parts *p, const char *prefix) {
    static const char *const leaves[] = {"weight", "bias"};
    char name[1024];
    uint8_t *data;
    for (int i = 0; i < SR_COUNT(leaves); i++) {
        SrTensor t;
        snprintf(name, sizeof name, "%s" POOL_Q "%s", prefix, leaves[i]);
        int q = sr_weights_find(p->w, name);
        snprintf(name, sizeof name, "%s" POOL_KV "%s", prefix, leaves[i]);
        int kv = sr_weights_find(p->w, name);
        if (q < 0 && kv < 0)
            continue;
        if (q < 0 || kv < 0 || !fits(&p->w->tensors[q], &p->w->tensors[kv]))
            SR_FAIL(SR_ERR_CONFIG,
                    "%s: " POOL_Q "%s and " POOL_KV
                    "%s do not fit together: one is missing, or the "
                    "second has not twice the rows of the first",
                    p->w->path, leaves[i], leaves[i]);
        const SrWeightsTensor *query = &p->w->tensors[q];
        SrShape joined = query->shape;
        joined.d[0] *= N_QKV;
        snprintf(name, sizeof name, "%s" POOL_QKV "%s", prefix, leaves[i]);
        SR_TRY(make(p, name, query, joined, &data));
        SR_TRY(sr_weights_read(p->w, q, &t));
        memcpy(data, t.data, query->bytes);
        SR_TRY(sr_weights_read(p->w, kv, &t));
        memcpy(data + query->bytes, t.data, 2 * query->bytes);
        p->drop[q] = p->drop[kv] = true;
    }
    return SR_OK;
}

// ---- reading and writing ------------------------------------------------------------------------

// CLIP and SigLIP store tables of embeddings, (D) and (L, D); everybody else (1, 1, D), (1, L, D).
static bool is_embedding(const char *bare) {
    return strcmp(bare, "cls_token") == 0 || strcmp(bare, "pos_embed") == 0;
}

static SrShape shape_read(const char *bare, SrShape s) {
    if (is_embedding(bare) && s.rank == 1)
        return SR_SHAPE(1, 1, s.d[0]);
    return is_embedding(bare) && s.rank == 2 ? SR_SHAPE(1, s.d[0], s.d[1]) : s;
}

SrShape sr_huggingface_shape(const SrHuggingface *family, const char *bare, SrShape s) {
    bool tower = sr_text_starts(family->anchors[0], "vision_model.");
    if (!tower || !is_embedding(bare) || s.rank != 3)
        return s;
    return strcmp(bare, "cls_token") == 0 ? SR_SHAPE(s.d[2]) : SR_SHAPE(s.d[1], s.d[2]);
}

SrStatus sr_huggingface_read(SrWeights *w, const SrHuggingface *family, const char *prefix) {
    char bare[1024];
    bool *none = sr_arena_alloc(&w->arena, ((size_t)w->n + 1) * sizeof *none);
    if (!none)
        return sr_arena_failure(&w->arena, w->path);
    for (int i = 0; i < w->n; i++) {
        SrWeightsTensor *t = &w->tensors[i];
        if (!sr_text_starts(t->name, prefix) || strlen(t->name) + 64 > sizeof bare ||
            !reword(family, 0, t->name + strlen(prefix), bare, sizeof bare))
            continue;
        t->origin = t->name;
        t->shape = shape_read(bare, t->shape);
        t->name = sr_arena_printf(&w->arena, SR_HUGGINGFACE "%s", bare);
        if (!t->name)
            return sr_arena_failure(&w->arena, w->path);
    }
    SR_TRY(sr_weights_exchange(w, none, NULL, 0)); // sorts the new names
    SR_TRY(join_all(w, family, prefix));
    return cut_pool(w);
}

static SrStatus split(Parts *p, int index, const char *leaf) {
    const SrWeightsTensor *qkv = &p->w->tensors[index];
    bool bias = strcmp(leaf, "bias") == 0, no_key = p->family->keys_without_bias && bias;
    SrShape third = qkv->shape;
    SrTensor t;
    if (third.rank < 1 || third.d[0] % N_QKV)
        return SR_OK;
    third.d[0] /= N_QKV;
    size_t bytes = qkv->bytes / N_QKV;
    for (int i = 0; i < N_QKV; i++) {
        char name[1024];
        uint8_t *data;
        if (i == 1 && no_key)
            continue;
        snprintf(name, sizeof name, "%.*s%s%s", (int)(leaf - qkv->name - (int)strlen(QKV)),
                 qkv->name, letters[i], leaf);
        SR_TRY(make(p, name, qkv, third, &data));
        SR_TRY(sr_weights_read(p->w, index, &t));
        memcpy(data, (const uint8_t *)t.data + (size_t)i * bytes, bytes);
    }
    p->drop[index] = true;
    return SR_OK;
}

SrStatus sr_huggingface_split(SrWeights *w, const SrHuggingface *family, const char *prefix) {
    Parts p;
    SR_TRY(start(&p, w, family, prefix));
    for (int i = 0; i < w->n; i++) {
        const char *leaf = leaf_of(w->tensors[i].name, QKV);
        if (leaf && sr_text_starts(w->tensors[i].name, prefix))
            SR_TRY(split(&p, i, leaf));
    }
    SR_TRY(join_pool(&p, prefix));
    return p.n_made ? sr_weights_exchange(w, p.drop, p.made, p.n_made) : SR_OK;
}
