// relu6: min(max(x, 0), 6), torch.nn.ReLU6 (MobileNets, arXiv:1704.04861).
#include <math.h>

#include "kernels/activation/pointwise.h"
#include "kernels/core/op_onnx.h"

static double value(double x) { return fmin(fmax(x, 0), 6); }

static SrStatus onnx(SrOnnxCall *call) {
    static const float bounds[2] = {0, 6};
    const char *low = sr__onnx_inner(call, "low"), *high = sr__onnx_inner(call, "high");
    sr_onnx_weight(call->file, low, (SrTensor){SR_SHAPE(1), SR_F32, (void *)&bounds[0]});
    sr_onnx_weight(call->file, high, (SrTensor){SR_SHAPE(1), SR_F32, (void *)&bounds[1]});
    const char *floor = sr__onnx_inner(call, "floor");
    sr_onnx_node(call->file, "Max", (const char *[]){call->in[0], low}, 2, floor);
    sr_onnx_end(call->file);
    sr__onnx_begin(call, "Min", (const char *[]){floor, high}, 2);
    sr_onnx_end(call->file);
    return SR_OK;
}

SR_POINTWISE_HOOKS(relu6)

const SrOp sr_op_relu6 = {
    .name = "relu6",
    .help = "Rectifier with a maximum of 6, min(max(x, 0), 6).",
    .onnx = onnx,
    .fuses_as = "relu6",
    SR_POINTWISE_OP,
};
