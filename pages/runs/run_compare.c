// The page that compares several runs: curves, a table of results, differences of configurations.
#include "pages/runs/run_compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/yaml_edit.h"
#include "base/text/yaml_print.h"
#include "measure/mean_deviation.h"
#include "pages/chart.h"
#include "pages/html.h"
#include "pages/runs/config_changes.h"
#include "pages/runs/run_page.h"
#include "pages/runs/run_verdict.h"

enum { MOST = 16 };

typedef struct {
    SrRunPage page[MOST];
    const char *name[MOST]; // names of the folders, or paths if two names are equal
    int group[MOST];        // first run with the same configuration but for seeds and folders
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
static const char *const loss_titles[WAYS] = {"Loss over updates", "Loss over images seen",
                                              "Loss over minutes of training"};

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
        out->failed = out->failed || (s && !x[i]);
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
    SrChart chart = {"kNN of the probes over epochs", "epochs", " %", false, false};
    for (int i = 0; i < r->n; i++) {
        const SrHistory *h = &r->page[i].history;
        int n = 0;
        x[i] = sr_alloc((size_t)(2 * h->n_epochs + 1) * sizeof **x);
        out->failed = out->failed || !x[i];
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

// ---- groups -------------------------------------------------------------------------------------

// Keys that do not make two configurations different: seeds, and where a run keeps its files.
static bool is_same_recipe(const char *key) {
    static const char *const keys[] = {"CHECKPOINT.DIR", "SEED_VALUE", "MODEL._MODEL_INIT_SEED"};
    for (int i = 0; i < SR_COUNT(keys); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static SrStatus count_difference(void *arg, const char *key, const SrYaml *a, const SrYaml *b) {
    (void)a, (void)b;
    *(int *)arg += !is_same_recipe(key);
    return SR_OK;
}

static SrStatus find_groups(Runs *r) {
    SrArena arena = SR_ARENA_INIT;
    SrStatus status = SR_OK;
    for (int i = 0; i < r->n; i++) {
        r->group[i] = i;
        for (int k = 0; k < i && r->group[i] == i && status == SR_OK; k++) {
            int differences = !r->page[i].config || !r->page[k].config;
            status = sr_config_differ(r->page[k].config, r->page[i].config, &arena,
                                      count_difference, &differences);
            if (differences == 0)
                r->group[i] = r->group[k];
        }
    }
    sr_arena_deinit(&arena);
    return status;
}

// ---- figures ------------------------------------------------------------------------------------

typedef double (*Figure)(const SrRunPage *p);

static double last_of(const SrHistory *h, bool linear) {
    double last = NAN;
    for (int e = 0; e < h->n_epochs; e++) {
        double v = linear ? h->epoch[e].linear : h->epoch[e].knn;
        last = isnan(v) ? last : v;
    }
    return last;
}

// Returns the figures of the evaluation; without one, all are NaN.
static SrRunScores scores(const SrRunPage *p) {
    SrRunScores s;
    if (!sr_run_scores(&p->history, &s))
        s = (SrRunScores){
            .probe = {NAN, NAN, NAN}, .knn = {NAN, NAN, NAN}, .majority = NAN, .layer = ""};
    return s;
}

static double probe(const SrRunPage *p) { return scores(p).probe.trained; }
static double probe_untrained(const SrRunPage *p) { return scores(p).probe.untrained; }
static double probe_pixels(const SrRunPage *p) { return scores(p).probe.pixels; }
static double knn(const SrRunPage *p) { return scores(p).knn.trained; }
static double knn_untrained(const SrRunPage *p) { return scores(p).knn.untrained; }
static double knn_pixels(const SrRunPage *p) { return scores(p).knn.pixels; }
static double majority(const SrRunPage *p) { return scores(p).majority; }
static double last_knn(const SrRunPage *p) { return last_of(&p->history, false); }
static double last_linear(const SrRunPage *p) { return last_of(&p->history, true); }
static double loss(const SrRunPage *p) { return sr_history_last(&p->history, "loss"); }
static double speed(const SrRunPage *p) { return sr_history_last(&p->history, "images_per_s"); }
static double minutes(const SrRunPage *p) {
    return p->history.n_steps ? sr_history_seconds(&p->history) / 60 : NAN;
}

typedef struct {
    const char *title;
    int decimals;
    Figure of;
    bool own; // differs between seeds, so that it has a mean and a spread
} Column;

static const Column columns[] = {
    {"probe", 2, probe, true},
    {"probe, untrained", 2, probe_untrained, false},
    {"probe, pixels", 2, probe_pixels, false},
    {"kNN", 2, knn, true},
    {"kNN, untrained", 2, knn_untrained, false},
    {"kNN, pixels", 2, knn_pixels, false},
    {"commonest class", 2, majority, false},
    {"last probe, kNN", 2, last_knn, true},
    {"last probe, linear", 2, last_linear, true},
    {"loss", 4, loss, true},
    {"images/s", 0, speed, false},
    {"minutes", 1, minutes, true},
};

static bool has_figure(const Runs *r, Figure of) {
    for (int i = 0; i < r->n; i++)
        if (!isnan(of(&r->page[i])))
            return true;
    return false;
}

// Adds a table cell; NaN gives an empty one.
static void cell(SrText *out, double value, int decimals) {
    if (isnan(value))
        sr_text_add(out, "<td></td>");
    else
        sr_text_printf(out, "<td>%.*f</td>", decimals, value);
}

static void results(const Runs *r, SrText *out) {
    sr_text_add(
        out, "<h2>Results</h2>\n<p class=\"pale\">Figures of the evaluation are those of "
             "each run's best layer, per cent; a column that no run has is left out.</p>\n"
             "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">run</th><th "
             "scope=\"col\">state</th><th scope=\"col\">epochs</th><th scope=\"col\">best "
             "layer</th>");
    for (int c = 0; c < SR_COUNT(columns); c++)
        if (has_figure(r, columns[c].of))
            sr_text_printf(out, "<th scope=\"col\">%s</th>", columns[c].title);
    sr_text_add(out, "</tr></thead><tbody>\n");
    for (int i = 0; i < r->n; i++) {
        const SrRunPage *p = &r->page[i];
        sr_text_add(out, "<tr><th scope=\"row\">");
        sr_html_escape(r->name[i], out);
        sr_text_printf(out, "</th><td>%s</td><td>%lld/%lld</td><td>", p->state, (long long)p->done,
                       (long long)p->epochs);
        sr_html_escape(scores(p).layer, out);
        sr_text_add(out, "</td>");
        for (int c = 0; c < SR_COUNT(columns); c++)
            if (has_figure(r, columns[c].of))
                cell(out, columns[c].of(p), columns[c].decimals);
        sr_text_add(out, "</tr>\n");
    }
    sr_text_add(out, "</tbody></table></div>\n");
}

// Adds mean and deviation of a figure over the runs of a group that have it.
static void add_spread(const Runs *r, int group, const Column *c, SrText *out) {
    double value[MOST];
    int n = 0;
    for (int i = 0; i < r->n; i++) {
        double v = c->of(&r->page[i]);
        if (r->group[i] == group && !isnan(v))
            value[n++] = v;
    }
    if (n == 0) {
        sr_text_add(out, "<td></td>");
        return;
    }
    SrMeanDeviation s = sr_mean_deviation(value, n);
    if (n == 1)
        cell(out, s.mean, c->decimals);
    else
        sr_text_printf(out, "<td>%.*f\u00a0±\u00a0%.*f</td>", c->decimals, s.mean, c->decimals,
                       s.deviation);
}

// Names a configuration: a sweep, or the first of its runs.
static void add_group(const char *name, int runs, SrText *out) {
    int n = runs > 1 ? sr_run_sweep_length(name) : -1;
    sr_html_text(out, "%.*s", n > 0 ? n : (int)strlen(name), name);
}

// Adds mean and spread over seeds, if some configuration has several runs.
static void over_seeds(const Runs *r, SrText *out) {
    int size[MOST] = {0}, groups = 0, most = 0;
    for (int i = 0; i < r->n; i++) {
        groups += size[r->group[i]]++ == 0;
        most = SR_MAX(most, size[r->group[i]]);
    }
    if (most < 2)
        return;
    sr_text_printf(out,
                   "<h2>Mean and spread over seeds</h2>\n<p class=\"pale\">%d configuration%s; "
                   "± is the standard deviation over the runs of one.</p>\n",
                   groups, groups == 1 ? "" : "s");
    sr_text_add(
        out, "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">configuration "
             "of</th><th scope=\"col\">runs</th>");
    for (int c = 0; c < SR_COUNT(columns); c++)
        if (columns[c].own && has_figure(r, columns[c].of))
            sr_text_printf(out, "<th scope=\"col\">%s</th>", columns[c].title);
    sr_text_add(out, "</tr></thead><tbody>\n");
    for (int g = 0; g < r->n; g++) {
        if (r->group[g] != g)
            continue;
        sr_text_add(out, "<tr><th scope=\"row\">");
        add_group(r->name[g], size[g], out);
        sr_text_printf(out, "</th><td>%d</td>", size[g]);
        for (int c = 0; c < SR_COUNT(columns); c++)
            if (columns[c].own && has_figure(r, columns[c].of))
                add_spread(r, g, &columns[c], out);
        sr_text_add(out, "</tr>\n");
    }
    sr_text_add(out, "</tbody></table></div>\n");
}

// Warns if two runs learned from or are judged on different images.
static void warn_of_data(const Runs *r, SrText *out) {
    static const char *const keys[] = {"DATA.TRAIN.DATA_PATHS", "DATA.TRAIN.DATA_LIMIT",
                                       "DATA.TEST.DATA_PATHS", "DATA.TEST.DATA_LIMIT"};
    for (int i = 1; i < r->n; i++)
        for (int k = 0; k < SR_COUNT(keys); k++) {
            const SrYaml *a = sr_yaml_find_path(r->page[0].config, keys[k]);
            const SrYaml *b = sr_yaml_find_path(r->page[i].config, keys[k]);
            if (!r->page[0].config || !r->page[i].config || sr_yaml_equal(a, b))
                continue;
            sr_text_add(out, "<p class=\"verdict bad\"><strong>The runs do not have the same "
                             "images.</strong> ");
            sr_html_text(out,
                         "%s differs between %s and %s: their figures say nothing about "
                         "which recipe is better.",
                         keys[k], r->name[0], r->name[i]);
            sr_text_add(out, "</p>\n");
            return;
        }
}

// ---- differences --------------------------------------------------------------------------------

typedef struct {
    const Runs *runs;
    SrYaml *seen; // keys with a row
    SrArena *arena;
    SrText *out;
} Differences;

// Adds a key, which may break after a dot or an underscore.
static void add_key(const char *key, SrText *out) {
    for (const char *at = key; *at;) {
        size_t n = strcspn(at, "._");
        n += at[n] ? 1 : 0;
        sr_html_text(out, "%.*s", (int)n, at);
        at += n;
        sr_text_add(out, *at ? "<wbr>" : "");
    }
}

// Adds a row for a key at which some run differs from the first.
static SrStatus difference(void *arg, const char *key, const SrYaml *a, const SrYaml *b) {
    Differences *d = arg;
    (void)a, (void)b;
    if (sr_yaml_find(d->seen, key) || (is_same_recipe(key) && strcmp(key, "SEED_VALUE") != 0))
        return SR_OK;
    SR_TRY(sr_yaml_put(d->arena, d->seen, key, d->seen));
    sr_text_add(d->out, "<tr><th scope=\"row\">");
    add_key(key, d->out);
    sr_text_add(d->out, "</th>");
    for (int i = 0; i < d->runs->n; i++) {
        SrText value = SR_TEXT_INIT;
        const SrYaml *node = sr_yaml_find_path(d->runs->page[i].config, key);
        if (node)
            sr_yaml_print_flow(node, &value);
        sr_text_add(d->out, "<td>");
        sr_html_escape(value.s ? value.s : "", d->out);
        sr_text_add(d->out, "</td>");
        d->out->failed = d->out->failed || value.failed;
        sr_text_deinit(&value);
    }
    sr_text_add(d->out, "</tr>\n");
    return SR_OK;
}

static SrStatus differences(const Runs *r, SrText *out) {
    SrArena arena = SR_ARENA_INIT;
    Differences d = {r, sr_yaml_new(&arena, SR_YAML_MAP, "", 0), &arena, out};
    SrStatus status = d.seen ? SR_OK : sr_out_of_memory("the comparison");
    sr_text_add(out, "<h2>Where configurations differ</h2>\n<div class=\"wide\" "
                     "tabindex=\"0\"><table class=\"differences\"><thead><tr>"
                     "<th scope=\"col\">key</th>");
    for (int i = 0; i < r->n; i++) {
        sr_text_add(out, "<th scope=\"col\">");
        sr_html_escape(r->name[i], out);
        sr_text_add(out, "</th>");
    }
    sr_text_add(out, "</tr></thead><tbody>\n");
    for (int i = 1; i < r->n && status == SR_OK; i++)
        status = sr_config_differ(r->page[0].config, r->page[i].config, &arena, difference, &d);
    sr_text_add(out, "</tbody></table></div>\n");
    sr_arena_deinit(&arena);
    return status;
}

static SrStatus compare(Runs *r, SrText *out) {
    char title[64];
    name_all(r);
    SR_TRY(find_groups(r));
    snprintf(title, sizeof title, "%d runs compared", r->n);
    sr_html_begin(title, out);
    sr_text_printf(out, "<h1>%s</h1>\n", title);
    warn_of_data(r, out);
    over_seeds(r, out);
    results(r, out);
    sr_text_add(out, "<h2>Curves</h2>\n<div class=\"grid\">\n");
    for (Way way = 0; way < WAYS; way++)
        chart_of(r, "loss", loss_titles[way], way, out);
    probe_chart(r, out);
    chart_of(r, "lr", "Learning rate over updates", BY_UPDATES, out);
    chart_of(r, "images_per_s", "Images a second over minutes of training", BY_TIME, out);
    sr_text_add(out, "</div>\n");
    SR_TRY(differences(r, out));
    sr_html_end(out);
    return out->failed ? sr_out_of_memory("the comparison") : SR_OK;
}

SrStatus sr_run_compare(const char *const *runs, int n, SrText *out) {
    Runs *r = sr_calloc(1, sizeof *r);
    SrStatus status = SR_OK;
    SR_TRY_MEMORY(r, "the comparison");
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
