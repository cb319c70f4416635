// NumPy's array files, .npy
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).  A file holds a magic
// word, a version, the length and text of a Python dict with 'descr', 'fortran_order' and
// 'shape', then the elements.  An .npz is a zip of such files (formats/).
#ifndef SR_BASE_NPY_H
#define SR_BASE_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"

enum {
    SR_NPY_PRELUDE = 12,          // bytes from which the end of the header is known
    SR_NPY_MAX_HEADER = 64 << 10, // longest header that is read; NumPy writes 118 bytes
    SR_NPY_HEADER_ROOM = 256,     // longest header that is written
};

typedef struct {
    // 'U' UTF-32 strings, 'S' byte strings, 'i' 'u' 'b' integers, 'f' floats, 'O' pickled objects
    char kind;
    char order; // '<' or '=' little-endian, '>' big-endian, '|' single bytes
    int width;  // bytes of one element
    int rank;
    int64_t d[SR_MAX_RANK];
    bool fortran; // the first index varies fastest
} SrNpyHeader;

// Returns the number of bytes before the elements, from the first SR_NPY_PRELUDE bytes of a file.
// 0: not an .npy, or its header is longer than SR_NPY_MAX_HEADER.
size_t sr_npy_header_end(const uint8_t prelude[SR_NPY_PRELUDE]);
// Reads the header, the first `end` bytes of a file.  SR_ERR_CONFIG "<where>: its header is ...":
// the header is not such a dict.  The caller checks the kind of element.
SrStatus sr_npy_header_read(const uint8_t *file, size_t end, const char *where, SrNpyHeader *out);
// Writes the header of a dense array and returns its length in bytes, a multiple of 64.
// descr: element type in NumPy's notation, such as "<f4", "<i8" or "|S12".
size_t sr_npy_header_write(const char *descr, SrShape shape, char out[SR_NPY_HEADER_ROOM]);

// A list or a matrix in a file that is mapped into memory.
typedef struct {
    char kind;            // never 'O'
    int width;            // bytes of one element
    int rank;             // 1 or 2
    int64_t n;            // first dimension
    int64_t columns;      // second dimension, 1 if rank is 1
    const uint8_t *items; // (n, columns) elements; may be unaligned
    const void *map;      // the whole file, until sr_npy_close
    size_t map_bytes;
} SrNpy;

// Opens a little-endian, C-ordered array of rank 1 or 2.  SR_ERR_CONFIG: the array is of another
// form, or the file's size does not match the header.  For a pickled object array the message
// shows the line of Python that converts it.
SrStatus sr_npy_open(const char *path, SrNpy *out);
void sr_npy_close(SrNpy *npy);
bool sr_npy_has_strings(const SrNpy *npy);
// Writes string i as UTF-8 with a NUL, cut off at room - 1 bytes; returns its length without the
// NUL.
size_t sr_npy_string(const SrNpy *npy, int64_t i, char *out, size_t room);
size_t sr_npy_string_room(const SrNpy *npy);         // room for the longest string
int64_t sr_npy_integer(const SrNpy *npy, int64_t i); // a float loses its fraction
bool sr_npy_is_whole(const SrNpy *npy, int64_t i);   // false: a float with a fraction

// Writes a dense array of `bytes` bytes atomically; descr and shape as in sr_npy_header_write.
SrStatus sr_npy_save(const char *path, const char *descr, SrShape shape, const void *data,
                     size_t bytes);

#endif
