// Runs the online probe: kNN and logistic regression on features of a model in training.
#include "trainer/eval/online_probe.h"
#include "base/clock.h"
#include "base/ranks/comm.h"

#include "measure/probes/logreg.h"
#include "trainer/config/derived_config.h"
#include "trainer/eval/report.h"

// Opens the images, and fails where their labels or the configuration keep a probe from working.
static SrStatus open_images(const SrConfig *config, SrConfig *limited, SrBaselines *rows) {
    if (config->model.freeze_trunk_only && config->model.eval_mode_on) // nor do statistics move
        SR_FAIL(SR_ERR_CONFIG, "HOOKS.PROBE: the trunk is frozen, so every probe would give the "
                               "same result; set EVERY_NUM_EPOCHS to 0");
    if (config->knn.topk.n < 1)
        SR_FAIL(SR_ERR_CONFIG, "HOOKS.PROBE: NEAREST_NEIGHBOR.TOPK is empty, but the probe needs "
                               "its first number; give one");
    limited->knn.bank_limit = limited->knn.test_limit = config->probe.limit;
    SR_TRY(sr_baselines_open(rows, limited, config->knn.layer));
    if (rows->bank.classes < 2 || rows->test.classes < 2 || rows->bank.n_targets > 0)
        SR_FAIL(SR_ERR_CONFIG,
                "HOOKS.PROBE: a probe needs images with one label each and at least two classes, "
                "but the training images have %d and the test images %d; add "
                "HOOKS.PROBE.EVERY_NUM_EPOCHS=0, or give the images labels",
                rows->bank.classes, rows->test.classes);
    return SR_OK;
}

SrStatus sr_online_probe_check(const SrConfig *config) {
    SrBaselines rows = {.bank = {.note = ""}, .test = {.note = ""}};
    SrConfig *limited = NULL;
    if (config->probe.every_num_epochs == 0)
        return SR_OK;
    SR_TRY(sr_config_copy(config, &limited));
    SrStatus status = open_images(config, limited, &rows);
    sr_baselines_close(&rows);
    sr_config_free(limited);
    return status;
}

// Opens the images for the length of a call only: between probes they would hold memory.
SrStatus sr_online_probe_open(const SrConfig *config, SrModel *model, SrOnlineProbe *out) {
    SrBaselines rows = {.bank = {.note = ""}, .test = {.note = ""}};
    SrStatus status;
    *out = (SrOnlineProbe){.model = NULL};
    if (config->probe.every_num_epochs == 0)
        return SR_OK;
    SR_TRY(sr_config_copy(config, &out->config));
    SR_TRY_GOTO(open_images(config, out->config, &rows));
    SR_TRY_GOTO(
        sr_feature_source_check(model, rows.layer, rows.batch, rows.bank.h[0], rows.bank.w[0]));
    out->model = model;
done:
    sr_baselines_close(&rows);
    return status;
}

bool sr_online_probe_due(const SrOnlineProbe *probe, int64_t epoch) {
    return probe->model && (epoch + 1) % probe->config->probe.every_num_epochs == 0;
}

typedef struct {
    const SrConfig *config;
    SrProbeResult *out;
} Call;

// Fits the linear classifier first, because kNN normalises the rows in place.
static SrStatus probe_rows(void *arg, SrReportRow row, SrMatrix *train, SrMatrix *test) {
    (void)row;
    const Call *c = arg;
    SrArena arena = SR_ARENA_INIT;
    double lambda = SR_PROBE_LAMBDA;
    SrLowShotConfig logreg = {.lambdas = {.v = &lambda, .n = 1}, .max_iter = SR_PROBE_MAX_ITER};
    SrKnnOptions knn = {.sigma = c->config->knn.sigma, .l2_norm = c->config->knn.l2_norm_feats};
    SrLogregResult *linear;
    int n;
    c->out->n_train = train->n;
    c->out->n_test = test->n;
    SrStatus status = sr_logreg(&logreg, c->config->seed, train, test, &arena, &linear, &n);
    if (status == SR_OK)
        c->out->linear_top1 = linear[0].test;
    sr_arena_deinit(&arena);
    return status == SR_OK ? sr_knn(&knn, train, test, c->config->knn.topk.v, 1, &c->out->knn, NULL)
                           : status;
}

SrStatus sr_online_probe_run(SrOnlineProbe *probe, SrProbeResult *out) {
    SrBaselines rows;
    SrStatus status;
    Call call = {probe->config, out};
    double began = sr_clock();
    *out = (SrProbeResult){.n_train = 0};
    SR_TRY_GOTO(sr_comm_agree(sr_baselines_open(&rows, probe->config, probe->config->knn.layer)));
    SR_TRY_GOTO(sr_baselines_each(&rows, probe->model, false, probe_rows, &call));
    if (!probe->warned)
        sr_knn_warn_lengths(out->knn.length_ratio);
    probe->warned = true;
    out->seconds = sr_clock() - began;
done:
    sr_baselines_close(&rows);
    return status;
}

void sr_online_probe_close(SrOnlineProbe *probe) {
    sr_config_free(probe->config);
    *probe = (SrOnlineProbe){.model = NULL};
}
