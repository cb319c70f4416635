// Decodes WebP to RGB by libwebp.
//
// The build includes this file if it finds the library's header; `make WEBP=no` leaves it out.
// image_probe.c decides which files are decoded at all.  The library allocates its working memory
// itself, up to 4 bytes per pixel.
#include "data/webp.h"

#include <webp/decode.h>

#include "data/image_pool.h"

// The library must see the size that image_probe.c bounded: the buffer is made for that size.
SrStatus sr__webp_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                         SrImagePool *pool, SrImage *out) {
    int w = 0, h = 0;
    if (!WebPGetInfo(bytes, n, &w, &h) || w != probe->W || h != probe->H)
        SR_FAIL(SR_ERR_IO, "damaged WebP (header)");
    SR_TRY(sr_image_new(pool, h, w, out));
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config))
        SR_FAIL(SR_ERR_RUN, "the libwebp library has another version than the header that sslrun "
                            "was built with; build again");
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = (WebPRGBABuffer){out->rgb, 3 * w, (size_t)h * (size_t)w * 3};
    VP8StatusCode code = WebPDecode(bytes, n, &config);
    if (code == VP8_STATUS_OUT_OF_MEMORY)
        return sr_out_of_memory("an image of %d x %d", w, h);
    if (code != VP8_STATUS_OK)
        SR_FAIL(SR_ERR_IO, "damaged WebP (image data)");
    return SR_OK;
}
