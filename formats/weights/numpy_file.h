// Reads NumPy's array files as weights: .npy, and .npz with stored or deflated entries.
#ifndef SR_FORMATS_WEIGHTS_NUMPY_FILE_H
#define SR_FORMATS_WEIGHTS_NUMPY_FILE_H

#include "formats/weights/weights_table.h"

// Fill the table from the mapping, or from the open zip.
SrStatus sr__numpy_array_open(SrWeights *w);
SrStatus sr__numpy_archive_open(SrWeights *w);

#endif
