// The page of a run, made from the files of its folder: the answer first, then layers and the
// gallery; findings, curves, configuration and origin are folded.
#include "pages/runs/run_report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "base/text/yaml_edit.h"
#include "base/text/yaml_print.h"
#include "base/version.h"
#include "pages/html.h"
#include "pages/photos/image_gallery.h"
#include "pages/runs/run_answer.h"
#include "pages/runs/run_curves.h"
#include "pages/runs/run_page.h"
#include "pages/runs/run_record.h"
#include "pages/runs/run_verdict.h"
#include "trainer/run/meters/progress.h"

enum { MAX_FILE = 64 << 20 };

// ---- words --------------------------------------------------------------------------------------

static void fact(SrText *out, const char *name, const char *fmt, ...) SR_PRINTF(3, 4);
static void fact(SrText *out, const char *name, const char *fmt, ...) {
    char value[1024];
    va_list args;
    va_start(args, fmt);
    sr_number_vprint(value, sizeof value, fmt, args);
    va_end(args);
    sr_text_add(out, "<tr><th scope=\"row\">");
    sr_html_escape(name, out);
    sr_text_add(out, "</th><td>");
    sr_html_escape(value, out);
    sr_text_add(out, "</td></tr>\n");
}

// Writes one line on the run: its method, its trunk, how far it is.
static void add_meta(const SrRunPage *p, SrText *out) {
    const SrHistory *h = &p->history;
    char text[48];
    const char *loss = sr_tree_text(p->config, "LOSS.name", "");
    int n = (int)(strlen(loss) - (sr_text_ends(loss, "_loss") ? strlen("_loss") : 0));
    sr_text_add(out, "<p class=\"meta\">");
    if (n > 0)
        sr_html_text(out, "%.*s on %s, ", n, loss,
                     sr_tree_text(p->config, "MODEL.TRUNK.NAME", "?"));
    sr_html_text(out, "%lld of %lld epochs", (long long)p->done, (long long)p->epochs);
    if (h->n_steps)
        sr_html_text(out, " in %s", sr_duration_text(sr_history_seconds(h), text, sizeof text));
    if (strcmp(p->state, "training") == 0 && !isnan(sr_history_last(h, "eta_s")))
        sr_html_text(out, ", %s left",
                     sr_duration_text(sr_history_last(h, "eta_s"), text, sizeof text));
    sr_text_add(out, "</p>\n");
}

static void facts(const SrRunPage *p, SrText *out) {
    const SrHistory *h = &p->history;
    char rate[24];
    const SrSeries *loss = sr_history_find(h, "loss");
    if (!h->n_steps)
        return;
    fact(out, "updates", "%.0f, each of %lld images", h->iteration[h->n_steps - 1] + 1,
         (long long)p->batch);
    if (loss)
        fact(out, "loss", "%.4f at first, %.4f at last", loss->y[0], sr_history_last(h, "loss"));
    fact(out, "images a second", "%s; %.0f %% of the time went into waiting for images",
         sr_rate_text(sr_history_last(h, "images_per_s"), rate, sizeof rate),
         100 * sr_history_last(h, "data_wait"));
}

// ---- findings -----------------------------------------------------------------------------------

// True: the loss of the last tenth of the updates is above that of the first tenth.
static bool loss_rose(const SrHistory *h) {
    const SrSeries *loss = sr_history_find(h, "loss");
    double first = 0, last = 0;
    for (int i = 0; loss && i < h->n_steps / 10; i++) {
        first += loss->y[i];
        last += loss->y[h->n_steps - 1 - i];
    }
    return h->n_steps > 20 && last > first;
}

