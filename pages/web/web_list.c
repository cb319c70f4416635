// The live page's list: a row per run, and a row per sweep that opens to the rows of its seeds.
#include "pages/web/web_list.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "measure/mean_deviation.h"
#include "pages/html.h"
#include "pages/runs/run_page.h"
#include "pages/runs/run_verdict.h"
#include "pages/web/web_links.h"

// ---- a run --------------------------------------------------------------------------------------

enum { SPARK_W = 110, SPARK_H = 32, SPARK_POINTS = 60 };

// Adds a small curve without axes; nothing for fewer than two numbers.
static void add_spark(const char *title, const double *y, int n, SrText *out) {
    double low = INFINITY, high = -INFINITY;
    int every = SR_MAX(n / SPARK_POINTS, 1), seen = 0;
    for (int i = 0; i < n; i++)
        if (isfinite(y[i])) {
            low = fmin(low, y[i]);
            high = fmax(high, y[i]);
            seen++;
        }
    if (seen < 2)
        return;
    sr_text_printf(
        out,
        "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\"><path class=\"curve\" "
        "stroke=\"var(--accent)\" d=\"",
        SPARK_W, SPARK_H, title);
    bool pen = false;
    for (int i = 0; i < n; i += every)
        if (isfinite(y[i])) {
            double up = high > low ? (y[i] - low) / (high - low) : 0.5;
            sr_text_printf(out, "%c%.1f %.1f", pen ? 'L' : 'M',
                           2 + (SPARK_W - 4.0) * i / SR_MAX(n - 1, 1),
                           SPARK_H - 2 - (SPARK_H - 4) * up);
            pen = true;
        }
    sr_text_add(out, "\"/></svg>");
}

// Adds kNN of the probes if there are several, else the loss.
static void add_curve(const SrHistory *h, SrText *out) {
    const SrSeries *loss = sr_history_find(h, "loss");
    double knn[SPARK_POINTS * 8];
    int n = 0;
    for (int i = 0; i < h->n_epochs && n < SR_COUNT(knn); i++)
        if (!isnan(h->epoch[i].knn))
            knn[n++] = h->epoch[i].knn;
    if (n > 1)
        add_spark("kNN of the probes", knn, n, out);
    else if (loss)
        add_spark("loss", loss->y, h->n_steps, out);
}

static void add_figure(const char *name, int decimals, const char *unit, double value,
                       SrText *out) {
    sr_text_add(out, "<p><span class=\"big\">");
    if (isnan(value))
        sr_text_add(out, "–");
    else
        sr_text_printf(out, "%.*f%s", decimals, value, unit);
    sr_text_printf(out, "</span> <small>%s</small></p>", name);
}

// Adds the mean of the values that are there, and their deviation.
static void add_mean(const char *name, int decimals, const char *unit, const double *value, int n,
                     SrText *out) {
    char what[80];
    SrMeanDeviation m = n > 0 ? sr_mean_deviation(value, n) : (SrMeanDeviation){NAN, NAN};
    if (n > 1)
        snprintf(what, sizeof what, "%s, mean of %d &plusmn; %.*f", name, n, decimals, m.deviation);
    else
        snprintf(what, sizeof what, "%s", name);
    add_figure(what, decimals, unit, m.mean, out);
}

// Adds one line on how the run is: its verdict, or its warnings.
static void add_say(const SrHistory *h, SrText *out) {
    SrText unused = SR_TEXT_INIT;
    const char *words = sr_run_verdict_words(sr_run_verdict(h, &unused));
    sr_text_deinit(&unused);
    if (!*words && !h->n_warnings)
        return;
    sr_text_add(out, "<p class=\"say\">");
    sr_html_escape(words, out);
    if (h->n_warnings)
        sr_text_printf(out, "%s%d warning%s", *words ? " " : "", h->n_warnings,
                       h->n_warnings == 1 ? "" : "s");
    sr_text_add(out, "</p>");
}

