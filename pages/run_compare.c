// The page that compares several runs: curves, a table of results, differences of configurations.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/yaml_edit.h"
#include "pages/config_changes.h"
#include "pages/html.h"
#include "pages/run_page.h"
#include "pages/run_report.h"

enum { MOST = 16 };

typedef struct {
    SrRunPage page[MOST];
    const char *name[MOST]; // names of the folders, or paths if two names are equal
    int n;
} Runs;

static void name_all(Runs *r) {
    for (int i = 0; i < r->n; i++) {
        r->name[i] = sr_run_page_name(&r->page[i]);
        for (int k = 0; k < r->n; k++)
            if (k != i && strcmp(r->name[i], sr_run_page_name(&r->page[k])) == 0)
                r->name[i] = r->page[i].run;
    }
}

// ---- curves -------------------------------------------------------------------------------------

typedef enum { BY_UPDATES, BY_IMAGES, BY_TIME, WAYS } Way;
static const char *const way_names[WAYS] = {"updates", "images seen", "minutes of training"};

static double *positions(const SrRunPage *p, Way way) {
    const SrHistory *h = &p->history;
    double *x = sr_alloc((size_t)h->n_steps * sizeof *x + 1);
    for (int i = 0; x && i < h->n_steps; i++)
        x[i] = way == BY_TIME     ? h->time_s[i] / 60
               : way == BY_IMAGES ? (h->iteration[i] + 1) * (double)p->batch
                                  : h->iteration[i];
    return x;
}

static void chart_of(const Runs *r, const char *key, const char *title, Way way, SrText *out) {
    SrCurve curve[MOST];
    double *x[MOST] = {NULL};
    int n = 0;
    SrChart chart = {title, way_names[way], "", false, false};
    for (int i = 0; i < r->n; i++) {
        const SrSeries *s = sr_history_find(&r->page[i].history, key);
        x[i] = s ? positions(&r->page[i], way) : NULL;
        // A run without this curve keeps its place, so that each run has one colour in all charts.
        curve[n++] = (SrCurve){.name = r->name[i],
                               .x = x[i],
                               .y = s ? s->y : NULL,
                               .n = x[i] ? r->page[i].history.n_steps : 0};
    }
    sr_html_chart(&chart, curve, n, out);
    for (int i = 0; i < r->n; i++)
        sr_free(x[i]);
}

static void probe_chart(const Runs *r, SrText *out) {
    SrCurve curve[MOST];
    double *x[MOST] = {NULL};
    SrChart chart = {"kNN of the probes", "epochs", " %", false, false};
    for (int i = 0; i < r->n; i++) {
        const SrHistory *h = &r->page[i].history;
        int n = 0;
        x[i] = sr_alloc((size_t)(2 * h->n_epochs + 1) * sizeof **x);
        for (int e = 0; x[i] && e < h->n_epochs; e++)
            if (!isnan(h->epoch[e].knn)) {
                x[i][n] = h->epoch[e].epoch + 1;
                x[i][h->n_epochs + n++] = h->epoch[e].knn;
            }
        curve[i] = (SrCurve){.name = r->name[i],
                             .x = x[i],
                             .y = x[i] ? x[i] + h->n_epochs : NULL,
                             .n = n,
                             .dots = true};
    }
    sr_html_chart(&chart, curve, r->n, out);
    for (int i = 0; i < r->n; i++)
        sr_free(x[i]);
}

// ---- tables -------------------------------------------------------------------------------------

// Adds a table cell; NaN gives an empty one.
static void cell(SrText *out, double value, int decimals) {
    if (isnan(value))
        sr_text_add(out, "<td></td>");
    else
        sr_text_printf(out, "<td>%.*f</td>", decimals, value);
}

static void results(const Runs *r, SrText *out) {
    sr_text_add(out, "<h2>Results</h2>\n<div class=\"wide\"><table><tr><th>run</th><th>state</th>"
                     "<th>epochs</th><th>loss</th><th>kNN</th><th>untrained</th><th>pixels</th>"
                     "<th>commonest class</th><th>last probe: kNN</th><th>linear</th>"
                     "<th>images/s</th><th>time</th></tr>\n");
    for (int i = 0; i < r->n; i++) {
        const SrRunPage *p = &r->page[i];
        const SrHistory *h = &p->history;
        char took[48];
        double knn = NAN, linear = NAN;
        for (int e = 0; e < h->n_epochs; e++) {
            knn = isnan(h->epoch[e].knn) ? knn : h->epoch[e].knn;
            linear = isnan(h->epoch[e].linear) ? linear : h->epoch[e].linear;
        }
        sr_text_add(out, "<tr><td>");
        sr_html_escape(r->name[i], out);
        sr_text_printf(out, "</td><td>%s</td><td>%lld/%lld</td>", p->state, (long long)p->done,
                       (long long)p->epochs);
        cell(out, sr_history_last(h, "loss"), 4);
        cell(out, sr_run_report_figure(h->knn, "trained_top1"), 2);
        cell(out, sr_run_report_figure(h->knn, "untrained_top1"), 2);
        cell(out, sr_run_report_figure(h->knn, "pixels_top1"), 2);
        cell(out, sr_run_report_figure(h->knn, "majority_top1"), 2);
        cell(out, knn, 2);
        cell(out, linear, 2);
        cell(out, sr_history_last(h, "images_per_s"), 0);
        sr_text_printf(out, "<td>%s</td></tr>\n",
                       h->n_steps ? sr_duration_text(h->time_s[h->n_steps - 1], took, sizeof took)
                                  : "");
    }
    sr_text_add(out, "</table></div>\n");
}