// A warning that ends in a colon is followed by the items that it announces.
static void add_warnings(const SrHistory *h, int *n, SrText *out) {
    bool within = false;
    for (int i = 0; i < h->n_warnings; i++) {
        const char *text = h->warning[i] ? h->warning[i] : "";
        bool item = within && strchr(text, '/') && !strchr(text, ' ');
        within = item || sr_text_ends(text, ":");
        sr_text_add(out, item ? "<br>" : *n ? "</li>\n<li>" : "<li>");
        sr_html_escape(text, out);
        if (h->times[i] > 1)
            sr_text_printf(out, " <span class=\"pale\">(%d times)</span>", h->times[i]);
        *n += !item;
    }
    sr_text_add(out, h->n_warnings ? "</li>\n" : "");
}

// Lists findings of the curves and warnings of the log; the verdict counts as a finding.
static void findings(const SrRunPage *p, SrText *out) {
    const SrHistory *h = &p->history;
    const SrSeries *wait = sr_history_find(h, "data_wait");
    SrText verdict = SR_TEXT_INIT, list = SR_TEXT_INIT;
    double waited = 0;
    int n = 0;
    if (sr_run_verdict(h, &verdict) > SR_VERDICT_HELPED) {
        sr_text_printf(&list, "<li class=\"bad\">%s</li>\n",
                       sr_run_verdict_words(sr_run_verdict(h, &verdict)));
        n++;
    }
    sr_text_deinit(&verdict);
    if (sr_run_change(h, &verdict) > SR_VERDICT_HELPED) {
        sr_text_add(&list, "<li class=\"bad\">");
        sr_html_escape(verdict.s ? verdict.s : "", &list);
        sr_text_add(&list, "</li>\n");
        n++;
    }
    for (int i = 0; wait && i < h->n_steps; i++)
        waited += wait->y[i] / h->n_steps;
    if (waited > 0.3) {
        sr_text_printf(&list,
                       "<li>The step waits for images %.0f\u00a0%% of the time: more "
                       "DATA.NUM_DATALOADER_WORKERS, smaller files or DATA.TRAIN.PIXELS=fast would "
                       "make it faster.</li>\n",
                       100 * waited);
        n++;
    }
    if (loss_rose(h)) {
        sr_text_add(&list, "<li class=\"bad\">The loss of the last tenth of the updates is above "
                           "that of the first tenth.</li>\n");
        n++;
    }
    int before = n;
    SrText warnings = SR_TEXT_INIT;
    n = 0;
    add_warnings(h, &n, &warnings);
    n += before;
    sr_text_printf(out, "<details%s><summary><h2>Findings</h2> %s</summary>\n<ul>\n",
                   n > 0 && n <= 6 ? " open" : "", n ? "" : "none");
    sr_text_add(out, list.s ? list.s : "");
    sr_text_add(out, warnings.s ? warnings.s : "");
    if (n == 0)
        sr_text_add(out, "<li class=\"ok\">No problems detected.</li>\n");
    sr_text_add(out, "</ul></details>\n");
    out->failed = out->failed || list.failed || warnings.failed;
    sr_text_deinit(&verdict);
    sr_text_deinit(&list);
    sr_text_deinit(&warnings);
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
    sr_text_printf(out, "<h3>%s</h3><pre tabindex=\"0\">", title);
    for (int i = 0; i < lines->n; i++) {
        sr_html_escape(lines->v[i], out);
        sr_text_add(out, "\n");
    }
    sr_text_add(out, "</pre>\n");
}

static void configuration(const SrRunPage *p, SrText *out) {
    const SrRunRecord *r = &p->record;
    SrText text = SR_TEXT_INIT;
    sr_text_add(out,
                "<details><summary><h2>Configuration</h2> every key as it was used</summary>\n");
    list_of("Keys that differ from the file", &r->changed, out);
    if (p->config) {
        sr_yaml_print(p->config, &text);
        sr_text_add(out, "<h3>All keys</h3><pre tabindex=\"0\">");
        sr_html_escape(text.s ? text.s : "", out);
        sr_text_add(out, "</pre>\n");
        out->failed = out->failed || text.failed;
        sr_text_deinit(&text);
    }
    sr_text_add(out, "</details>\n");
}

