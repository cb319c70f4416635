// Pages of one file: style and script inside, nothing fetched, readable without script.
#ifndef SR_PAGES_HTML_H
#define SR_PAGES_HTML_H

#include "base/text.h"

// From <!doctype> to the open <main>; the caller closes with sr_html_end.
void sr_html_begin(const char *title, SrText *out);
void sr_html_end(SrText *out);
void sr_html_escape(const char *s, SrText *out); // & < > " '
// Format, arguments and all, escaped.
void sr_html_text(SrText *out, const char *fmt, ...) SR_PRINTF(2, 3);
void sr_html_base64(const void *bytes, size_t n, SrText *out);
// A colour for class i of n: "#rrggbb", apart from its neighbours' in hue and lightness.
const char *sr_html_color(int i, int n, char out[8]);

// A curve of a chart.  Points with NaN in y are gaps.
typedef struct {
    const char *name;
    const double *x, *y; // (n)
    int n;
    bool dots;  // the points themselves, where they are few
    bool level; // a horizontal line at y[0]
} SrCurve;

typedef struct {
    const char *title, *x_name, *unit; // unit: behind the numbers of y, " %"
    bool from_zero;                    // y begins at 0
    bool logarithmic;                  // y; used only where all values are above 0
} SrChart;

// A <figure> with an SVG; a chart without a single point is left out and returns false.
bool sr_html_chart(const SrChart *chart, const SrCurve *curves, int n, SrText *out);

#endif
