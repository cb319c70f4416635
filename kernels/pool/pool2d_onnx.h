// Writes pooling over windows in ONNX.
#ifndef SR_KERNELS_POOL_POOL2D_ONNX_H
#define SR_KERNELS_POOL_POOL2D_ONNX_H

#include "kernels/core/op_onnx.h"
#include "kernels/pool/pool2d_windows.h"

// Writes the node.  Adaptive windows must be one or tile the map; ONNX has
// no other kind.
SrStatus sr__pool_onnx(SrOnnxCall *call, SrPool pool, bool max);

#endif
