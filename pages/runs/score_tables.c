// Writes rows of bars and tables of confusions.
#include "pages/runs/score_tables.h"

#include <math.h>

#include "measure/standard_error.h"
#include "pages/html.h"

enum { WIDEST = 40 }; // classes of the widest table of confusions

void sr_score_bar(const char *name, bool own, double percent, int64_t images, SrText *out) {
    if (isnan(percent))
        return;
    double error = sr_standard_error(percent, images);
    bool all_alike = !(percent > 0 && percent < 100); // none or all are right: no error to state
    sr_text_printf(out, "<tr%s><th scope=\"row\">", own ? " class=\"own\"" : "");
    sr_html_escape(name, out);
    sr_text_printf(out,
                   "</th><td><span class=\"bar\"><b style=\"width:%.2f%%\"></b><i "
                   "style=\"left:%.2f%%;width:%.2f%%\"></i></span></td>",
                   percent, percent - error, 2 * error);
    if (all_alike && images > 0)
        sr_text_printf(out, "<td>%lld of %lld</td></tr>\n", (long long)(percent > 0 ? images : 0),
                       (long long)images);
    else
        sr_text_printf(out, "<td>%.1f ± %.1f %%</td></tr>\n", percent, error);
}

static void add_cell(int64_t n, int64_t of, bool diagonal, SrText *out) {
    double share = of ? (double)n / (double)of : 0;
    const char *color = diagonal ? "29,122,52" : "200,50,40";
    sr_text_printf(out, "<td%s style=\"background:rgba(%s,%.2f)\">",
                   diagonal ? " class=\"diagonal\"" : "", color,
                   diagonal ? 0.35 * share : fmin(0.55, 1.6 * share));
    if (n)
        sr_text_printf(out, "%lld", (long long)n);
    sr_text_add(out, "</td>");
}

void sr_confusion_table(const void *arg, SrClassName name, const int64_t *count, int classes,
                        SrText *out) {
    char buffer[24];
    if (classes > WIDEST)
        return;
    sr_text_add(out, "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"confusion of "
                     "classes\"><table class=\"confusion\"><thead><tr><td class=\"pale\">is, and "
                     "is taken for</td>");
    for (int c = 0; c < classes; c++) {
        sr_text_add(out, "<th scope=\"col\">");
        sr_html_escape(name(arg, c, buffer), out);
        sr_text_add(out, "</th>");
    }
    sr_text_add(out, "</tr></thead><tbody>\n");
    for (int c = 0; c < classes; c++) {
        int64_t of = 0;
        for (int k = 0; k < classes; k++)
            of += count[(int64_t)c * classes + k];
        sr_text_add(out, "<tr><th scope=\"row\">");
        sr_html_escape(name(arg, c, buffer), out);
        sr_text_add(out, "</th>");
        for (int k = 0; k < classes; k++)
            add_cell(count[(int64_t)c * classes + k], of, c == k, out);
        sr_text_add(out, "</tr>\n");
    }
    sr_text_add(out, "</tbody></table></div>\n");
}
