// Writes .npz files: a zip of .npy entries, each a header from base/npy.h followed by the numbers.
#ifndef SR_FORMATS_WEIGHTS_NPZ_WRITE_H
#define SR_FORMATS_WEIGHTS_NPZ_WRITE_H

#include "base/status.h"
#include "formats/weights/save_item.h"

// Writes the file and replaces an older one atomically.  SR_ERR_CONFIG: a type that NumPy lacks.
SrStatus sr__numpy_save(const char *path, const SrSave *save);

#endif
