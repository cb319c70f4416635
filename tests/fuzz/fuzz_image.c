// Images of strangers: whatever the bytes, decoding says yes or gives a reason, and two pools with different old
// contents give the same pixels.
#include <stdlib.h>
#include <string.h>

#include "data/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void decode(const uint8_t *data, size_t bytes, int reduce, int dirt, SrImagePool **pool,
                   SrImage *out, SrStatus *status) {
    if (sr_image_pool_new(pool) != SR_OK)
        abort();
    void *old = sr_image_pool_take(*pool, 1 << 16);
    memset(old, dirt, 1 << 16);
    sr_image_pool_reset(*pool);
    *status = sr_image_open(data, bytes, out);
    if (*status == SR_OK && (int64_t)out->H * out->W > 1 << 22) // slow, not wrong
        *status = SR_ERR_IO;
    if (*status == SR_OK)
        *status = sr_image_finish(out, reduce, *pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    SrImagePool *pool[2];
    SrImage image[2];
    SrStatus status[2];
    int reduce = 1 << (bytes % 4);
    for (int i = 0; i < 2; i++)
        decode(data, bytes, reduce, i ? 0xEE : 0, &pool[i], &image[i], &status[i]);
    if (status[0] != status[1] || (status[0] != SR_OK && status[0] != SR_ERR_IO))
        abort();
    if (status[0] == SR_OK &&
        memcmp(image[0].rgb, image[1].rgb, (size_t)image[0].H * (size_t)image[0].W * 3) != 0)
        abort();
    for (int i = 0; i < 2; i++)
        sr_image_pool_free(pool[i]);
    return 0;
}
