// FNV-1a with 64 bits, and a faster relative for long data.
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

// Mixes a word into a hash.  Different words, or different hashes, give different results: the
// shift carries high bits down, which the product alone never does.
static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

enum { LANES = 4 }; // independent hashes, which a processor computes side by side

uint64_t sr_hash_long(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *at = data;
    uint64_t lane[LANES], word[LANES];
    for (int i = 0; i < LANES; i++)
        lane[i] = hash + (uint64_t)i;
    for (; bytes >= sizeof word; bytes -= sizeof word, at += sizeof word) {
        memcpy(word, at, sizeof word);
        for (int i = 0; i < LANES; i++)
            lane[i] = mix(lane[i], word[i]);
    }
    for (int i = 0; i < LANES; i++)
        hash = mix(hash, lane[i]);
    return sr_hash_more(hash, at, bytes);
}

uint64_t sr_hash_text(const char *text) { return sr_hash_bytes(text, strlen(text)); }
