// FNV-1a with 64 bits.
#include "base/hash.h"

#include <string.h>

uint64_t sr_hash_more(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t sr_hash_bytes(const void *data, size_t bytes) {
    return sr_hash_more(SR_HASH_START, data, bytes);
}

uint64_t sr_hash_text(const char *text) { return sr_hash_bytes(text, strlen(text)); }
