// Each op of a trunk's evaluation in ONNX's words.  Values are (N, C, H, W) there, so that a convolution's weight is
// written as it stands; flatten has PyTorch's order in both.
#include "trainer/model/export_onnx.h"

#include <string.h>

#include "formats/onnx.h"
#include "kernels/batch_norm.h"
#include "kernels/conv2d.h"
#include "kernels/group_norm.h"
#include "kernels/linear.h"
#include "kernels/pad.h"
#include "kernels/pool2d.h"

typedef struct {
    const SrExtractor *ex;
    const SrGraph *graph;
    SrParams *params;
    SrOnnx onnx;
    const char **values; // of each node: the name of its value
    SrNodeId at;         // the node being written
} Export;

static SrShape nchw(SrShape s) {
    return s.rank == 4 ? SR_SHAPE(s.d[0], s.d[3], s.d[1], s.d[2]) : s;
}

static int or_else(int value, int otherwise) { return value > 0 ? value : otherwise; }

// ---- names --------------------------------------------------------------------------------------

static bool is_tap_name(const Export *e, const char *name) {
    for (int i = 0; i < e->ex->taps.n; i++)
        if (strcmp(e->ex->taps.v[i].name, name) == 0)
            return true;
    return false;
}

// A node's own name, unless an output has it: taps may be called like nodes they are not (VISSL's conv1).
static SrStatus name_values(Export *e) {
    int n = sr_graph_count(e->graph);
    e->values = sr_arena_alloc(&e->onnx.arena, (size_t)(n + 1) * sizeof *e->values);
    if (!e->values)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for an ONNX graph");
    for (int i = 0; i < n; i++) {
        const char *name = sr_graph_at(e->graph, i)->name;
        e->values[i] =
            is_tap_name(e, name) ? sr_arena_printf(&e->onnx.arena, "%s:value", name) : name;
        if (!e->values[i])
            SR_FAIL(SR_ERR_MEMORY, "out of memory for an ONNX graph");
    }
    return SR_OK;
}

static const char *value_of(const Export *e, const SrNode *node, int input) {
    return e->values[node->in[input]];
}

static SrStatus unsupported(const SrNode *node, const char *what) {
    return sr_fail(
        SR_ERR_CONFIG,
        "node '%s' (%s%s%s) has no counterpart in the ONNX export; give --nodes before it",
        node->name, node->op->name, *what ? ", " : "", what);
}

// ---- pieces -------------------------------------------------------------------------------------

// A slot of the node as a constant; its name.
static const char *weight(Export *e, const SrNode *node, int slot) {
    const SrParam *p = sr_params_at(e->params, node->w[slot]);
    for (int i = 0; i < e->at; i++) { // shared ones are written once, by their first node
        const SrNode *other = sr_graph_at(e->graph, i);
        for (int k = 0; k < other->n_w; k++)
            if (other->w[k] == node->w[slot])
                return p->name;
    }
    sr_onnx_weight(&e->onnx, p->name, (SrTensor){p->shape, p->dtype, p->value});
    return p->name;
}

// "<value>:<what>", a name nobody else has.
static const char *inner(Export *e, const SrNode *node, const char *what) {
    const char *name = sr_arena_printf(&e->onnx.arena, "%s:%s", node->name, what);
    return name ? name : "";
}

static void begin(Export *e, const char *op, const char *const *in, int n_in) {
    sr_onnx_node(&e->onnx, op, in, n_in, e->values[e->at]);
}

// A node without attributes whose inputs are the node's.
static SrStatus same_inputs(Export *e, const SrNode *node, const char *op) {
    const char *in[SR_OP_MAX_IN];
    for (int i = 0; i < node->n_in; i++)
        in[i] = value_of(e, node, i);
    begin(e, op, in, node->n_in);
    sr_onnx_end(&e->onnx);
    return SR_OK;
}

// ---- ops ----------------------------------------------------------------------------------------

