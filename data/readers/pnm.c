// Reads PGM (P5) and PPM (P6): words of text, one blank, then samples of one or two bytes.
#include "data/readers/pnm.h"

#include <ctype.h>

#include "base/compiler.h"
#include "data/image_form.h"
#include "data/image_pool.h"

enum { LARGEST = 65535 };

typedef struct {
    size_t begin; // first byte of the pixels
    uint32_t max; // level of white
} Pnm;

// Reads a number after blanks and comments, which reach from # to the end of the line.  Returns
// false if there is none, or one of more than eight digits.
static bool take_number(const uint8_t *bytes, size_t n, size_t *at, uint32_t *out) {
    int digits = 0;
    for (; *at < n && (isspace(bytes[*at]) || bytes[*at] == '#'); ++*at)
        if (bytes[*at] == '#')
            while (*at + 1 < n && bytes[*at] != '\n')
                ++*at;
    for (*out = 0; *at < n && isdigit(bytes[*at]) && digits < 9; ++*at, digits++)
        *out = *out * 10 + (uint32_t)(bytes[*at] - '0');
    return digits > 0 && digits < 9;
}

static SrStatus read_header(const uint8_t *bytes, size_t n, SrImageHeader *out, Pnm *pnm) {
    size_t at = 2;
    uint32_t w, h;
    if (!take_number(bytes, n, &at, &w) || !take_number(bytes, n, &at, &h) ||
        !take_number(bytes, n, &at, &pnm->max) || at >= n || !isspace(bytes[at]))
        SR_FAIL(SR_ERR_IO, "the header of the PGM or PPM file is damaged or cut off");
    if (pnm->max < 1 || pnm->max > LARGEST)
        SR_FAIL(SR_ERR_IO, "white is level %u in the PGM or PPM file, expected 1 to %d", pnm->max,
                LARGEST);
    pnm->begin = at + 1;
    out->format = SR_IMAGE_PNM;
    out->components = bytes[1] == '5' ? 1 : 3;
    return sr__image_check_size(out, h, w, n, 1);
}

static size_t pixel_bytes(const SrImageHeader *h, const Pnm *pnm) {
    return (size_t)h->components * (pnm->max > 255 ? 2 : 1);
}

static SrStatus read_whole(const uint8_t *bytes, size_t n, SrImageHeader *out, Pnm *pnm) {
    SR_TRY(read_header(bytes, n, out, pnm));
    if ((n - pnm->begin) / pixel_bytes(out, pnm) < (size_t)out->H * (size_t)out->W)
        SR_FAIL(SR_ERR_IO, "the PGM or PPM file is cut off after %zu bytes", n);
    return SR_OK;
}

SrStatus sr__pnm_probe(const uint8_t *bytes, size_t n, SrImageHeader *out) {
    Pnm pnm;
    return read_whole(bytes, n, out, &pnm);
}

// A level above white, which a damaged file may have, counts as white.
static uint8_t level(const uint8_t *p, const Pnm *pnm) {
    uint32_t v = pnm->max > 255 ? (uint32_t)p[0] << 8 | p[1] : p[0];
    v = v > pnm->max ? pnm->max : v;
    return (uint8_t)((v * 255 + pnm->max / 2) / pnm->max);
}

SrStatus sr__pnm_decode_floats(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                               int channels, SrImagePool *pool, SrImage *out) {
    SrImageHeader header = *probe;
    Pnm pnm;
    SR_TRY(read_whole(bytes, n, &header, &pnm));
    SrPixelChannels have = {header.components, false};
    SR_TRY(sr__channels_check(have, channels));
    SR_TRY(sr_image_new_floats(pool, header.H, header.W, channels, out));
    size_t sample = pnm.max > 255 ? 2 : 1, pixels = (size_t)header.H * (size_t)header.W;
    const uint8_t *p = bytes + pnm.begin;
    for (size_t i = 0; i < pixels; i++) {
        float level[3];
        for (int c = 0; c < have.channels; c++, p += sample) {
            uint32_t v = sample == 2 ? (uint32_t)p[0] << 8 | p[1] : p[0];
            level[c] = (float)SR_MIN(v, pnm.max) / (float)pnm.max;
        }
        sr__channels_fit(level, have, 1, channels, out->f + i * (size_t)channels);
    }
    return SR_OK;
}

SrStatus sr__pnm_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                        SrImagePool *pool, SrImage *out) {
    SrImageHeader header = *probe;
    Pnm pnm;
    SR_TRY(read_whole(bytes, n, &header, &pnm));
    SR_TRY(sr_image_new(pool, header.H, header.W, out));
    size_t sample = pnm.max > 255 ? 2 : 1, pixels = (size_t)header.H * (size_t)header.W;
    const uint8_t *p = bytes + pnm.begin;
    for (size_t i = 0; i < pixels; i++, p += pixel_bytes(&header, &pnm))
        for (size_t c = 0; c < 3; c++)
            out->rgb[3 * i + c] = level(header.components == 1 ? p : p + c * sample, &pnm);
    return SR_OK;
}
