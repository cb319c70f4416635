// Makes the report on layers: computes all stages at once for each row of baselines, then kNN and a
// probe per stage.
#include "trainer/eval/layer_report.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/ranks/comm.h"
#include "base/text/json.h"
#include "measure/neighbours/knn.h"
#include "measure/standard_error.h"
#include "trainer/config/derived_config.h"

// ---- figures

typedef struct {
    SrKnnOptions knn;
    uint64_t seed;
    bool change; // a comparison with the starting weights is made
    SrLayerReport *out;
} Call;

// Fits the probe first, because kNN normalises the rows in place.
static SrStatus score(const Call *c, SrMatrix *train, SrMatrix *test, SrLayerScore *out) {
    SrKnnResult knn;
    SR_TRY(sr_chosen_probe(train, test, &out->probe));
    SR_TRY(sr_knn(&c->knn, train, test, &c->out->k, 1, &knn, NULL));
    out->knn = knn.top1;
    c->out->length_ratio = SR_MAX(c->out->length_ratio, knn.length_ratio);
    return SR_OK;
}

static SrStatus score_layer(const Call *c, SrReportRow row, int i, const SrMatrix *train,
                            const SrMatrix *test) {
    SrMatrix a = {0}, b = {0};
    SrStatus status;
    SR_TRY_GOTO(sr_stages_take(&c->out->layers, i, train, &a));
    SR_TRY_GOTO(sr_stages_take(&c->out->layers, i, test, &b));
    SR_TRY_GOTO(score(c, &a, &b, &c->out->score[row][i]));
done:
    sr_matrix_deinit(&a);
    sr_matrix_deinit(&b);
    return status;
}

static int best_of(const SrLayerReport *r, SrReportRow row) {
    int best = 0;
    for (int i = 1; i < r->layers.n; i++)
        if (r->score[row][i].probe.held_out > r->score[row][best].probe.held_out)
            best = i;
    return best;
}

// Copies figures that score() has measured, and adds those of few images per class.
static SrStatus compare_layer(const Call *c, SrReportRow row, int i, const SrMatrix *train,
                              const SrMatrix *test) {
    SrModelComparison *to = &c->out->change;
    const SrLayerScore *s = &c->out->score[row][i];
    SrComparedRow got = {.knn = sr_figure(s->knn, test->n),
                         .probe = sr_figure(s->probe.test, test->n),
                         .held_out = s->probe.held_out};
    snprintf(got.layer, sizeof got.layer, "%s", c->out->layers.v[i].name);
    if (row == SR_ROW_CALIBRATED && got.probe.value <= to->untrained.probe.value)
        return SR_OK;
    SR_TRY(sr_few_shots(c->seed, train, test, &got.few));
    SrComparedRow *rows[SR_ROW_COUNT] = {[SR_ROW_UNTRAINED] = &to->untrained,
                                         [SR_ROW_CALIBRATED] = &to->untrained,
                                         [SR_ROW_STARTED] = &to->model[0],
                                         [SR_ROW_TRAINED] = &to->model[1]};
    *rows[row] = got;
    return SR_OK;
}

// Compares the best layer of a trunk, which the joint rows hold.
static SrStatus compare_best(const Call *c, SrReportRow row, const SrMatrix *train,
                             const SrMatrix *test) {
    SrMatrix a = {0}, b = {0};
    SrStatus status;
    int best = best_of(c->out, row);
    SR_TRY_GOTO(sr_stages_take(&c->out->layers, best, train, &a));
    SR_TRY_GOTO(sr_stages_take(&c->out->layers, best, test, &b));
    SR_TRY_GOTO(compare_layer(c, row, best, &a, &b));
done:
    sr_matrix_deinit(&a);
    sr_matrix_deinit(&b);
    return status;
}

