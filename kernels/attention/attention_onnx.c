// Attention as ONNX nodes: two products and a softmax on (.., E, L, d), the nodes that torch
// exports too.
#include <stdio.h>

#include "kernels/attention/attention_internal.h"
#include "kernels/core/onnx_rows.h"

// Writes part 0 to 2 of packed queries, keys and values (.., L, 3 D) as (.., E, rows, d); keys as
// (.., E, d, L).
static const char *heads_of(SrOnnxCall *call, const char *what, const char *x, int part, int rows,
                            const SrAttentionSizes *s) {
    char name[32];
    int rank = call->x[0].rank;
    const char *y =
        sr__onnx_slice(call, what, x, rank - 1, (int64_t)part * s->D, (int64_t)(part + 1) * s->D);
    if (rows < s->L) {
        snprintf(name, sizeof name, "%s.asked", what);
        y = sr__onnx_slice(call, name, y, rank - 2, 0, rows);
    }
    int64_t dims[5] = {0}, order[5] = {0, 1, 2, 3, 4};
    dims[rank - 2] = rows, dims[rank - 1] = s->E, dims[rank] = s->d;
    order[rank - 2] = rank - 1, order[rank - 1] = rank - 2;
    if (part == 1)
        order[rank - 1] = rank, order[rank] = rank - 2;
    snprintf(name, sizeof name, "%s.heads", what);
    y = sr__onnx_reshape(call, name, y, dims, rank + 1);
    snprintf(name, sizeof name, "%s.turned", what);
    return sr__onnx_transpose(call, name, y, order, rank + 1);
}

// Writes the mask (windows, 1, L, L): -100 between tokens on different sides of the seam.
static const char *mask_of(SrOnnxCall *call, const SrAttentionParams *p, int L) {
    int windows = p->windows_h * p->windows_w;
    size_t n = (size_t)windows * (size_t)L * (size_t)L;
    float *mask = sr_arena_alloc(&call->file->arena, (n + (size_t)L) * sizeof *mask);
    const char *name = sr__onnx_inner(call, "mask");
    if (!mask) {
        call->file->status = sr_out_of_memory("an ONNX graph");
        return name;
    }
    float *side = mask + n;
    for (int w = 0; w < windows; w++) {
        sr__attention_sides(p, w, side);
        for (int i = 0; i < L * L; i++)
            mask[(size_t)w * (size_t)(L * L) + (size_t)i] = side[i / L] != side[i % L] ? -100 : 0;
    }
    sr_onnx_weight(call->file, name, (SrTensor){SR_SHAPE(windows, 1, L, L), SR_F32, mask});
    return name;
}

SrStatus sr__attention_onnx(SrOnnxCall *call) {
    const SrAttentionParams *p = call->params;
    SrAttentionSizes s = sr__attention_sizes(p, call->x[0]);
    int rank = call->x[0].rank, biases = call->n_in > 1 ? call->x[1].d[0] : 1;
    if (biases > 1 && (rank != 4 || biases != call->x[0].d[1]))
        return sr__onnx_unsupported(call, "with biases of several images");
    const char *x = sr__onnx_rows(call, 0);
    const char *q = heads_of(call, "q", x, 0, s.Q, &s), *k = heads_of(call, "k", x, 1, s.L, &s);
    const char *v = heads_of(call, "v", x, 2, s.L, &s);
    const char *scale = sr__onnx_number(call, "scale", sr__attention_scale(p, s.d));
    const char *scores = sr__onnx_two(call, "scores", "MatMul", q, k);
    scores = sr__onnx_two(call, "scaled", "Mul", scores, scale);
    if (call->n_in > 1)
        scores = sr__onnx_two(call, "biased", "Add", scores, sr__onnx_rows(call, 1));
    if (sr__attention_is_masked(p))
        scores = sr__onnx_two(call, "masked", "Add", scores, mask_of(call, p, s.L));
    const char *y =
        sr__onnx_two(call, "mixed", "MatMul", sr__onnx_softmax(call, "probabilities", scores), v);
    int64_t order[5] = {0, 1, 2, 3, 4}, dims[4] = {0};
    order[rank - 2] = rank - 1, order[rank - 1] = rank - 2;
    dims[rank - 1] = s.D;
    y = sr__onnx_transpose(call, "tokens", y, order, rank + 1);
    dims[rank - 2] = s.Q;
    return sr__onnx_finish(call, sr__onnx_reshape(call, "joined", y, dims, rank));
}
