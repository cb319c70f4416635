// Measures two trunks at all stages and keeps the best of each.
#include "trainer/eval/model_comparison.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text/json.h"
#include "measure/neighbours/knn.h"
#include "measure/probes/chosen_probe.h"
#include "measure/probes/logreg.h"
#include "measure/standard_error.h"
#include "trainer/config/derived_config.h"

enum { PER_CLASS = 5, DRAWS = 5, MOST_ITERATIONS = 100 };

typedef struct {
    const SrConfig *config;
    SrStages stages;
    SrModelComparison *out;
    SrComparedRow *trained; // receives the row of the trained trunk
} Call;

// ---- figures ------------------------------------------------------------------------------------

SrFigure sr_figure(double percent, int64_t images) {
    return (SrFigure){percent, sr_standard_error(percent, images)};
}

// A class with fewer than five images is no failure: the other figures are still worth their time.
SrStatus sr_few_shots(uint64_t seed, const SrMatrix *train, const SrMatrix *test, SrFigure *out) {
    static const int seeds[DRAWS] = {1, 2, 3, 4, 5};
    double lambda = PER_CLASS * (double)sr_matrix_classes(train); // C = 1
    SrLowShotConfig config = {.lambdas = {1, &lambda},
                              .seeds = {DRAWS, seeds},
                              .per_class = PER_CLASS,
                              .max_iter = MOST_ITERATIONS};
    SrArena arena = SR_ARENA_INIT;
    SrLogregResult *result;
    int n = 0;
    SrStatus status = sr_logreg(&config, seed, train, test, &arena, &result, &n);
    *out = (SrFigure){NAN, NAN};
    if (status == SR_OK)
        *out = (SrFigure){result[0].test, hypot(result[0].test_std / sqrt(DRAWS),
                                                sr_standard_error(result[0].test, test->n))};
    sr_arena_deinit(&arena);
    if (status == SR_ERR_CONFIG) {
        sr_status_clear();
        return SR_OK;
    }
    return status;
}

// kNN comes last, because it normalises the rows in place.
static SrStatus score(const Call *c, SrMatrix *train, SrMatrix *test, SrComparedRow *out) {
    SrKnnOptions options = {.sigma = c->config->knn.sigma, .l2_norm = c->config->knn.l2_norm_feats};
    SrChosenProbe probe;
    SrKnnResult knn;
    SR_TRY(sr_chosen_probe(train, test, &probe));
    out->probe = sr_figure(probe.test, test->n);
    out->held_out = probe.held_out;
    SR_TRY(sr_few_shots(c->config->seed, train, test, &out->few));
    SR_TRY(sr_knn(&options, train, test, &c->out->k, 1, &knn, NULL));
    out->knn = sr_figure(knn.top1, knn.n);
    return SR_OK;
}

static SrStatus score_stage(const Call *c, int i, const SrMatrix *train, const SrMatrix *test,
                            SrComparedRow *out) {
    SrMatrix a = {0}, b = {0};
    SrStatus status;
    *out = (SrComparedRow){.held_out = -1};
    snprintf(out->layer, sizeof out->layer, "%s", c->stages.v[i].name);
    SR_TRY_GOTO(sr_stages_take(&c->stages, i, train, &a));
    SR_TRY_GOTO(sr_stages_take(&c->stages, i, test, &b));
    SR_TRY_GOTO(score(c, &a, &b, out));
done:
    sr_matrix_deinit(&a);
    sr_matrix_deinit(&b);
    return status;
}

static SrStatus best_stage(const Call *c, const SrMatrix *train, const SrMatrix *test,
                           SrComparedRow *out) {
    *out = (SrComparedRow){.held_out = -1};
    for (int i = 0; i < c->stages.n; i++) {
        SrComparedRow row;
        sr_log_live("layer %s", c->stages.v[i].name);
        SR_TRY(score_stage(c, i, train, test, &row));
        if (row.held_out > out->held_out)
            *out = row;
    }
    return SR_OK;
}

