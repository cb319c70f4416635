// Judges a run by the flat reports of its metrics.json, which trainer/eval/report.c and
// trainer/eval/layer_report.c write.
#include "pages/run_verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/yaml_edit.h"
#include "pages/run_page.h"

// Accuracies on test images, per cent; NaN: not measured.
typedef struct {
    double trained, untrained, pixels;
} Scores;

typedef struct {
    const char *layer; // layer that is judged
    bool by_probe;     // the probe decides; false: kNN
    Scores probe, knn;
    double majority;
    int64_t images;
} Evaluation;

static double figure(const SrYaml *report, const char *row, const char *layer, const char *what) {
    char key[192];
    snprintf(key, sizeof key, "%s_%s_%s", row, layer, what);
    const SrYaml *v = sr_yaml_find(report, key);
    return v && (v->type == SR_YAML_INT || v->type == SR_YAML_FLOAT) ? v->f : NAN;
}

// Returns the accuracy of the untrained trunk's best layer.
static double best_untrained(const SrYaml *report, const char *end) {
    double best = NAN;
    for (int i = 0; i < report->n; i++) {
        const SrYaml *v = report->items[i];
        if (sr_text_starts(report->keys[i], "untrained_") && sr_text_ends(report->keys[i], end) &&
            (v->type == SR_YAML_INT || v->type == SR_YAML_FLOAT))
            best = fmax(best, v->f); // fmax ignores NaN
    }
    return best;
}

static Evaluation of_layers(const SrYaml *r) {
    const char *layer = sr_tree_text(r, "best_layer", "");
    return (Evaluation){.layer = layer,
                        .by_probe = true,
                        .probe = {figure(r, "trained", layer, "probe"), best_untrained(r, "_probe"),
                                  sr_run_report_figure(r, "pixels_probe")},
                        .knn = {figure(r, "trained", layer, "knn"), best_untrained(r, "_knn"),
                                sr_run_report_figure(r, "pixels_knn")},
                        .majority = sr_run_report_figure(r, "majority"),
                        .images = sr_tree_int(r, "layer_test_images", 0)};
}

static Evaluation of_knn(const SrYaml *r) {
    return (Evaluation){.layer = sr_tree_text(r, "layer", ""),
                        .knn = {sr_run_report_figure(r, "trained_top1"),
                                sr_run_report_figure(r, "untrained_top1"),
                                sr_run_report_figure(r, "pixels_top1")},
                        .majority = sr_run_report_figure(r, "majority_top1"),
                        .images = sr_tree_int(r, "test_images", 0)};
}

// Returns two standard errors of an accuracy on so many images, per cent: smaller differences mean
// nothing.
static double chance(double percent, int64_t images) {
    double p = percent / 100;
    return 200 * sqrt(fmax(p * (1 - p), 0) / (double)SR_MAX(images, 1));
}

// True: score is higher by more than `by`, or the rival was not measured (NaN).
static bool beats(double score, double rival, double by) {
    return isnan(rival) || score - rival > by;
}

static void add_scores(const char *what, const Scores *s, double majority, SrText *out) {
    sr_text_printf(out, "%s %.1f %%", what, s->trained);
    if (!isnan(s->untrained))
        sr_text_printf(out, ", untrained %.1f %%", s->untrained);
    if (!isnan(s->pixels))
        sr_text_printf(out, ", raw pixels %.1f %%", s->pixels);
    if (!isnan(majority))
        sr_text_printf(out, ", the commonest class %.1f %%", majority);
}

static void describe(const Evaluation *e, SrVerdict verdict, double by, SrText *out) {
    static const char *const words[] = {
        [SR_VERDICT_HELPED] = "Training has taught the trunk something that neither random weights "
                              "nor pixels hold.",
        [SR_VERDICT_PIXELS] = "Training has taught the trunk no more than raw pixels or the "
                              "commonest class say; train longer or on more images.",
        [SR_VERDICT_NOTHING] = "Training has taught the trunk nothing that the test images show; "
                               "train longer or change the recipe.",
    };
    sr_text_printf(out, "%s Layer %s: ", words[verdict], e->layer);
    if (e->by_probe) {
        add_scores("linear probe", &e->probe, e->majority, out);
        if (!isnan(e->knn.trained))
            add_scores("; kNN", &e->knn, NAN, out);
    } else {
        add_scores("kNN", &e->knn, e->majority, out);
    }
    sr_text_printf(out, " (%lld test images: differences up to %.1f points say nothing).",
                   (long long)e->images, by);
}

SrVerdict sr_run_verdict(const SrHistory *h, SrText *out) {
    if (!h->layers && !h->knn)
        return SR_VERDICT_NONE;
    Evaluation e = h->layers ? of_layers(h->layers) : of_knn(h->knn);
    const Scores *s = e.by_probe ? &e.probe : &e.knn;
    if (isnan(s->trained) || (isnan(s->untrained) && isnan(s->pixels)))
        return SR_VERDICT_NONE;
    double by = chance(s->trained, e.images);
    SrVerdict verdict = SR_VERDICT_HELPED;
    if (!beats(s->trained, s->pixels, by) || !beats(s->trained, e.majority, by))
        verdict = SR_VERDICT_PIXELS;
    if (!beats(s->trained, s->untrained, by))
        verdict = SR_VERDICT_NOTHING;
    describe(&e, verdict, by, out);
    return verdict;
}
