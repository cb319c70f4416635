// HTML of the live page: the page of all runs, and the page of one run.
#include "pages/web/web_page.h"

#include "pages/html.h"
#include "pages/runs/run_page.h"
#include "pages/runs/run_report.h"
#include "pages/web/web_links.h"
#include "pages/web/web_list.h"

void sr_web_report_address(const char *name, SrText *out) {
    sr_web_link("/report", name, NULL, out);
}

// ---- pages --------------------------------------------------------------------------------------

SrStatus sr_web_live(const SrRegistry *r, const char *run, const char *name, const char *token,
                     SrText *out) {
    if (!run)
        return sr_web_list(r, token, out);
    SrText report = SR_TEXT_INIT;
    bool finished = false;
    SrStatus status = sr_run_report_live(run, &report, &finished);
    sr_text_add(out, "<p>");
    if (sr_run_is_live(run))
        sr_web_form("stop", name, token, out);
    else if (!finished)
        sr_web_form("continue", name, token, out);
    sr_text_add(out, "</p>\n");
    sr_text_add(out, report.s ? report.s : "");
    out->failed = out->failed || report.failed;
    sr_text_deinit(&report);
    return status;
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
        sr_web_address(name, out);
    if (token) {
        sr_text_add(out, name ? "&amp;token=" : "?token=");
        sr_web_address(token, out);
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
            "<code>sslrun web</code> printed.</p>\n");
    sr_text_add(out, "<div id=\"tools\" class=\"tools\"></div>\n");
    begin_live(NULL, token, out);
    SR_TRY(sr_web_list(r, token, out));
    end(out);
    return SR_OK;
}

SrStatus sr_web_run(const char *run, const char *name, const char *token, SrText *out) {
    begin(name, out);
    sr_text_add(out, "<p><a href=\"/");
    if (token) {
        sr_text_add(out, "?token=");
        sr_web_address(token, out);
    }
    sr_text_add(out, "\">all runs</a> <a href=\"");
    sr_web_report_address(name, out);
    sr_text_add(out, "\">report</a></p>\n");
    begin_live(name, token, out);
    SR_TRY(sr_web_live(NULL, run, name, token, out));
    end(out);
    return SR_OK;
}
