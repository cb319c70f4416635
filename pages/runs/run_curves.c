// The curves of a run: loss and other figures over updates, kNN and probes over epochs.
#include "pages/runs/run_curves.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/yaml_edit.h"
#include "pages/chart.h"
#include "pages/runs/run_page.h"

typedef struct {
    const char *key, *title, *unit;
    bool from_zero, logarithmic;
    double times;
} StepChart;

static const StepChart step_charts[] = {
    {"loss", "Loss", "", false, false, 1},
    {"lr", "Learning rate", "", true, false, 1},
    {"grad_norm", "Norm of the gradient", "", false, true, 1},
    {"images_per_s", "Images a second", "", true, false, 1},
    {"data_wait", "Time spent waiting for images", " %", true, false, 100},
};
// Keys of every line that get no curve.
static const char *const not_curves[] = {"ep", "iter", "btime(ms)", "eta_s"};

static void one_curve(const SrHistory *h, const StepChart *c, const SrSeries *s, SrText *out) {
    SrChart chart = {c->title, "updates", c->unit, c->from_zero, c->logarithmic};
    double *y = sr_alloc((size_t)h->n_steps * sizeof *y + 1);
    out->failed = out->failed || !y; // a page without a curve must not look whole
    for (int i = 0; y && i < h->n_steps; i++)
        y[i] = c->times * s->y[i];
    if (y)
        sr_html_chart(&chart,
                      &(SrCurve){.name = c->title, .x = h->iteration, .y = y, .n = h->n_steps}, 1,
                      out);
    sr_free(y);
}

static bool is_extra(const char *key) {
    for (int i = 0; i < SR_COUNT(step_charts); i++)
        if (strcmp(key, step_charts[i].key) == 0)
            return false;
    for (int i = 0; i < SR_COUNT(not_curves); i++)
        if (strcmp(key, not_curves[i]) == 0)
            return false;
    return true;
}

enum { PROBE_CURVES = 8, LEVELS = 3, MOST_DOTS = 300 };

// Gets the baselines of the probes: kNN of the untrained trunk and of raw pixels, commonest class.
// They are those of the layer table, which uses the same images as the probes and the bars of the
// page, or else those of the final kNN report.
static void levels_of(const SrHistory *h, double level[LEVELS]) {
    char untrained[96];
    const SrYaml *r = h->layers ? h->layers : h->knn;
    snprintf(untrained, sizeof untrained, "untrained_%.64s_knn",
             sr_tree_text(h->knn, "layer", "flatten"));
    level[0] = sr_run_report_figure(r, h->layers ? untrained : "untrained_top1");
    level[1] = sr_run_report_figure(r, h->layers ? "pixels_knn" : "pixels_top1");
    level[2] = sr_run_report_figure(r, h->layers ? "majority" : "majority_top1");
}

// A probe of one epoch is a point, not a curve; the bars of the answer show it already.
bool sr_run_probe_curves(const SrHistory *h, SrText *out) {
    int n = 0, curves = 0;
    double *x = sr_alloc((size_t)(5 * h->n_epochs + 1) * sizeof *x), level[LEVELS];
    SrCurve curve[PROBE_CURVES];
    static const char *const names[] = {"kNN", "linear probe", "test top-1", "training top-1"};
    static const char *const levels[LEVELS] = {"untrained, kNN", "raw pixels, kNN",
                                               "commonest class"};
    out->failed = out->failed || !x;
    if (!x)
        return false;
    for (int i = 0; i < h->n_epochs; i++) {
        const SrHistoryEpoch *e = &h->epoch[i];
        double values[4] = {e->knn, e->linear, e->test, e->train_top};
        if (isnan(values[0]) && isnan(values[1]) && isnan(values[2]) && isnan(values[3]))
            continue;
        x[n] = e->epoch + 1;
        for (int c = 0; c < 4; c++)
            x[(1 + c) * h->n_epochs + n] = values[c];
        n++;
    }
    for (int c = 0; c < 4; c++) {
        const double *y = x + (1 + c) * h->n_epochs;
        bool any = false;
        for (int i = 0; i < n; i++)
            any = any || !isnan(y[i]);
        if (any && n > 1)
            curve[curves++] =
                (SrCurve){.name = names[c], .x = x, .y = y, .n = n, .dots = n <= MOST_DOTS};
    }
    levels_of(h, level);
    for (int l = 0, own = curves; l < LEVELS && own > 0; l++)
        if (!isnan(level[l]))
            curve[curves++] = (SrCurve){.name = levels[l], .y = &level[l], .level = true};
    char title[160] = "How good the features are, epoch by epoch";
    const char *layer = sr_tree_text(h->knn, "layer", "");
    if (*layer)
        snprintf(title, sizeof title, "How good the features are, epoch by epoch (layer %.80s)",
                 layer);
    SrChart chart = {title, "epochs", " %", false, false};
    bool drawn = curves > 0 && sr_html_chart(&chart, curve, curves, out);
    sr_free(x);
    return drawn;
}

static void epoch_chart(const SrHistory *h, SrText *out) {
    double *x = sr_alloc((size_t)(3 * h->n_epochs + 1) * sizeof *x);
    int n = 0;
    out->failed = out->failed || !x;
    for (int i = 0; x && i < h->n_epochs; i++) {
        if (isnan(h->epoch[i].loss))
            continue;
        x[n] = h->epoch[i].epoch + 1;
        x[h->n_epochs + n++] = h->epoch[i].loss;
    }
    SrChart chart = {"Mean loss of each epoch", "epochs", "", false, false};
    if (x)
        sr_html_chart(
            &chart,
            &(SrCurve){.name = "mean loss", .x = x, .y = x + h->n_epochs, .n = n, .dots = n < 80},
            1, out);
    sr_free(x);
}

// A key of a log line in words: "grad_norm" is "Grad norm".
static const char *in_words(const char *key, char out[64]) {
    snprintf(out, 64, "%s", key);
    for (char *c = out; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    if (out[0] >= 'a' && out[0] <= 'z')
        out[0] = (char)(out[0] - 'a' + 'A');
    return out;
}

void sr_run_step_curves(const SrHistory *h, SrText *out) {
    char name[64];
    sr_text_add(out, "<div class=\"grid\">\n");
    for (int c = 0; c < SR_COUNT(step_charts); c++) {
        const SrSeries *s = sr_history_find(h, step_charts[c].key);
        if (s)
            one_curve(h, &step_charts[c], s, out);
        if (c == 0)
            epoch_chart(h, out);
    }
    for (int i = 0; i < h->n_series; i++)
        if (is_extra(h->series[i].key)) {
            const char *title = in_words(h->series[i].key, name);
            one_curve(h, &(StepChart){h->series[i].key, title, "", false, false, 1}, &h->series[i],
                      out);
        }
    sr_text_add(out, "</div>\n");
}