static SrStatus export_conv(Export *e, const SrNode *node) {
    const SrConv2dParams *p = node->params;
    if (p->relu || p->residual)
        return unsupported(node, "fused");
    int h = p->kernel_h, w = or_else(p->kernel_w, h), ph = p->padding_h,
        pw = p->padding_w < 0 ? ph : p->padding_w;
    int sh = or_else(p->stride_h, 1), dh = or_else(p->dilation_h, 1);
    const char *in[] = {value_of(e, node, 0), weight(e, node, 0),
                        p->bias ? weight(e, node, 1) : NULL};
    begin(e, "Conv", in, p->bias ? 3 : 2);
    sr_onnx_ints(&e->onnx, "kernel_shape", (int64_t[]){h, w}, 2);
    sr_onnx_ints(&e->onnx, "strides", (int64_t[]){sh, or_else(p->stride_w, sh)}, 2);
    sr_onnx_ints(&e->onnx, "pads", (int64_t[]){ph, pw, ph, pw}, 4);
    sr_onnx_ints(&e->onnx, "dilations", (int64_t[]){dh, or_else(p->dilation_w, dh)}, 2);
    sr_onnx_int(&e->onnx, "group", or_else(p->groups, 1));
    sr_onnx_end(&e->onnx);
    return SR_OK;
}

static SrStatus export_batch_norm(Export *e, const SrNode *node) {
    const SrBatchNormParams *p = node->params;
    if (p->relu || p->residual)
        return unsupported(node, "fused");
    const char *in[5] = {value_of(e, node, 0)}; // and weight, bias, running_mean, running_var
    for (int i = 0; i < 4; i++)
        in[i + 1] = weight(e, node, i);
    begin(e, "BatchNormalization", in, 5);
    sr_onnx_float(&e->onnx, "epsilon", (float)p->eps);
    sr_onnx_end(&e->onnx);
    return SR_OK;
}

// Instances of (N, G, everything else), then weight and bias a channel.
static SrStatus export_group_norm(Export *e, const SrNode *node) {
    const SrGroupNormParams *p = node->params;
    SrShape s = nchw(node->shape);
    if (s.rank != 4)
        return unsupported(node, "of vectors");
    int G = p->num_groups, C = s.d[1];
    float *ones = sr_arena_alloc(&e->onnx.arena, 2 * (size_t)G * sizeof *ones); // and zeros
    if (!ones)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for an ONNX graph");
    for (int i = 0; i < G; i++)
        ones[i] = 1;
    const char *groups = inner(e, node, "groups"), *back = inner(e, node, "shape"),
               *one = inner(e, node, "ones"), *zero = inner(e, node, "zeros"),
               *gamma = inner(e, node, "weight"), *beta = inner(e, node, "bias"),
               *split = inner(e, node, "split"), *normal = inner(e, node, "normal"),
               *joined = inner(e, node, "joined"), *scaled = inner(e, node, "scaled");
    sr_onnx_numbers(&e->onnx, groups, (int64_t[]){0, G, -1}, 3); // 0: as it is
    sr_onnx_numbers(&e->onnx, back, (int64_t[]){0, C, s.d[2], s.d[3]}, 4);
    sr_onnx_weight(&e->onnx, one, (SrTensor){SR_SHAPE(G), SR_F32, ones});
    sr_onnx_weight(&e->onnx, zero, (SrTensor){SR_SHAPE(G), SR_F32, ones + G});
    for (int i = 0; i < 2; i++) {
        const SrParam *w = sr_params_at(e->params, node->w[i]);
        sr_onnx_weight(&e->onnx, i ? beta : gamma, (SrTensor){SR_SHAPE(C, 1, 1), SR_F32, w->value});
    }
    sr_onnx_node(&e->onnx, "Reshape", (const char *[]){value_of(e, node, 0), groups}, 2, split);
    sr_onnx_end(&e->onnx);
    sr_onnx_node(&e->onnx, "InstanceNormalization", (const char *[]){split, one, zero}, 3, normal);
    sr_onnx_float(&e->onnx, "epsilon", (float)p->eps);
    sr_onnx_end(&e->onnx);
    sr_onnx_node(&e->onnx, "Reshape", (const char *[]){normal, back}, 2, joined);
    sr_onnx_end(&e->onnx);
    sr_onnx_node(&e->onnx, "Mul", (const char *[]){joined, gamma}, 2, scaled);
    sr_onnx_end(&e->onnx);
    begin(e, "Add", (const char *[]){scaled, beta}, 2);
    sr_onnx_end(&e->onnx);
    return SR_OK;
}