static SrStatus score_row(void *arg, SrReportRow row, SrMatrix *train, SrMatrix *test) {
    Call *c = arg;
    SrModelComparison *out = c->out;
    SrComparedRow best;
    if (row == SR_ROW_PIXELS) {
        out->majority = sr_knn_majority(train, test);
        out->n_train = train->n;
        out->n_test = test->n;
        return score(c, train, test, &out->pixels);
    }
    SR_TRY(best_stage(c, train, test, &best));
    if (row == SR_ROW_TRAINED)
        *c->trained = best;
    else if (row == SR_ROW_UNTRAINED || best.probe.value > out->untrained.probe.value)
        out->untrained = best;
    return SR_OK;
}

// Points a copy of a model's configuration to the images, the split and the limits of the first.
static SrStatus configure(const SrComparedModel *model, const SrConfig *images, SrConfig **out) {
    SR_TRY(sr_config_copy(model->config, out));
    (*out)->train.transforms = model->config->train.transforms; // which a caller may have set
    (*out)->knn = images->knn;
    (*out)->knn.bank_limit = (*out)->knn.test_limit = images->probe.limit;
    (*out)->train.data_sources = images->train.data_sources;
    (*out)->train.data_paths = images->train.data_paths;
    (*out)->train.label_paths = images->train.label_paths;
    (*out)->test.data_sources = images->test.data_sources;
    (*out)->test.data_paths = images->test.data_paths;
    (*out)->test.label_paths = images->test.label_paths;
    (*out)->seed = images->seed; // draws the images that are held out
    return SR_OK;
}

static SrStatus measure(const SrComparedModel *models, int i, SrModelComparison *out) {
    SrConfig *config = NULL;
    SrBaselines rows = {.bank = {.note = ""}, .test = {.note = ""}};
    SrStatus status;
    SR_TRY_GOTO(configure(&models[i], models[0].config, &config));
    Call call = {.config = config, .out = out, .trained = &out->model[i]};
    SR_TRY_GOTO(sr_baselines_open(&rows, config, config->knn.layer));
    if (rows.bank.classes < 2 || rows.test.classes < 2 || rows.bank.n_targets > 0)
        SR_TRY_GOTO(sr_fail(SR_ERR_CONFIG,
                            "%s: a comparison needs images with one label each; one folder per "
                            "class gives labels",
                            rows.bank.path));
    rows.stages = &call.stages;
    sr_log_live("%s", models[i].label);
    SR_TRY_GOTO(sr_baselines_each(&rows, models[i].model, i == 0, score_row, &call));
done:
    sr_baselines_close(&rows);
    sr_config_free(config);
    return status;
}

SrStatus sr_model_comparison(const SrComparedModel models[2], bool before_after,
                             SrModelComparison *out) {
    const SrConfig *first = models[0].config;
    double began = sr_clock();
    *out = (SrModelComparison){.label = {models[0].label, models[1].label},
                               .k = first->knn.topk.n > 0 ? first->knn.topk.v[0] : 20,
                               .before_after = before_after};
    for (int i = 0; i < 2; i++)
        SR_TRY(measure(models, i, out));
    out->seconds = sr_clock() - began;
    return SR_OK;
}

// ---- in words -----------------------------------------------------------------------------------

// Returns two standard errors of a difference.
static double chance(SrFigure a, SrFigure b) { return 2 * hypot(a.error, b.error); }

int sr_model_comparison_sign(const SrModelComparison *c) {
    SrFigure a = c->model[0].probe, b = c->model[1].probe;
    double by = b.value - a.value;
    return by > chance(a, b) ? 1 : by < -chance(a, b) ? -1 : 0;
}

static void add_figure(const char *apart, SrFigure f, SrText *out) {
    if (isnan(f.value))
        sr_text_printf(out, "%s%13s", apart, "-");
    else
        sr_text_printf(out, "%s%6.2f +-%4.1f", apart, f.value, f.error);
}

static void add_row(const char *label, const SrComparedRow *row, SrText *out) {
    char name[96];
    snprintf(name, sizeof name, "%s%s%s%s", label, *row->layer ? " (" : "", row->layer,
             *row->layer ? ")" : "");
    sr_text_printf(out, "  %-40s", name);
    add_figure(" ", row->knn, out);
    add_figure("  ", row->probe, out);
    add_figure("  ", row->few, out);
    sr_text_add(out, "\n");
}

