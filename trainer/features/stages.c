// Finds the last stages of a trunk and averages their maps over windows.
#include "trainer/features/stages.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool is_stem(const char *alias) {
    return strcmp(alias, "conv1") == 0 || strcmp(alias, "res1") == 0;
}

// Tells an index of timm's, which is another name of a stage.
static bool is_index(const char *alias) { return isdigit((unsigned char)alias[0]) != 0; }

// A map of one pixel repeats the flattened vector after it.
static bool is_vector_as_map(SrShape s) { return s.rank == 4 && s.d[1] * s.d[2] == 1; }

static void insert(SrStages *l, const char *name, SrNodeId node, SrShape shape) {
    int at = l->n;
    while (at > 0 && l->v[at - 1].node > node)
        at--;
    if (at > 0 && l->v[at - 1].node == node)
        return;
    if (l->n == SR_STAGES_MAX) { // the first gives way
        if (at == 0)
            return;
        memmove(l->v, l->v + 1, (size_t)(--at) * sizeof *l->v);
    } else {
        memmove(l->v + at + 1, l->v + at, (size_t)(l->n++ - at) * sizeof *l->v);
    }
    l->v[at] = (SrStage){.node = node, .shape = shape};
    snprintf(l->v[at].name, sizeof l->v[at].name, "%s", name);
}

void sr_stage_size(SrShape s, int *rows, int *columns, int *depth) {
    *rows = s.rank > 2 ? s.d[1] : 1;
    *columns = s.rank == 4 ? s.d[2] : 1;
    *depth = sr_shape_last(s);
    while (*rows * *columns * *depth > SR_STAGE_FLOATS && (*rows > 1 || *columns > 1)) {
        int side = SR_MAX(*rows, *columns) - 1;
        *rows = SR_MIN(*rows, side);
        *columns = SR_MIN(*columns, side);
    }
}

void sr_stages_find(const SrGraph *graph, SrStages *out) {
    *out = (SrStages){.n = 0};
    for (int i = 0; i < sr_graph_alias_count(graph); i++) {
        SrNodeId node;
        const char *alias = sr_graph_alias_at(graph, i, &node);
        SrShape shape = sr_graph_at(graph, node)->shape;
        if (!is_stem(alias) && !is_index(alias) && !is_vector_as_map(shape) && shape.rank >= 2)
            insert(out, alias, node, shape);
    }
    for (int i = 0; i < out->n; i++) {
        SrStage *l = &out->v[i];
        sr_stage_size(l->shape, &l->rows, &l->columns, &l->depth);
        l->first = out->d;
        out->d += l->rows * l->columns * l->depth;
    }
}

void sr_stage_pool(const float *x, int H, int W, int C, int rows, int columns, float *y) {
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

void sr_stages_row(const SrStages *stages, const SrTensor *value, int image, float *row) {
    for (int k = 0; k < stages->n; k++) {
        const SrStage *s = &stages->v[k];
        int H = s->shape.rank > 2 ? s->shape.d[1] : 1;
        int W = s->shape.rank == 4 ? s->shape.d[2] : 1;
        const float *x = (const float *)value[k].data + (int64_t)image * H * W * s->depth;
        sr_stage_pool(x, H, W, s->depth, s->rows, s->columns, row + s->first);
    }
}

SrStatus sr_stages_take(const SrStages *stages, int i, const SrMatrix *joint, SrMatrix *out) {
    const SrStage *l = &stages->v[i];
    SR_TRY(sr_matrix_init(out, joint->n, l->rows * l->columns * l->depth));
    memcpy(out->label, joint->label, (size_t)joint->n * sizeof *out->label);
    for (int64_t k = 0; k < joint->n; k++)
        memcpy(out->x + k * out->d, joint->x + k * joint->d + l->first,
               (size_t)out->d * sizeof *out->x);
    return SR_OK;
}
