// Writes the answer of a run's page.  Charts here are tables whose cells hold bars: they can be
// read aloud, printed and made as narrow as a telephone.
#include "pages/runs/run_answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/yaml_edit.h"
#include "pages/html.h"
#include "pages/runs/run_curves.h"
#include "pages/runs/run_verdict.h"
#include "pages/runs/score_tables.h"

// ---- bars ---------------------------------------------------------------------------------------

static void add_bars(const char *title, const SrRunScores *e, const SrScores *s, SrText *out) {
    if (isnan(s->trained))
        return;
    sr_text_printf(out, "<figure><figcaption>%s</figcaption><table class=\"bars\"><tbody>\n",
                   title);
    sr_score_bar("trained", true, s->trained, e->images, out);
    sr_score_bar("untrained", false, s->untrained, e->images, out);
    sr_score_bar("raw pixels", false, s->pixels, e->images, out);
    sr_score_bar("commonest class", false, e->majority, e->images, out);
    sr_text_add(out, "</tbody></table></figure>\n");
}

// ---- the verdict --------------------------------------------------------------------------------

// Returns the class of a verdict's paragraph: green, plain or red.
static const char *look(SrVerdict verdict) {
    return verdict == SR_VERDICT_HELPED ? " ok" : verdict == SR_VERDICT_STARTED ? "" : " bad";
}

static void add_verdict(const SrHistory *h, SrText *out) {
    SrText text = SR_TEXT_INIT;
    SrVerdict found = sr_run_verdict(h, &text);
    const char *words = sr_run_verdict_words(found);
    out->failed |= text.failed;
    if (found != SR_VERDICT_NONE) {
        sr_text_printf(out, "<p class=\"verdict%s\"><strong>", look(found));
        sr_html_escape(words, out);
        sr_text_add(out, "</strong>");
        sr_html_escape(text.s ? text.s + strlen(words) : "", out);
        sr_text_add(out, "</p>\n");
    }
    sr_text_deinit(&text);
}

// Adds a sentence in place of the verdict, for a run without an evaluation.
static void add_state(const SrRunPage *p, SrText *out) {
    const SrHistory *h = &p->history;
    double knn = sr_run_last_probe(h);
    bool evaluates = sr_tree_bool(p->config, "TEST_MODEL", false);
    sr_text_add(out, "<p class=\"verdict\">");
    if (!isnan(knn))
        sr_text_printf(
            out, "The last probe finds the class of %.1f\u00a0%% of test images by kNN. ", knn);
    if (h->knn)
        sr_text_add(out, "The images have no labels, or several each, so that nothing can be "
                         "counted right or wrong: the neighbours and the map below show what the "
                         "trunk has learned.");
    else if (strcmp(p->state, "finished") != 0)
        sr_text_add(out, "The verdict comes with the evaluation after the last epoch.");
    else if (evaluates)
        sr_text_add(out, "The evaluation of this run is not there yet.");
    else
        sr_text_add(out, "This run was not evaluated, because TEST_MODEL is False.");
    sr_text_add(out, "</p>\n");
}

// ---- before and after ---------------------------------------------------------------------------

// Adds "51.0 ± 2.5"; a dash where the comparison has no such figure.
static void add_figure(const SrYaml *r, const char *row, const char *what, SrText *out) {
    char key[96];
    snprintf(key, sizeof key, "%s_%s", row, what);
    const SrYaml *v = sr_yaml_find(r, key);
    snprintf(key, sizeof key, "%s_%s_error", row, what);
    const SrYaml *error = sr_yaml_find(r, key);
    if (!v)
        sr_text_add(out, "<td>–</td>");
    else if (!error)
        sr_text_printf(out, "<td>%.1f</td>", v->f);
    else
        sr_text_printf(out, "<td>%.1f ± %.1f</td>", v->f, error->f);
}

// Adds the verdict on a run that began from weights, and a table of its figures.
static void add_change(const SrHistory *h, SrText *out) {
    static const char *const rows[][2] = {{"first", "before training"},
                                          {"second", "after training"},
                                          {"untrained", "untrained"},
                                          {"pixels", "raw pixels"}};
    static const char *const labelled[] = {"knn", "probe", "5shot"};
    static const char *const unlabelled[] = {"effective_rank", "uniformity"};
    SrText text = SR_TEXT_INIT;
    SrVerdict found = sr_run_change(h, &text);
    if (found == SR_VERDICT_NONE)
        return;
    out->failed |= text.failed;
    bool labels = sr_yaml_find(h->change, "first_probe") != NULL;
    sr_text_printf(out, "<p class=\"verdict%s\">", look(found));
    sr_text_add(out, "<strong>Before and after:</strong> ");
    sr_html_escape(text.s ? text.s : "", out);
    sr_text_add(out, "</p>\n<div class=\"wide\"><table class=\"change\"><thead><tr><th "
                     "scope=\"col\">features</th>");
    sr_text_add(out, labels ? "<th scope=\"col\">kNN, %</th><th scope=\"col\">linear probe, %</th>"
                              "<th scope=\"col\">5 images per class, %</th>"
                            : "<th scope=\"col\">effective rank</th><th scope=\"col\">"
                              "uniformity</th>");
    sr_text_add(out, "</tr></thead><tbody>\n");
    for (int i = 0; i < SR_COUNT(rows); i++) {
        sr_text_printf(out, "<tr><th scope=\"row\">%s</th>", rows[i][1]);
        for (int k = 0; k < (labels ? SR_COUNT(labelled) : SR_COUNT(unlabelled)); k++)
            add_figure(h->change, rows[i][0], (labels ? labelled : unlabelled)[k], out);
        sr_text_add(out, "</tr>\n");
    }
    sr_text_add(out, "</tbody></table></div>\n");
    sr_text_deinit(&text);
}

