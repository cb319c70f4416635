// tanh: torch.tanh, between the two layers of a vision transformer's classifier.  Each number is
// one call of libm, because the op runs on (N, D) features, never on maps.
#include <math.h>

#include "kernels/activation/pointwise.h"
#include "kernels/core/onnx_rows.h"

static float slope(float y) { return 1 - y * y; }

static void reference(const SrRefCall *call) { sr__pointwise_reference(call, tanh); }
static void forward(const SrOpCall *call) { sr__pointwise_plain_forward(call, tanhf); }
static void backward(const SrOpCall *call) { sr__pointwise_plain_backward(call, slope); }

static SrStatus onnx(SrOnnxCall *call) { return sr__onnx_plain(call, "Tanh"); }

static const SrOpCase cases[] = {
    {"{}", 1, {SR_SHAPE(3, 11)}, false},
    {"{}", 1, {SR_SHAPE(2, 3, 4)}, false},
};

const SrOp sr_op_tanh = {
    .name = "tanh",
    .help = "Hyperbolic tangent.",
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = sr__infer_same,
    .reads = sr__pointwise_plain_reads,
    .inplace = sr__pointwise_inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
