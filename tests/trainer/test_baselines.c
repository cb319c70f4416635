// Tests baselines of a trained trunk: the untrained trunk as drawn and with calibrated batch
// norms, of which a report shows the better one.
#include <string.h>

#include "base/text/json.h"
#include "tests/check.h"
#include "trainer/eval/report.h"
#include "trainer/run/run.h"

#define CONFIG "tests/cli/tiny.yaml"

typedef struct {
    SrConfig *config;
    SrRun *run;
} Fixture;

static void begin(Fixture *f) {
    const char *overrides[] = {"DATA.TRAIN.DATA_LIMIT=400", "NEAREST_NEIGHBOR.L2_NORM_FEATS=True"};
    *f = (Fixture){.config = NULL};
    CHECK_OK(sr_config_load(CONFIG, overrides, SR_COUNT(overrides), &f->config));
    CHECK_OK(sr_run_open(f->config, SR_RUN_TRAIN, &f->run));
}

static void end(Fixture *f) {
    sr_run_close(f->run);
    sr_config_free(f->config);
}

typedef struct {
    SrKnnOptions options;
    bool has[SR_ROW_COUNT];
    float first[SR_ROW_COUNT]; // first feature of the first test image
    double top1[SR_ROW_COUNT];
} Rows;

static SrStatus keep_row(void *arg, SrReportRow row, SrMatrix *bank, SrMatrix *test) {
    Rows *r = arg;
    SrKnnResult knn;
    int k = 5;
    CHECK(!r->has[row]);
    r->has[row] = true;
    r->first[row] = test->x[0];
    CHECK_OK(sr_knn(&r->options, bank, test, &k, 1, &knn, NULL));
    r->top1[row] = knn.top1;
    return SR_OK;
}

// A run without a step equals its untrained trunk as drawn, bit by bit; the calibrated trunk
// differs.
TEST(test_both_untrained) {
    Fixture f;
    SrBaselines images;
    begin(&f);
    Rows rows = {.options = {.sigma = f.config->knn.sigma, .l2_norm = true}};
    CHECK_OK(sr_baselines_open(&images, f.config, "flatten"));
    CHECK_OK(sr_baselines_each(&images, f.run->model, true, keep_row, &rows));
    sr_baselines_close(&images);
    CHECK(rows.has[SR_ROW_PIXELS] && rows.has[SR_ROW_TRAINED]);
    CHECK(rows.has[SR_ROW_UNTRAINED] && rows.has[SR_ROW_CALIBRATED]);
    CHECK(rows.first[SR_ROW_UNTRAINED] == rows.first[SR_ROW_TRAINED]);
    CHECK(rows.first[SR_ROW_CALIBRATED] != rows.first[SR_ROW_TRAINED]);
    SrKnnReport report;
    CHECK_OK(sr_knn_report(f.config, f.run->model, true, &report));
    bool calibrated = rows.top1[SR_ROW_CALIBRATED] > rows.top1[SR_ROW_UNTRAINED];
    SrReportRow kept = calibrated ? SR_ROW_CALIBRATED : SR_ROW_UNTRAINED;
    CHECK(report.has[kept] && report.row[kept][0].top1 == rows.top1[kept]);
    CHECK_INT(report.has[SR_ROW_UNTRAINED] + report.has[SR_ROW_CALIBRATED], 1);
    end(&f);
}

TEST(test_better_is_kept) {
    static const struct {
        double drawn, calibrated;
        const char *name, *json;
    } cases[] = {{78.1, 60.5, "untrained, as drawn", "\"as drawn\""},
                 {60.5, 78.1, "untrained, calibrated", "\"calibrated\""},
                 {50, 50, "untrained, as drawn", "\"as drawn\""}};
    for (int i = 0; i < SR_COUNT(cases); i++) {
        bool has[SR_ROW_COUNT] = {[SR_ROW_UNTRAINED] = true, [SR_ROW_CALIBRATED] = true};
        SrText json = SR_TEXT_INIT;
        sr_baselines_keep_better(has, cases[i].drawn, cases[i].calibrated);
        CHECK_INT(has[SR_ROW_UNTRAINED] + has[SR_ROW_CALIBRATED], 1);
        SrReportRow row = has[SR_ROW_CALIBRATED] ? SR_ROW_CALIBRATED : SR_ROW_UNTRAINED;
        CHECK_STR(sr_report_row_name(row), cases[i].name);
        CHECK_STR(sr_report_row_key(row), "untrained");
        sr_json_begin(&json);
        sr_baselines_json(has, &json);
        CHECK(strstr(json.s, "\"untrained_norms\": ") && strstr(json.s, cases[i].json));
        sr_text_deinit(&json);
    }
    bool none[SR_ROW_COUNT] = {[SR_ROW_TRAINED] = true};
    sr_baselines_keep_better(none, 0, 1);
    CHECK(none[SR_ROW_TRAINED]);
}

SR_TESTS(baselines, unit(test_both_untrained), unit(test_better_is_kept))
