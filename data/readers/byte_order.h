// Integers of files, least (le) or most (be) significant byte first.  p: as many bytes as the name
// has bits, of any alignment.
#ifndef SR_DATA_READERS_BYTE_ORDER_H
#define SR_DATA_READERS_BYTE_ORDER_H

#include <stdint.h>

static inline uint32_t sr_le16(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8; }
static inline uint32_t sr_le24(const uint8_t *p) { return sr_le16(p) | (uint32_t)p[2] << 16; }
static inline uint32_t sr_le32(const uint8_t *p) { return sr_le16(p) | sr_le16(p + 2) << 16; }
static inline uint32_t sr_be16(const uint8_t *p) { return (uint32_t)p[0] << 8 | p[1]; }
static inline uint32_t sr_be32(const uint8_t *p) { return sr_be16(p) << 16 | sr_be16(p + 2); }

#endif
