// The hash FNV-1a with 64 bits, for comparison and for keys (Fowler, Noll and Vo;
// draft-eastlake-fnv).  Somebody who tries can construct collisions, so that it protects nothing.
#ifndef SR_BASE_HASH_H
#define SR_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define SR_HASH_START UINT64_C(0xcbf29ce484222325) // hash of zero bytes

// Continues the hash of earlier bytes over `bytes` more.
uint64_t sr_hash_more(uint64_t hash, const void *data, size_t bytes);
uint64_t sr_hash_bytes(const void *data, size_t bytes);
uint64_t sr_hash_text(const char *text); // without the NUL

// Continues a hash over long data, eight bytes at a time: several times as fast, and a number of
// its own.  Data that differ in one group of eight bytes differ in the number.
uint64_t sr_hash_long(uint64_t hash, const void *data, size_t bytes);

#endif
