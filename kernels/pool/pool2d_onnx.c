// Poolings written as ONNX nodes.
#include "kernels/pool/pool2d_onnx.h"

#include "kernels/core/onnx_rows.h"
#include "kernels/pool/pool2d_windows.h"

static void windows(SrOnnxCall *call, const SrPool *pool) {
    const SrPoolAxis *h = &pool->h, *w = &pool->w;
    sr_onnx_ints(call->file, "kernel_shape", (int64_t[]){h->kernel, w->kernel}, 2);
    sr_onnx_ints(call->file, "strides", (int64_t[]){h->stride, w->stride}, 2);
    sr_onnx_ints(call->file, "pads", (int64_t[]){h->pad, w->pad, h->pad, w->pad}, 4);
}

// Returns whether adaptive windows tile the map: they are then windows of fixed size.
static bool tiles(const SrPoolAxis *axis) { return axis->in % axis->out == 0; }

static void tile(SrPoolAxis *axis) { axis->kernel = axis->stride = axis->in / axis->out; }

// Fills (out, in), or its transpose: the share of each place in the mean of each window.
static const char *shares(SrOnnxCall *call, const char *what, const SrPoolAxis *a, bool turned) {
    SrShape shape = turned ? SR_SHAPE(a->in, a->out) : SR_SHAPE(a->out, a->in);
    size_t n = (size_t)a->in * (size_t)a->out;
    float *share = sr_arena_alloc(&call->file->arena, n * sizeof *share);
    const char *name = sr__onnx_inner(call, what);
    if (!share) {
        call->file->status = sr_out_of_memory("an ONNX graph");
        return name;
    }
    for (int i = 0; i < a->out; i++) {
        int begin = i * a->in / a->out, end = ((i + 1) * a->in + a->out - 1) / a->out;
        for (int k = begin; k < end; k++)
            share[turned ? k * a->out + i : i * a->in + k] = 1 / (float)(end - begin);
    }
    sr_onnx_weight(call->file, name, (SrTensor){shape, SR_F32, share});
    return name;
}

// Writes means over overlapping windows: rows (out, in) times the map times columns.
static SrStatus overlapping(SrOnnxCall *call, const SrPool *pool) {
    const char *columns = sr__onnx_two(call, "over_columns", "MatMul", call->in[0],
                                       shares(call, "columns", &pool->w, true));
    sr__onnx_begin(call, "MatMul",
                   (const char *[]){shares(call, "lines", &pool->h, false), columns}, 2);
    sr_onnx_end(call->file);
    return SR_OK;
}

SrStatus sr__pool_onnx(SrOnnxCall *call, SrPool pool, bool max) {
    bool adaptive = !pool.h.kernel;
    if (adaptive && pool.h.out == 1 && pool.w.out == 1)
        return sr__onnx_plain(call, max ? "GlobalMaxPool" : "GlobalAveragePool");
    bool whole = tiles(&pool.h) && tiles(&pool.w);
    if (adaptive && !whole && max)
        return sr__onnx_unsupported(call, "windows that do not tile the map");
    if (adaptive && !whole)
        return overlapping(call, &pool);
    if (adaptive)
        tile(&pool.h), tile(&pool.w);
    sr__onnx_begin(call, max ? "MaxPool" : "AveragePool", call->in, 1);
    windows(call, &pool);
    if (!adaptive && max)
        sr_onnx_int(call->file, "ceil_mode", pool.ceil_mode);
    else if (!adaptive)
        sr_onnx_int(call->file, "count_include_pad", !pool.exclude_pad);
    sr_onnx_end(call->file);
    return SR_OK;
}
