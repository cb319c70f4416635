// Writes a frozen trunk as an ONNX file, so that other programs compute what sslrun extract
// computes.
#ifndef SR_TRAINER_MODEL_EXPORT_ONNX_H
#define SR_TRAINER_MODEL_EXPORT_ONNX_H

#include "graph/edit/extract.h"

// Writes the evaluation part of an extraction, with opset SR_ONNX_OPSET.  The input "x" is
// (N, 3, height, width) with any N.  Each tap is an output under its name; maps are (N, C, H, W).
//   title  name of the model in the file
// SR_ERR_CONFIG: ONNX has no counterpart of an operation; the message names the node.
SrStatus sr_export_onnx(const SrExtraction *extraction, const char *title, const char *path);

#endif
