// Images of strangers: whatever the bytes, decoding says yes or gives a reason, and two pools with different old
// contents give the same pixels.  Then through the transforms into a place of the announced size: what does not fit it
// is refused, and nothing is written behind it.
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
    if (*status == SR_OK && (int64_t)out->H * out->W > 1 << 18) // slow, not wrong
        *status = SR_ERR_IO;
    if (*status == SR_OK)
        *status = sr_image_finish(out, reduce, *pool);
}

// Sizes that are open but for square files, that are not, and several views.
static const char *const lists[] = {
    "[{name: Resize, size: 20}, {name: ToTensor}, {name: Normalize}]",
    "[{name: Resize, size: 20}, {name: ToTensor}]",
    "[{name: Resize, size: 24}, {name: CenterCrop, size: 20}, {name: ToTensor}, {name: Normalize}]",
    "[{name: CenterCrop, size: 31}, {name: ToTensor}, {name: Normalize}]",
    "[{name: RandomResizedCrop, size: 17}, {name: RandomHorizontalFlip}, {name: ToTensor}, {name: "
    "Normalize}]",
    "[{name: Resize, size: 9}, {name: ImgReplicatePil, num_times: 2}, {name: ToTensor}, {name: "
    "Normalize}]",
    "[{name: ImgPilToMultiCrop, total_num_crops: 3, num_crops: [1, 2], size_crops: [18, 7],"
    " crop_scales: [[0.3, 1], [0.1, 0.3]]}, {name: ToTensor}, {name: Normalize}]"};
enum { LISTS = sizeof lists / sizeof *lists };

// Parsed once: they change nothing of what a later input sees.
static const SrPipeline *pipeline(int i) {
    static SrPipeline *parsed[LISTS];
    SrArena arena = SR_ARENA_INIT;
    SrYaml *list;
    if (parsed[i])
        return parsed[i];
    if (sr_yaml_parse(&arena, lists[i], strlen(lists[i]), "fuzz", &list) != SR_OK ||
        sr_pipeline_new(list, "fuzz", &parsed[i]) != SR_OK)
        abort();
    sr_arena_deinit(&arena);
    return parsed[i];
}

// Places of exactly the announced size, so that the sanitizer sees one float too many.
static void transform(const SrPipeline *p, const SrImage *image, SrImagePool *pool) {
    SrViews views = {.n = 1, .view = {*image}};
    SrTransformContext ctx = {.seed = 1, .pool = pool};
    int n;
    if (sr_pipeline_shape(p, &n, views.h, views.w) != SR_OK)
        abort();
    for (int v = 0; v < n; v++)
        views.out[v] = malloc(sizeof(float) * 3 * (size_t)views.h[v] * (size_t)views.w[v]);
    SrStatus status = sr_pipeline_apply(p, &ctx, &views);
    if (status != SR_OK && status != SR_ERR_IO && status != SR_ERR_CONFIG)
        abort();
    for (int v = 0; v < n; v++)
        free(views.out[v]);
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
    SrImage opened;
    if (status[0] == SR_OK && sr_image_open(data, bytes, &opened) == SR_OK)
        transform(pipeline((int)(bytes / 4 % LISTS)), bytes & 1 ? &image[0] : &opened, pool[1]);
    for (int i = 0; i < 2; i++)
        sr_image_pool_free(pool[i]);
    return 0;
}