// Begins a row, with the attributes by which live.js sorts.
static void begin_row(const char *class, const char *state, double knn, double loss,
                      const char *name, SrText *out) {
    sr_text_printf(out,
                   "<li class=\"run%s\" data-state=\"%s\" data-knn=\"%.4f\" "
                   "data-minusloss=\"%.6f\" data-name=\"",
                   class, state, knn, -loss);
    sr_html_escape(name, out);
    sr_text_add(out, "\"><h2 class=\"name\">");
}

static void add_progress(const char *state, int64_t done, int64_t of, const char *left,
                         SrText *out) {
    int percent = of > 0 ? (int)(100 * done / of) : 0;
    sr_text_printf(out,
                   "<p>%s <span class=\"bar own progress\"><b style=\"width:%d%%\"></b>"
                   "</span> %lld/%lld<small>%s%s</small></p>",
                   state, SR_MIN(percent, 100), (long long)done, (long long)of, left,
                   *left ? " left" : "");
}

// Adds name, state, and how far the run is.
static void add_head(const SrRunPage *p, const char *name, const char *token, SrText *out) {
    const SrHistory *h = &p->history;
    char left[48] = "";
    if (strcmp(p->state, "training") == 0 && !isnan(sr_history_last(h, "eta_s")))
        sr_duration_text(sr_history_last(h, "eta_s"), left, sizeof left);
    begin_row("", p->state, sr_run_knn(h), sr_history_last(h, "loss"), name, out);
    sr_text_add(out, "<a href=\"");
    sr_web_link("/run", name, token, out);
    sr_text_add(out, "\">");
    sr_html_escape(name, out);
    sr_text_add(out, "</a></h2>");
    add_progress(p->state, p->done, p->epochs, left, out);
}

static void add_run(const SrRunPage *p, const char *name, const char *token, SrText *out) {
    const SrHistory *h = &p->history;
    add_head(p, name, token, out);
    sr_text_add(out, "<div class=\"spark\">");
    add_curve(h, out);
    sr_text_add(out, "</div>");
    add_figure("kNN", 1, "\u00a0%", sr_run_knn(h), out);
    add_figure("loss", 4, "", sr_history_last(h, "loss"), out);
    sr_text_add(out, "<div class=\"act\">");
    if (strcmp(p->state, "training") == 0)
        sr_web_form("stop", name, token, out);
    else if (strcmp(p->state, "stopped") == 0)
        sr_web_form("continue", name, token, out);
    sr_text_add(out, "</div>");
    add_say(h, out);
    sr_text_add(out, "</li>\n");
}

// Names a run that is there, with the reason of the failure that came last.
static void add_unreadable(const char *name, SrText *out) {
    begin_row("", "unknown", NAN, NAN, name, out);
    sr_html_escape(name, out);
    sr_text_add(out, "</h2><p>cannot be read: ");
    sr_html_escape(sr_status_message(), out);
    sr_text_add(out, "</p></li>\n");
}

// ---- a sweep ------------------------------------------------------------------------------------

// Runs of one sweep, in folders seed0, seed1 and so on (cli/sweep.h) of one folder.
typedef struct {
    double knn[SR_REGISTRY_MOST], loss[SR_REGISTRY_MOST];
    int n, n_knn, n_loss, training, stopped; // runs in all, with these figures, in these states
    int64_t done, epochs;
    SrText rows;
} Sweep;

// Returns the number of consecutive runs from `first` on that belong to one sweep; 1: none does.
static int64_t sweep_runs(const SrRegistry *r, int64_t first) {
    const char *name = sr__string_list_get(&r->names, first);
    int length = sr_run_sweep_length(name);
    int64_t n = 1;
    while (length >= 0 && first + n < r->names.n) {
        const char *next = sr__string_list_get(&r->names, first + n);
        if (sr_run_sweep_length(next) != length || strncmp(next, name, (size_t)length) != 0)
            break;
        n++;
    }
    return n;
}

