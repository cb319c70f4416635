// Keeps a fitted detector of defects in a file: a safetensors file with the bank or the Gaussians,
// and the model, layers, size and threshold as metadata.
#ifndef SR_FOLDER_PATCHES_ANOMALY_FILE_H
#define SR_FOLDER_PATCHES_ANOMALY_FILE_H

#include "folder/patches/anomaly.h"

// Writes the file and replaces an older one.  patches: the options that the detector was fitted
// with; the model's path is stored as it is.
SrStatus sr_anomaly_save(const SrAnomaly *anomaly, const SrPatchOptions *patches, const char *file);
// Opens the model and reads the detector.  Free *out with sr_anomaly_deinit, also after a failure.
// SR_ERR_CONFIG: the file is no detector, or does not fit the model that it names.
SrStatus sr_anomaly_load(const char *file, SrAnomaly *out);

#endif
