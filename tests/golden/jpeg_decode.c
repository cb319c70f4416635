// Runs golden cases jpeg_decode*: encoded files and the pixels that PIL reads from them. PNG must
// be exact. A build without libjpeg-turbo reads JPEG with stb_image, which rounds the inverse DCT
// and interpolates colours differently.
#include <stdlib.h>

#include "data/decode.h"
#include "data/image_pool.h"
#include "gen/build.h"
#include "tests/golden/images.h"

#define JPEG_LEVELS 10 // largest difference
#ifdef SR_TURBOJPEG
#define JPEG_MEAN 0.15 // mean difference
#else
#define JPEG_MEAN 0.2 // up to 0.188 for small files with halved colour resolution
#endif

static SrStatus compare_mean(SrGoldenCase *c, const char *name, const SrImage *image) {
    const SrTensor *t = golden_tensor(c, name);
    const uint8_t *reference = t->data;
    int64_t n = sr_shape_count(t->shape), sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += abs(image->rgb[i] - reference[i]);
    if ((double)sum / (double)n > JPEG_MEAN)
        SR_FAIL(SR_ERR_RUN, "%s: %s differs by %.3f levels in the mean, more than %g", c->name,
                name, (double)sum / (double)n, JPEG_MEAN);
    return SR_OK;
}

// Checks that FILE<i> decodes to RGB<i>.
static SrStatus run_files(SrGoldenCase *c, SrImagePool *pool, const char *file, const char *rgb,
                          double levels) {
    const SrTensor *bytes, *reference;
    for (int i = 0; (bytes = golden_tensor(c, golden_numbered(c, file, i))); i++) {
        const char *name = golden_numbered(c, rgb, i);
        SrImage image;
        SR_TRY(sr_image_decode(bytes->data, (size_t)sr_shape_count(bytes->shape), pool, &image));
        reference = golden_tensor(c, name);
        if (!reference || reference->shape.d[0] != image.H || reference->shape.d[1] != image.W)
            SR_FAIL(SR_ERR_RUN, "%s: %s is not of %d x %d pixels", c->name, name, image.H, image.W);
        SR_TRY(golden_compare_u8(c, name, image.rgb, (int64_t)image.H * image.W * 3, levels));
        SR_TRY(compare_mean(c, name, &image));
    }
    return SR_OK;
}

static SrStatus run(SrGoldenCase *c) {
    SrImagePool *pool;
    SR_TRY(sr_image_pool_new(&pool));
    SrStatus status = run_files(c, pool, "jpeg", "rgb", JPEG_LEVELS);
    if (status == SR_OK)
        status = run_files(c, pool, "png", "pngrgb", 0.5);
    sr_image_pool_free(pool);
    return status;
}

const SrGolden sr_golden_jpeg_decode = {.prefixes = {"jpeg_decode"}, .run = run};
