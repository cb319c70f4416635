// Tests probes of a trunk between epochs: they give the figures of the evaluations that they
// stand for, respect their limit, leak nothing, and refuse bad settings before the first step.
#include <string.h>

#include "base/mem.h"
#include "measure/probes/logreg.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/temp_dir.h"
#include "trainer/eval/online_probe.h"
#include "trainer/eval/report.h"
#include "trainer/run/run.h"
#include "trainer/train.h"

#define CONFIG "tests/cli/tiny.yaml"
#define ON "HOOKS.PROBE.EVERY_NUM_EPOCHS=2"

typedef struct {
    SrConfig *config;
    SrRun *run;
    SrOnlineProbe probe;
} Fixture;

static SrStatus begin(Fixture *f, const char *a, const char *b) {
    const char *overrides[] = {"DATA.TRAIN.DATA_LIMIT=400", "NEAREST_NEIGHBOR.L2_NORM_FEATS=True",
                               a, b};
    *f = (Fixture){.config = NULL};
    SR_TRY(sr_config_load(CONFIG, overrides, SR_COUNT(overrides), &f->config));
    SR_TRY(sr_run_open(f->config, SR_RUN_TRAIN, &f->run));
    return sr_online_probe_open(f->config, f->run->model, &f->probe);
}

static void end(Fixture *f) {
    sr_online_probe_close(&f->probe);
    sr_run_close(f->run);
    sr_config_free(f->config);
}

static SrStatus linear_of(void *arg, SrReportRow row, SrMatrix *train, SrMatrix *test) {
    (void)row;
    double lambda = SR_PROBE_LAMBDA;
    SrLowShotConfig config = {.lambdas = {.n = 1, .v = &lambda}, .max_iter = SR_PROBE_MAX_ITER};
    SrArena arena = SR_ARENA_INIT;
    SrLogregResult *r;
    int n;
    CHECK_OK(sr_logreg(&config, 0, train, test, &arena, &r, &n));
    *(double *)arg = r->test;
    sr_arena_deinit(&arena);
    return SR_OK;
}

// Without a limit the figures are those of `sslrun knn` and `sslrun logreg` on the same features.
TEST(test_figures) {
    Fixture f;
    SrProbeResult first, second;
    SrKnnReport knn;
    SrBaselines rows;
    double linear = -1;
    CHECK_OK(begin(&f, ON, "HOOKS.PROBE.LIMIT=0"));
    CHECK(!sr_online_probe_due(&f.probe, 0) && sr_online_probe_due(&f.probe, 1));
    CHECK(!sr_online_probe_due(&f.probe, 2) && sr_online_probe_due(&f.probe, 3));
    CHECK_OK(sr_online_probe_run(&f.probe, &first));
    CHECK_INT(first.n_train, 360);
    CHECK_INT(first.n_test, 40);
    int64_t live = sr_mem_live();
    CHECK_OK(sr_online_probe_run(&f.probe, &second));
    CHECK_INT(sr_mem_live(), live); // the model owns the graphs: a second probe adds none
    CHECK(first.knn.top1 == second.knn.top1 && first.linear_top1 == second.linear_top1);
    CHECK_OK(sr_knn_report(f.config, f.run->model, false, &knn));
    CHECK(first.knn.top1 == knn.row[SR_ROW_TRAINED][0].top1 && first.knn.k == 5);
    CHECK_OK(sr_baselines_open(&rows, f.config, "flatten"));
    CHECK_OK(sr_baselines_each(&rows, f.run->model, false, linear_of, &linear));
    sr_baselines_close(&rows);
    CHECK(first.linear_top1 == linear && first.knn.top1 > 0 && linear > 0);
    end(&f);
}

TEST(test_limit) {
    Fixture f;
    SrProbeResult r;
    CHECK_OK(begin(&f, ON, "HOOKS.PROBE.LIMIT=30"));
    CHECK_OK(sr_online_probe_run(&f.probe, &r));
    CHECK_INT(r.n_train, 30);
    CHECK_INT(r.n_test, 30);
    end(&f);
    CHECK_OK(begin(&f, "HOOKS.PROBE.LIMIT=30", "SEED_VALUE=0")); // probes are off by default
    for (int epoch = 0; epoch < 4; epoch++)
        CHECK(!sr_online_probe_due(&f.probe, epoch));
    end(&f);
}

// Images that disappear cost the probe's figures only: training completes, and the error of the
// probe is not left as the status.
TEST(test_failure) {
    char dir[64], name[96], folder[96], images[96];
    SrConfig *config;
    SrRun *run;
    SrTrainResult result;
    temp_dir_make(dir);
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "photos/%d/%d.jpg", i / 2, i);
        fixture_write(dir, name, "gone", 4);
    }
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s/run", dir);
    snprintf(images, sizeof images, "DATA.TEST.DATA_PATHS=[%s/photos]", dir);
    const char *overrides[] = {folder, images, "DATA.TEST.DATA_SOURCES=[disk_folder]",
                               "HOOKS.PROBE.EVERY_NUM_EPOCHS=1", "OPTIMIZER.num_epochs=1"};
    CHECK_OK(sr_config_load(CONFIG, overrides, SR_COUNT(overrides), &config));
    CHECK_OK(sr_train_run(config, &(SrTrainOptions){.random = true}, &run, &result));
    CHECK_INT(result.steps, 8);
    CHECK_STR(sr_status_message(), "");
    sr_run_close(run);
    sr_config_free(config);
    temp_dir_remove(dir);
}

static void check_refused(const char *override, const char *text) {
    Fixture f;
    CHECK_FAILS(begin(&f, ON, override), SR_ERR_CONFIG, text);
    end(&f);
}

TEST(test_refused) {
    check_refused("DATA.TRAIN.RANDOM_SYNTHETIC_LABELS=1", "at least two classes");
    check_refused("MODEL.FEATURE_EVAL_SETTINGS={EVAL_MODE_ON: True, FREEZE_TRUNK_ONLY: True}",
                  "the trunk is frozen");
    check_refused("NEAREST_NEIGHBOR.LAYER=flaten", "flatten");
    check_refused("NEAREST_NEIGHBOR.TOPK=[]", "TOPK is empty");
    check_refused("HOOKS.PROBE.EVERY_NUM_EPOCH=1", "EVERY_NUM_EPOCHS");
    check_refused("HOOKS.PROBE.LIMIT=-1", "HOOKS.PROBE.LIMIT");
}

SR_TESTS(online_probe, unit(test_figures), unit(test_limit), unit(test_failure), unit(test_refused))
