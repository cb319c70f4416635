// The poolings in ONNX's words; the maths is in pool2d.c.
#include <stdio.h>
#include <string.h>

#include "kernels/pool2d_windows.h"

static bool is_mean(const char *op) { return strcmp(op, "AveragePool") == 0; }

static void windows(SrOnnxCall *call, const SrPool *pool) {
    const SrPoolAxis *h = &pool->h, *w = &pool->w;
    sr_onnx_ints(call->file, "kernel_shape", (int64_t[]){h->kernel, w->kernel}, 2);
    sr_onnx_ints(call->file, "strides", (int64_t[]){h->stride, w->stride}, 2);
    sr_onnx_ints(call->file, "pads", (int64_t[]){h->pad, w->pad, h->pad, w->pad}, 4);
}

SrStatus sr__pool_fixed_onnx(SrOnnxCall *call, const char *op) {
    const SrPool2dParams *p = call->params;
    SrPool pool = sr__pool_fixed(p, call->x[0]);
    sr__onnx_begin(call, op, call->in, 1);
    windows(call, &pool);
    if (is_mean(op))
        sr_onnx_int(call->file, "count_include_pad", !p->exclude_pad);
    else
        sr_onnx_int(call->file, "ceil_mode", p->ceil_mode);
    sr_onnx_end(call->file);
    return SR_OK;
}

SrStatus sr__pool_adaptive_onnx(SrOnnxCall *call, const char *op) {
    SrPool pool = sr__pool_adaptive(call->params, call->x[0]);
    SrPoolAxis *const axes[] = {&pool.h, &pool.w};
    if (pool.h.out == 1 && pool.w.out == 1)
        return sr__onnx_plain(call, is_mean(op) ? "GlobalAveragePool" : "GlobalMaxPool");
    for (int i = 0; i < 2; i++) {
        if (axes[i]->in % axes[i]->out)
            return sr__onnx_unsupported(call, "windows that do not tile the map");
        axes[i]->kernel = axes[i]->stride = axes[i]->in / axes[i]->out;
        axes[i]->pad = 0;
    }
    sr__onnx_begin(call, op, call->in, 1);
    windows(call, &pool);
    sr_onnx_end(call->file);
    return SR_OK;
}
