// A hash to compare and to key by: FNV-1a, 64 bits (Fowler, Noll and Vo; draft-eastlake-fnv).  Not for secrets, and not
// against collisions that somebody makes.
#ifndef SR_BASE_HASH_H
#define SR_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define SR_HASH_START UINT64_C(0xcbf29ce484222325) // of no bytes

// The hash of what `hash` is of, followed by these bytes.
uint64_t sr_hash_more(uint64_t hash, const void *data, size_t bytes);
uint64_t sr_hash_bytes(const void *data, size_t bytes);
uint64_t sr_hash_text(const char *text); // without its end

#endif
