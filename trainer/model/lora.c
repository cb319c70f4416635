// Adds adapters to the parameter table, passes gradients to them, and forms the weights.
#include "trainer/model/lora.h"

#include <string.h>

#include "base/text/text.h"
#include "kernels/core/gemm.h"
#include "trainer/optim/optim_options.h"

enum { TARGET_QV = 1, TARGET_LINEAR = 2, TARGET_CONV = 4 };

// ---- set-up -------------------------------------------------------------------------------------

static SrStatus parse_targets(const SrStrings *names, int *out) {
    static const char *const known[] = {"qv", "linear", "conv1x1"};
    *out = 0;
    for (int i = 0; i < names->n; i++) {
        int k = 0;
        while (k < SR_COUNT(known) && strcmp(names->v[i], known[k]) != 0)
            k++;
        if (k == SR_COUNT(known))
            SR_FAIL(SR_ERR_CONFIG,
                    "MODEL.LORA.TARGETS: there is no target '%s'; expected qv, linear or conv1x1",
                    names->v[i]);
        *out |= 1 << k;
    }
    return SR_OK;
}

// Returns which rows of a weight are adapted, as up to two ranges of equal length; 0: none.  A
// fused weight holds queries, keys and values below each other.
static int ranges_of(const SrParam *p, int targets, int first[2], int *rows) {
    bool dense = p->shape.rank == 2;
    bool point = p->shape.rank == 4 && p->shape.d[2] == 1 && p->shape.d[3] == 1;
    int out = (int)p->shape.d[0];
    first[0] = 0;
    *rows = out;
    if (p->role != SR_ROLE_WEIGHT || !(dense || point))
        return 0;
    if ((dense && (targets & TARGET_LINEAR)) || (point && (targets & TARGET_CONV)))
        return 1;
    bool fused = sr_text_ends(p->name, "qkv.weight") || sr_text_ends(p->name, "qkv_weight") ||
                 sr_text_ends(p->name, "in_proj_weight");
    if (!(targets & TARGET_QV) || !dense || !fused || out % 3 != 0)
        return 0;
    *rows = out / 3;
    first[1] = 2 * *rows;
    return 2;
}

static SrStatus add_entry(SrParams *params, const char *kind, const SrParam *weight,
                          const char *part, SrShape shape, SrSlotKind slot_kind, SrInit init,
                          SrArena *arena, int *out) {
    const char *name = sr_arena_printf(arena, "lora.%s.%s%s", kind, weight->name, part);
    SrSlot slot = {.name = name,
                   .shape = shape,
                   .dtype = SR_F32,
                   .kind = slot_kind,
                   .role = SR_ROLE_WEIGHT,
                   .init = init};
    return name ? sr_params_add(params, name, &slot, out) : sr_out_of_memory("MODEL.LORA");
}

// A begins as PyTorch draws a linear layer and B with zeros, so that training begins at W0.
static SrStatus add_adapter(SrLora *l, int weight, int first, int rows, const char *part,
                            SrArena *arena) {
    static const SrInit draw = {SR_INIT_UNIFORM_FAN_IN, 1}, zero = {SR_INIT_CONSTANT, 0};
    const SrParam p = *sr_params_at(l->params, weight); // adding entries may move the table
    int in = (int)(sr_shape_count(p.shape) / p.shape.d[0]);
    SrLoraAdapter *a = &l->v[l->n++];
    *a = (SrLoraAdapter){.weight = weight, .first = first, .rows = rows, .in = in};
    SR_TRY(add_entry(l->params, "a", &p, part, SR_SHAPE(l->rank, in), SR_SLOT_PARAM, draw, arena,
                     &a->a));
    SR_TRY(add_entry(l->params, "b", &p, part, SR_SHAPE(rows, l->rank), SR_SLOT_PARAM, zero, arena,
                     &a->b));
    return add_entry(l->params, "start", &p, part, SR_SHAPE(rows, in), SR_SLOT_STATE, zero, arena,
                     &a->start);
}

// Tells whether a parameter of the trunk learns by itself: norms and the last blocks do.
static bool learns(const SrParam *p, const SrConfig *config) {
    const SrOptimizerConfig *o = &config->optimizer;
    if (p->role == SR_ROLE_NORM_WEIGHT || p->role == SR_ROLE_NORM_BIAS)
        return true;
    if (config->model.lora_unfreeze_last == 0)
        return false;
    int layers = o->trunk->layers(o->trunk_params);
    return o->trunk->depth(p->name, layers) > layers - config->model.lora_unfreeze_last;
}

