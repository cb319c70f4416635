// Rewrites a graph so that convolutions have the weights and biases of the norms after them.
#include "graph/edit/fold_norm.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "graph/edit/extract.h"
#include "graph/edit/rewrite.h"
#include "graph/ir/cost.h"

typedef struct {
    const int *readers;
    const bool *tapped;
} Fold;

// Number of nodes that are bound to a table entry.
static int users_of(const SrGraph *graph, int w) {
    int n = 0;
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++)
        for (int i = 0; i < sr_graph_at(graph, id)->n_w; i++)
            n += sr_graph_at(graph, id)->w[i] == w;
    return n;
}

static bool takes_affine(const SrNode *node) {
    return node->op && (node->op->flags & SR_OP_FOLDS_AFFINE) && node->n_in == 1;
}

// No activation sits between a convolution's sum and its value.
static bool is_linear(const SrNode *node) {
    for (int i = 0; sr_op_at(i); i++) {
        const char *name = sr_op_at(i)->fuses_as;
        const bool *on = name ? sr_op_switch(node->op, node->params, name) : NULL;
        if (on && *on)
            return false;
    }
    return true;
}

// Node `id` is a plain batch norm over a convolution that only it reads.
static bool can_fold(const SrGraph *graph, SrNodeId id, const Fold *f) {
    const SrNode *norm = sr_graph_at(graph, id);
    if (!norm->op || !norm->op->affine || norm->n_in != 1 ||
        !norm->op->affine(norm->params, NULL, 0, NULL, NULL))
        return false;
    const SrNode *conv = sr_graph_at(graph, norm->in[0]);
    return takes_affine(conv) && is_linear(conv) && f->readers[norm->in[0]] == 1 &&
           !f->tapped[norm->in[0]] && users_of(graph, conv->w[0]) == 1;
}

// Returns the norm that will be folded into node `id`, a convolution.  SR_NO_NODE: none.
static SrNodeId norm_above(const SrGraph *graph, SrNodeId id, const Fold *f) {
    for (SrNodeId k = id + 1; k < sr_graph_count(graph); k++)
        if (sr_graph_at(graph, k)->n_in > 0 && sr_graph_at(graph, k)->in[0] == id &&
            can_fold(graph, k, f))
            return k;
    return SR_NO_NODE;
}

// Declares an entry of the new table; values are set when all entries exist.
static SrStatus new_entry(SrParams *params, const char *name, SrShape shape, SrRole role,
                          int *out) {
    SrSlot slot = {
        .name = name, .shape = shape, .dtype = SR_F32, .kind = SR_SLOT_PARAM, .role = role};
    SR_TRY(sr_params_add(params, name, &slot, out));
    sr_params_at(params, *out)->trainable = false;
    return SR_OK;
}

static const float *value_of(const SrGraph *graph, int w) {
    return sr_params_at(sr_graph_params(graph), w)->value;
}

// Computes folded_weight (K, n) and folded_bias (K) from weight (K, n) and bias (K); bias NULL:
// zeros. Sums are in double, so that folding costs no digits.  scratch: 2 K numbers.
static void fold_values(const SrGraph *graph, const SrNode *conv, const SrNode *norm,
                        float *folded_weight, float *folded_bias, double *scratch) {
    const float *weight = value_of(graph, conv->w[0]), *w[SR_OP_MAX_SLOTS];
    const float *bias = conv->n_w > 1 ? value_of(graph, conv->w[1]) : NULL;
    SrShape shape = sr_params_at(sr_graph_params(graph), conv->w[0])->shape;
    int K = shape.d[0];
    int64_t n = sr_shape_count(shape) / K;
    double *a = scratch, *b = scratch + K;
    for (int i = 0; i < norm->n_w; i++)
        w[i] = value_of(graph, norm->w[i]);
    norm->op->affine(norm->params, w, K, a, b);
    for (int k = 0; k < K; k++) {
        folded_bias[k] = (float)(b[k] + a[k] * (bias ? (double)bias[k] : 0));
        for (int64_t i = 0; i < n; i++)
            folded_weight[k * n + i] = (float)(a[k] * (double)weight[k * n + i]);
    }
}

// Name of the bias: "conv1.bias" for the weight "conv1.weight".
static char *bias_name(SrArena *arena, const char *weight) {
    size_t len = strlen(weight);
    size_t stem = sr_text_ends(weight, ".weight") ? len - strlen(".weight") : len;
    return sr_arena_printf(arena, "%.*s.bias", (int)stem, weight);
}

