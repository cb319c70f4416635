// Writes ONNX names, constants and gates for the hooks of several ops (op_onnx.h).
#include "kernels/core/op_onnx.h"

#include <string.h>

SrShape sr__onnx_shape(SrShape s) {
    return s.rank == 4 ? SR_SHAPE(s.d[0], s.d[3], s.d[1], s.d[2]) : s;
}

SrStatus sr__onnx_unsupported(const SrOnnxCall *call, const char *what) {
    SR_FAIL(SR_ERR_CONFIG,
            "node '%s' (%s%s%s) has no counterpart in the ONNX export; name layers before it with "
            "--nodes",
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

static void gate_node(SrOnnxCall *call, const char *gate, const char *out) {
    sr_onnx_node(call->file, gate, call->in, 1, out);
    if (strcmp(gate, "HardSigmoid") == 0) { // ONNX's default slope is 1/5
        sr_onnx_float(call->file, "alpha", 1.0f / 6);
        sr_onnx_float(call->file, "beta", 0.5f);
    }
    sr_onnx_end(call->file);
}

SrStatus sr__onnx_gate(SrOnnxCall *call, const char *gate) {
    gate_node(call, gate, call->out);
    return SR_OK;
}

SrStatus sr__onnx_gated(SrOnnxCall *call, const char *gate) {
    const char *inner = sr__onnx_inner(call, "gate");
    gate_node(call, gate, inner);
    sr__onnx_begin(call, "Mul", (const char *[]){call->in[0], inner}, 2);
    sr_onnx_end(call->file);
    return SR_OK;
}