typedef struct {
    const Runs *runs;
    SrYaml *seen; // keys with a row
    SrArena *arena;
    SrText *out;
} Differences;

// Adds a row for a key at which some run differs from the first.
static SrStatus difference(void *arg, const char *key, const SrYaml *a, const SrYaml *b) {
    Differences *d = arg;
    (void)a, (void)b;
    if (sr_yaml_find(d->seen, key) || strcmp(key, "CHECKPOINT.DIR") == 0)
        return SR_OK;
    SR_TRY(sr_yaml_put(d->arena, d->seen, key, d->seen));
    sr_text_add(d->out, "<tr><td>");
    sr_html_escape(key, d->out);
    sr_text_add(d->out, "</td>");
    for (int i = 0; i < d->runs->n; i++) {
        SrText value = SR_TEXT_INIT;
        const SrYaml *node = sr_yaml_find_path(d->runs->page[i].config, key);
        if (node)
            sr_yaml_print_flow(node, &value);
        sr_text_add(d->out, "<td>");
        sr_html_escape(value.s ? value.s : "", d->out);
        sr_text_add(d->out, "</td>");
        sr_text_deinit(&value);
    }
    sr_text_add(d->out, "</tr>\n");
    return SR_OK;
}

static SrStatus differences(const Runs *r, SrText *out) {
    SrArena arena = SR_ARENA_INIT;
    Differences d = {r, sr_yaml_new(&arena, SR_YAML_MAP, "", 0), &arena, out};
    SrStatus status = d.seen ? SR_OK : sr_fail(SR_ERR_MEMORY, "out of memory for the comparison");
    sr_text_add(
        out, "<h2>Where configurations differ</h2>\n<div class=\"wide\"><table><tr><th>key</th>");
    for (int i = 0; i < r->n; i++) {
        sr_text_add(out, "<th>");
        sr_html_escape(r->name[i], out);
        sr_text_add(out, "</th>");
    }
    sr_text_add(out, "</tr>\n");
    for (int i = 1; i < r->n && status == SR_OK; i++)
        status = sr_config_differ(r->page[0].config, r->page[i].config, &arena, difference, &d);
    sr_text_add(out, "</table></div>\n");
    sr_arena_deinit(&arena);
    return status;
}

static SrStatus compare(Runs *r, SrText *out) {
    name_all(r);
    sr_html_begin("Runs compared", out);
    sr_text_printf(out, "<h1>%d runs</h1>\n", r->n);
    results(r, out);
    sr_text_add(out, "<h2>Curves</h2>\n<div class=\"grid\">\n");
    for (Way way = 0; way < WAYS; way++)
        chart_of(r, "loss", "Loss", way, out);
    probe_chart(r, out);
    chart_of(r, "lr", "Learning rate", BY_UPDATES, out);
    chart_of(r, "images_per_s", "Images a second", BY_TIME, out);
    sr_text_add(out, "</div>\n");
    SR_TRY(differences(r, out));
    sr_html_end(out);
    return out->failed ? sr_fail(SR_ERR_MEMORY, "out of memory for the comparison") : SR_OK;
}

SrStatus sr_run_compare(const char *const *runs, int n, SrText *out) {
    Runs *r = sr_calloc(1, sizeof *r);
    SrStatus status = SR_OK;
    if (!r)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for the comparison");
    if (n > MOST)
        status =
            sr_fail(SR_ERR_CONFIG, "%d runs on one page; at most %d can be told apart", n, MOST);
    for (; r->n < n && status == SR_OK; r->n++)
        status = sr_run_page_open(runs[r->n], &r->page[r->n]);
    if (status == SR_OK)
        status = compare(r, out);
    for (int i = 0; i < r->n; i++)
        sr_run_page_close(&r->page[i]);
    sr_free(r);
    return status;
}
