// Pieces of ONNX that several ops' hooks write.
#include "kernels/op_onnx.h"

SrShape sr__onnx_shape(SrShape s) {
    return s.rank == 4 ? SR_SHAPE(s.d[0], s.d[3], s.d[1], s.d[2]) : s;
}

SrStatus sr__onnx_unsupported(const SrOnnxCall *call, const char *what) {
    SR_FAIL(SR_ERR_CONFIG,
            "node '%s' (%s%s%s) has no counterpart in the ONNX export; give --nodes before it",
            call->node, call->op, *what ? ", " : "", what);
}

const char *sr__onnx_weight(SrOnnxCall *call, int i) {
    if (!call->w_written[i])
        sr_onnx_weight(call->file, call->w_name[i], call->w[i]);
    return call->w_name[i];
}

const char *sr__onnx_inner(SrOnnxCall *call, const char *what) {
    const char *name = sr_arena_printf(&call->file->arena, "%s:%s", call->node, what);
    return name ? name : "";
}

void sr__onnx_begin(SrOnnxCall *call, const char *op, const char *const *in, int n_in) {
    sr_onnx_node(call->file, op, in, n_in, call->out);
}

SrStatus sr__onnx_plain(SrOnnxCall *call, const char *op) {
    sr__onnx_begin(call, op, call->in, call->n_in);
    sr_onnx_end(call->file);
    return SR_OK;
}