static void add_command(const SrRunRecord *r, SrText *out) {
    if (!*r->command)
        return;
    sr_text_add(out, "<h3>The command that continues this run</h3>\n<pre tabindex=\"0\">");
    if (*r->folder) {
        sr_text_add(out, "cd ");
        SrText word = SR_TEXT_INIT;
        sr_text_add_word(&word, r->folder);
        sr_html_escape(word.s ? word.s : "", out);
        out->failed = out->failed || word.failed;
        sr_text_deinit(&word);
        sr_text_add(out, "\n");
    }
    sr_html_escape(r->command, out);
    sr_text_add(out, "</pre>\n");
}

static void origin(const SrRunPage *p, SrText *out) {
    const SrRunRecord *r = &p->record;
    char started[64] = "";
    time_t at = (time_t)r->started;
    struct tm tm;
    if (r->started && localtime_r(&at, &tm))
        strftime(started, sizeof started, "%Y-%m-%d %H:%M", &tm);
    sr_text_add(out, "<details><summary><h2>Where it comes from</h2> machine, version, how to "
                     "continue</summary>\n<div class=\"wide\"><table><tbody>\n");
    facts(p, out);
    if (*r->config)
        fact(out, "file", "%s", r->config);
    if (*started)
        fact(out, "last start", "%s", started);
    if (*r->machine)
        fact(out, "machine", "%s, %d threads, kernels %s", r->machine, r->threads, r->kernels);
    fact(out, "version", "sslrun %s (this page: " SR_VERSION ")", *r->version ? r->version : "?");
    fact(out, "folder", "%s", p->run);
    sr_text_add(out, "</tbody></table></div>\n");
    add_command(r, out);
    sr_text_add(out, "</details>\n");
}

static void heading(const SrRunPage *p, SrText *out) {
    sr_text_add(out, "<h1>");
    sr_html_escape(sr_run_page_name(p), out);
    sr_text_printf(out, " <span class=\"pale\">%s</span></h1>\n", p->state);
    add_meta(p, out);
    sr_run_answer(p, out);
}

// Appends the curves over updates, folded unless they are what a reader waits for.
static void curves(const SrRunPage *p, bool open, SrText *out) {
    sr_text_printf(out,
                   "<details%s><summary><h2>Curves</h2> loss, learning rate, gradient, "
                   "speed</summary>\n",
                   open ? " open" : "");
    sr_run_step_curves(&p->history, out);
    sr_text_add(out, "</details>\n");
}

SrStatus sr_run_report_live(const char *run, SrText *out, bool *finished) {
    SrRunPage p;
    SrStatus status = sr_run_page_open(run, &p);
    if (status == SR_OK) {
        *finished = strcmp(p.state, "finished") == 0;
        heading(&p, out);
        findings(&p, out);
        curves(&p, true, out);
    }
    sr_run_page_close(&p);
    return status;
}

static SrStatus whole_page(const char *run, SrText *out) {
    SrRunPage p;
    SrStatus status = sr_run_page_open(run, &p);
    if (status == SR_OK) {
        sr_html_begin(sr_run_page_name(&p), out);
        heading(&p, out);
        status = embed(run, SR_GALLERY_FILE, out);
        findings(&p, out);
        curves(&p, !p.history.knn && !p.history.layers, out);
        configuration(&p, out);
        origin(&p, out);
        sr_html_end(out);
    }
    sr_run_page_close(&p);
    SR_TRY(status);
    return out->failed ? sr_out_of_memory("the page of %s", run) : SR_OK;
}

// Fails if an existing source cannot be read: the earlier page is better than one without that
// source.
SrStatus sr_run_report_write(const char *run) {
    char path[4096];
    SrText page = SR_TEXT_INIT;
    SR_TRY(sr_file_join(path, sizeof path, run, SR_REPORT_FILE));
    SrStatus status = whole_page(run, &page);
    if (status == SR_OK)
        status = sr_file_write_text(path, &page);
    sr_text_deinit(&page);
    return status;
}