static SrStatus add_all(SrLora *l, const SrConfig *config, int targets, SrArena *arena) {
    static const char *const parts[] = {".q", ".v"};
    int count = sr_params_count(l->params), first[2], rows;
    for (int i = 0; i < count; i++) {
        SrParam *p = sr_params_at(l->params, i);
        if (!sr_text_starts(p->name, "trunk.") || !p->trainable || learns(p, config))
            continue;
        int n = ranges_of(p, targets, first, &rows);
        p->trainable = p->merged = n > 0;
        for (int k = 0; k < n; k++)
            SR_TRY(add_adapter(l, i, first[k], rows, n > 1 ? parts[k] : "", arena));
    }
    return SR_OK;
}

SrStatus sr_lora_add(SrLora *out, SrParams *params, const SrConfig *config, SrArena *arena) {
    const SrModelConfig *m = &config->model;
    const SrTrunk *trunk = config->optimizer.trunk;
    int targets;
    *out = (SrLora){.params = params, .rank = m->lora_rank};
    if (!m->use_lora)
        return SR_OK;
    SR_TRY(parse_targets(&m->lora_targets, &targets));
    if (m->lora_unfreeze_last > 0 && (!trunk || !trunk->depth))
        SR_FAIL(SR_ERR_CONFIG,
                "MODEL.LORA.UNFREEZE_LAST: the trunk %s does not number its blocks; set it to 0",
                m->trunk_name);
    out->scale = (float)(m->lora_alpha / m->lora_rank);
    out->v = sr_arena_alloc(arena, (size_t)(2 * sr_params_count(params) + 1) * sizeof *out->v);
    SR_TRY_MEMORY(out->v, "MODEL.LORA");
    SR_TRY(add_all(out, config, targets, arena));
    if (out->n == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "MODEL.LORA: with UNFREEZE_LAST %d the trunk %s has no layer for an adapter; "
                "TARGETS may hold qv (fused queries, keys and values), linear and conv1x1, and a "
                "frozen trunk takes none",
                m->lora_unfreeze_last, m->trunk_name);
    return sr_gemm_reserve();
}

// ---- training -----------------------------------------------------------------------------------

// One adapter's tensors during a pass.
typedef struct {
    const SrLoraAdapter *adapter;
    float *w, *dw, *start; // (rows, in)
    const float *a, *b;    // (rank, in), (rows, rank)
    float *da, *db;
} Pass;

static Pass pass_of(const SrLora *l, int i) {
    const SrLoraAdapter *a = &l->v[i];
    const SrParam *weight = sr_params_at(l->params, a->weight), *pa = sr_params_at(l->params, a->a),
                  *pb = sr_params_at(l->params, a->b);
    int64_t at = (int64_t)a->first * a->in;
    return (Pass){.adapter = a,
                  .w = (float *)weight->value + at,
                  .dw = weight->grad ? weight->grad + at : NULL,
                  .start = sr_params_at(l->params, a->start)->value,
                  .a = pa->value,
                  .b = pb->value,
                  .da = pa->grad,
                  .db = pb->grad};
}

void sr_lora_start(const SrLora *l) {
    for (int i = 0; i < l->n; i++) {
        Pass p = pass_of(l, i);
        memcpy(p.start, p.w, (size_t)p.adapter->rows * (size_t)p.adapter->in * sizeof *p.w);
    }
}

void sr_lora_backward(const SrLora *l) {
    for (int i = 0; i < l->n; i++) {
        Pass p = pass_of(l, i);
        int rows = p.adapter->rows, in = p.adapter->in, rank = l->rank;
        sr_gemm(true, false, rank, in, rows, l->scale, p.b, rank, p.dw, in, 0, p.da, in);
        sr_gemm(false, true, rows, rank, in, l->scale, p.dw, in, p.a, in, 0, p.db, rank);
    }
}

void sr_lora_merge(const SrLora *l) {
    for (int i = 0; i < l->n; i++) {
        Pass p = pass_of(l, i);
        int rows = p.adapter->rows, in = p.adapter->in, rank = l->rank;
        memcpy(p.w, p.start, (size_t)rows * (size_t)in * sizeof *p.w);
        sr_gemm(false, false, rows, in, rank, l->scale, p.b, rank, p.a, in, 1, p.w, in);
    }
}
