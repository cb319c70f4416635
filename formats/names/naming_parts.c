// Joins and splits biases, and converts position embeddings with and without the class token.
#include "formats/names/naming_parts.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "formats/weights/weights.h"

typedef struct {
    SrWeights *w;
    const SrNaming *naming;
    bool *drop;            // (w.n) tensors to remove from the list
    SrWeightsTensor *made; // (n_made) tensors that replace them
    int n_made;
} Parts;

// Finds the tensor whose name replaces the end `tail` of a name; NULL: none.
static const SrWeightsTensor *beside(const Parts *p, const char *name, const char *tail,
                                     const char *leaf) {
    char other[1024];
    snprintf(other, sizeof other, "%.*s%s", (int)(strlen(name) - strlen(tail)), name, leaf);
    int i = sr_weights_find(p->w, other);
    return i < 0 ? NULL : &p->w->tensors[i];
}

static void drop(Parts *p, const SrWeightsTensor *t) {
    if (t)
        p->drop[t - p->w->tensors] = true;
}

// Makes a tensor of zeros named like `like` with another tail; *data gets its numbers.
static SrStatus make(Parts *p, const SrWeightsTensor *like, const char *tail, const char *leaf,
                     SrShape shape, uint8_t **data) {
    int stem = (int)(strlen(like->name) - strlen(tail));
    size_t bytes = (size_t)sr_shape_count(shape) * sr_dtype_bytes(like->dtype);
    const char *name = sr_arena_printf(&p->w->arena, "%.*s%s", stem, like->name, leaf);
    *data = sr_arena_alloc(&p->w->arena, bytes + 1);
    if (!name || !*data)
        return sr_arena_failure(&p->w->arena, p->w->path);
    p->made[p->n_made++] = (SrWeightsTensor){.name = name,
                                             .shape = shape,
                                             .dtype = like->dtype,
                                             .bytes = bytes,
                                             .data = *data,
                                             .packed = true};
    return SR_OK;
}

// Returns a view of `bytes` bytes of a tensor from `begin` on.
static SrStatus copy(Parts *p, const SrWeightsTensor *from, size_t begin, size_t bytes,
                     uint8_t *to) {
    SrTensor t;
    SR_TRY(sr_weights_read(p->w, (int)(from - p->w->tensors), &t));
    memcpy(to, (const uint8_t *)t.data + begin, bytes);
    return SR_OK;
}

// ---- Swin V2 ------------------------------------------------------------------------------------

#define Q_BIAS "attn.q_bias"
#define QKV_BIAS "attn.qkv.bias"

static SrStatus join_bias(Parts *p, const SrWeightsTensor *q) {
    const SrWeightsTensor *v = beside(p, q->name, Q_BIAS, "attn.v_bias");
    uint8_t *data;
    if (!v || q->shape.rank != 1 || q->shape.d[0] > INT_MAX / 3 ||
        !sr_shape_equal(q->shape, v->shape) || q->dtype != v->dtype)
        return SR_OK;
    SR_TRY(make(p, q, Q_BIAS, QKV_BIAS, SR_SHAPE(3 * q->shape.d[0]), &data));
    SR_TRY(copy(p, q, 0, q->bytes, data));
    SR_TRY(copy(p, v, 0, v->bytes, data + 2 * q->bytes));
    drop(p, q);
    drop(p, v);
    drop(p, beside(p, q->name, Q_BIAS, "attn.k_bias")); // zeros that older versions of timm store
    return SR_OK;
}

static SrStatus cut_bias(Parts *p, const SrWeightsTensor *qkv) {
    uint8_t *q, *v;
    if (!beside(p, qkv->name, QKV_BIAS, "attn.logit_scale") || qkv->shape.rank != 1 ||
        qkv->shape.d[0] % 3)
        return SR_OK;
    SrShape third = SR_SHAPE(qkv->shape.d[0] / 3);
    size_t bytes = qkv->bytes / 3;
    SR_TRY(make(p, qkv, QKV_BIAS, Q_BIAS, third, &q));
    SR_TRY(make(p, qkv, QKV_BIAS, "attn.v_bias", third, &v));
    SR_TRY(copy(p, qkv, 0, bytes, q));
    SR_TRY(copy(p, qkv, 2 * bytes, bytes, v));
    drop(p, qkv);
    return SR_OK;
}

