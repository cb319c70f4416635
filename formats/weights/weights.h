// Opens every kind of file that holds weights: safetensors, PyTorch's .pth in both formats, .npz
// and .npy.  The format is recognised by content, never by the file name.
//
// Opening reads names and shapes only.  The file is mapped, and a tensor takes memory only while it
// is read and only if it cannot be pointed at (compressed, strided, unaligned).
//
// Apart from the mapping, a file takes at most its own size and 64 MiB: 40 MiB for the list of
// tensors (the arena is bounded), the rest for temporary tables and the tensor that is read.  A
// file that would need more is refused with SR_ERR_CONFIG.
#ifndef SR_FORMATS_WEIGHTS_WEIGHTS_H
#define SR_FORMATS_WEIGHTS_WEIGHTS_H

#include "formats/weights/weights_table.h"

// Opens a file.  SR_ERR_CONFIG: no such file, a directory, an unknown format, damage, a refused
// global (named), a repeated name.  SR_ERR_MEMORY: out of memory.
SrStatus sr_weights_open(SrWeights *w, const char *path);
void sr_weights_close(SrWeights *w); // also legal after a failed open
// Removes the tensors marked in drop (n) and appends n_others others, whose data must live as long
// as w.
SrStatus sr_weights_exchange(SrWeights *w, const bool *drop, const SrWeightsTensor *others,
                             int n_others);
// Reads tensor i packed in C order; the data is valid until the next read.
SrStatus sr_weights_read(SrWeights *w, int i, SrTensor *out);
// Verifies the checksums of an sslrun checkpoint.  Other files give SR_OK.
SrStatus sr_weights_verify_sums(const SrWeights *w);
// Verifies the checksums of the container (zip: CRC-32); *checked counts them.
SrStatus sr_weights_verify(const SrWeights *w, int *checked);

const char *sr_weights_origin(const SrWeightsTensor *t);          // the tensor's name in the file
int sr_weights_find(const SrWeights *w, const char *name);        // -1 if absent
const char *sr_weights_meta(const SrWeights *w, const char *key); // NULL if absent
const char *sr_weights_format_name(SrWeightsFormat format);       // "PyTorch (zip)"

// Converts elements [begin, begin + n) to doubles, for statistics and comparison.
void sr_weights_doubles(const SrTensor *t, int64_t begin, int64_t n, double *out);
// Converts all elements to floats; numbers that no float holds are rounded to the nearest.
void sr_weights_floats(const SrTensor *t, float *out);

#endif