void sr_model_comparison_sentence(const SrModelComparison *c, SrText *out) {
    static const char *const trained[] = {
        "training on these pictures made the features worse; try a lower learning rate, fewer "
        "epochs, or freeze the first layers",
        "these test images show no effect of the training; train longer, or test more images",
        "training on these pictures helped"};
    static const char *const other[] = {
        "the first model's features are better for these pictures",
        "these test images show no difference between the models",
        "the second model's features are better for these pictures"};
    const SrComparedRow *a = &c->model[0], *b = &c->model[1];
    int sign = sr_model_comparison_sign(c);
    sr_text_printf(out, "%s: probe %+.1f points (up to %.1f are chance), kNN %+.1f",
                   (c->before_after ? trained : other)[sign + 1], b->probe.value - a->probe.value,
                   chance(a->probe, b->probe), b->knn.value - a->knn.value);
    if (!isnan(b->few.value) && !isnan(a->few.value))
        sr_text_printf(out, ", 5-shot %+.1f", b->few.value - a->few.value);
    if (b->probe.value - c->pixels.probe.value <= chance(b->probe, c->pixels.probe))
        sr_text_printf(out, "; %s is no better than raw pixels", c->label[1]);
    else if (b->probe.value - c->untrained.probe.value <= chance(b->probe, c->untrained.probe))
        sr_text_printf(out, "; %s is no better than an untrained trunk", c->label[1]);
    sr_text_add(out, ".");
}

void sr_model_comparison_text(const SrModelComparison *c, SrText *out) {
    char took[48];
    sr_text_printf(out,
                   "top-1 on %lld test images against %lld, with standard errors; kNN (k = %d), "
                   "linear probe, 5 images per class; %s\n",
                   (long long)c->n_test, (long long)c->n_train, c->k,
                   sr_duration_text(c->seconds, took, sizeof took));
    sr_text_printf(out, "  %-40s %13s  %13s  %13s\n", "features (best layer)", "kNN", "probe",
                   "5-shot");
    for (int i = 0; i < 2; i++)
        add_row(c->label[i], &c->model[i], out);
    add_row("untrained", &c->untrained, out);
    add_row("raw pixels", &c->pixels, out);
    sr_text_printf(out, "  %-40s %6.2f\n", "majority class", c->majority);
    sr_text_add(out, "verdict: ");
    sr_model_comparison_sentence(c, out);
    sr_text_add(out, "\n");
}

static void json_figure(const char *row, const char *what, SrFigure f, SrText *out) {
    char key[64];
    if (isnan(f.value))
        return;
    snprintf(key, sizeof key, "%s_%s", row, what);
    sr_json_float(out, key, f.value);
    snprintf(key, sizeof key, "%s_%s_error", row, what);
    sr_json_float(out, key, f.error);
}

static void json_row(const char *name, const SrComparedRow *row, SrText *out) {
    char key[64];
    json_figure(name, "knn", row->knn, out);
    json_figure(name, "probe", row->probe, out);
    json_figure(name, "5shot", row->few, out);
    snprintf(key, sizeof key, "%s_layer", name);
    if (*row->layer)
        sr_json_string(out, key, row->layer);
}

void sr_model_comparison_json(const SrModelComparison *c, SrText *out) {
    static const char *const verdicts[] = {"worse", "no difference", "better"};
    SrText sentence = SR_TEXT_INIT;
    sr_model_comparison_sentence(c, &sentence);
    sr_json_begin(out);
    sr_json_string(out, "first_name", c->label[0]);
    sr_json_string(out, "second_name", c->label[1]);
    sr_json_int(out, "test_images", c->n_test);
    sr_json_int(out, "train_images", c->n_train);
    json_row("first", &c->model[0], out);
    json_row("second", &c->model[1], out);
    json_row("untrained", &c->untrained, out);
    json_row("pixels", &c->pixels, out);
    sr_json_float(out, "majority", c->majority);
    sr_json_bool(out, "before_after", c->before_after);
    sr_json_string(out, "verdict", verdicts[sr_model_comparison_sign(c) + 1]);
    sr_json_string(out, "sentence", sentence.s ? sentence.s : "");
    sr_json_float(out, "seconds", c->seconds);
    sr_json_end(out);
    sr_text_deinit(&sentence);
}
