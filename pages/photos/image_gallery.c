// Turns the data of the gallery into HTML.
#include "pages/photos/image_gallery.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "pages/photos/gallery_map.h"
#include "pages/photos/gallery_parts.h"
#include "pages/photos/projector.h"
#include "trainer/eval/checkpoint_model.h"
#include "trainer/model/weights_init.h"
#include "trainer/run/run_folder.h"

// Writes the parts before the style sheet of their thumbnails, which holds only those that they
// use.
static SrStatus add_parts(const SrGalleryData *d, SrText *out) {
    SrGallery g = {d, sr_calloc((size_t)d->n, sizeof *g.use)};
    SrText parts = SR_TEXT_INIT;
    SrStatus status;
    SR_TRY_GOTO(g.use ? SR_OK : sr_out_of_memory("the gallery"));
    SR_TRY_GOTO(sr_gallery_neighbours(&g, &parts));
    sr_gallery_map(&g, &parts);
    SR_TRY_GOTO(sr_attention_maps_add(&d->attention, &parts));
    SR_TRY_GOTO(sr_gallery_groups(&g, &parts));
    SR_TRY_GOTO(sr_gallery_classes(&g, &parts));
    SR_TRY_GOTO(sr_thumbs_style(d->thumbs, g.use, d->n, out));
    sr_text_add(out, parts.s ? parts.s : "");
    out->failed = out->failed || parts.failed;
done:
    sr_text_deinit(&parts);
    sr_free(g.use);
    return status;
}

static SrStatus write_page(const SrConfig *config, const SrGalleryData *d, size_t *bytes) {
    char path[4096];
    SrText out = SR_TEXT_INIT;
    SrStatus status;
    SR_TRY(sr_file_join(path, sizeof path, config->checkpoint.dir, SR_GALLERY_FILE));
    SR_TRY_GOTO(add_parts(d, &out));
    *bytes = out.len;
    SR_TRY_GOTO(sr_file_write_text(path, &out));
done:
    sr_text_deinit(&out);
    return status;
}

SrStatus sr_image_gallery(const SrConfig *config, SrModel *trained, const SrGalleryOptions *options,
                          SrGalleryReport *out) {
    SrGalleryData data;
    double began = sr_clock();
    *out = (SrGalleryReport){0};
    SrStatus status = sr_gallery_data_fill(config, trained, options, &data);
    if (status == SR_OK)
        status = write_page(config, &data, &out->bytes);
    if (status == SR_OK)
        status = sr_projector_features(config, &data);
    out->images = data.n;
    out->features_s = data.features_s;
    out->seconds = sr_clock() - began;
    sr_gallery_data_deinit(&data);
    return status;
}

// Loads trunk and heads, as at the end of the run.
static SrStatus load_model(const SrConfig *config, const char *checkpoint, SrModel **out) {
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    SrOutputGraph outputs;
    SR_TRY(sr_split_train_shape(config, &n, h, w));
    SR_TRY(sr_model_new(config, out));
    SR_TRY(sr_model_build_outputs(*out, 1, 1, h, w, &outputs));
    SR_TRY(sr_feature_source_check(*out, config->knn.layer, 1, h[0], w[0]));
    SR_TRY(sr_params_allocate(sr_model_params(*out)));
    sr_params_init(sr_model_params(*out), config->seed);
    SrWeightsSource source = {
        .path = checkpoint, .remove_prefix = "", .append_prefix = "", .quiet = true};
    return sr_weights_load(&source, sr_model_params(*out));
}

SrStatus sr_image_gallery_again(const char *run, const SrGalleryOptions *options,
                                SrGalleryReport *out) {
    char checkpoint[4096];
    SrConfig *config = NULL;
    SrModel *model = NULL;
    SrStatus status;
    SR_TRY(sr_folder_newest(run, checkpoint, sizeof checkpoint));
    SR_TRY_GOTO(sr_checkpoint_config(checkpoint, &config));
    config->checkpoint.dir = run; // the folder may have moved
    SR_TRY_GOTO(load_model(config, checkpoint, &model));
    SR_TRY_GOTO(sr_image_gallery(config, model, options, out));
done:
    sr_model_free(model);
    sr_config_free(config);
    return status;
}
