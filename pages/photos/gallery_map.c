// Writes the map as placed elements: pictures that do not cover each other, and points between
// them.
#include "pages/photos/gallery_map.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "pages/html.h"

enum { WIDEST_KEY = 40 };
#define MARGIN 4.0 // per cent of the map's side around the outermost images
#define APART 5.6  // per cent between the middles of two pictures, at least

static int color_of(const SrGalleryData *d, int i, int *n) {
    *n = d->classes > 0 ? d->classes : d->groups;
    return d->classes > 0 ? (int)d->after.label[i] : d->group[i];
}

static void range_of(const float *y, int n, int axis, double *low, double *high) {
    *low = INFINITY;
    *high = -INFINITY;
    for (int i = 0; i < n; i++) {
        *low = fmin(*low, (double)y[2 * i + axis]);
        *high = fmax(*high, (double)y[2 * i + axis]);
    }
    if (!(*high > *low)) {
        *low -= 1;
        *high += 1;
    }
}

// Turns positions y (n, 2) into per cent of the map's sides, at (n, 2).
static void scale(const float *y, int n, double *at) {
    for (int axis = 0; axis < 2; axis++) {
        double low, high;
        range_of(y, n, axis, &low, &high);
        for (int i = 0; i < n; i++)
            at[2 * i + axis] =
                MARGIN + (100 - 2 * MARGIN) * ((double)y[2 * i + axis] - low) / (high - low);
    }
}

// True: a picture at i would cover none of the pictures before it.
static bool fits(const double *at, const bool *pictured, int i) {
    for (int k = 0; k < i; k++)
        if (pictured[k] &&
            fmax(fabs(at[2 * k] - at[2 * i]), fabs(at[2 * k + 1] - at[2 * i + 1])) < APART)
            return false;
    return true;
}

// Adds an image as a picture or as a point.  Words go to one map alone: they are long.
static void add_image(const SrGallery *g, int i, const double *at, bool picture, bool words,
                      SrText *out) {
    int n, c = color_of(g->d, i, &n);
    if (picture)
        sr_text_printf(out, "<i class=\"p s%d", i);
    else
        sr_text_printf(out, "<i data-s=\"s%d\" class=\"d", i);
    sr_text_printf(out, " c%d\" style=\"left:%.1f%%;top:%.1f%%\"", c, at[2 * i], at[2 * i + 1]);
    if (words) {
        sr_text_add(out, " title=\"");
        sr_gallery_title(g->d, i, out);
        sr_text_add(out, "\"");
    }
    sr_text_add(out, "></i>\n");
    if (g->use[i] == SR_THUMB_UNSEEN)
        g->use[i] = SR_THUMB_SMALL;
}

static void add_map(const SrGallery *g, const float *y, const char *name, bool pictures,
                    SrText *out) {
    const SrGalleryData *d = g->d;
    double *at = sr_alloc((size_t)d->n * 2 * sizeof *at);
    bool *pictured = sr_calloc((size_t)d->n, sizeof *pictured);
    sr_text_printf(out,
                   "<div class=\"map\" tabindex=\"0\" role=\"group\" aria-label=\"%s of %d test "
                   "images; arrow keys go from image to image\">\n",
                   name, d->n);
    if (at && pictured) {
        scale(y, d->n, at);
        for (int i = 0; i < d->n; i++)
            pictured[i] = pictures && fits(at, pictured, i);
        for (int point = 0; point < 2; point++)
            for (int i = 0; i < d->n; i++)
                if (pictured[i] == !point)
                    add_image(g, i, at, pictured[i], pictures, out);
    }
    out->failed = out->failed || !at || !pictured;
    sr_free(at);
    sr_free(pictured);
    sr_text_add(out, "</div>\n");
}

// Appends the colours of classes or groups, and -1, which has none, as grey.
static void add_colors(const SrGalleryData *d, SrText *out) {
    char color[8];
    int n;
    color_of(d, 0, &n);
    sr_text_add(out, "<style>");
    for (int c = -1; c < n; c++)
        sr_text_printf(out, ".c%d{--c:%s}", c, sr_html_color(c, n, color));
    sr_text_add(out, "</style>\n");
}

static void add_key(const SrGalleryData *d, SrText *out) {
    char buffer[24];
    if (d->classes == 0 || d->classes > WIDEST_KEY)
        return;
    sr_text_add(out, "<div class=\"key\">");
    for (int c = 0; c < d->classes; c++) {
        sr_text_printf(out,
                       "<button type=\"button\" data-c=\"c%d\" class=\"c%d\"><i "
                       "style=\"background:var(--c)\"></i>",
                       c, c);
        sr_html_escape(sr_gallery_class(d, c, buffer), out);
        sr_text_add(out, "</button>");
    }
    sr_text_add(out, "</div>\n");
}

void sr_gallery_map(const SrGallery *g, SrText *out) {
    const SrGalleryData *d = g->d;
    add_colors(d, out);
    sr_text_printf(out,
                   "<h2>Map of %d test images</h2>\n<p>Images that the trained trunk finds alike "
                   "lie near each other; the colour is the %s. Where pictures would cover each "
                   "other there are points.</p>\n<div class=\"with-key\">\n",
                   d->n,
                   d->classes > 0  ? "class"
                   : d->prototypes ? "prototype"
                                   : "cluster");
    add_map(g, d->tsne, "Map by t-SNE", true, out);
    add_key(d, out);
    sr_text_add(out, "</div>\n<details><summary>The map by principal components</summary>\n"
                     "<div class=\"with-key\">\n");
    add_map(g, d->pca, "Map by principal components", false, out);
    sr_text_add(out, "</div></details>\n");
}