static SrStatus score_row(void *arg, SrReportRow row, SrMatrix *train, SrMatrix *test) {
    Call *c = arg;
    SrLayerReport *r = c->out;
    if (row == SR_ROW_PIXELS) {
        r->pixel_numbers = train->d;
        r->majority = sr_knn_majority(train, test);
        r->n_train = train->n;
        r->n_test = test->n;
        if (c->change) // comes first, because kNN normalises the rows in place
            SR_TRY(sr_few_shots(c->seed, train, test, &r->change.pixels.few));
        SR_TRY(score(c, train, test, &r->score[row][0]));
        r->change.pixels.knn = sr_figure(r->score[row][0].knn, test->n);
        r->change.pixels.probe = sr_figure(r->score[row][0].probe.test, test->n);
    }
    for (int i = 0; row != SR_ROW_PIXELS && i < r->layers.n; i++) {
        sr_log_live("%s: layer %s", sr_report_row_name(row), r->layers.v[i].name);
        SR_TRY(score_layer(c, row, i, train, test));
    }
    r->has[row] = true;
    return c->change && row != SR_ROW_PIXELS ? compare_best(c, row, train, test) : SR_OK;
}

// Fills what a comparison says about the images.
static void end_change(SrLayerReport *r) {
    SrModelComparison *c = &r->change;
    c->label[0] = "before";
    c->label[1] = "after";
    c->before_after = true;
    c->majority = r->majority;
    c->n_train = r->n_train;
    c->n_test = r->n_test;
    c->k = r->k;
    c->seconds = r->seconds;
}

static SrStatus open_images(const SrConfig *config, SrConfig **limited, SrBaselines *rows) {
    SR_TRY(sr_config_copy(config, limited));
    (*limited)->knn.bank_limit = (*limited)->knn.test_limit = config->probe.limit;
    return sr_baselines_open(rows, *limited, config->knn.layer);
}

SrStatus sr_layer_report(const SrConfig *config, SrModel *trained, SrModel *started,
                         SrLayerReport *out) {
    SrConfig *limited = NULL;
    SrBaselines rows = {.layer = NULL};
    SrStatus status;
    double began = sr_clock();
    *out = (SrLayerReport){.k = config->knn.topk.n > 0 ? config->knn.topk.v[0] : 20,
                           .normalised = config->knn.l2_norm_feats,
                           .crops = config->knn.crops};
    Call call = {.knn = {.sigma = config->knn.sigma, .l2_norm = config->knn.l2_norm_feats},
                 .seed = config->seed,
                 .change = started,
                 .out = out};
    SR_TRY_GOTO(sr_comm_agree(open_images(config, &limited, &rows)));
    out->labels = rows.bank.classes > 1 && rows.test.classes > 1 && rows.bank.n_targets == 0;
    rows.stages = &out->layers;
    rows.started = started;
    if (out->labels)
        SR_TRY_GOTO(sr_baselines_each(&rows, trained, true, score_row, &call));
    out->best = best_of(out, SR_ROW_TRAINED);
    out->other_images = config->probe.limit > 0 &&
                        (out->n_train == config->probe.limit || out->n_test == config->probe.limit);
    out->seconds = sr_clock() - began;
    end_change(out);
done:
    out->labels &= status == SR_OK;
    sr_baselines_close(&rows);
    sr_config_free(limited);
    return status;
}

SrReportRow sr_layer_untrained(const SrLayerReport *r, int i, bool probe) {
    const SrLayerScore *drawn = &r->score[SR_ROW_UNTRAINED][i];
    const SrLayerScore *calibrated = &r->score[SR_ROW_CALIBRATED][i];
    bool better = probe ? calibrated->probe.test > drawn->probe.test : calibrated->knn > drawn->knn;
    return better ? SR_ROW_CALIBRATED : SR_ROW_UNTRAINED;
}

static double untrained(const SrLayerReport *r, int i, bool probe) {
    const SrLayerScore *s = &r->score[sr_layer_untrained(r, i, probe)][i];
    return probe ? s->probe.test : s->knn;
}

