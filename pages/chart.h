// Charts of curves, as SVG inside a page.
#ifndef SR_PAGES_CHART_H
#define SR_PAGES_CHART_H

#include "base/text/text.h"

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
