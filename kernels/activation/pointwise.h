// Activations y = f(x), dx = dy f'(x): code shared by gelu.c, silu.c and the like.  Each file
// defines f in double precision and its ONNX node.  The vector loops, for floats and bfloat16, are
// in pointwise_simd.c.
#ifndef SR_KERNELS_ACTIVATION_POINTWISE_H
#define SR_KERNELS_ACTIVATION_POINTWISE_H

#include "kernels/core/op_util.h"
#include "kernels/machine.h"

typedef struct { // x, y, dx, dy (n), floats or bfloat16
    void (*f)(SrDtype type, void *y, const void *x, int64_t n);                     // y may be x
    void (*grad)(SrDtype type, void *dx, const void *x, const void *dy, int64_t n); // dx may be dy
} SrPointwise;

// Tables of all activations (pointwise_simd.c).
typedef struct {
    SrPointwise gelu, quick_gelu, tanh_gelu, sigmoid, silu, hardsigmoid, hardswish, relu6;
} SrPointwiseTable;
SR_CPU_TABLES_BF16(SrPointwiseTable, sr__pointwise_table);
static inline const SrPointwiseTable *sr__pointwise(const SrMachine *machine) {
    return SR_CPU_PICK_BF16(machine, sr__pointwise_table);
}

void sr__pointwise_forward(const SrOpCall *call, const SrPointwise *k);
void sr__pointwise_backward(const SrOpCall *call, const SrPointwise *k);
unsigned sr__pointwise_reads(const void *params); // SR_READS_X(0)
int sr__pointwise_inplace(const void *params);    // 0: dx may lie on dy
void sr__pointwise_reference(const SrRefCall *call, double (*f)(double x));
// Loops in plain C for activations that never run on maps, which call a function for each float.
// slope: dy/dx as a function of y, so that x need not be kept.
void sr__pointwise_plain_forward(const SrOpCall *call, float (*f)(float x));
void sr__pointwise_plain_backward(const SrOpCall *call, float (*slope)(float y));
unsigned sr__pointwise_plain_reads(const void *params); // SR_READS_Y
// Applies the reference of the activation `name` to call->y in place, for an op that does the work
// of an activation too.  name NULL: does nothing.
void sr__reference_activation(const SrRefCall *call, const char *name);

// Defines the hooks of op `stem`.  The file has defined `static double value(double x)` and `onnx`;
// `stem` is a member of the table.
#define SR_POINTWISE_HOOKS(stem)                                                           \
    static void reference(const SrRefCall *call) { sr__pointwise_reference(call, value); } \
    static void forward(const SrOpCall *call) {                                            \
        sr__pointwise_forward(call, &sr__pointwise(call->machine)->stem);                  \
    }                                                                                      \
    static void backward(const SrOpCall *call) {                                           \
        sr__pointwise_backward(call, &sr__pointwise(call->machine)->stem);                 \
    }                                                                                      \
    static const SrOpCase cases[] = {{"{}", 1, {SR_SHAPE(3, 5, 7, 4)}, false},             \
                                     {"{}", 1, {SR_SHAPE(2, 9)}, false}};
// Fields that the descriptors of all activations share.
#define SR_POINTWISE_OP                                                                     \
    .min_in = 1, .max_in = 1, .flags = SR_OP_CHEAP | SR_OP_BF16, .infer = sr__infer_same,   \
    .reads = sr__pointwise_reads, .inplace = sr__pointwise_inplace, .reference = reference, \
    .forward = forward, .backward = backward, .cases = cases, .n_cases = SR_COUNT(cases)

#endif
