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

static void add_number(int decimals, double value, SrText *out) {
    sr_text_add(out, "<td>");
    if (!isnan(value))
        sr_text_printf(out, "%.*f", decimals, value);
    sr_text_add(out, "</td>");
}

static double last_probe(const SrHistory *h) {
    double knn = NAN;
    for (int i = 0; i < h->n_epochs; i++)
        knn = isnan(h->epoch[i].knn) ? knn : h->epoch[i].knn;
    return isnan(knn) ? sr_run_report_figure(h->knn, "trained_top1") : knn;
}

static void add_run(const SrRunPage *p, const char *name, const char *token, SrText *out) {
    const SrHistory *h = &p->history;
    char left[48] = "";
    bool training = strcmp(p->state, "training") == 0;
    int percent = p->epochs > 0 ? (int)(100 * p->done / p->epochs) : 0;
    if (training && !isnan(sr_history_last(h, "eta_s")))
        sr_duration_text(sr_history_last(h, "eta_s"), left, sizeof left);
    sr_text_add(out, "<tr><td><a href=\"");
    add_link("/run", name, token, out);
    sr_text_add(out, "\">");
    sr_html_escape(name, out);
    sr_text_printf(
        out,
        "</a></td><td>%s</td><td><span class=\"bar\"><b style=\"width:%d%%\"></b></span> "
        "%lld/%lld</td><td>%s</td>",
        p->state, SR_MIN(percent, 100), (long long)p->done, (long long)p->epochs, left);
    add_number(4, sr_history_last(h, "loss"), out);
    add_number(0, sr_history_last(h, "images_per_s"), out);
    add_number(2, last_probe(h), out);
    sr_text_printf(out, "<td>%d</td><td>", h->n_warnings);
    if (training)
        add_form("stop", name, token, out);
    else if (strcmp(p->state, "stopped") == 0)
        add_form("continue", name, token, out);
    sr_text_add(out, "</td></tr>\n");
}

static SrStatus add_table(const SrRegistry *r, const char *token, SrText *out) {
    sr_text_add(
        out, "<div class=\"wide\"><table><tr><th>run</th><th>state</th><th>epochs</th><th>left</th>"
             "<th>loss</th><th>images/s</th><th>kNN %</th><th>warnings</th><th></th></tr>\n");
    for (int64_t i = 0; i < r->names.n; i++) {
        const char *name = sr__string_list_get(&r->names, i);
        char path[4096];
        SrRunPage p;
        SR_TRY(sr_file_join(path, sizeof path, r->root, name));
        if (sr_run_page_open(path, &p) == SR_OK) // the run may be gone by now
            add_run(&p, name, token, out);
        sr_run_page_close(&p);
    }
    sr_text_printf(out, "</table></div>\n<p class=\"pale\">%lld run%s</p>\n", (long long)r->names.n,
                   r->names.n == 1 ? "" : "s");
    return SR_OK;
}

SrStatus sr_web_live(const SrRegistry *r, const char *run, const char *name, const char *token,
                     SrText *out) {
    if (!run)
        return add_table(r, token, out);
    SR_TRY(sr_run_report_live(run, out));
    sr_text_add(out, "<p>");
    if (sr_run_is_live(run))
        add_form("stop", name, token, out);
    else
        add_form("continue", name, token, out);
    sr_text_add(out, "</p>\n");
    return SR_OK;
}

// Begins the page; without script it reloads itself at intervals.
static void begin(const char *title, SrText *out) {
    sr_html_begin(title, out);
    sr_text_add(out, "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>\n");
}

static void end(const char *events, const char *name, const char *token, SrText *out) {
    sr_text_add(out, "</div>\n<script>(function(){var s=new EventSource(\"");
    sr_text_add(out, events);
    if (name || token)
        sr_text_printf(out, "?%s", name ? "id=" : "");
    if (name)
        add_address(name, out);
    if (token) {
        sr_text_add(out, name ? "&token=" : "token=");
        add_address(token, out);
    }
    sr_text_add(
        out, "\");s.onmessage=function(e){var l=document.getElementById('live');l.innerHTML=e.data;"
             "l.dataset.updates=1+(+l.dataset.updates||0);};})();</script>\n");
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
    sr_text_add(out, "<div id=\"live\">\n");
    SR_TRY(add_table(r, token, out));
    end("/events", NULL, token, out);
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
    sr_text_add(out, "\">report</a></p>\n<div id=\"live\">\n");
    SR_TRY(sr_web_live(NULL, run, name, token, out));
    end("/events", name, token, out);
    return SR_OK;
}
