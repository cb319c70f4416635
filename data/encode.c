// Encoding of PNG and JPEG through stb_image_write, into growing text buffers.  zlib compresses,
// because stb's own compression ends the program where memory is short.
#include "data/encode.h"

#include <zlib.h>

#include "base/mem.h"

// Returns the compressed bytes, which stb_image_write frees; NULL: memory is short.
static unsigned char *compress_rows(unsigned char *data, int bytes, int *out_bytes, int level) {
    uLongf room = compressBound((uLong)bytes);
    unsigned char *out = sr_alloc(room);
    if (out && compress2(out, &room, data, (uLong)bytes, level) != Z_OK) {
        sr_free(out);
        out = NULL;
    }
    *out_bytes = (int)room;
    return out;
}

#define STBIW_MALLOC(bytes) sr_alloc(bytes)
#define STBIW_REALLOC(p, bytes) sr_realloc(p, bytes)
#define STBIW_FREE(p) sr_free(p)
#define STBIW_ZLIB_COMPRESS compress_rows
#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#pragma GCC diagnostic ignored "-Wunused-function" // the library writes other formats too
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <stb/stb_image_write.h>

static void put(void *out, void *data, int bytes) { sr_text_addn(out, data, (size_t)bytes); }

void sr_png_encode(const uint8_t *rgb, int h, int w, SrText *out) {
    if (!stbi_write_png_to_func(put, out, w, h, 3, rgb, 3 * w))
        out->failed = true;
}

void sr_jpeg_encode(const uint8_t *rgb, int h, int w, int quality, SrText *out) {
    if (!stbi_write_jpg_to_func(put, out, w, h, 3, rgb, quality))
        out->failed = true;
}
