// A frozen trunk as an ONNX file: what sslrun extract computes, for other programs.
#ifndef SR_TRAINER_MODEL_EXPORT_ONNX_H
#define SR_TRAINER_MODEL_EXPORT_ONNX_H

#include "trainer/model/extractor.h"

// Input "x" (N, 3, height, width), an output a tap under its name, maps as (N, C, H, W), N free; opset SR_ONNX_OPSET.
// An operator that has no counterpart: SR_ERR_CONFIG with the node.
SrStatus sr_export_onnx(const SrExtractor *extractor, const char *path);

#endif
