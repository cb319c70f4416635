// Writes a frozen trunk as an ONNX file, so that other programs compute what sslrun extract
// computes.
#ifndef SR_TRAINER_MODEL_EXPORT_ONNX_H
#define SR_TRAINER_MODEL_EXPORT_ONNX_H

#include "trainer/model/extractor.h"

// Writes the file with opset SR_ONNX_OPSET.  The input "x" is (N, 3, height, width) with any N.
// Each tap is an output under its name; maps are (N, C, H, W). SR_ERR_CONFIG: ONNX has no
// counterpart of an operation; the message names the node.
SrStatus sr_export_onnx(const SrExtractor *extractor, const char *path);

#endif
