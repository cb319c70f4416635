// Reads one image twice and runs the pipeline on it, with the loader's random keys, for display.
#include "data/view_preview.h"

#include <string.h>

// Opens the same bytes twice: the views start from the encoded file, the original is decoded
// at full size.
static SrStatus read_image(const SrLoaderConfig *config, int64_t in_set, SrImagePool *pool,
                           SrViewPreview *out) {
    SrSample sample = {.path = ""};
    SrStatus status = config->dataset->read(config->set, in_set, pool, &sample);
    out->path = sample.path ? sample.path : "";
    SR_TRY(status);
    if (sample.encoded) {
        SR_TRY(sr_image_open(sample.encoded, sample.encoded_bytes, &out->views.view[0]));
        return sr_image_decode(sample.encoded, sample.encoded_bytes, pool, &out->original);
    }
    // Transforms work in place, so the original must be a copy.
    SR_TRY(sr_image_new(pool, sample.image.H, sample.image.W, &out->original));
    memcpy(out->original.rgb, sample.image.rgb, (size_t)sample.image.H * sample.image.W * 3);
    out->views.view[0] = sample.image;
    return SR_OK;
}

SrStatus sr_view_preview_make(const SrLoaderConfig *config, int64_t epoch, int64_t index,
                              int64_t in_set, SrImagePool *pool, SrViewPreview *out) {
    *out = (SrViewPreview){.views = {.n = 1}, .path = ""};
    SrTransformContext ctx = {.seed = config->seed,
                              .epoch = epoch,
                              .sample = index,
                              .fast = config->fast,
                              .pool = pool,
                              .label = &out->label,
                              .told = out->told};
    SR_TRY(read_image(config, in_set, pool, out));
    out->label = config->dataset->label(config->set, in_set);
    return sr_pipeline_apply(config->pipeline, &ctx, &out->views);
}

void sr_view_preview_deinit(SrViewPreview *shown) {
    for (int v = 0; v < SR_MAX_VIEWS; v++)
        sr_text_deinit(&shown->told[v]);
}
