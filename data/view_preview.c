// Reads one image twice and runs the pipeline on it, with the loader's random keys, for display.
#include "data/view_preview.h"

#include "data/dataset.h"
#include "data/decode.h"
#include "data/image_form.h"
#include "data/load/loader.h"
#include "data/pipeline.h"
#include "data/pixels/pixel_geometry.h"

// Opens the same bytes twice: the views start from the encoded file, the original is decoded
// at full size.
static SrStatus read_image(const SrLoaderConfig *config, int64_t in_set, SrImagePool *pool,
                           SrViewPreview *out) {
    SrSample sample = {.path = ""};
    SrStatus status = config->dataset->read(config->set, in_set, pool, &sample);
    out->path = sample.path ? sample.path : "";
    SR_TRY(status);
    int channels = sr_pipeline_form(config->pipeline).channels;
    SR_TRY(sr_sample_image(&sample, channels, pool, &out->views.view[0]));
    SR_TRY(sr_sample_image(&sample, channels, pool, &out->original));
    SR_TRY(sr_image_finish(&out->original, 1, pool));
    // Transforms work in place, so the original must be a copy.
    if (!sample.encoded)
        SR_TRY(sr_pixel_copy(&out->original, pool, &out->original));
    return sr_image_to_rgb(&out->original, pool);
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
    SR_TRY(sr_pipeline_apply(config->pipeline, &ctx, &out->views));
    for (int v = 0; v < SR_MAX_VIEWS; v++)
        if (out->told[v].failed)
            return sr_out_of_memory("the draws of a view in words");
    return SR_OK;
}

void sr_view_preview_deinit(SrViewPreview *shown) {
    for (int v = 0; v < SR_MAX_VIEWS; v++)
        sr_text_deinit(&shown->told[v]);
}
