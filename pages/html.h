// HTML pages of one file: style and script are inside, nothing is fetched, and a page can be read
// without script.
#ifndef SR_PAGES_HTML_H
#define SR_PAGES_HTML_H

#include "base/text/text.h"

// Writes from <!doctype> to the open <main>; sr_html_end closes the page.
void sr_html_begin(const char *title, SrText *out);
void sr_html_end(SrText *out);
void sr_html_live_script(SrText *out);           // script of the live page, which needs #live
void sr_html_photo_script(SrText *out);          // script of pages of photos in sections
void sr_html_escape(const char *s, SrText *out); // escapes & < > " '; joins a number and %
// Appends formatted text, all of it escaped.
void sr_html_text(SrText *out, const char *fmt, ...) SR_PRINTF(2, 3);
void sr_html_base64(const void *bytes, size_t n, SrText *out);
// Returns a colour "#rrggbb" for class i of n; consecutive classes differ in hue and lightness.
const char *sr_html_color(int i, int n, char out[8]);

// A curve of a chart; a NaN in y is a gap.
typedef struct {
    const char *name;
    const double *x, *y; // (n)
    int n;
    bool dots;  // draw points too, if they are few
    bool level; // draw a horizontal line at y[0]
} SrCurve;

typedef struct {
    const char *title, *x_name, *unit; // unit: text after numbers of y, such as " %"
    bool from_zero;                    // y begins at 0
    bool logarithmic;                  // y is logarithmic, if all values are above 0
} SrChart;

// Appends a <figure> with an SVG.  A chart without points is left out, and the result is false.
bool sr_html_chart(const SrChart *chart, const SrCurve *curves, int n, SrText *out);

#endif
