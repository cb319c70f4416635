// Decodes JPEG to RGB by libjpeg-turbo, which PIL uses too: equal pixels, faster than stb_image.
//
// The build includes this file if it finds TurboJPEG's header; `make TURBOJPEG=no` leaves it out.
// image_probe.c decides which files are decoded at all.  As in PIL, damage inside entropy-coded
// data gives grey blocks, and a file without its end is refused.
#include "data/jpeg_turbo.h"

#include <string.h>
#include <turbojpeg.h>

#include "base/compiler.h"
#include "data/image_pool.h"

// Adobe stores inverse CMYK.  A channel of RGB is the white that its ink and black leave, rounded
// as PIL rounds it.
static void cmyk_to_rgb(const uint8_t *restrict cmyk, size_t n, uint8_t *restrict rgb) {
    for (size_t i = 0; i < n; i++, cmyk += 4, rgb += 3)
        for (int c = 0; c < 3; c++) {
            int ink = 255 - cmyk[c], white = cmyk[3], t = ink * white + 128;
            rgb[c] = (uint8_t)(white - (((t >> 8) + t) >> 8));
        }
}

// After a warning the library reports fatal errors as warnings too, so that only the last message
// tells them apart.  These are the warnings that libjpeg gives while it reads an image.
static bool only_warned(tjhandle tj) {
    static const char *const warnings[] = {"Corrupt JPEG data",
                                           "Premature end",
                                           "Inconsistent progression",
                                           "Invalid SOS parameters",
                                           "Unknown Adobe color",
                                           "Caution:",
                                           "Warning:"};
    const char *message = tjGetErrorStr2(tj);
    for (int i = 0; i < SR_COUNT(warnings); i++)
        if (strncmp(message, warnings[i], strlen(warnings[i])) == 0)
            return tjGetErrorCode(tj) == TJERR_WARNING;
    return false;
}

// The rows are zeroed first: those that a damaged file never reaches must not hold old pixels.
static SrStatus decode_into(tjhandle tj, const uint8_t *bytes, size_t n, bool cmyk,
                            SrImagePool *pool, SrImage *out) {
    size_t pixels = (size_t)out->H * (size_t)out->W, channels = cmyk ? 4 : 3,
           mark = sr_image_pool_mark(pool);
    uint8_t *target = cmyk ? sr_image_pool_take(pool, pixels * channels) : out->rgb;
    SR_TRY_MEMORY(target, "an image of %d x %d", out->W, out->H);
    memset(target, 0, pixels * channels);
    // The quick DCT and unsmoothed chroma would save little time and change grey levels.
    int failed = tjDecompress2(tj, bytes, n, target, out->W, 0, out->H, cmyk ? TJPF_CMYK : TJPF_RGB,
                               TJFLAG_ACCURATEDCT);
    if (failed && strstr(tjGetErrorStr2(tj), "Insufficient memory"))
        return sr_out_of_memory("an image of %d x %d", out->W, out->H);
    if (failed && !only_warned(tj))
        SR_FAIL(SR_ERR_IO, "damaged JPEG (%s)", tjGetErrorStr2(tj));
    if (cmyk)
        cmyk_to_rgb(target, pixels, out->rgb);
    sr_image_pool_rewind(pool, mark);
    return SR_OK;
}

// The library must see the size that image_probe.c bounded.  It fills in the size before it judges
// the rest of the header.
static SrStatus decode(tjhandle tj, const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                       SrImagePool *pool, SrImage *out) {
    int w = 0, h = 0, sampling = 0, space = 0;
    int failed = tjDecompressHeader3(tj, bytes, n, &w, &h, &sampling, &space);
    if (w != probe->W || h != probe->H)
        SR_FAIL(SR_ERR_IO, "damaged JPEG (%s)", failed ? tjGetErrorStr2(tj) : "size");
    return decode_into(tj, bytes, n, probe->components == 4, pool, out);
}

SrStatus sr__jpeg_turbo_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                               int reduce, SrImagePool *pool, SrImage *out) {
    SR_TRY(sr_image_new(pool, (probe->H + reduce - 1) / reduce, (probe->W + reduce - 1) / reduce,
                        out));
    tjhandle tj = tjInitDecompress();
    SR_TRY_MEMORY(tj, "a JPEG decoder");
    SrStatus status = decode(tj, probe, bytes, n, pool, out);
    tjDestroy(tj);
    return status;
}
