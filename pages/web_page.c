// HTML of the live page: the table of runs, the page of one run, and their forms.
#include "pages/web_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "pages/html.h"
#include "pages/run_page.h"
#include "pages/run_report.h"
#include "pages/run_verdict.h"

// Appends s for an address: escapes all but letters, digits and a few marks.
static void add_address(const char *s, SrText *out) {
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("-_.~", c);
        if (plain)
            sr_text_addn(out, s, 1);
        else
            sr_text_printf(out, "%%%02X", c);
    }
}

static void add_link(const char *page, const char *name, const char *token, SrText *out) {
    sr_text_printf(out, "%s?id=", page);
    add_address(name, out);
    if (token) {
        sr_text_add(out, "&amp;token=");
        add_address(token, out);
    }
}

void sr_web_report_address(const char *name, SrText *out) { add_link("/report", name, NULL, out); }

static void add_form(const char *action, const char *name, const char *token, SrText *out) {
    if (!token)
        return;
    sr_text_add(out, "<form method=\"post\" style=\"display:inline\" action=\"/");
    add_link(action, name, token, out);
    sr_text_printf(out, "\"><button>%s</button></form>", action);
}

// ---- a run in the list --------------------------------------------------------------------------

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

// Adds name, state, how far the run is, and the attributes by which live.js sorts.
static void add_head(const SrRunPage *p, const char *name, const char *token, SrText *out) {
    const SrHistory *h = &p->history;
    char left[48] = "";
    int percent = p->epochs > 0 ? (int)(100 * p->done / p->epochs) : 0;
    if (strcmp(p->state, "training") == 0 && !isnan(sr_history_last(h, "eta_s")))
        sr_duration_text(sr_history_last(h, "eta_s"), left, sizeof left);
    sr_text_printf(out,
                   "<li class=\"run\" data-state=\"%s\" data-knn=\"%.4f\" "
                   "data-minusloss=\"%.6f\" data-name=\"",
                   p->state, sr_run_last_probe(h), -sr_history_last(h, "loss"));
    sr_html_escape(name, out);
    sr_text_add(out, "\"><h2 class=\"name\"><a href=\"");
    add_link("/run", name, token, out);
    sr_text_add(out, "\">");
    sr_html_escape(name, out);
    sr_text_printf(out,
                   "</a></h2><p>%s <span class=\"bar own progress\"><b style=\"width:%d%%\"></b>"
                   "</span> %lld/%lld<small>%s%s</small></p>",
                   p->state, SR_MIN(percent, 100), (long long)p->done, (long long)p->epochs, left,
                   *left ? " left" : "");
}

static void add_run(const SrRunPage *p, const char *name, const char *token, SrText *out) {
    const SrHistory *h = &p->history;
    add_head(p, name, token, out);
    sr_text_add(out, "<div class=\"spark\">");
    add_curve(h, out);
    sr_text_add(out, "</div>");
    add_figure("kNN", 1, " %", sr_run_last_probe(h), out);
    add_figure("loss", 4, "", sr_history_last(h, "loss"), out);
    sr_text_add(out, "<div class=\"act\">");
    if (strcmp(p->state, "training") == 0)
        add_form("stop", name, token, out);
    else if (strcmp(p->state, "stopped") == 0)
        add_form("continue", name, token, out);
    sr_text_add(out, "</div>");
    add_say(h, out);
    sr_text_add(out, "</li>\n");
}

static SrStatus add_list(const SrRegistry *r, const char *token, SrText *out) {
    sr_text_add(out, "<ul class=\"runs\">\n");
    for (int64_t i = 0; i < r->names.n; i++) {
        const char *name = sr__string_list_get(&r->names, i);
        char path[4096];
        SrRunPage p;
        SR_TRY(sr_file_join(path, sizeof path, r->root, name));
        if (sr_run_page_open(path, &p) == SR_OK) // the run may be gone by now
            add_run(&p, name, token, out);
        sr_run_page_close(&p);
    }
    sr_text_printf(out, "</ul>\n<p class=\"pale\">%lld run%s</p>\n", (long long)r->names.n,
                   r->names.n == 1 ? "" : "s");
    return SR_OK;
}

// ---- pages --------------------------------------------------------------------------------------

SrStatus sr_web_live(const SrRegistry *r, const char *run, const char *name, const char *token,
                     SrText *out) {
    if (!run)
        return add_list(r, token, out);
    sr_text_add(out, "<p>");
    if (sr_run_is_live(run))
        add_form("stop", name, token, out);
    else
        add_form("continue", name, token, out);
    sr_text_add(out, "</p>\n");
    return sr_run_report_live(run, out);
}

// Begins the page; without script it reloads itself at intervals.
static void begin(const char *title, SrText *out) {
    sr_html_begin(title, out);
    sr_text_add(out, "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>\n");
}

// Begins the part that new figures replace; live.js reads their address from it.
static void begin_live(const char *name, const char *token, SrText *out) {
    sr_text_printf(out, "<div id=\"live\" data-events=\"/events%s", name ? "?id=" : "");
    if (name)
        add_address(name, out);
    if (token) {
        sr_text_add(out, name ? "&amp;token=" : "?token=");
        add_address(token, out);
    }
    sr_text_add(out, "\">\n");
}

static void end(SrText *out) {
    sr_text_add(out, "</div>\n");
    sr_html_live_script(out);
    sr_html_end(out);
}

SrStatus sr_web_index(const SrRegistry *r, const char *token, SrText *out) {
    begin("Runs", out);
    sr_text_add(out, "<h1>Runs below ");
    sr_html_escape(r->root, out);
    sr_text_add(out, "</h1>\n");
    if (!token)
        sr_text_add(
            out,
            "<p class=\"pale\">To stop and continue runs, open the address with the token that "
            "`sslrun web` printed.</p>\n");
    sr_text_add(out, "<div id=\"tools\" class=\"tools\"></div>\n");
    begin_live(NULL, token, out);
    SR_TRY(add_list(r, token, out));
    end(out);
    return SR_OK;
}

SrStatus sr_web_run(const char *run, const char *name, const char *token, SrText *out) {
    begin(name, out);
    sr_text_add(out, "<p><a href=\"/");
    if (token) {
        sr_text_add(out, "?token=");
        add_address(token, out);
    }
    sr_text_add(out, "\">all runs</a> <a href=\"");
    sr_web_report_address(name, out);
    sr_text_add(out, "\">report</a></p>\n");
    begin_live(name, token, out);
    SR_TRY(sr_web_live(NULL, run, name, token, out));
    end(out);
    return SR_OK;
}
