// The poolings in ONNX's words.
#include "kernels/pool2d_windows.h"

static void windows(SrOnnxCall *call, const SrPool *pool) {
    const SrPoolAxis *h = &pool->h, *w = &pool->w;
    sr_onnx_ints(call->file, "kernel_shape", (int64_t[]){h->kernel, w->kernel}, 2);
    sr_onnx_ints(call->file, "strides", (int64_t[]){h->stride, w->stride}, 2);
    sr_onnx_ints(call->file, "pads", (int64_t[]){h->pad, w->pad, h->pad, w->pad}, 4);
}

// Adaptive windows that tile the map are fixed ones.
static bool tile(SrPoolAxis *axis) {
    axis->kernel = axis->stride = axis->in / axis->out;
    return axis->in % axis->out == 0;
}

SrStatus sr__pool_onnx(SrOnnxCall *call, SrPool pool, bool max) {
    bool adaptive = !pool.h.kernel;
    if (adaptive && pool.h.out == 1 && pool.w.out == 1)
        return sr__onnx_plain(call, max ? "GlobalMaxPool" : "GlobalAveragePool");
    if (adaptive && (!tile(&pool.h) || !tile(&pool.w)))
        return sr__onnx_unsupported(call, "windows that do not tile the map");
    sr__onnx_begin(call, max ? "MaxPool" : "AveragePool", call->in, 1);
    windows(call, &pool);
    if (!adaptive && max)
        sr_onnx_int(call->file, "ceil_mode", pool.ceil_mode);
    else if (!adaptive)
        sr_onnx_int(call->file, "count_include_pad", !pool.exclude_pad);
    sr_onnx_end(call->file);
    return SR_OK;
}
