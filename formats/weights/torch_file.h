// Reads PyTorch's two file formats (torch/serialization.py).  The current one is a zip with
// data.pkl and one stored entry per storage.  The legacy one is five pickles followed by the
// storages.
#ifndef SR_FORMATS_WEIGHTS_TORCH_FILE_H
#define SR_FORMATS_WEIGHTS_TORCH_FILE_H

#include "formats/weights/weights_table.h"

// Fill the table from the mapping, or from the open zip.
SrStatus sr__torch_zip_open(SrWeights *w);
SrStatus sr__torch_legacy_open(SrWeights *w);
// Tells whether the bytes begin as a legacy file does.
bool sr__torch_is_legacy(const void *map, size_t bytes);

#endif
