// Opens the two sets of an evaluation, and describes them in its heading.
#include "trainer/eval/eval_sets.h"
#include "base/clock.h"

#include <sys/stat.h>

#include "base/text/json.h"
#include "trainer/data/data_summary.h"
#include "trainer/eval/extract/feature_classes.h"
#include "trainer/eval/extract/feature_files.h"

typedef struct {
    SrEvalSets *sets;
    SrEachRow each;
    void *arg;
} Call;

static SrStatus one_row(void *arg, SrReportRow row, SrMatrix *train, SrMatrix *test) {
    Call *c = arg;
    if (row >= SR_ROW_UNTRAINED) {
        c->sets->n_train = train->n;
        c->sets->n_test = test->n;
        c->sets->d = train->d;
    }
    return c->each(c->arg, row, train, test);
}

static SrStatus each_of_config(SrEvalSets *s, Call *call) {
    SrBaselines rows = {.layer = NULL};
    SrModel *model = NULL;
    SrStatus status;
    if (!s->random)
        SR_TRY_GOTO(sr_baselines_model(s->config, s->layer, NULL, &model));
    SR_TRY_GOTO(sr_baselines_open(&rows, s->config, s->layer));
    s->note = rows.test.note;
    sr_data_summary_say(s->config, &rows.bank, &rows.test);
    if (!rows.labels)
        SR_TRY_GOTO(
            sr_fail(SR_ERR_CONFIG, "the images have no labels, but this evaluation needs them"));
    SR_TRY_GOTO(sr_baselines_each(&rows, model, s->baselines, one_row, call));
done:
    sr_baselines_close(&rows);
    sr_model_free(model);
    return status;
}

// A classifier is always right on the rows that it was fitted to.
static SrStatus check_sides(const SrEvalSets *s, const SrFeatureFiles *train) {
    struct stat a, b;
    bool by_split;
    if (s->one_set || stat(s->train, &a) != 0 || stat(s->test, &b) != 0 || a.st_dev != b.st_dev ||
        a.st_ino != b.st_ino)
        return SR_OK;
    SR_TRY(sr_features_by_split(train, &by_split));
    if (by_split)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "%s would be evaluated on its own training rows; give the features of TRAIN and of "
            "TEST (one folder is enough only if it holds VISSL's files of both)",
            s->train);
}

static SrStatus each_of_files(SrEvalSets *s, Call *call) {
    SrMatrix train = {0}, test = {0};
    SrFeatureNames train_names = {0}, test_names = {0};
    SrStatus status;
    SrFeatureFiles a = {s->train, s->layer, "train", .readable_only = true},
                   b = {s->test, s->layer, s->one_set ? "train" : "test", .readable_only = true};
    SrFeatureSide train_side = {s->train, &train, &train_names.classes},
                  test_side = {s->test, &test, &test_names.classes};
    SR_TRY_GOTO(check_sides(s, &a));
    SR_TRY_GOTO(sr_features_load(&a, &train, &train_names));
    SR_TRY_GOTO(sr_features_load(&b, &test, &test_names));
    SR_TRY_GOTO(sr_feature_classes_match(&train_side, &test_side));
    if (sr_matrix_classes(&train) < 1 || sr_matrix_classes(&test) < 1)
        SR_TRY_GOTO(sr_fail(SR_ERR_CONFIG, "%s holds no labels",
                            sr_matrix_classes(&train) < 1 ? s->train : s->test));
    SR_TRY_GOTO(one_row(call, SR_ROW_TRAINED, &train, &test));
done:
    sr_feature_names_deinit(&train_names);
    sr_feature_names_deinit(&test_names);
    sr_matrix_deinit(&train);
    sr_matrix_deinit(&test);
    return status;
}

SrStatus sr_eval_sets_each(SrEvalSets *s, SrEachRow each, void *arg) {
    double began = sr_clock();
    Call call = {s, each, arg};
    s->note = "";
    if (!s->train && !s->layer)
        s->layer = "flatten";
    SrStatus status = s->train ? each_of_files(s, &call) : each_of_config(s, &call);
    s->seconds = sr_clock() - began;
    return status;
}

const char *sr_eval_sets_row_name(const SrEvalSets *s, int row) {
    return s->train && row == SR_ROW_TRAINED ? "features" : sr_report_row_name((SrReportRow)row);
}

void sr_eval_sets_text(const SrEvalSets *s, const char *what, SrText *out) {
    char took[48];
    sr_text_printf(out, "%s: %lld test images against %lld, ", what, (long long)s->n_test,
                   (long long)s->n_train);
    if (s->layer)
        sr_text_printf(out, "layer %s (%d numbers), ", s->layer, s->d);
    else
        sr_text_printf(out, "%d numbers each, ", s->d);
    sr_text_printf(out, "%s\n", sr_duration_text(s->seconds, took, sizeof took));
    if (*s->note)
        sr_text_printf(out, "  %s\n", s->note);
}

void sr_eval_sets_json(const SrEvalSets *s, SrText *out) {
    sr_json_int(out, "test_images", s->n_test);
    sr_json_int(out, "bank_images", s->n_train);
    if (s->layer)
        sr_json_string(out, "layer", s->layer);
    sr_json_float(out, "seconds", s->seconds);
}
