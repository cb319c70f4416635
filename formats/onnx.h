// Writing ONNX (github.com/onnx/onnx, onnx.proto): a graph of operators with its weights, in protobuf's
// wire format.  It knows messages and fields, not what an operator means (the ops do, kernels/op_onnx.h).
//
// Not libprotobuf-c: it would want a compiler for onnx.proto in every build and the weights twice in
// memory; writing needs six messages, two hundred lines.
#ifndef SR_FORMATS_ONNX_H
#define SR_FORMATS_ONNX_H

#include "base/arena.h"
#include "base/status.h"
#include "base/tensor.h"
#include "base/text.h"

#define SR_ONNX_OPSET \
    13 // of 2020: ReduceSum and its like changed there, what a trunk needs has not since

typedef struct SrOnnxWeight SrOnnxWeight;
typedef struct {
    SrText graph; // fields of GraphProto but the weights
    SrText node;  // the one being described
    SrOnnxWeight *weights;
    int n_weights, cap_weights;
    SrArena arena;
    SrStatus status; // the first failure; sr_onnx_save gives it
} SrOnnx;

void sr_onnx_init(SrOnnx *onnx, const char *name); // of the graph
void sr_onnx_deinit(SrOnnx *onnx);

// F32 values of the graph; d[0] is the batch, written as the symbol "N".
void sr_onnx_input(SrOnnx *onnx, const char *name, SrShape shape);
void sr_onnx_output(SrOnnx *onnx, const char *name, SrShape shape);
// A constant; data (F32 or I64) stays the caller's and must live until the file is saved.
void sr_onnx_weight(SrOnnx *onnx, const char *name, SrTensor tensor);
// The same for a few whole numbers, which are copied: axes, shapes, pads.
void sr_onnx_numbers(SrOnnx *onnx, const char *name, const int64_t *values, int n);

// A node: begin, attributes, end.  Nodes stand in the order of their values.
void sr_onnx_node(SrOnnx *onnx, const char *op, const char *const *in, int n_in, const char *out);
void sr_onnx_int(SrOnnx *onnx, const char *attribute, int64_t value);
void sr_onnx_ints(SrOnnx *onnx, const char *attribute, const int64_t *values, int n);
void sr_onnx_float(SrOnnx *onnx, const char *attribute, float value);
void sr_onnx_end(SrOnnx *onnx);

// Atomically.  SR_ERR_CONFIG beyond protobuf's 2 GiB.
SrStatus sr_onnx_save(SrOnnx *onnx, const char *path);

#endif
