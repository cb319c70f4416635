// Line charts as SVG, with ticks at round numbers and at most a few hundred points per curve.
// Each has a <title> for readers without script.
#include "pages/chart.h"

#include <math.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/text/number.h"
#include "pages/html.h"

enum { W = 480, H = 230, LEFT = 52, RIGHT = 470, TOP = 10, BOTTOM = 196, POINTS = 300 };
enum { MOST_TICKS = 20 }; // of an axis; usually there are 5

typedef struct {
    double x0, x1, y0, y1; // ranges; y0, y1: exponents of ten if log
    bool log;
} Frame;

static bool is_shown(const Frame *f, double y) { return isfinite(y) && (!f->log || y > 0); }

static double across(const Frame *f, double x) {
    return LEFT + (f->x1 > f->x0 ? (x - f->x0) / (f->x1 - f->x0) : 0.5) * (RIGHT - LEFT);
}

static double down(const Frame *f, double y) {
    double v = f->log ? log10(y) : y;
    return BOTTOM - (f->y1 > f->y0 ? (v - f->y0) / (f->y1 - f->y0) : 0.5) * (BOTTOM - TOP);
}

// ---- ranges -------------------------------------------------------------------------------------

static bool measure(const SrChart *chart, const SrCurve *curves, int n, Frame *f) {
    double least = INFINITY;
    *f = (Frame){INFINITY, -INFINITY, INFINITY, -INFINITY, false};
    for (int c = 0; c < n; c++)
        for (int i = 0; i < (curves[c].level ? 1 : curves[c].n); i++) {
            double x = curves[c].x ? curves[c].x[i] : 0, y = curves[c].y[i];
            if (!isfinite(y))
                continue;
            least = fmin(least, y);
            f->y0 = fmin(f->y0, y);
            f->y1 = fmax(f->y1, y);
            if (!curves[c].level) {
                f->x0 = fmin(f->x0, x);
                f->x1 = fmax(f->x1, x);
            }
        }
    f->log = chart->logarithmic && least > 0 && f->y1 / f->y0 > 20;
    if (f->log) {
        f->y0 = log10(f->y0);
        f->y1 = log10(f->y1);
    } else if (chart->from_zero) {
        f->y0 = fmin(f->y0, 0);
    }
    double room = fmax(0.04 * (f->y1 - f->y0), 1e-9 * fmax(fabs(f->y1), 1));
    f->y0 -= chart->from_zero && f->y0 >= 0 && !f->log ? 0 : room;
    f->y1 += room;
    return f->x0 <= f->x1;
}

// Returns the distance of ticks: 1, 2 or 5 times a power of ten, for about `count` ticks.
static double tick_step(double range, int count) {
    double raw = fmax(range, 1e-12) / count, power = pow(10, floor(log10(raw)));
    double part = raw / power;
    return power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}

static void number(double v, double step, char out[32]) {
    if (fabs(v) < step / 1000)
        v = 0;
    if (fabs(v) >= 1e6 || (fabs(v) > 0 && fabs(v) < 1e-3))
        sr_number_print(out, 32, "%.2g", v);
    else
        sr_number_print(out, 32, "%.*f", SR_MAX(0, SR_MIN(6, (int)ceil(-log10(step) - 1e-9))), v);
}

// Returns the number of ticks from *first on.  The number is bounded: a step that is small next to
// the numbers would be lost in their sum.
static int count_ticks(double from, double to, double step, double *first) {
    *first = ceil(from / step) * step;
    double n = floor((to + step / 1000 - *first) / step) + 1;
    return n >= 1 ? (int)fmin(n, MOST_TICKS) : 0;
}

static void add_ticks(const SrChart *chart, const Frame *f, SrText *out) {
    char label[32];
    double step = f->x1 > f->x0 ? tick_step(f->x1 - f->x0, 5) : fmax(fabs(f->x0), 1), first;
    int n = count_ticks(f->x0, f->x1, step, &first);
    for (int i = 0; i < n; i++) {
        double x = first + i * step;
        number(x, step, label);
        sr_text_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>",
                       across(f, x), BOTTOM + 15, label);
    }
    step = f->log ? fmax(1, tick_step(f->y1 - f->y0, 5)) : tick_step(f->y1 - f->y0, 5);
    bool decades = f->log && f->y1 - f->y0 > 1.5;
    if (f->log && !decades)
        step = (f->y1 - f->y0) / 4;
    n = count_ticks(f->y0, f->y1, step, &first);
    for (int i = 0; i < n; i++) {
        double value = f->log ? pow(10, first + i * step) : first + i * step, at = down(f, value);
        number(value, f->log ? value : step, label);
        sr_text_printf(out,
                       "<path class=\"axis\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
                       "text-anchor=\"end\">%s%s</text>",
                       LEFT, at, RIGHT, LEFT - 5, at + 4, label, chart->unit);
    }
    sr_text_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", (LEFT + RIGHT) / 2,
                   H - 4);
    sr_html_escape(chart->x_name, out);
    sr_text_add(out, "</text>");
}

