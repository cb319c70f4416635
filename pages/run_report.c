// The page of a run, made from the files of its folder: a summary, findings, curves, figures, the
// gallery, the configuration and its origin.
#include "pages/run_report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/version.h"
#include "base/yaml_edit.h"
#include "pages/html.h"
#include "pages/image_gallery.h"
#include "pages/run_history.h"
#include "pages/run_page.h"
#include "pages/run_record.h"
#include "pages/run_verdict.h"
#include "trainer/run/progress.h"

enum { MAX_FILE = 64 << 20 };

// ---- opening a run folder -----------------------------------------------------------------------

bool sr_run_is_folder(const char *path) {
    static const char *const files[] = {"stdout.json", "metrics.json", "train_config.yaml"};
    char file[4096];
    for (int i = 0; i < SR_COUNT(files); i++)
        if (sr_file_join(file, sizeof file, path, files[i]) == SR_OK && sr_file_exists(file))
            return true;
    return false;
}

SrStatus sr_run_page_open(const char *run, SrRunPage *out) {
    char path[4096];
    *out = (SrRunPage){.run = run};
    if (!sr_run_is_folder(run))
        SR_FAIL(SR_ERR_CONFIG,
                "%s: no folder of a run: none of stdout.json, metrics.json and train_config.yaml "
                "lies there",
                run);
    SR_TRY(sr_history_read(run, &out->history));
    SR_TRY(sr_run_record_read(run, &out->record));
    SR_TRY(sr_file_join(path, sizeof path, run, "train_config.yaml"));
    SrYaml *tree = NULL;
    if (sr_file_exists(path)) {
        SR_TRY(sr_yaml_load(&out->arena, path, &tree));
        out->config = sr_yaml_find(tree, "config");
    }
    out->epochs = sr_tree_int(out->config, "OPTIMIZER.num_epochs", 0);
    out->batch = sr_tree_int(out->config, "DATA.TRAIN.BATCHSIZE_PER_REPLICA", 0) *
                 SR_MAX(sr_tree_int(out->config, "DISTRIBUTED.REPLICAS", 1), 1);
    for (int i = 0; i < out->history.n_epochs; i++)
        if (!isnan(out->history.epoch[i].loss))
            out->done = (int64_t)out->history.epoch[i].epoch + 1;
    bool finished = out->epochs > 0 && out->done >= out->epochs;
    out->live = sr_run_is_live(run);
    out->state = finished ? "finished" : out->live ? "training" : "stopped";
    return SR_OK;
}

void sr_run_page_close(SrRunPage *p) {
    sr_history_deinit(&p->history);
    sr_run_record_deinit(&p->record);
    sr_arena_deinit(&p->arena);
}

const char *sr_run_page_name(const SrRunPage *p) {
    const char *slash = strrchr(p->run, '/');
    return slash && slash[1] ? slash + 1 : p->run;
}

// ---- curves -------------------------------------------------------------------------------------

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

enum { PROBE_CURVES = 8 };

// Finds, for example, "pixels_top1_k20" in the last report by the beginning of its key.
double sr_run_report_figure(const SrYaml *report, const char *prefix) {
    for (int i = 0; report && i < report->n; i++) {
        const SrYaml *v = report->items[i];
        if (sr_text_starts(report->keys[i], prefix) &&
            (v->type == SR_YAML_INT || v->type == SR_YAML_FLOAT))
            return v->f;
    }
    return NAN;
}

