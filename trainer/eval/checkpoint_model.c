// Opens the trunk of a checkpoint with its configuration, and computes features of folders of
// images.
#include "trainer/eval/checkpoint_model.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text/text.h"
#include "data/image_pool.h"
#include "formats/weights/weights.h"
#include "trainer/data/data_summary.h"
#include "trainer/run/run_folder.h"

// ---- opening

SrStatus sr_checkpoint_config(const char *path, SrConfig **out) {
    SrWeights weights;
    if (!sr_file_exists(path))
        SR_FAIL(
            SR_ERR_CONFIG,
            "%s: no such file or folder; expected a checkpoint of `sslrun train` or its run folder",
            path);
    SrStatus status = sr_weights_open(&weights, path);
    const char *text = status == SR_OK ? sr_weights_meta(&weights, "config") : NULL;
    if (status != SR_OK)
        status =
            sr_fail(status, "%s (expected a checkpoint of `sslrun train`)", sr_status_message());
    else if (!text)
        status = sr_fail(
            SR_ERR_CONFIG,
            "%s holds no configuration: expected a checkpoint of `sslrun train`; weights of "
            "other programs need the name of their model, such as resnet50",
            path);
    else
        status = sr_config_parse_saved(text, path, out);
    sr_weights_close(&weights);
    return status;
}

// side 0: that of the training's first view.
static SrStatus open_model(SrCheckpointModel *m, int side, bool drawn) {
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    SR_TRY(sr_checkpoint_config(m->path, &m->config));
    SR_TRY(sr_split_train_shape(m->config, &n, h, w));
    m->crop = side ? side : h[0];
    m->batch = (int)SR_MAX(SR_MIN((int64_t)40 * 224 * 224 / ((int64_t)m->crop * m->crop), 256), 8);
    const char *layer = m->config->knn.layer;
    if (drawn)
        return sr_baselines_drawn(m->config, layer, 1, m->crop, &m->model);
    return sr_baselines_model_of_side(m->config, layer, m->path, m->crop, &m->model);
}

SrStatus sr_checkpoint_model_open(const char *path, SrCheckpointModel *out) {
    return sr_checkpoint_model_open_at(path, 0, false, out);
}

SrStatus sr_checkpoint_model_open_at(const char *path, int side, bool drawn,
                                     SrCheckpointModel *out) {
    *out = (SrCheckpointModel){.path = ""};
    SR_TRY(sr_folder_weights(path, out->path, sizeof out->path));
    SrStatus status = open_model(out, side, drawn);
    if (status != SR_OK)
        sr_checkpoint_model_close(out);
    return status;
}

void sr_checkpoint_model_close(SrCheckpointModel *m) {
    sr_model_free(m->model);
    sr_config_free(m->config);
    *m = (SrCheckpointModel){.path = ""};
}

uint32_t sr_checkpoint_model_checksum(const SrCheckpointModel *m) {
    uLong sum = 0;
    SrParams *params = sr_model_params(m->model);
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        sum = crc32_z(sum, p->value, (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype));
    }
    return (uint32_t)sum;
}

// ---- images

// Forgets the training's images, with their limits, labels and sources.
static void set_side(SrSplitConfig *side, const char *const *data) {
    side->data_paths = (SrStrings){data ? 1 : 0, data};
    side->data_sources = side->label_sources = side->label_paths = (SrStrings){0, NULL};
    side->data_limit = -1;
    side->data_limit_skip = 0;
    side->data_limit_balanced = false;
    side->remove_img_path_prefix = side->new_img_path_prefix = "";
}

void sr_checkpoint_model_set_data(SrCheckpointModel *m, const char *const *data) {
    set_side(&m->config->train, data);
    set_side(&m->config->test, NULL);
    m->config->knn.bank_limit = m->config->knn.test_limit = 0;
}

// Lists the file of each row, or "image 17" in a set without files.  A row's label is the image's
// number.
static SrStatus name_rows(const SrSplit *split, const SrMatrix *f, SrStringList *files) {
    SrImagePool *pool;
    char number[32];
    const char *path = number;
    SrStatus status = SR_OK;
    SR_TRY(sr_image_pool_new(&pool));
    for (int64_t i = 0; status == SR_OK && i < f->n; i++) {
        sr_image_pool_reset(pool);
        snprintf(number, sizeof number, "image %lld", (long long)f->label[i]);
        if (split->source->path)
            status = split->source->path(split->set, f->label[i], pool, &path);
        if (status == SR_OK)
            status = sr__string_list_add(files, path, strlen(path));
    }
    sr_image_pool_free(pool);
    return status;
}

SrStatus sr_checkpoint_model_features(SrCheckpointModel *m, const char *data, const char *layer,
                                      SrStages *stages, SrMatrix *out, SrStringList *files) {
    SrSplit split = {.note = ""};
    SrStatus status;
    *out = (SrMatrix){0};
    SR_TRY_GOTO(sr_split_open_all(m->config, data, m->batch, m->crop, &split));
    if (!layer)
        layer = m->config->knn.layer;
    if (stages)
        SR_TRY_GOTO(sr_feature_rows_of_model(m->model, layer, stages, &split, m->batch, out));
    else
        SR_TRY_GOTO(sr_feature_rows_pooled(m->model, layer, &split, m->batch, out));
    sr_data_summary_say_bad(&(SrBadImages){split.loader, true, "images", "are left out"}, SR_OK);
    SR_TRY_GOTO(name_rows(&split, out, files));
done:
    sr_split_close(&split);
    if (status != SR_OK)
        sr_matrix_deinit(out);
    return status;
}
