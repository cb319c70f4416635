// Zip archives in memory: the container of PyTorch's .pth and of NumPy's .npz.  Stored and deflated
// entries, Zip64; no encryption, no other compression, no archives in parts (PKWARE APPNOTE 6.3).
//
// Not libzip: the two writers that matter store what they write, so that a reader over a mapping
// hands out pointers without a copy and is bounded by construction; libzip would copy and buffer.
#ifndef SR_FORMATS_ZIP_H
#define SR_FORMATS_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

typedef struct {
    const char *name;
    const uint8_t *data;    // (stored) as in the archive, not owned
    uint64_t stored, bytes; // compressed and uncompressed; equal unless deflated
    uint64_t begin;         // of its local header in the archive
    uint32_t crc;
    bool deflated;
} SrZipEntry;

typedef struct {
    int n;
    SrZipEntry *entries; // sorted by name, names are distinct
} SrZip;

// Reads the directory alone.  Every range is checked: beyond the end, overlapping (the trick of zip
// bombs), repeated names, encryption: SR_ERR_CONFIG.  Entries live in the arena and point into map.
SrStatus sr_zip_open(SrZip *zip, SrArena *arena, const void *map, size_t bytes, const char *path);
const SrZipEntry *sr_zip_find(const SrZip *zip, const char *name); // NULL if absent
// The first n uncompressed bytes.  When that is all of them, the CRC-32 is compared.
SrStatus sr_zip_read(const SrZipEntry *entry, const char *path, void *out, uint64_t n);
// The CRC-32 of a stored entry against its data; SR_ERR_CONFIG if they differ.
SrStatus sr_zip_verify(const SrZipEntry *entry, const char *path);

#endif
