// Pieces of ONNX for ops on tokens: values in the order of our memory, and nodes with inner values.
//
// A value of rank 4 is (N, C, H, W) in the file (op_onnx.h).  An op that treats it as rows of
// channels asks for it with sr__onnx_rows and gives its own result back through sr__onnx_finish.
// Programs that run the file cancel transposes of neighbours.
#ifndef SR_KERNELS_CORE_ONNX_ROWS_H
#define SR_KERNELS_CORE_ONNX_ROWS_H

#include "kernels/core/op_onnx.h"

// Returns the name of input i of the call in the order of our memory.
const char *sr__onnx_rows(SrOnnxCall *call, int i);
// Makes `value`, in the order of our memory, the value of the node.
SrStatus sr__onnx_finish(SrOnnxCall *call, const char *value);

// Each writes a node (and its constants) and returns the name of its value, "<node>:<what>".
const char *sr__onnx_step(SrOnnxCall *call, const char *what, const char *op, const char *const *in,
                          int n_in);
const char *sr__onnx_two(SrOnnxCall *call, const char *what, const char *op, const char *a,
                         const char *b);
const char *sr__onnx_transpose(SrOnnxCall *call, const char *what, const char *x,
                               const int64_t *order, int n);
// 0: the input's size in that place; the batch size always is.
const char *sr__onnx_reshape(SrOnnxCall *call, const char *what, const char *x, const int64_t *dims,
                             int n);
const char *sr__onnx_slice(SrOnnxCall *call, const char *what, const char *x, int axis,
                           int64_t begin, int64_t end);
const char *sr__onnx_gather(SrOnnxCall *call, const char *what, const char *x, int axis,
                            const int64_t *places, int n);
const char *sr__onnx_concat(SrOnnxCall *call, const char *what, const char *const *in, int n_in,
                            int axis);
const char *sr__onnx_softmax(SrOnnxCall *call, const char *what, const char *x);
// Appends zeros after the last row of (N, L, D).
const char *sr__onnx_zero_row(SrOnnxCall *call, const char *what, const char *x);
// Repeats a parameter (1, L, D) for every image of x.
const char *sr__onnx_each_image(SrOnnxCall *call, const char *what, const char *parameter,
                                const char *x, int L, int D);

// Write constants: one number, and floats (copied unless the caller keeps them).
const char *sr__onnx_number(SrOnnxCall *call, const char *what, double value);
const char *sr__onnx_floats(SrOnnxCall *call, const char *what, SrShape shape, const float *values);

#endif
