// Writes ONNX files (https://github.com/onnx/onnx, onnx.proto): a graph of operators with weights
// in protobuf's wire format.  This file knows messages and fields; operators describe themselves
// through kernels/core/op_onnx.h.
//
// libprotobuf-c would need a compiler for onnx.proto in every build and hold the weights twice in
// memory.  The writer needs six messages, which take two hundred lines.
#ifndef SR_FORMATS_ONNX_H
#define SR_FORMATS_ONNX_H

#include "base/arena.h"
#include "base/status.h"
#include "base/tensor.h"
#include "base/text/text.h"

#define SR_ONNX_OPSET 13 // the first with ReduceSum's axes as an input; trunks need nothing newer

typedef struct SrOnnxWeight SrOnnxWeight;
typedef struct {
    SrText graph; // fields of GraphProto without the weights
    SrText node;  // node that is being described
    SrOnnxWeight *weights;
    int n_weights, cap_weights;
    SrArena arena;
    SrStatus status; // first failure; sr_onnx_save returns it
} SrOnnx;

void sr_onnx_init(SrOnnx *onnx, const char *name); // name of the graph
void sr_onnx_deinit(SrOnnx *onnx);

// Declare an input or output of type F32; d[0] is the batch, written as the symbol "N".
void sr_onnx_input(SrOnnx *onnx, const char *name, SrShape shape);
void sr_onnx_output(SrOnnx *onnx, const char *name, SrShape shape);
// Adds a constant (F32 or I64).  The caller owns the data, which must live until sr_onnx_save.
void sr_onnx_weight(SrOnnx *onnx, const char *name, SrTensor tensor);
// Adds a constant of n integers, which are copied: axes, shapes, pads.
void sr_onnx_numbers(SrOnnx *onnx, const char *name, const int64_t *values, int n);

// A node is described by begin, attributes, end.  Nodes come in the order of their values.
void sr_onnx_node(SrOnnx *onnx, const char *op, const char *const *in, int n_in, const char *out);
void sr_onnx_int(SrOnnx *onnx, const char *attribute, int64_t value);
void sr_onnx_ints(SrOnnx *onnx, const char *attribute, const int64_t *values, int n);
void sr_onnx_float(SrOnnx *onnx, const char *attribute, float value);
void sr_onnx_end(SrOnnx *onnx);

// Writes the file atomically.  SR_ERR_CONFIG: the file would exceed protobuf's 2 GiB.
SrStatus sr_onnx_save(SrOnnx *onnx, const char *path);

#endif