static void add_to_sweep(Sweep *s, const SrRunPage *p) {
    double knn = sr_run_knn(&p->history), loss = sr_history_last(&p->history, "loss");
    if (!isnan(knn))
        s->knn[s->n_knn++] = knn;
    if (!isnan(loss))
        s->loss[s->n_loss++] = loss;
    s->training += strcmp(p->state, "training") == 0;
    s->stopped += strcmp(p->state, "stopped") == 0;
    s->done += p->done;
    s->epochs += p->epochs;
    s->n++;
}

// Writes the row of a sweep around the rows of its runs.
static void add_sweep(const Sweep *s, const char *name, SrText *out) {
    const char *state = s->training ? "training" : s->stopped ? "stopped" : "finished";
    double knn = s->n_knn ? sr_mean_deviation(s->knn, s->n_knn).mean : NAN;
    double loss = s->n_loss ? sr_mean_deviation(s->loss, s->n_loss).mean : NAN;
    begin_row(" sweep", state, knn, loss, name, out);
    sr_html_escape(name, out);
    sr_text_add(out, "</h2>");
    add_progress(state, s->done, s->epochs, "", out);
    sr_text_add(out, "<div class=\"spark\"></div>");
    add_mean("kNN", 1, "\u00a0%", s->knn, s->n_knn, out);
    add_mean("loss", 4, "", s->loss, s->n_loss, out);
    sr_text_printf(out,
                   "<div class=\"act\"></div><details><summary>%d seeds</summary>\n"
                   "<ul class=\"runs\">\n%s</ul></details></li>\n",
                   s->n, s->rows.s ? s->rows.s : "");
    out->failed = out->failed || s->rows.failed;
}

// ---- the list -----------------------------------------------------------------------------------

static SrStatus add_runs(const SrRegistry *r, int64_t first, int64_t n, const char *token,
                         Sweep *sweep, SrText *out) {
    for (int64_t i = first; i < first + n; i++) {
        const char *name = sr__string_list_get(&r->names, i);
        char path[4096];
        SrRunPage p;
        SR_TRY(sr_file_join(path, sizeof path, r->root, name));
        SrStatus status = sr_run_page_open(path, &p);
        if (status == SR_OK) {
            add_run(&p, name, token, out);
            if (sweep)
                add_to_sweep(sweep, &p);
        } else if (sr_run_is_folder(path)) // otherwise the run has gone by now
            add_unreadable(name, out);
        sr_run_page_close(&p);
    }
    return SR_OK;
}

static SrStatus add_seeds(const SrRegistry *r, int64_t first, int64_t n, const char *token,
                          SrText *out) {
    char name[4096];
    const char *run = sr__string_list_get(&r->names, first), *slash = strrchr(r->root, '/');
    Sweep *s = sr_calloc(1, sizeof *s);
    SR_TRY_MEMORY(s, "the list of runs");
    snprintf(name, sizeof name, "%.*s", sr_run_sweep_length(run), run);
    if (!*name) // the list is of the sweep's own folder
        snprintf(name, sizeof name, "%s", slash ? slash + 1 : r->root);
    SrStatus status = add_runs(r, first, n, token, s, &s->rows);
    if (status == SR_OK)
        add_sweep(s, name, out);
    sr_text_deinit(&s->rows);
    sr_free(s);
    return status;
}

SrStatus sr_web_list(const SrRegistry *r, const char *token, SrText *out) {
    sr_text_add(out, "<ul class=\"runs\">\n");
    for (int64_t i = 0, n; i < r->names.n; i += n) {
        n = sweep_runs(r, i);
        if (n > 1)
            SR_TRY(add_seeds(r, i, n, token, out));
        else
            SR_TRY(add_runs(r, i, n, token, NULL, out));
    }
    sr_text_printf(out, "</ul>\n<p class=\"pale\">%lld run%s</p>\n", (long long)r->names.n,
                   r->names.n == 1 ? "" : "s");
    return SR_OK;
}
