// NumPy's array files (.npy: numpy.org/doc/stable/reference/generated/numpy.lib.format.html): a magic word, a version,
// the length and text of a Python dict with 'descr', 'fortran_order' and 'shape', then the raw elements.  Read and
// written here alone; an .npz is a zip of such files (formats/).
#ifndef SR_BASE_NPY_H
#define SR_BASE_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"

enum {
    SR_NPY_PRELUDE = 12,          // bytes that tell where the header ends
    SR_NPY_MAX_HEADER = 64 << 10, // a longer one is not read; NumPy itself writes 118 bytes
    SR_NPY_HEADER_ROOM = 256,     // no header we write is longer
};

typedef struct {
    char
        kind; // 'U' UTF-32 strings, 'S' byte strings, 'i' 'u' 'b' integers, 'f' floats, 'O' pickled objects
    char order; // '<' or '=' little-endian, '>' big-endian, '|' of single bytes
    int width;  // bytes of one element
    int rank;
    int64_t d[SR_MAX_RANK];
    bool fortran; // the first index varies fastest
} SrNpyHeader;

// Bytes before the elements, from a file's first SR_NPY_PRELUDE; 0 if it is no .npy, or its header is beyond
// SR_NPY_MAX_HEADER.
size_t sr_npy_header_end(const uint8_t prelude[SR_NPY_PRELUDE]);
// Reads the header of `end` bytes.  SR_ERR_CONFIG "<where>: its header is ..." unless it is the dict NumPy writes.  The
// kind of element is the caller's to judge.
SrStatus sr_npy_header_read(const uint8_t *file, size_t end, const char *where, SrNpyHeader *out);
// The header of a dense array, descr as NumPy has it ("<f4", "<i8", "|S12"), padded so that the elements begin at a
// multiple of 64; returns its bytes.
size_t sr_npy_header_write(const char *descr, SrShape shape, char out[SR_NPY_HEADER_ROOM]);

// A list or a matrix in a file that is mapped, not copied.
typedef struct {
    char kind;       // never 'O'
    int width;       // bytes of one element
    int rank;        // 1 or 2
    int64_t n;       // first dimension
    int64_t columns; // second dimension, 1 if rank is 1
    const uint8_t *items;
    const void *map;
    size_t map_bytes;
} SrNpy;

// SR_ERR_CONFIG for anything but a little-endian C-ordered array of these kinds, of rank 1 or 2, whose size is exactly
// the file's.  Pickled object arrays are refused with the line that converts them.
SrStatus sr_npy_open(const char *path, SrNpy *out);
void sr_npy_close(SrNpy *npy);
bool sr_npy_has_strings(const SrNpy *npy);
// String i as UTF-8 with its NUL in out; returns the bytes without it, cut off at room - 1.
size_t sr_npy_string(const SrNpy *npy, int64_t i, char *out, size_t room);
size_t sr_npy_string_room(const SrNpy *npy);         // room that any of its strings needs
int64_t sr_npy_integer(const SrNpy *npy, int64_t i); // of a float the whole part
bool sr_npy_is_whole(const SrNpy *npy, int64_t i);   // false: a float that is no whole number

// Writes a dense array atomically: descr and shape (rank up to SR_MAX_RANK) as in sr_npy_header_write, `bytes` of data.
SrStatus sr_npy_save(const char *path, const char *descr, SrShape shape, const void *data,
                     size_t bytes);

#endif
