// Computes the rows of an evaluation: opens images and trunks, and extracts once per row.
#include "trainer/eval/baselines.h"

#include <string.h>

#include "base/log.h"
#include "base/ranks/comm.h"
#include "base/text/json.h"
#include "data/load/loader.h"
#include "trainer/data/data_summary.h"
#include "trainer/features/norm_calibration.h"
#include "trainer/model/weights_init.h"
#include "trainer/run/run_folder.h"

// Tables use these names as labels.
const char *sr_report_row_name(SrReportRow row) {
    static const char *const names[] = {"majority class",      "raw pixels",
                                        "untrained, as drawn", "untrained, calibrated",
                                        "starting weights",    "trained trunk"};
    return names[row];
}

const char *sr_report_row_key(SrReportRow row) {
    static const char *const keys[] = {"majority",  "pixels",  "untrained",
                                       "untrained", "started", "trained"};
    return keys[row];
}

void sr_baselines_keep_better(bool has[SR_ROW_COUNT], double drawn, double calibrated) {
    if (has[SR_ROW_UNTRAINED] && has[SR_ROW_CALIBRATED])
        has[drawn < calibrated ? SR_ROW_UNTRAINED : SR_ROW_CALIBRATED] = false;
}

void sr_baselines_json(const bool has[SR_ROW_COUNT], SrText *out) {
    if (has[SR_ROW_UNTRAINED] || has[SR_ROW_CALIBRATED])
        sr_json_string(out, "untrained_norms", has[SR_ROW_CALIBRATED] ? "calibrated" : "as drawn");
}

void sr_baselines_crops_text(int crops, SrText *out) {
    if (crops > 0)
        sr_text_printf(out, "mean of %d crop%s per image, ", crops, crops == 1 ? "" : "s");
}

// ---- images -------------------------------------------------------------------------------------

// Bounds the memory of evaluation: a pass has at most the pixels of 40 images of 224 x 224.  Small
// images need large batches to keep the cores busy.
static int batch_for(int crop) {
    int64_t n = (int64_t)40 * 224 * 224 / ((int64_t)crop * crop);
    return (int)SR_MAX(SR_MIN(n, 256), 8);
}

SrStatus sr_baselines_open(SrBaselines *rows, const SrConfig *config, const char *layer) {
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    *rows = (SrBaselines){.config = config, .layer = layer};
    SR_TRY(sr_split_train_shape(config, &n, h, w));
    rows->crop = h[0];
    rows->batch = batch_for(h[0]);
    SR_TRY(sr_split_open_eval(config, SR_SIDE_BANK, false, rows->batch, rows->crop, NULL,
                              &rows->bank));
    SR_TRY(sr_split_open_eval(config, SR_SIDE_TEST, false, rows->batch, rows->crop, &rows->bank,
                              &rows->test));
    rows->labels = rows->bank.classes > 0 && rows->test.classes > 0;
    return SR_OK;
}

void sr_baselines_close(SrBaselines *rows) {
    sr_split_close(&rows->bank);
    sr_split_close(&rows->test);
}

// ---- rows ---------------------------------------------------------------------------------------

static SrStatus extract(SrBaselines *r, SrModel *model, SrSplit *split, SrMatrix *out) {
    return sr_feature_rows_of_model(model, r->layer, r->stages, split, r->batch, out);
}

static SrStatus row_of_trunk(SrBaselines *r, SrReportRow row, SrModel *model, SrEachRow each,
                             void *arg) {
    SrMatrix bank = {0}, test = {0};
    SrStatus status;
    SR_TRY_GOTO(extract(r, model, &r->bank, &bank));
    SR_TRY_GOTO(extract(r, model, &r->test, &test));
    SR_TRY_GOTO(sr_comm_agree(each(arg, row, &bank, &test)));
done:
    sr_matrix_deinit(&bank);
    sr_matrix_deinit(&test);
    return status;
}

static SrStatus row_of_pixels(SrBaselines *r, SrEachRow each, void *arg) {
    SrMatrix bank = {0}, test = {0};
    SrStatus status;
    SR_TRY_GOTO(sr_feature_rows_of_pixels(&r->bank, &bank));
    SR_TRY_GOTO(sr_feature_rows_of_pixels(&r->test, &test));
    SR_TRY_GOTO(sr_comm_agree(each(arg, SR_ROW_PIXELS, &bank, &test)));
done:
    sr_matrix_deinit(&bank);
    sr_matrix_deinit(&test);
    return status;
}

SrStatus sr_baselines_pixels(SrBaselines *rows, SrEachRow each, void *arg) {
    rows->bank.shared = rows->test.shared = true;
    return row_of_pixels(rows, each, arg);
}

SrStatus sr_baselines_drawn(const SrConfig *config, const char *layer, int batch, int crop,
                            SrModel **out) {
    SR_TRY(sr_model_new(config, out));
    SR_TRY(sr_feature_source_check(*out, layer, batch, crop, crop));
    SR_TRY(sr_params_allocate(sr_model_params(*out)));
    sr_params_init(sr_model_params(*out), config->seed);
    return SR_OK;
}