// ---- in words

// Finds the untrained trunk's strongest layer, by the probe.
static int strongest_untrained(const SrLayerReport *r) {
    int best = 0;
    for (int i = 1; i < r->layers.n; i++)
        if (untrained(r, i, true) > untrained(r, best, true))
            best = i;
    return best;
}

// started: the run began from weights, so that a good trunk says nothing about the training.
static const char *verdict(double over_pixels, double over_untrained, double chance_of, bool easy,
                           bool started) {
    if (easy && (over_untrained <= chance_of || over_pixels <= chance_of))
        return "the test is too easy to judge the training; evaluate on harder images or finer "
               "classes";
    if (over_untrained <= chance_of)
        return "training has taught the trunk nothing that these images can show; train longer or "
               "change the recipe";
    if (over_pixels <= chance_of)
        return "training has taught the trunk something, but its features are no better than raw "
               "pixels; train longer or on more images";
    if (started)
        return "its features are better than raw pixels and random weights; the comparison with "
               "the starting weights tells what this training added";
    return "training has taught the trunk features that are better than raw pixels and random "
           "weights";
}

static void add_sentence(const SrLayerReport *r, SrText *out) {
    const SrLayerScore *best = &r->score[SR_ROW_TRAINED][r->best];
    int rival = strongest_untrained(r);
    double over_untrained = best->probe.test - untrained(r, rival, true);
    double pixels = r->score[SR_ROW_PIXELS][0].probe.test,
           by = sr_chance(best->probe.test, r->n_test);
    double over_pixels = best->probe.test - pixels;
    bool easy = sr_accuracy_is_full(best->probe.test, r->n_test) &&
                (sr_accuracy_is_full(untrained(r, rival, true), r->n_test) ||
                 sr_accuracy_is_full(pixels, r->n_test));
    sr_text_printf(
        out,
        "best layer: %s (*, by training images held out); its probe is %+.1f points from "
        "the untrained trunk's best (%s) and %+.1f from raw pixels, its kNN %+.1f from "
        "raw pixels; up to %.1f points are chance: %s.\n",
        r->layers.v[r->best].name, over_untrained, r->layers.v[rival].name, over_pixels,
        best->knn - r->score[SR_ROW_PIXELS][0].knn, by,
        verdict(over_pixels, over_untrained, by, easy, r->has[SR_ROW_STARTED]));
}

// Writes "57.30 d", with the letter of the better untrained trunk.
static void add_untrained(const SrLayerReport *r, int i, bool probe, SrText *out) {
    bool calibrated = sr_layer_untrained(r, i, probe) == SR_ROW_CALIBRATED;
    sr_text_printf(out, "  %9.2f %c", untrained(r, i, probe), calibrated ? 'c' : 'd');
}

static void add_name(const char *mark, const char *name, int numbers, SrText *out) {
    char label[SR_STAGE_NAME_BYTES + 16];
    snprintf(label, sizeof label, "%s (%d)", name, numbers);
    sr_text_printf(out, "%s %-20s", mark, label);
}

static void add_layer(const SrLayerReport *r, int i, SrText *out) {
    const SrLayerScore *s = &r->score[SR_ROW_TRAINED][i];
    const SrStage *l = &r->layers.v[i];
    add_name(i == r->best ? " *" : "  ", l->name, l->rows * l->columns * l->depth, out);
    sr_text_printf(out, "  %6.2f", s->knn);
    add_untrained(r, i, false, out);
    sr_text_printf(out, "   |  %6.2f", s->probe.test);
    add_untrained(r, i, true, out);
    sr_text_add(out, "\n");
}