static SrStatus add_folded(SrRewrite *rw, SrNodeId norm_id) {
    const SrNode *norm = sr_graph_at(rw->from, norm_id), *conv = sr_graph_at(rw->from, norm->in[0]);
    const SrParam *weight = sr_params_at(sr_graph_params(rw->from), conv->w[0]);
    SrParams *params = sr_graph_params(rw->to);
    int w[2];
    void *p = sr_arena_copy(sr_graph_arena(rw->to), conv->params, conv->op->params_bytes);
    char *bias = bias_name(sr_graph_arena(rw->to), weight->name);
    SR_TRY_MEMORY(p && bias, "folding %s", norm->name);
    *sr_op_switch(conv->op, p, "bias") = true;
    SR_TRY(new_entry(params, weight->name, weight->shape, SR_ROLE_WEIGHT, &w[0]));
    SR_TRY(new_entry(params, bias, SR_SHAPE(weight->shape.d[0]), SR_ROLE_BIAS, &w[1]));
    SrNodeSpec spec = {.op = conv->op,
                       .name = norm->name,
                       .module = norm->module,
                       .params = p,
                       .n_in = 1,
                       .in = &rw->map[conv->in[0]],
                       .n_w = 2,
                       .w = w,
                       .mode = SR_MODE_EVAL};
    return sr__rewrite_add(rw, norm_id, &spec);
}

static SrStatus fold_each(SrRewrite *rw, SrNodeId id) {
    const Fold *f = rw->arg;
    const SrNode *node = sr_graph_at(rw->from, id);
    if (!node->op)
        return sr__rewrite_copy(rw, id);
    if (!(node->mode & SR_MODE_EVAL) ||
        (takes_affine(node) && norm_above(rw->from, id, f) != SR_NO_NODE))
        return SR_OK;
    if (can_fold(rw->from, id, f))
        return add_folded(rw, id);
    SrRewriteSpec copy;
    SR_TRY(sr__rewrite_spec(rw, id, &copy));
    copy.spec.mode = SR_MODE_EVAL;
    return sr__rewrite_add(rw, id, &copy.spec);
}

// Copies the values of remaining entries by name, then writes the folded ones over them.
static SrStatus fill(const SrExtraction *from, const Fold *f, const SrNodeId *map,
                     SrExtraction *out, int *n) {
    SR_TRY(sr_params_copy(out->params, from->params));
    sr_params_init(out->params,
                   0); // so that nobody draws the new entries later, over what is put there now
    for (SrNodeId id = 0; id < sr_graph_count(from->graph); id++) {
        if (map[id] == SR_NO_NODE || !can_fold(from->graph, id, f))
            continue;
        const SrNode *norm = sr_graph_at(from->graph, id), *to = sr_graph_at(out->graph, map[id]);
        double *scratch = sr_alloc(2 * (size_t)sr_shape_last(norm->shape) * sizeof *scratch);
        SR_TRY_MEMORY(scratch, "folding %s", norm->name);
        fold_values(from->graph, sr_graph_at(from->graph, norm->in[0]), norm,
                    sr_params_at(out->params, to->w[0])->value,
                    sr_params_at(out->params, to->w[1])->value, scratch);
        sr_free(scratch);
        ++*n;
    }
    return SR_OK;
}

static SrStatus fold(const SrExtraction *from, Fold *f, SrExtraction *out, int *n) {
    SrNodeId *map;
    SR_TRY(sr__taps_copy(&from->eval, &out->arena, &out->eval));
    SR_TRY(sr_params_new(&out->params));
    SR_TRY(sr__rewrite(from->graph, out->params, fold_each, f, NULL, &map, &out->graph));
    sr__taps_move(&out->eval, map);
    out->before = from->before;
    out->after = sr_graph_cost(out->graph);
    SrStatus status = fill(from, f, map, out, n);
    sr_free(map);
    return status;
}

SrStatus sr_graph_fold_norm(const SrExtraction *from, SrExtraction *out, int *n_folded) {
    bool *tapped = sr_calloc((size_t)sr_graph_count(from->graph) + 1, sizeof *tapped);
    int *readers = sr__graph_readers(from->graph);
    SrStatus status;
    *out = (SrExtraction){.params = NULL};
    *n_folded = 0;
    SR_TRY_GOTO(tapped && readers ? SR_OK : sr_out_of_memory("folding norms"));
    for (int i = 0; i < sr_params_count(from->params); i++)
        if (!sr_params_at(from->params, i)->value)
            SR_TRY_GOTO(sr_fail(SR_ERR_CONFIG, "norms can be folded once parameters have values"));
    for (int i = 0; i < from->eval.n; i++)
        tapped[from->eval.v[i].node] = true;
    SR_TRY_GOTO(fold(from, &(Fold){readers, tapped}, out, n_folded));
done:
    sr_free(tapped);
    sr_free(readers);
    if (status != SR_OK)
        sr_extraction_free(out);
    return status;
}
