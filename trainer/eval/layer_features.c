// Extracts features of several layers in one pass over the images, pooled over windows.
#include "trainer/eval/layer_features.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// ---- which layers

static bool is_stem(const char *alias) {
    return strcmp(alias, "conv1") == 0 || strcmp(alias, "res1") == 0;
}

// timm's indices are other names of the same stages.
static bool is_index(const char *alias) { return isdigit((unsigned char)alias[0]) != 0; }

// A map of one pixel is the flattened vector after it.
static bool is_vector_as_map(SrShape s) { return s.rank == 4 && s.d[1] * s.d[2] == 1; }

static void insert(SrLayers *l, const char *name, SrNodeId node, SrShape shape) {
    int at = l->n;
    while (at > 0 && l->v[at - 1].node > node)
        at--;
    if (at > 0 && l->v[at - 1].node == node)
        return;
    if (l->n == SR_LAYERS_MAX) { // the first gives way
        if (at == 0)
            return;
        memmove(l->v, l->v + 1, (size_t)(--at) * sizeof *l->v);
    } else {
        memmove(l->v + at + 1, l->v + at, (size_t)(l->n++ - at) * sizeof *l->v);
    }
    l->v[at] = (SrLayer){.node = node, .shape = shape};
    snprintf(l->v[at].name, sizeof l->v[at].name, "%s", name);
}

// The largest square of windows whose means are SR_LAYER_NUMBERS or fewer.
static void pool_size(SrLayer *l) {
    SrShape s = l->shape;
    l->rows = s.rank > 2 ? s.d[1] : 1;
    l->columns = s.rank == 4 ? s.d[2] : 1;
    l->depth = sr_shape_last(s);
    while (l->rows * l->columns * l->depth > SR_LAYER_NUMBERS && (l->rows > 1 || l->columns > 1)) {
        int side = SR_MAX(l->rows, l->columns) - 1;
        l->rows = SR_MIN(l->rows, side);
        l->columns = SR_MIN(l->columns, side);
    }
}

// The stages announced in a trunk's graph: without the stem, and without what differs from the
// last layer in shape alone.
static void find_layers(const SrGraph *graph, SrLayers *out) {
    *out = (SrLayers){.n = 0};
    for (int i = 0; i < sr_graph_alias_count(graph); i++) {
        SrNodeId node;
        const char *alias = sr_graph_alias_at(graph, i, &node);
        SrShape shape = sr_graph_at(graph, node)->shape;
        if (!is_stem(alias) && !is_index(alias) && !is_vector_as_map(shape) && shape.rank >= 2)
            insert(out, alias, node, shape);
    }
    for (int i = 0; i < out->n; i++) {
        SrLayer *l = &out->v[i];
        pool_size(l);
        l->first = out->d;
        out->d += l->rows * l->columns * l->depth;
    }
}

// ---- extraction

void sr_layer_pool(const float *x, int H, int W, int C, int rows, int columns, float *y) {
    memset(y, 0, (size_t)rows * (size_t)columns * (size_t)C * sizeof *y);
    for (int i = 0; i < rows * columns; i++, y += C) {
        int r = i / columns, c = i % columns;
        int top = r * H / rows, bottom = ((r + 1) * H + rows - 1) / rows;
        int left = c * W / columns, right = ((c + 1) * W + columns - 1) / columns;
        float scale = 1.0f / (float)((bottom - top) * (right - left));
        for (int h = top; h < bottom; h++)
            for (int w = left; w < right; w++)
                for (int k = 0; k < C; k++)
                    y[k] += scale * x[((int64_t)h * W + w) * C + k];
    }
}

typedef struct {
    const SrLayers *layers;
    SrPlan *plan;
    SrTensor input, tap[SR_LAYERS_MAX];
    int64_t passes;
} Pass;

static void rows_of_layers(void *arg, const SrBatch *batch, float *rows) {
    Pass *p = arg;
    size_t image = (size_t)sr_shape_count(p->input.shape) / (size_t)p->input.shape.d[0];
    memcpy(p->input.data, batch->view[0], (size_t)batch->batch * image * sizeof(float));
    sr_plan_forward(p->plan, p->passes++);
    for (int i = 0; i < batch->batch; i++)
        for (int k = 0; k < p->layers->n; k++) {
            const SrLayer *l = &p->layers->v[k];
            int H = l->shape.rank > 2 ? l->shape.d[1] : 1;
            int W = l->shape.rank == 4 ? l->shape.d[2] : 1;
            const float *x = (const float *)p->tap[k].data + (int64_t)i * H * W * l->depth;
            sr_layer_pool(x, H, W, l->depth, l->rows, l->columns,
                          rows + (int64_t)i * p->layers->d + l->first);
        }
}

static SrStatus open_pass(Pass *p, SrModel *model, const char *layer, SrSplit *split, int batch,
                          SrLayers *layers) {
    SrGraph *graph;
    SrNodeId input, tap, nodes[SR_LAYERS_MAX];
    SR_TRY(
        sr_model_build_eval(model, batch, split->h[0], split->w[0], layer, &graph, &input, &tap));
    SR_TRY(sr_params_allocate(sr_model_params(model)));
    find_layers(graph, layers);
    for (int i = 0; i < layers->n; i++)
        nodes[i] = layers->v[i].node;
    SrPlanOptions options = {.mode = SR_MODE_EVAL,
                             .outputs = nodes,
                             .n_outputs = layers->n,
                             .machine = sr_model_machine(model),
                             .bf16 = sr_model_bf16(model)};
    SR_TRY(sr_plan_compile(graph, &options, &p->plan));
    p->input = sr_plan_input(p->plan, input);
    for (int i = 0; i < layers->n; i++)
        p->tap[i] = sr_plan_output(p->plan, nodes[i]);
    return SR_OK;
}

SrStatus sr_layer_features_extract(SrModel *model, const char *layer, SrSplit *split, int batch,
                                   SrLayers *layers, SrMatrix *out) {
    Pass pass = {.layers = layers};
    SrStatus status;
    *out = (SrMatrix){0};
    SR_TRY_GOTO(open_pass(&pass, model, layer, split, batch, layers));
    SR_TRY_GOTO(sr_matrix_init(out, sr_loader_length(split->loader), layers->d));
    SR_TRY_GOTO(sr_trunk_features_fill(split, out, rows_of_layers, &pass));
done:
    sr_plan_free(pass.plan);
    if (status != SR_OK)
        sr_matrix_deinit(out);
    return status;
}

SrStatus sr_layer_features_take(const SrLayers *layers, int i, const SrMatrix *joint,
                                SrMatrix *out) {
    const SrLayer *l = &layers->v[i];
    SR_TRY(sr_matrix_init(out, joint->n, l->rows * l->columns * l->depth));
    memcpy(out->label, joint->label, (size_t)joint->n * sizeof *out->label);
    for (int64_t k = 0; k < joint->n; k++)
        memcpy(out->x + k * out->d, joint->x + k * joint->d + l->first,
               (size_t)out->d * sizeof *out->x);
    return SR_OK;
}
