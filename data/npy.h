// NumPy's array files (.npy, format 1 - 3) as data sets use them: one list of strings or numbers,
// mapped.
#ifndef SR_DATA_NPY_H
#define SR_DATA_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"

typedef struct {
    char kind;       // 'U' UTF-32 strings, 'S' byte strings, 'i' 'u' 'b' integers, 'f' floats
    int width;       // bytes of one element
    int rank;        // 1 or 2
    int64_t n;       // first dimension
    int64_t columns; // second dimension, 1 if rank is 1
    const uint8_t *items;
    const void *map;
    size_t map_bytes;
} SrNpy;

// SR_ERR_CONFIG for anything but a little-endian C-ordered array of these kinds, of rank 1 or 2,
// whose size is exactly the file's.  Pickled object arrays are refused with the line that converts
// them.
SrStatus sr__npy_open(const char *path, SrNpy *out);
void sr__npy_close(SrNpy *npy);
// String i as UTF-8 with its NUL in out; returns the bytes without it, cut off at room - 1.
size_t sr__npy_string(const SrNpy *npy, int64_t i, char *out, size_t room);
size_t sr__npy_string_room(const SrNpy *npy);         // room that any of its strings needs
int64_t sr__npy_integer(const SrNpy *npy, int64_t i); // of floats the whole part
bool sr__npy_is_whole(const SrNpy *npy,
                      int64_t i); // false: a float between two whole numbers, or none

// Writes an array atomically: descr as NumPy has it ("<f4", "<i8", "|S12"), shape (rank up to SR_MAX_RANK), dense rows.
SrStatus sr_npy_save(const char *path, const char *descr, SrShape shape, const void *data,
                     size_t bytes);

#endif
