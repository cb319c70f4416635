// Helpers for an op's `onnx` hook, which writes the node as ONNX in evaluation.  The exporter
// (trainer/model/export_onnx.c) walks the graph and fills the call.
//
// Values of rank 4 are (N, C, H, W) in ONNX, so that a convolution's weight is written unchanged.
// Shapes in the call are in our order, (N, H, W, C).
#ifndef SR_KERNELS_CORE_OP_ONNX_H
#define SR_KERNELS_CORE_OP_ONNX_H

#include "formats/onnx.h"
#include "kernels/op.h"

struct SrOnnxCall {
    SrOnnx *file;
    const char *node, *op; // name of the node, and of our op
    const void *params;
    int n_in;
    const SrShape *x;      // (n_in)
    const char *const *in; // (n_in): names of the inputs' values
    SrShape y;
    const char *out;   // name to give to y
    const SrTensor *w; // (slots): with their values, in the op's order
    const char *const *w_name;
    const bool *w_written; // (slots): an earlier node that shares the slot has written it
};

SrShape sr__onnx_shape(SrShape s); // (N, H, W, C) -> (N, C, H, W); other ranks stay
// Returns SR_ERR_CONFIG "node 'fc' (linear, of tokens) has no counterpart ..."; `what` may be "".
SrStatus sr__onnx_unsupported(const SrOnnxCall *call, const char *what);

// Writes slot i as a constant of the file unless it is there; returns its name.
const char *sr__onnx_weight(SrOnnxCall *call, int i);
// Returns "<node>:<what>", a unique name for a value or constant inside the node.
const char *sr__onnx_inner(SrOnnxCall *call, const char *what);

// Begins a node whose value is the call's `out`; attributes and sr_onnx_end must follow.
void sr__onnx_begin(SrOnnxCall *call, const char *op, const char *const *in, int n_in);
// Writes a whole node without attributes whose inputs are the call's.
SrStatus sr__onnx_plain(SrOnnxCall *call, const char *op);
// Write y = gate(x), and y = x gate(x), for which ONNX has no node.  gate: "Sigmoid", or
// "HardSigmoid" with PyTorch's slope of 1/6.
SrStatus sr__onnx_gate(SrOnnxCall *call, const char *gate);
SrStatus sr__onnx_gated(SrOnnxCall *call, const char *gate);

#endif