void sr_layer_report_text(const SrLayerReport *r, SrText *out) {
    char took[48], of[32] = "";
    if (!r->labels || r->layers.n == 0)
        return;
    sr_text_printf(
        out, "layers: kNN (k = %d, %s) and linear probe, top-1 on %lld test images against %lld, ",
        r->k, r->normalised ? "normalised" : "not normalised", (long long)r->n_test,
        (long long)r->n_train);
    sr_baselines_crops_text(r->crops, out);
    sr_text_printf(out, "%s\n", sr_duration_text(r->seconds, took, sizeof took));
    sr_text_printf(out, "  %-21s  %6s  %11s   |  %6s  %11s\n", "layer (numbers)", "kNN",
                   "untrained", "probe", "untrained");
    for (int i = 0; i < r->layers.n; i++)
        add_layer(r, i, out);
    add_name("  ", "raw pixels", r->pixel_numbers, out);
    if (r->other_images)
        snprintf(of, sizeof of, "of %lld", (long long)r->n_test);
    sr_text_printf(out, "  %6.2f  %9s     |  %6.2f\n", r->score[SR_ROW_PIXELS][0].knn, of,
                   r->score[SR_ROW_PIXELS][0].probe.test);
    sr_text_printf(out, "   %-20s  %6.2f%s%s\n", "majority class", r->majority, *of ? "     " : "",
                   of);
    if (r->other_images)
        sr_text_printf(out,
                       "  All rows are of the same %lld and %lld images; figures of the kNN report "
                       "are of others.\n",
                       (long long)r->n_test, (long long)r->n_train);
    sr_text_add(out, "  untrained: batch norms as drawn (d) or calibrated on these images (c), "
                     "whichever is better\n");
    add_sentence(r, out);
    if (r->has[SR_ROW_STARTED])
        sr_model_comparison_text(&r->change, out);
}

static void json_score(const char *row, const char *layer, const char *what, double value,
                       SrText *out) {
    char key[96];
    snprintf(key, sizeof key, "%s_%s%s%s", row, layer, *layer ? "_" : "", what);
    sr_json_float(out, key, value);
}

// Writes flat keys such as trained_res3_probe.
static void json_layer(const SrLayerReport *r, int i, SrText *out) {
    const char *name = r->layers.v[i].name;
    const SrLayerScore *s = &r->score[SR_ROW_TRAINED][i];
    json_score("trained", name, "knn", s->knn, out);
    json_score("trained", name, "probe", s->probe.test, out);
    json_score("trained", name, "probe_held_out", s->probe.held_out, out);
    for (int probe = 0; probe < 2; probe++) {
        char key[96];
        const char *what = probe ? "probe" : "knn";
        bool calibrated = sr_layer_untrained(r, i, probe) == SR_ROW_CALIBRATED;
        json_score("untrained", name, what, untrained(r, i, probe), out);
        snprintf(key, sizeof key, "untrained_%s_%s_norms", name, what);
        sr_json_string(out, key, calibrated ? "calibrated" : "as drawn");
    }
}

void sr_layer_report_json(const SrLayerReport *r, SrText *out) {
    if (!r->labels || r->layers.n == 0)
        return;
    sr_json_begin(out);
    sr_json_int(out, "layer_test_images", r->n_test);
    sr_json_int(out, "layer_train_images", r->n_train);
    if (r->crops > 0)
        sr_json_int(out, "crops", r->crops);
    sr_json_bool(out, "normalised", r->normalised);
    sr_json_string(out, "best_layer", r->layers.v[r->best].name);
    for (int i = 0; i < r->layers.n; i++)
        json_layer(r, i, out);
    json_score("pixels", "", "knn", r->score[SR_ROW_PIXELS][0].knn, out);
    json_score("pixels", "", "probe", r->score[SR_ROW_PIXELS][0].probe.test, out);
    sr_json_float(out, "majority", r->majority);
    sr_json_float(out, "seconds", r->seconds);
    sr_json_end(out);
    if (r->has[SR_ROW_STARTED])
        sr_model_comparison_json(&r->change, out);
}