static void pool_windows(Export *e, const int kernel[2], const int stride[2],
                         const int padding[2]) {
    sr_onnx_ints(&e->onnx, "kernel_shape", (int64_t[]){kernel[0], kernel[1]}, 2);
    sr_onnx_ints(&e->onnx, "strides", (int64_t[]){stride[0], stride[1]}, 2);
    sr_onnx_ints(&e->onnx, "pads", (int64_t[]){padding[0], padding[1], padding[0], padding[1]}, 4);
}

static SrStatus export_pool(Export *e, const SrNode *node) {
    const SrPool2dParams *p = node->params;
    bool mean = strcmp(node->op->name, "avg_pool2d") == 0;
    int h = p->kernel_h, w = or_else(p->kernel_w, h), sh = or_else(p->stride_h, h);
    int sw = or_else(p->stride_w, p->stride_h > 0 ? sh : w),
        pw = p->padding_w < 0 ? p->padding_h : p->padding_w;
    begin(e, mean ? "AveragePool" : "MaxPool", (const char *[]){value_of(e, node, 0)}, 1);
    pool_windows(e, (int[]){h, w}, (int[]){sh, sw}, (int[]){p->padding_h, pw});
    if (mean)
        sr_onnx_int(&e->onnx, "count_include_pad", !p->exclude_pad);
    else
        sr_onnx_int(&e->onnx, "ceil_mode", p->ceil_mode);
    sr_onnx_end(&e->onnx);
    return SR_OK;
}

// Global, or windows that tile the map; other windows overlap unevenly, which ONNX cannot say.
static SrStatus export_adaptive(Export *e, const SrNode *node) {
    const SrAdaptivePool2dParams *p = node->params;
    SrShape x = sr_graph_at(e->graph, node->in[0])->shape;
    bool mean = strcmp(node->op->name, "adaptive_avg_pool2d") == 0;
    int out_h = or_else(p->out_h, 1), out_w = or_else(p->out_w, 1), h = x.d[1] / out_h,
        w = x.d[2] / out_w;
    if (out_h == 1 && out_w == 1)
        return same_inputs(e, node, mean ? "GlobalAveragePool" : "GlobalMaxPool");
    if (h * out_h != x.d[1] || w * out_w != x.d[2])
        return unsupported(node, "windows that do not tile the map");
    begin(e, mean ? "AveragePool" : "MaxPool", (const char *[]){value_of(e, node, 0)}, 1);
    pool_windows(e, (int[]){h, w}, (int[]){h, w}, (int[]){0, 0});
    sr_onnx_end(&e->onnx);
    return SR_OK;
}

static SrStatus export_relu(Export *e, const SrNode *node) { return same_inputs(e, node, "Relu"); }

static SrStatus export_add(Export *e, const SrNode *node) { return same_inputs(e, node, "Sum"); }

static SrStatus export_identity(Export *e, const SrNode *node) {
    return same_inputs(e, node, "Identity");
}

static SrStatus export_flatten(Export *e, const SrNode *node) {
    return same_inputs(e, node, "Flatten");
} // axis 1

