// Reads zip archives in memory, the container of PyTorch's .pth and of NumPy's .npz.  It knows
// stored and deflated entries and Zip64 (PKWARE APPNOTE 6.3).  It refuses encryption, other
// compression and split archives.
//
// PyTorch and NumPy store their entries, so this reader returns pointers into a mapping without a
// copy and its memory is bounded by construction.  libzip would copy and buffer.
#ifndef SR_FORMATS_WEIGHTS_ZIP_H
#define SR_FORMATS_WEIGHTS_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

typedef struct {
    const char *name;
    const uint8_t *data;    // (stored) bytes in the archive, not owned
    uint64_t stored, bytes; // compressed and uncompressed size; equal unless deflated
    uint64_t begin;         // offset of the local header in the archive
    uint32_t crc;
    bool deflated;
} SrZipEntry;

typedef struct {
    int n;
    SrZipEntry *entries; // sorted by name, names are distinct
} SrZip;

// Reads the directory.  SR_ERR_CONFIG: a range beyond the end, overlapping ranges (as zip bombs
// have), repeated names, encryption.  Entries live in the arena and point into map.
SrStatus sr_zip_open(SrZip *zip, SrArena *arena, const void *map, size_t bytes, const char *path);
const SrZipEntry *sr_zip_find(const SrZip *zip, const char *name); // NULL if absent
// Reads the first n uncompressed bytes.  If that is the whole entry, the CRC-32 is compared.
SrStatus sr_zip_read(const SrZipEntry *entry, const char *path, void *out, uint64_t n);
// Compares the CRC-32 of a stored entry with its data.  SR_ERR_CONFIG: they differ.
SrStatus sr_zip_verify(const SrZipEntry *entry, const char *path);

#endif