static SrStatus calibrate(SrBaselines *r, SrModel *model, SrSplit *sample, int batch) {
    SR_TRY(sr_split_open_eval(r->config, SR_SIDE_BANK, true, batch, r->crop, NULL, sample));
    return sr_norms_calibrate(model, sample, batch);
}

// Compares the trunk as the run's seed drew it, then with batch-norm statistics of these images.
// The model is a separate one, so that the trained parameters stay.
static SrStatus row_of_untrained(SrBaselines *r, SrEachRow each, void *arg) {
    SrModel *model = NULL;
    SrSplit sample = {.note = ""};
    SrStatus status;
    int batch = (int)SR_MIN((int64_t)r->batch, sr_loader_length(r->bank.loader));
    SR_TRY_GOTO(sr_comm_agree(sr_baselines_drawn(r->config, r->layer, batch, r->crop, &model)));
    SR_TRY_GOTO(row_of_trunk(r, SR_ROW_UNTRAINED, model, each, arg));
    SR_TRY_GOTO(sr_comm_agree(calibrate(r, model, &sample, batch)));
    SR_TRY_GOTO(row_of_trunk(r, SR_ROW_CALIBRATED, model, each, arg));
done:
    sr_split_close(&sample);
    sr_model_free(model);
    return status;
}

SrStatus sr_baselines_each(SrBaselines *rows, SrModel *trained, bool baselines, SrEachRow each,
                           void *arg) {
    rows->bank.shared = rows->test.shared = true;
    if (baselines) {
        SR_TRY(row_of_pixels(rows, each, arg));
        SR_TRY(row_of_untrained(rows, each, arg));
    }
    if (rows->started)
        SR_TRY(row_of_trunk(rows, SR_ROW_STARTED, rows->started, each, arg));
    if (trained)
        SR_TRY(row_of_trunk(rows, SR_ROW_TRAINED, trained, each, arg));
    sr_data_summary_say_bad(
        &(SrBadImages){rows->bank.loader, true, "training images", "are left out"}, SR_OK);
    sr_data_summary_say_bad(&(SrBadImages){rows->test.loader, true, "test images", "are left out"},
                            SR_OK);
    return SR_OK;
}

// ---- weights ------------------------------------------------------------------------------------

// configured: the file is that of WEIGHTS_INIT, with its prefixes.  False: a checkpoint of sslrun,
// whose names stay.
static SrStatus load_model(const SrConfig *config, const char *layer, const char *path,
                           bool configured, int side, SrModel **out) {
    SrWeightsSource source =
        configured ? sr_weights_source(config) : sr_weights_of_checkpoint(config, path);
    source.path = path;
    source.quiet = source.whole_trunk = true;
    *out = NULL;
    SrStatus status = sr_baselines_drawn(config, layer, 1, side, out);
    if (status == SR_OK)
        status = sr_weights_load(&source, sr_model_params(*out));
    if (status == SR_OK)
        return SR_OK;
    sr_model_free(*out);
    *out = NULL;
    return status;
}

static SrStatus find_weights(const SrConfig *config, char *path, size_t path_bytes) {
    if (*config->model.params_file)
        return sr_folder_weights(config->model.params_file, path, path_bytes);
    SrStatus status = sr_folder_newest(config->checkpoint.dir, path, path_bytes);
    if (status != SR_OK)
        SR_FAIL(status, "%s; --random measures the untrained trunk", sr_status_message());
    return SR_OK;
}

SrStatus sr_baselines_model(const SrConfig *config, const char *layer, const char *path,
                            SrModel **out) {
    char found[4096];
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    bool configured = !path && *config->model.params_file;
    *out = NULL;
    if (!path) {
        SR_TRY(find_weights(config, found, sizeof found));
        path = found;
        sr_info("weights of %s", path);
    }
    SR_TRY(sr_split_train_shape(config, &n, h, w));
    return load_model(config, layer, path, configured, h[0], out);
}

SrStatus sr_baselines_model_of_side(const SrConfig *config, const char *layer, const char *path,
                                    int side, SrModel **out) {
    return load_model(config, layer, path, false, side, out);
}

// Loads as the training does: a share of the trunk is enough if the configuration says so.
static SrStatus load_start(const SrConfig *config, const char *layer, SrModel **out) {
    char path[4096];
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    SrWeightsSource source = sr_weights_source(config);
    SR_TRY(sr_folder_weights(source.path, path, sizeof path));
    source.path = path;
    source.quiet = source.skip_heads = true;
    SR_TRY(sr_split_train_shape(config, &n, h, w));
    SR_TRY(sr_baselines_drawn(config, layer, 1, h[0], out));
    return sr_weights_load(&source, sr_model_params(*out));
}

SrStatus sr_baselines_start(const SrConfig *config, const char *layer, SrModel **out) {
    *out = NULL;
    if (!*config->model.params_file)
        return SR_OK;
    SrStatus status = load_start(config, layer, out);
    if (status != SR_OK) {
        sr_model_free(*out);
        *out = NULL;
    }
    return status;
}
