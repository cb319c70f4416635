// Judges a run by the flat reports of its metrics.json, which trainer/eval/report.c and
// trainer/eval/layer_report.c write.
#include "pages/runs/run_verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/yaml_edit.h"
#include "measure/standard_error.h"
#include "pages/runs/run_page.h"

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

static SrRunScores of_layers(const SrYaml *r) {
    const char *layer = sr_tree_text(r, "best_layer", "");
    return (SrRunScores){.layer = layer,
                         .by_probe = true,
                         .probe = {figure(r, "trained", layer, "probe"),
                                   best_untrained(r, "_probe"),
                                   sr_run_report_figure(r, "pixels_probe")},
                         .knn = {figure(r, "trained", layer, "knn"), best_untrained(r, "_knn"),
                                 sr_run_report_figure(r, "pixels_knn")},
                         .majority = sr_run_report_figure(r, "majority"),
                         .images = sr_tree_int(r, "layer_test_images", 0),
                         .bank = sr_tree_int(r, "layer_train_images", 0)};
}

static SrRunScores of_knn(const SrYaml *r) {
    return (SrRunScores){.layer = sr_tree_text(r, "layer", ""),
                         .knn = {sr_run_report_figure(r, "trained_top1"),
                                 sr_run_report_figure(r, "untrained_top1"),
                                 sr_run_report_figure(r, "pixels_top1")},
                         .majority = sr_run_report_figure(r, "majority_top1"),
                         .probe = {NAN, NAN, NAN},
                         .images = sr_tree_int(r, "test_images", 0),
                         .bank = sr_tree_int(r, "bank_images", 0)};
}

bool sr_run_scores(const SrHistory *h, SrRunScores *out) {
    if (!h->layers && !h->knn)
        return false;
    *out = h->layers ? of_layers(h->layers) : of_knn(h->knn);
    const SrScores *s = out->by_probe ? &out->probe : &out->knn;
    return !isnan(s->trained) && !(isnan(s->untrained) && isnan(s->pixels));
}

double sr_run_knn(const SrHistory *h) {
    SrRunScores e;
    return sr_run_scores(h, &e) && !isnan(e.knn.trained) ? e.knn.trained : sr_run_last_probe(h);
}

// True: score is higher by more than `by`, or the rival was not measured (NaN).
static bool beats(double score, double rival, double by) {
    return isnan(rival) || score - rival > by;
}

const char *sr_run_verdict_words(SrVerdict verdict) {
    static const char *const words[] = {
        [SR_VERDICT_NONE] = "",
        [SR_VERDICT_EASY] =
            "This test is too easy to judge the training: features without training find almost "
            "every class already; evaluate on harder images or finer classes.",
        [SR_VERDICT_STARTED] =
            "The features are better than random weights and raw pixels. The run began from "
            "weights, and the comparison with them tells what this training added.",
        [SR_VERDICT_HELPED] =
            "Training helped: the trunk has learned what neither random weights nor pixels hold.",
        [SR_VERDICT_PIXELS] =
            "Training helped too little: the trunk has learned no more than raw pixels or the "
            "commonest class say; train longer or on more images.",
        [SR_VERDICT_NOTHING] = "Training did not help: the trunk has learned nothing that the test "
                               "images show; train longer or change the recipe.",
    };
    return words[verdict];
}

static void describe(const SrRunScores *e, double by, SrText *out) {
    const SrScores *s = e->by_probe ? &e->probe : &e->knn;
    sr_text_printf(out, " From layer %s, %s finds the class of %.1f %% of %lld test images",
                   e->layer, e->by_probe ? "a linear probe" : "kNN", s->trained,
                   (long long)e->images);
    if (!isnan(s->untrained))
        sr_text_printf(out, "; the untrained trunk reaches %.1f %%", s->untrained);
    if (!isnan(s->pixels))
        sr_text_printf(out, ", raw pixels %.1f %%", s->pixels);
    if (!isnan(e->majority))
        sr_text_printf(out, ", the commonest class %.1f %%", e->majority);
    sr_text_printf(out, ". Differences up to %.1f points are chance.", by);
}

SrVerdict sr_run_verdict(const SrHistory *h, SrText *out) {
    SrRunScores e;
    if (!sr_run_scores(h, &e))
        return SR_VERDICT_NONE;
    const SrScores *s = e.by_probe ? &e.probe : &e.knn;
    double by = sr_chance(s->trained, e.images);
    SrVerdict verdict = SR_VERDICT_HELPED;
    if (!beats(s->trained, s->pixels, by) || !beats(s->trained, e.majority, by))
        verdict = SR_VERDICT_PIXELS;
    if (!beats(s->trained, s->untrained, by))
        verdict = SR_VERDICT_NOTHING;
    if (verdict != SR_VERDICT_HELPED && sr_accuracy_is_full(s->trained, e.images) &&
        sr_accuracy_is_full(fmax(s->untrained, s->pixels), e.images)) // fmax ignores NaN
        verdict = SR_VERDICT_EASY;
    if (verdict == SR_VERDICT_HELPED && h->change)
        verdict = SR_VERDICT_STARTED;
    sr_text_add(out, sr_run_verdict_words(verdict));
    describe(&e, by, out);
    return verdict;
}

SrVerdict sr_run_change(const SrHistory *h, SrText *out) {
    const char *verdict = h->change ? sr_tree_text(h->change, "verdict", "") : "";
    const char *sentence = h->change ? sr_tree_text(h->change, "sentence", "") : "";
    if (!*sentence)
        return SR_VERDICT_NONE;
    sr_text_add(out, sentence);
    bool worse = strcmp(verdict, "worse") == 0 || strcmp(verdict, "narrower") == 0;
    return worse                            ? SR_VERDICT_NOTHING
           : strcmp(verdict, "better") == 0 ? SR_VERDICT_HELPED
                                            : SR_VERDICT_STARTED;
}