// ---- layers -------------------------------------------------------------------------------------

// Returns a figure of a layer, such as trained_res3_probe, per cent; NaN: none.
static double figure(const SrYaml *r, const char *row, const char *layer, const char *what) {
    char key[192];
    snprintf(key, sizeof key, "%s_%s%s%s", row, layer, *layer ? "_" : "", what);
    const SrYaml *v = sr_yaml_find(r, key);
    return v && (v->type == SR_YAML_INT || v->type == SR_YAML_FLOAT) ? v->f : NAN;
}

// Adds two cells: a bar for the figure with a mark where the untrained trunk is, and the number.
static void add_cell(double percent, double untrained, bool own, SrText *out) {
    sr_text_printf(out, "<td class=\"b\"><span class=\"bar%s\"><b style=\"width:%.2f%%\"></b>",
                   own ? " own" : "", isnan(percent) ? 0 : percent);
    if (!isnan(untrained))
        sr_text_printf(out, "<u style=\"left:%.2f%%\"></u>", untrained);
    sr_text_add(out, "</span></td><td>");
    if (!isnan(percent))
        sr_text_printf(out, "%.1f", percent);
    if (!isnan(untrained))
        sr_text_printf(out, " <span class=\"pale\">(%.1f)</span>", untrained);
    sr_text_add(out, "</td>");
}

static void add_layer(const SrYaml *r, const char *row, const char *layer, SrText *out) {
    bool own = strcmp(row, "trained") == 0;
    bool best = own && strcmp(layer, sr_tree_text(r, "best_layer", "")) == 0;
    sr_text_printf(out, "<tr%s><th scope=\"row\">", best ? " class=\"best\"" : "");
    sr_html_text(out, "%s%s", own ? layer : "raw pixels", best ? " (best)" : "");
    sr_text_add(out, "</th>");
    for (int probe = 1; probe >= 0; probe--) {
        const char *what = probe ? "probe" : "knn";
        add_cell(figure(r, row, layer, what), own ? figure(r, "untrained", layer, what) : NAN, own,
                 out);
    }
    sr_text_add(out, "</tr>\n");
}

// Adds the table of layers, whose cells are bars; nothing if the layers were not evaluated.
static void add_layers(const SrYaml *r, SrText *out) {
    if (!r)
        return;
    sr_text_add(out, "<figure><figcaption>Which layer holds it, per cent</figcaption>\n"
                     "<div class=\"wide\"><table class=\"layers\"><thead><tr><th scope=\"col\">"
                     "layer</th><th scope=\"col\" colspan=\"2\">linear probe</th>"
                     "<th scope=\"col\" colspan=\"2\">kNN</th></tr></thead><tbody>\n");
    for (int i = 0; i < r->n; i++) {
        const char *key = r->keys[i];
        char layer[96];
        size_t n = strlen(key), used = strlen("trained_") + strlen("_probe");
        if (!sr_text_starts(key, "trained_") || !sr_text_ends(key, "_probe") || n <= used)
            continue;
        snprintf(layer, sizeof layer, "%.*s", (int)(n - used), key + strlen("trained_"));
        add_layer(r, "trained", layer, out);
    }
    add_layer(r, "pixels", "", out);
    sr_text_add(out,
                "</tbody></table></div>\n<p class=\"pale\">The upright mark, and the number in "
                "brackets, is the same layer without training. The best layer was chosen on "
                "training images that were held out.</p></figure>\n");
}

// ---- all ----------------------------------------------------------------------------------------

void sr_run_answer(const SrRunPage *p, SrText *out) {
    const SrHistory *h = &p->history;
    SrRunScores e;
    if (!sr_run_scores(h, &e)) {
        add_state(p, out);
        add_change(h, out);
        sr_text_add(out, "<div class=\"grid\">\n");
        sr_run_probe_curves(h, out);
        sr_text_add(out, "</div>\n");
        return;
    }
    add_verdict(h, out);
    add_change(h, out);
    sr_text_add(out, "<div class=\"grid\">\n");
    add_bars("Linear probe: can a plane separate the classes?", &e, &e.probe, out);
    add_bars("kNN: do images of a class lie together?", &e, &e.knn, out);
    sr_text_add(out, "</div>\n<p class=\"pale\">");
    sr_html_text(out, "Share of %lld test images whose class is found", (long long)e.images);
    if (e.bank)
        sr_html_text(out, ", by the labels of %lld training images", (long long)e.bank);
    sr_text_add(out, "; ± is the standard error. Trained is ");
    sr_html_text(out, "layer %s. ", e.layer);
    sr_text_add(out, h->layers ? "Untrained is the same trunk with random weights, each time from "
                                 "the layer that is best for it.</p>\n"
                               : "Untrained is that layer with random weights.</p>\n");
    sr_text_add(out, "<div class=\"grid\">\n");
    sr_run_probe_curves(h, out);
    add_layers(h->layers, out);
    sr_text_add(out, "</div>\n");
}
