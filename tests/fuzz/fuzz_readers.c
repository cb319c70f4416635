// Feeds arbitrary bytes to the readers of image files alone, which is many times faster than
// fuzz-image with its transforms.  A refusal is SR_ERR_IO; pixels depend on the bytes alone, and no
// memory is left over.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "data/image_probe.h"
#include "data/readers/png_levels.h"
#include "data/readers/tiff_page.h"

// An input begins with HEAD bytes, of which the first chooses a page.  The inputs of fuzz-image,
// which are its seeds, begin with as many.
enum { DIRT_BYTES = 1 << 18, MAX_PIXELS = 1 << 20, HEAD = 2 };

static void require(bool good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", what, sr_status_message());
    abort();
}

// Leaves other bytes in the memory that a pool hands out next.
static void make_dirty(SrImagePool *pool, int dirt) {
    void *old = sr_image_pool_take(pool, DIRT_BYTES);
    require(old != NULL, "a pool");
    memset(old, dirt, DIRT_BYTES);
    sr_image_pool_reset(pool);
}

// Decodes to floats of `channels` channels; 0: RGB.
static SrStatus decode(const uint8_t *data, size_t bytes, int channels, int dirt, SrImagePool *pool,
                       SrImage *out) {
    make_dirty(pool, dirt);
    SR_TRY(sr_image_open(data, bytes, out));
    out->channels = channels;
    return sr_image_finish(out, 1, pool);
}

// Reads a mask: the same numbers from the same bytes.
static void compare_levels(const uint8_t *data, size_t bytes) {
    int h[2], w[2];
    uint8_t *level[2];
    SrStatus status[2];
    SrImagePool *pool[2];
    for (int i = 0; i < 2; i++) {
        require(sr_image_pool_new(&pool[i]) == SR_OK, "pools");
        make_dirty(pool[i], i ? 0xEE : 0);
        status[i] = sr_png_levels(data, bytes, pool[i], &h[i], &w[i], &level[i]);
    }
    require(status[0] == SR_OK || status[0] == SR_ERR_IO, "a bad refusal of a mask");
    require(status[0] == status[1], "old memory decides about a mask");
    require(status[0] != SR_OK || (h[0] == h[1] && w[0] == w[1] &&
                                   memcmp(level[0], level[1], (size_t)h[0] * (size_t)w[0]) == 0),
            "old memory changes a mask");
    for (int i = 0; i < 2; i++)
        sr_image_pool_free(pool[i]);
}

static void compare(const uint8_t *data, size_t bytes, int channels) {
    SrImage a, b;
    SrImagePool *pool, *other;
    require(sr_image_pool_new(&pool) == SR_OK && sr_image_pool_new(&other) == SR_OK, "pools");
    SrStatus status = decode(data, bytes, channels, 0, pool, &a);
    require(status == SR_OK || status == SR_ERR_IO, "a bad refusal");
    require(status == decode(data, bytes, channels, 0xEE, other, &b), "old memory decides");
    bool floats = channels > 0;
    require(status != SR_OK || (a.H == b.H && a.W == b.W && (a.f != NULL) == floats &&
                                memcmp(floats ? (void *)a.f : a.rgb, floats ? (void *)b.f : b.rgb,
                                       sr_image_samples(&a) * (floats ? sizeof *a.f : 1)) == 0),
            "old memory changes a pixel");
    sr_image_pool_free(pool);
    sr_image_pool_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    SrImage opened;
    int64_t before = sr_mem_bytes();
    if (bytes < HEAD)
        return 0;
    bytes -= HEAD;
    uint8_t *file =
        malloc(bytes ? bytes : 1); // exact, so that a sanitizer sees a read past the end
    require(file != NULL, "out of memory");
    memcpy(file, data + HEAD, bytes);
    SrStatus status = sr__tiff_page_choose(file, bytes, data[0] % 4 + 1);
    require(status == SR_OK || status == SR_ERR_IO, "a bad refusal of a page");
    status = sr_image_open(file, bytes, &opened);
    if (status != SR_OK || (int64_t)opened.H * opened.W <= MAX_PIXELS)
        compare(file, bytes, 0);
    if (status == SR_OK && (int64_t)opened.H * opened.W <= MAX_PIXELS)
        compare_levels(file, bytes);
    SrImageHeader header;
    if (status == SR_OK && sr__image_header_read(file, bytes, &header) == SR_OK) {
        int channels = header.samples > 0 ? header.samples : data[0] & 4 ? 1 : 3;
        if ((int64_t)opened.H * opened.W * channels <= MAX_PIXELS)
            compare(file, bytes, channels);
    }
    free(file);
    require(sr_mem_bytes() == before, "memory is left over");
    return 0;
}