// ---- curves -------------------------------------------------------------------------------------

// Adds a curve; averages consecutive points so that at most POINTS are left.
static void add_path(const Frame *f, const SrCurve *c, const char *color, SrText *out) {
    int every = (c->n + POINTS - 1) / POINTS;
    bool pen = false;
    sr_text_printf(out, "<path class=\"curve\" stroke=\"%s\" data-n=\"", color);
    sr_html_escape(c->name, out);
    sr_text_add(out, "\" d=\"");
    for (int i = 0; i < c->n; i += every) {
        double x = 0, y = 0;
        int seen = 0;
        for (int k = i; k < SR_MIN(i + every, c->n); k++)
            if (is_shown(f, c->y[k])) {
                x += c->x[k];
                y += c->y[k];
                seen++;
            }
        if (seen)
            sr_text_printf(out, "%c%.1f %.1f", pen ? 'L' : 'M', across(f, x / seen),
                           down(f, y / seen));
        pen = pen || seen > 0;
    }
    sr_text_add(out, "\"><title>");
    sr_html_escape(c->name, out);
    sr_text_add(out, "</title></path>");
}

static void add_dots(const SrChart *chart, const Frame *f, const SrCurve *c, const char *color,
                     SrText *out) {
    for (int i = 0; i < c->n; i++) {
        if (!is_shown(f, c->y[i]))
            continue;
        sr_text_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"><title>",
                       across(f, c->x[i]), down(f, c->y[i]), color);
        sr_html_text(out, "%s: %.4g%s at %s %.6g", c->name, c->y[i], chart->unit, chart->x_name,
                     c->x[i]);
        sr_text_add(out, "</title></circle>");
    }
}

static void add_level(const SrChart *chart, const Frame *f, const SrCurve *c, const char *color,
                      SrText *out) {
    if (!is_shown(f, c->y[0]))
        return;
    sr_text_printf(out, "<path stroke=\"%s\" stroke-dasharray=\"5 4\" d=\"M%d %.1fH%d\"><title>",
                   color, LEFT, down(f, c->y[0]), RIGHT);
    sr_html_text(out, "%s: %.4g%s", c->name, c->y[0], chart->unit);
    sr_text_add(out, "</title></path>");
}

static void add_key(const SrChart *chart, const SrCurve *curves, int n, SrText *out) {
    char color[8];
    sr_text_add(out, "<div class=\"key\">");
    for (int c = 0; n > 1 && c < n; c++) {
        sr_text_printf(out, "<span><i style=\"background:%s\"></i>", sr_html_color(c, n, color));
        sr_html_escape(curves[c].name, out);
        if (curves[c].level)
            sr_html_text(out, " %.4g%s", curves[c].y[0], chart->unit);
        sr_text_add(out, "</span>");
    }
    sr_text_add(out, "</div>");
}

// Adds what the chart says to readers who do not see it: its title and where each curve ends.
static void add_label(const SrChart *chart, const SrCurve *curves, int n, SrText *out) {
    sr_text_add(out, " aria-label=\"");
    sr_html_text(out, "%s, over %s", chart->title, chart->x_name);
    for (int c = 0; c < n; c++) {
        int last = curves[c].level ? 0 : curves[c].n - 1;
        while (last > 0 && !isfinite(curves[c].y[last]))
            last--;
        if (last >= 0 && isfinite(curves[c].y[last]))
            sr_html_text(out, "; %s %.4g%s", curves[c].name, curves[c].y[last], chart->unit);
    }
    sr_text_add(out, "\"");
}

bool sr_html_chart(const SrChart *chart, const SrCurve *curves, int n, SrText *out) {
    Frame f;
    char color[8];
    if (!measure(chart, curves, n, &f))
        return false;
    sr_text_add(out, "<figure><figcaption>");
    sr_html_escape(chart->title, out);
    sr_text_printf(out, "</figcaption><svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\"", W,
                   H);
    add_label(chart, curves, n, out);
    sr_text_printf(out,
                   " data-c='{\"w\":%d,\"l\":%d,\"r\":%d,\"t\":%d,\"b\":%d,\"x0\":%.9g,\"x1\":%.9g,"
                   "\"y0\":%.9g,\"y1\":%.9g,\"log\":%d,\"u\":\"%s\",\"n\":\"",
                   W, LEFT, RIGHT, TOP, BOTTOM, f.x0, f.x1, f.y0, f.y1, f.log, chart->unit);
    sr_html_escape(chart->x_name, out);
    sr_text_add(out, "\"}'>");
    add_ticks(chart, &f, out);
    for (int c = 0; c < n; c++) {
        sr_html_color(c, n, color);
        if (curves[c].level) {
            add_level(chart, &f, &curves[c], color, out);
            continue;
        }
        add_path(&f, &curves[c], color, out);
        if (curves[c].dots && curves[c].n <= POINTS)
            add_dots(chart, &f, &curves[c], color, out);
    }
    sr_text_add(out, "</svg>");
    add_key(chart, curves, n, out);
    sr_text_add(out, "</figure>\n");
    return true;
}