// Draws kNN and the linear probe over epochs, next to the baselines.
static void probe_chart(const SrHistory *h, SrText *out) {
    int n = 0, curves = 0;
    double *x = sr_alloc((size_t)(5 * h->n_epochs + 1) * sizeof *x), level[3];
    SrCurve curve[PROBE_CURVES];
    static const char *const names[] = {"kNN", "linear probe", "test top-1", "training top-1"};
    static const char *const levels[][2] = {{"untrained_top1", "untrained, kNN"},
                                            {"pixels_top1", "raw pixels, kNN"},
                                            {"majority_top1", "commonest class"}};
    if (!x)
        return;
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
        if (any)
            curve[curves++] = (SrCurve){.name = names[c], .x = x, .y = y, .n = n, .dots = true};
    }
    for (int l = 0; l < 3 && curves > 0; l++) {
        level[l] = sr_run_report_figure(h->knn, levels[l][0]);
        if (!isnan(level[l]))
            curve[curves++] = (SrCurve){.name = levels[l][1], .y = &level[l], .level = true};
    }
    SrChart chart = {"How good the features are", "epochs", " %", false, false};
    if (curves)
        sr_html_chart(&chart, curve, curves, out);
    sr_free(x);
}

static void epoch_chart(const SrHistory *h, SrText *out) {
    double *x = sr_alloc((size_t)(3 * h->n_epochs + 1) * sizeof *x);
    int n = 0;
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

static void all_curves(const SrHistory *h, SrText *out) {
    sr_text_add(out, "<div class=\"grid\">\n");
    probe_chart(h, out);
    for (int c = 0; c < SR_COUNT(step_charts); c++) {
        const SrSeries *s = sr_history_find(h, step_charts[c].key);
        if (s)
            one_curve(h, &step_charts[c], s, out);
        if (c == 0)
            epoch_chart(h, out);
    }
    for (int i = 0; i < h->n_series; i++)
        if (is_extra(h->series[i].key))
            one_curve(h, &(StepChart){h->series[i].key, h->series[i].key, "", false, false, 1},
                      &h->series[i], out);
    sr_text_add(out, "</div>\n");
}

// ---- words --------------------------------------------------------------------------------------

static void fact(SrText *out, const char *name, const char *fmt, ...) SR_PRINTF(3, 4);
static void fact(SrText *out, const char *name, const char *fmt, ...) {
    char value[1024];
    va_list args;
    va_start(args, fmt);
    sr_number_vprint(value, sizeof value, fmt, args);
    va_end(args);
    sr_text_add(out, "<tr><td>");
    sr_html_escape(name, out);
    sr_text_add(out, "</td><td>");
    sr_html_escape(value, out);
    sr_text_add(out, "</td></tr>\n");
}

static void summary(const SrRunPage *p, SrText *out) {
    const SrHistory *h = &p->history;
    char time_text[48], rate[24];
    double last = h->n_steps ? h->iteration[h->n_steps - 1] + 1 : 0;
    const SrSeries *loss = sr_history_find(h, "loss");
    sr_text_add(out, "<div class=\"wide\"><table>\n");
    fact(out, "method", "%s", sr_tree_text(p->config, "LOSS.name", "?"));
    fact(out, "trunk", "%s", sr_tree_text(p->config, "MODEL.TRUNK.NAME", "?"));
    fact(out, "epochs", "%lld of %lld", (long long)p->done, (long long)p->epochs);
    fact(out, "updates", "%.0f of %lld images", last, (long long)p->batch);
    if (loss && h->n_steps)
        fact(out, "loss", "%.4f at first, %.4f now", loss->y[0], sr_history_last(h, "loss"));
    if (h->n_steps)
        fact(out, "training took", "%s",
             sr_duration_text(h->time_s[h->n_steps - 1], time_text, sizeof time_text));
    if (strcmp(p->state, "training") == 0)
        fact(out, "left", "%s",
             sr_duration_text(sr_history_last(h, "eta_s"), time_text, sizeof time_text));
    fact(out, "images a second", "%s, waiting for images %.0f %% of the time",
         sr_rate_text(sr_history_last(h, "images_per_s"), rate, sizeof rate),
         100 * sr_history_last(h, "data_wait"));
    sr_text_add(out, "</table></div>\n");
}

// Writes the evaluation's verdict; true: training did not help enough.
static bool verdict(const SrHistory *h, SrText *out) {
    SrText text = SR_TEXT_INIT;
    SrVerdict found = sr_run_verdict(h, &text);
    if (found != SR_VERDICT_NONE) {
        sr_text_printf(out, "<li class=\"%s\">", found == SR_VERDICT_HELPED ? "ok" : "bad");
        sr_html_escape(text.s ? text.s : "", out);
        sr_text_add(out, "</li>\n");
    }
    sr_text_deinit(&text);
    return found > SR_VERDICT_HELPED;
}

// Lists findings of the evaluation and the curves, and warnings of the log.
static void findings(const SrRunPage *p, SrText *out) {
    const SrHistory *h = &p->history;
    const SrSeries *wait = sr_history_find(h, "data_wait"), *loss = sr_history_find(h, "loss");
    double waited = 0;
    sr_text_add(out, "<h2>Findings</h2>\n<ul>\n");
    bool trouble = verdict(h, out);
    size_t empty = out->len;
    for (int i = 0; wait && i < h->n_steps; i++)
        waited += wait->y[i] / h->n_steps;
    if (waited > 0.3)
        sr_text_printf(out,
                       "<li>The step waits for images %.0f %% of the time: more "
                       "DATA.NUM_DATALOADER_WORKERS, smaller files or DATA.TRAIN.PIXELS=fast would "
                       "make it faster.</li>\n",
                       100 * waited);
    if (loss && h->n_steps > 20) {
        double first = 0, last = 0;
        for (int i = 0; i < h->n_steps / 10; i++) {
            first += loss->y[i];
            last += loss->y[h->n_steps - 1 - i];
        }
        if (last > first)
            sr_text_add(out,
                        "<li class=\"bad\">The loss of the last tenth of the updates is above that "
                        "of the first tenth.</li>\n");
    }
    for (int i = 0; i < h->n_warnings; i++) {
        sr_text_add(out, "<li>");
        sr_html_escape(h->warning[i] ? h->warning[i] : "", out);
        if (h->times[i] > 1)
            sr_text_printf(out, " <span class=\"pale\">said %d times</span>", h->times[i]);
        sr_text_add(out, "</li>\n");
    }
    if (out->len == empty && !trouble)
        sr_text_add(out, "<li class=\"ok\">No problems detected.</li>\n");
    sr_text_add(out, "</ul>\n");
}

// Writes a report's flat keys as a table of two columns.
static void figures(const char *title, const SrYaml *report, SrText *out) {
    if (!report)
        return;
    sr_text_add(out, "<h3>");
    sr_html_escape(title, out);
    sr_text_add(out, "</h3>\n<div class=\"wide\"><table>\n");
    for (int i = 0; i < report->n; i++) {
        const SrYaml *v = report->items[i];
        char name[128];
        snprintf(name, sizeof name, "%.120s", report->keys[i]);
        for (char *c = name; *c; c++)
            *c = *c == '_' ? ' ' : *c;
        if (v->type == SR_YAML_FLOAT)
            fact(out, name, "%.2f", v->f);
        else if (v->text)
            fact(out, name, "%s", v->text);
    }
    sr_text_add(out, "</table></div>\n");
}

static SrStatus embed(const char *run, const char *name, SrText *out) {
    char path[4096], *text;
    size_t n;
    SR_TRY(sr_file_join(path, sizeof path, run, name));
    if (!sr_file_exists(path))
        return SR_OK;
    SR_TRY(sr_file_read(path, MAX_FILE, &text, &n));
    sr_text_addn(out, text, n);
    sr_free(text);
    return SR_OK;
}

static void list_of(const char *title, const SrStrings *lines, SrText *out) {
    if (lines->n == 0)
        return;
    sr_text_printf(out, "<details%s><summary>%s (%d)</summary><pre>", lines->n < 12 ? " open" : "",
                   title, lines->n);
    for (int i = 0; i < lines->n; i++) {
        sr_html_escape(lines->v[i], out);
        sr_text_add(out, "\n");
    }
    sr_text_add(out, "</pre></details>\n");
}

static void configuration(const SrRunPage *p, SrText *out) {
    const SrRunRecord *r = &p->record;
    SrText text = SR_TEXT_INIT;
    sr_text_add(out, "<h2>Configuration</h2>\n");
    list_of("What differs from the file: overrides and what was inferred", &r->changed, out);
    if (p->config) {
        sr_yaml_print(p->config, &text);
        sr_text_add(out, "<details><summary>Every key as it was used</summary><pre>");
        sr_html_escape(text.s ? text.s : "", out);
        sr_text_add(out, "</pre></details>\n");
        sr_text_deinit(&text);
    }
}

static void origin(const SrRunPage *p, SrText *out) {
    const SrRunRecord *r = &p->record;
    char started[64] = "";
    time_t at = (time_t)r->started;
    struct tm tm;
    if (r->started && localtime_r(&at, &tm))
        strftime(started, sizeof started, "%Y-%m-%d %H:%M", &tm);
    sr_text_add(out, "<h2>Where it comes from</h2>\n<div class=\"wide\"><table>\n");
    if (*r->config)
        fact(out, "file", "%s", r->config);
    if (*started)
        fact(out, "last start", "%s", started);
    if (*r->machine)
        fact(out, "machine", "%s, %d threads, kernels %s", r->machine, r->threads, r->kernels);
    fact(out, "version", "sslrun %s (this page: " SR_VERSION ")", *r->version ? r->version : "?");
    fact(out, "folder", "%s", p->run);
    sr_text_add(out, "</table></div>\n");
    if (!*r->command)
        return;
    sr_text_add(out, "<p>To go on");
    if (*r->folder) {
        sr_text_add(out, ", in ");
        sr_html_escape(r->folder, out);
    }
    sr_text_add(out, ":</p><pre>");
    sr_html_escape(r->command, out);
    sr_text_add(out, "</pre>\n");
}

static void heading(const SrRunPage *p, SrText *out) {
    sr_text_add(out, "<h1>");
    sr_html_escape(sr_run_page_name(p), out);
    sr_text_printf(out, " <span class=\"pale\">%s</span></h1>\n", p->state);
}

static void live_part(const SrRunPage *p, SrText *out) {
    heading(p, out);
    summary(p, out);
    findings(p, out);
    sr_text_add(out, "<h2>Curves</h2>\n");
    all_curves(&p->history, out);
}

SrStatus sr_run_report_live(const char *run, SrText *out) {
    SrRunPage p;
    SrStatus status = sr_run_page_open(run, &p);
    if (status == SR_OK)
        live_part(&p, out);
    sr_run_page_close(&p);
    return status;
}

static SrStatus whole_page(const char *run, SrText *out) {
    SrRunPage p;
    SrStatus status = sr_run_page_open(run, &p);
    if (status == SR_OK) {
        sr_html_begin(sr_run_page_name(&p), out);
        live_part(&p, out);
        if (p.history.knn || p.history.layers) {
            sr_text_add(out, "<h2>Figures</h2>\n<div class=\"row top\">");
            sr_text_add(out, "<div>");
            figures("kNN, compared with what costs nothing", p.history.knn, out);
            sr_text_add(out, "</div><div>");
            figures("Layers", p.history.layers, out);
            sr_text_add(out, "</div></div>\n");
        }
        status = embed(run, SR_GALLERY_FILE, out);
        configuration(&p, out);
        origin(&p, out);
        sr_html_end(out);
    }
    sr_run_page_close(&p);
    SR_TRY(status);
    return out->failed ? sr_fail(SR_ERR_MEMORY, "out of memory for the page of %s", run) : SR_OK;
}

// Fails if an existing source cannot be read: the earlier page is better than one without that
// source.
SrStatus sr_run_report_write(const char *run) {
    char path[4096];
    SrText page = SR_TEXT_INIT;
    SR_TRY(sr_file_join(path, sizeof path, run, SR_REPORT_FILE));
    SrStatus status = whole_page(run, &page);
    if (status == SR_OK)
        status = sr_file_write(path, page.s, page.len);
    sr_text_deinit(&page);
    return status;
}