static SrStatus swin_biases(Parts *p, SrNames to) {
    const char *wanted = to == SR_NAMES_TORCHVISION ? Q_BIAS : QKV_BIAS;
    for (int i = 0; i < p->w->n; i++) {
        const SrWeightsTensor *t = &p->w->tensors[i];
        if (!sr_text_starts(t->name, p->naming->prefix) || !sr_text_ends(t->name, wanted))
            continue;
        SR_TRY(to == SR_NAMES_TORCHVISION ? join_bias(p, t) : cut_bias(p, t));
    }
    return SR_OK;
}

// ---- DINOv2 with registers ----------------------------------------------------------------------

static bool is_square(int places) {
    int side = 0;
    while ((int64_t)side * side < places)
        side++;
    return places > 0 && (int64_t)side * side == places;
}

// (1, positions, D) -> (1, 1 + positions, D): the first row is zero, because the class token
// already contains its position.
static SrStatus add_class_place(Parts *p, const SrWeightsTensor *positions) {
    SrShape s = positions->shape;
    uint8_t *data;
    if (s.rank != 3 || s.d[0] != 1 || !is_square(s.d[1]))
        return SR_OK;
    size_t row = positions->bytes / (size_t)s.d[1];
    SR_TRY(make(p, positions, "", "", SR_SHAPE(1, s.d[1] + 1, s.d[2]), &data));
    drop(p, positions);
    return copy(p, positions, 0, positions->bytes, data + row);
}

static SrStatus take_class_place(Parts *p, const SrWeightsTensor *positions,
                                 const SrWeightsTensor *token) {
    SrShape s = positions->shape;
    uint8_t *places, *sum;
    if (!token || s.rank != 3 || s.d[0] != 1 || !is_square(s.d[1] - 1) ||
        sr_shape_count(token->shape) != s.d[2])
        return SR_OK;
    if (token->dtype != SR_F32 || positions->dtype != SR_F32)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: %s is %s and %s is %s; timm's form holds their sum, which needs both as F32",
                p->w->path, token->name, sr_dtype_name(token->dtype), positions->name,
                sr_dtype_name(positions->dtype));
    size_t row = token->bytes;
    float *first = sr_arena_alloc(&p->w->arena, row + 1);
    if (!first)
        return sr_arena_failure(&p->w->arena, p->w->path);
    SR_TRY(make(p, token, "", "", token->shape, &sum));
    SR_TRY(make(p, positions, "", "", SR_SHAPE(1, s.d[1] - 1, s.d[2]), &places));
    SR_TRY(copy(p, positions, row, positions->bytes - row, places));
    SR_TRY(copy(p, positions, 0, row, (uint8_t *)first));
    SR_TRY(copy(p, token, 0, row, sum));
    for (int i = 0; i < s.d[2]; i++)
        ((float *)sum)[i] += first[i];
    drop(p, positions);
    drop(p, token);
    return SR_OK;
}

static const SrWeightsTensor *part(const Parts *p, const char *bare) {
    return beside(p, p->naming->prefix, "", bare);
}

static SrStatus class_places(Parts *p, SrNames to) {
    const SrWeightsTensor *positions = part(p, "pos_embed");
    if (positions && part(p, "reg_token") && to != SR_NAMES_TIMM)
        return add_class_place(p, positions);
    if (positions && part(p, "register_tokens") && to == SR_NAMES_TIMM)
        return take_class_place(p, positions, part(p, "cls_token"));
    return SR_OK;
}

// ---- DINOv3 -------------------------------------------------------------------------------------

enum { WIDEST = 4096 }; // width of the published model that has no biases at all
#define QKV_WEIGHT "attn.qkv.weight"
#define BIAS_MASK "attn.qkv.bias_mask"

// Adds a bias of zeros to a layer of timm's models without biases.
static SrStatus add_zero_bias(Parts *p, const SrWeightsTensor *weight) {
    uint8_t *data;
    if (weight->shape.rank != 2 || weight->shape.d[1] == WIDEST ||
        beside(p, weight->name, QKV_WEIGHT, Q_BIAS) ||
        beside(p, weight->name, QKV_WEIGHT, QKV_BIAS))
        return SR_OK;
    return make(p, weight, QKV_WEIGHT, QKV_BIAS, SR_SHAPE(weight->shape.d[0]), &data);
}

static bool all_zero(const uint8_t *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if (data[i])
            return false;
    return true;
}