static SrStatus export_linear(Export *e, const SrNode *node) {
    const SrLinearParams *p = node->params;
    if (node->shape.rank != 2)
        return unsupported(node, "of tokens");
    const char *in[] = {value_of(e, node, 0), weight(e, node, 0),
                        p->bias ? weight(e, node, 1) : NULL};
    begin(e, "Gemm", in, p->bias ? 3 : 2);
    sr_onnx_int(&e->onnx, "transB", 1);
    sr_onnx_end(&e->onnx);
    return SR_OK;
}

static SrStatus export_pad(Export *e, const SrNode *node) {
    const SrPadParams *p = node->params;
    const char *pads = inner(e, node, "pads");
    int rank = node->shape.rank;
    int64_t amounts[2 * SR_MAX_RANK] = {
        0}; // all beginnings, then all ends; channels are dimension 1
    if (rank != 4 && rank != 2)
        return unsupported(node, "of tokens");
    amounts[1] = p->before;
    amounts[rank + 1] = p->after;
    sr_onnx_numbers(&e->onnx, pads, amounts, 2 * rank);
    begin(e, "Pad", (const char *[]){value_of(e, node, 0), pads}, 2);
    sr_onnx_end(&e->onnx);
    return SR_OK;
}

static const struct {
    const char *op;
    SrStatus (*write)(Export *e, const SrNode *node);
} ops[] = {
    {"conv2d", export_conv},
    {"batch_norm", export_batch_norm},
    {"group_norm", export_group_norm},
    {"relu", export_relu},
    {"add", export_add},
    {"max_pool2d", export_pool},
    {"avg_pool2d", export_pool},
    {"adaptive_avg_pool2d", export_adaptive},
    {"adaptive_max_pool2d", export_adaptive},
    {"pad", export_pad},
    {"flatten", export_flatten},
    {"linear", export_linear},
    {"identity", export_identity},
    {"dropout", export_identity}, // in evaluation
};

// ---- the graph ----------------------------------------------------------------------------------

static SrStatus export_node(Export *e, const SrNode *node) {
    if (!node->op) {
        sr_onnx_input(&e->onnx, node->name, nchw(node->shape));
        return SR_OK;
    }
    for (int i = 0; i < SR_COUNT(ops); i++)
        if (strcmp(node->op->name, ops[i].op) == 0)
            return ops[i].write(e, node);
    return unsupported(node, "");
}

// Outputs are copies by name: a node may have several taps, or one called like another node.
static SrStatus export_taps(Export *e) {
    for (int i = 0; i < e->ex->taps.n; i++) {
        const SrTap *tap = &e->ex->taps.v[i];
        if (!sr_graph_at(e->graph, tap->node)->op &&
            strcmp(tap->name, sr_graph_at(e->graph, tap->node)->name) == 0)
            SR_FAIL(SR_ERR_CONFIG,
                    "layer '%s' is the input itself; give it another name, as in x:image",
                    tap->name);
        sr_onnx_node(&e->onnx, "Identity", &e->values[tap->node], 1, tap->name);
        sr_onnx_end(&e->onnx);
        sr_onnx_output(&e->onnx, tap->name, nchw(sr_graph_at(e->graph, tap->node)->shape));
    }
    return SR_OK;
}

static SrStatus export_graph(Export *e) {
    SR_TRY(name_values(e));
    for (e->at = 0; e->at < sr_graph_count(e->graph); e->at++)
        SR_TRY(export_node(e, sr_graph_at(e->graph, e->at)));
    return export_taps(e);
}

SrStatus sr_export_onnx(const SrExtractor *ex, const char *path) {
    Export e = {.ex = ex, .graph = ex->extraction.graph, .params = ex->extraction.params};
    sr_onnx_init(&e.onnx, sr_graph_title(ex->trunk.graph));
    SrStatus status = export_graph(&e);
    if (status == SR_OK)
        status = sr_onnx_save(&e.onnx, path);
    sr_onnx_deinit(&e.onnx);
    return status;
}
