// What an op's `onnx` hook writes with: one node of a graph in evaluation, in ONNX's words.
// The exporter (trainer/model/export_onnx.c) walks the graph and fills the call.
//
// Values of rank 4 are (N, C, H, W) in ONNX, so that a convolution's weight is written as it stands;
// shapes in the call are ours, (N, H, W, C).
#ifndef SR_KERNELS_OP_ONNX_H
#define SR_KERNELS_OP_ONNX_H

#include "formats/onnx.h"
#include "kernels/op.h"

struct SrOnnxCall {
    SrOnnx *file;
    const char *node, *op; // names: of the node, of our op
    const void *params;
    int n_in;
    const SrShape *x;      // n_in
    const char *const *in; // n_in: the names of their values
    SrShape y;
    const char *out;   // the name y gets
    const SrTensor *w; // the op's slots in order, with their values
    const char *const *w_name;
    const bool *w_written; // by an earlier node that shares it
};

SrShape sr__onnx_shape(SrShape s); // (N, H, W, C) -> (N, C, H, W); others as they are
// SR_ERR_CONFIG "node 'fc' (linear, of tokens) has no counterpart ..."; what may be "".
SrStatus sr__onnx_unsupported(const SrOnnxCall *call, const char *what);

// Slot i as a constant of the file; its name.
const char *sr__onnx_weight(SrOnnxCall *call, int i);
// "<node>:<what>", a name nobody else has, for a value or a constant in between.
const char *sr__onnx_inner(SrOnnxCall *call, const char *what);

// A node whose value is the call's out; attributes and sr_onnx_end follow.
void sr__onnx_begin(SrOnnxCall *call, const char *op, const char *const *in, int n_in);
// The whole of a node without attributes whose inputs are the call's.
SrStatus sr__onnx_plain(SrOnnxCall *call, const char *op);
// y = gate(x), or y = x gate(x), for which ONNX has no node of its own.  gate: "Sigmoid", or "HardSigmoid" with
// PyTorch's slope of 1/6.
SrStatus sr__onnx_gate(SrOnnxCall *call, const char *gate);
SrStatus sr__onnx_gated(SrOnnxCall *call, const char *gate);

#endif