// Splits a bias into those of queries and values.  A bias of zeros is left out, as timm does.
static SrStatus cut_masked_bias(Parts *p, const SrWeightsTensor *qkv) {
    uint8_t *q, *v;
    if (qkv->shape.rank != 1 || qkv->shape.d[0] % 3)
        return SR_OK;
    SrShape third = SR_SHAPE(qkv->shape.d[0] / 3);
    size_t bytes = qkv->bytes / 3;
    SR_TRY(make(p, qkv, QKV_BIAS, Q_BIAS, third, &q));
    SR_TRY(make(p, qkv, QKV_BIAS, "attn.v_bias", third, &v));
    SR_TRY(copy(p, qkv, 0, bytes, q));
    SR_TRY(copy(p, qkv, 2 * bytes, bytes, v));
    drop(p, qkv);
    if (all_zero(q, bytes) && all_zero(v, bytes))
        p->n_made -= 2;
    return SR_OK;
}

static SrStatus dinov3_bias(Parts *p, const SrWeightsTensor *t, bool from_timm, SrNames to) {
    if (from_timm && to != SR_NAMES_TIMM && sr_text_ends(t->name, Q_BIAS))
        return join_bias(p, t);
    if (from_timm && to != SR_NAMES_TIMM && sr_text_ends(t->name, QKV_WEIGHT))
        return add_zero_bias(p, t);
    if (!from_timm && to == SR_NAMES_TIMM && sr_text_ends(t->name, QKV_BIAS))
        return cut_masked_bias(p, t);
    return SR_OK;
}

static SrStatus dinov3_biases(Parts *p, SrNames to) {
    bool from_timm = part(p, "reg_token") != NULL;
    for (int i = 0; i < p->w->n; i++)
        if (sr_text_starts(p->w->tensors[i].name, p->naming->prefix))
            SR_TRY(dinov3_bias(p, &p->w->tensors[i], from_timm, to));
    return SR_OK;
}

static SrStatus start(Parts *p, SrWeights *w, const SrNaming *naming) {
    size_t room = 2 * (size_t)w->n + 2; // each tensor is split in at most two
    *p = (Parts){.w = w, .naming = naming};
    p->drop = sr_arena_alloc(&w->arena, room * sizeof *p->drop);
    p->made = sr_arena_alloc(&w->arena, room * sizeof *p->made);
    return p->drop && p->made ? SR_OK : sr_arena_failure(&w->arena, w->path);
}

SrStatus sr_naming_parts(SrWeights *w, const SrNaming *naming, SrNames to) {
    bool swin = naming->kind == SR_TRUNK_LAYOUT && strcmp(naming->trunk, "swin") == 0;
    Parts p;
    if (!swin && naming->kind != SR_TRUNK_VIT_TIMM)
        return SR_OK;
    SR_TRY(start(&p, w, naming));
    if (swin)
        SR_TRY(swin_biases(&p, to));
    else
        SR_TRY(naming->dinov3 ? dinov3_biases(&p, to) : class_places(&p, to));
    return sr_weights_exchange(w, p.drop, p.made, p.n_made);
}

// Adds a mask of 1 for queries and values and 0 for keys.
static SrStatus add_mask(Parts *p, const SrWeightsTensor *bias) {
    uint8_t *data;
    if (bias->dtype != SR_F32 || bias->shape.rank != 1 || bias->shape.d[0] % 3 ||
        beside(p, bias->name, QKV_BIAS, BIAS_MASK))
        return SR_OK;
    SR_TRY(make(p, bias, QKV_BIAS, BIAS_MASK, bias->shape, &data));
    for (int i = 0, D = bias->shape.d[0] / 3; i < 3 * D; i++)
        ((float *)data)[i] = i / D != 1;
    return SR_OK;
}

static SrStatus add_periods(Parts *p, const SrWeightsTensor *token) {
    int head = sr_shape_last(token->shape) == WIDEST ? 128 : 64;
    uint8_t *data;
    if (token->dtype != SR_F32 || part(p, "rope_embed.periods"))
        return SR_OK;
    SR_TRY(make(p, token, "cls_token", "rope_embed.periods", SR_SHAPE(head / 4), &data));
    for (int i = 0; i < head / 4; i++)
        ((float *)data)[i] = (float)pow(100, 4.0 * i / head);
    return SR_OK;
}

SrStatus sr_naming_constants(SrWeights *w, const SrNaming *naming) {
    Parts p;
    if (!naming->dinov3)
        return SR_OK;
    SR_TRY(start(&p, w, naming));
    for (int i = 0; i < w->n; i++)
        if (sr_text_starts(w->tensors[i].name, naming->prefix) &&
            sr_text_ends(w->tensors[i].name, QKV_BIAS))
            SR_TRY(add_mask(&p, &w->tensors[i]));
    if (part(&p, "cls_token"))
        SR_TRY(add_periods(&p, part(&p, "cls_token")));
    return sr_weights_exchange(w, p.drop, p.made, p.n_made);
}
