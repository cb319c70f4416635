// Feeds arbitrary bytes to the readers of image files alone, which is many times faster than
// fuzz-image with its transforms.  A refusal is SR_ERR_IO; pixels depend on the bytes alone, and no
// memory is left over.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/data.h"
#include "data/readers/tiff_page.h"

enum { DIRT_BYTES = 1 << 18, MAX_PIXELS = 1 << 20 };

static void require(bool good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", what, sr_status_message());
    abort();
}

// Decodes in a pool whose memory held other bytes before.
static SrStatus decode(const uint8_t *data, size_t bytes, int dirt, SrImagePool *pool,
                       SrImage *out) {
    void *old = sr_image_pool_take(pool, DIRT_BYTES);
    require(old != NULL, "a pool");
    memset(old, dirt, DIRT_BYTES);
    sr_image_pool_reset(pool);
    return sr_image_decode(data, bytes, pool, out);
}

static void compare(const uint8_t *data, size_t bytes) {
    SrImage a, b;
    SrImagePool *pool, *other;
    require(sr_image_pool_new(&pool) == SR_OK && sr_image_pool_new(&other) == SR_OK, "pools");
    SrStatus status = decode(data, bytes, 0, pool, &a);
    require(status == SR_OK || status == SR_ERR_IO, "a bad refusal");
    require(status == decode(data, bytes, 0xEE, other, &b), "old memory decides");
    require(status != SR_OK || (a.H == b.H && a.W == b.W &&
                                memcmp(a.rgb, b.rgb, (size_t)a.H * (size_t)a.W * 3) == 0),
            "old memory changes a pixel");
    sr_image_pool_free(pool);
    sr_image_pool_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    SrImage opened;
    int64_t before = sr_mem_bytes();
    if (bytes < 1)
        return 0;
    uint8_t *file = malloc(bytes);
    require(file != NULL, "out of memory");
    memcpy(file, data + 1, bytes - 1);
    SrStatus status = sr__tiff_page_choose(file, bytes - 1, data[0] % 4 + 1);
    require(status == SR_OK || status == SR_ERR_IO, "a bad refusal of a page");
    status = sr_image_open(file, bytes - 1, &opened);
    if (status != SR_OK || (int64_t)opened.H * opened.W <= MAX_PIXELS)
        compare(file, bytes - 1);
    free(file);
    require(sr_mem_bytes() == before, "memory is left over");
    return 0;
}
