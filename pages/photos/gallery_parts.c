// Writes neighbours, groups and confusions of the gallery.
#include "pages/photos/gallery_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "kernels/core/gemm.h"
#include "pages/html.h"
#include "pages/runs/score_tables.h"

enum { QUERIES = 10, NEIGHBOURS = 6, GROUPS = 12, OF_GROUP = 6, PAIRS = 8, OF_PAIR = 6 };

void sr_gallery_title(const SrGalleryData *d, int i, SrText *out) {
    char a[24], b[24];
    const char *file = i < d->files.n ? sr__string_list_get(&d->files, i) : "";
    if (d->classes > 0) {
        sr_html_escape(sr_gallery_class(d, d->after.label[i], a), out);
        if (d->said && d->said[i] != d->after.label[i])
            sr_html_text(out, ", taken for %s", sr_gallery_class(d, d->said[i], b));
        sr_text_add(out, *file ? "&#10;" : "");
    }
    sr_html_escape(file, out);
    if (d->classes == 0 && !*file)
        sr_text_printf(out, "image %d", i + 1);
}

void sr_gallery_thumb(const SrGallery *g, int i, const char *more, SrText *out) {
    g->use[i] = SR_THUMB_LARGE;
    sr_text_printf(out, "<span class=\"t s%d%s\" role=\"img\" title=\"", i, more);
    sr_gallery_title(g->d, i, out);
    sr_text_add(out, "\"></span>");
}

// ---- neighbours ---------------------------------------------------------------------------------

// Chooses one image of each class first, then further images in order.
static int choose_queries(const SrGalleryData *d, int *out) {
    int n = 0;
    for (int round = 0; n < QUERIES && round < d->n; round++) {
        int before = n;
        for (int c = 0; c < SR_MAX(d->classes, 1) && n < QUERIES; c++) {
            int seen = 0;
            for (int i = 0; i < d->n; i++)
                if ((d->classes == 0 || d->after.label[i] == c) && seen++ == round) {
                    out[n++] = i;
                    break;
                }
        }
        if (n == before)
            break;
    }
    return n;
}

// Returns the share of nearest neighbours that have their image's class, per cent, over all images;
// cosine (n, n) is scratch.
static double same_class(const SrGalleryData *d, const SrMatrix *f, float *cosine) {
    int64_t same = 0, all = 0;
    int n = d->n;
    sr_gemm(false, true, n, n, f->d, 1.0f, f->x, f->d, f->x, f->d, 0.0f, cosine, n);
    for (int i = 0; i < n; i++) {
        float *row = cosine + (int64_t)i * n;
        row[i] = -INFINITY;
        for (int k = 0; k < SR_MIN(NEIGHBOURS, n - 1); k++) {
            int best = 0;
            for (int j = 1; j < n; j++)
                best = row[j] > row[best] ? j : best;
            row[best] = -INFINITY;
            same += d->after.label[best] == d->after.label[i];
            all++;
        }
    }
    return all ? 100 * (double)same / (double)all : 0;
}

static void add_row(const SrGallery *g, const SrMatrix *f, int query, const char *label,
                    SrText *out) {
    const SrGalleryData *d = g->d;
    int near[NEIGHBOURS], n = sr_gallery_nearest(f, query, NEIGHBOURS, near), same = 0;
    for (int i = 0; i < n; i++)
        same += d->classes > 0 && d->after.label[near[i]] == d->after.label[query];
    sr_text_printf(out, "<div><div class=\"label\">%s", label);
    if (d->classes > 0)
        sr_text_printf(out, ": %d of %d", same, n);
    sr_text_add(out, "</div><div class=\"thumbs six\">");
    for (int i = 0; i < n; i++) {
        bool other = d->classes > 0 && d->after.label[near[i]] != d->after.label[query];
        sr_gallery_thumb(g, near[i], other ? " wrong" : "", out);
    }
    sr_text_add(out, "</div></div>");
}

SrStatus sr_gallery_neighbours(const SrGallery *g, SrText *out) {
    const SrGalleryData *d = g->d;
    int query[QUERIES], n = choose_queries(d, query);
    sr_text_add(out, "<h2>Nearest neighbours before and after training</h2>\n<p>");
    if (d->classes > 0) {
        float *cosine = sr_alloc((size_t)d->n * (size_t)d->n * sizeof *cosine);
        SR_TRY_MEMORY(cosine, "the neighbours of %d images", d->n);
        double before = same_class(d, &d->before, cosine), after = same_class(d, &d->after, cosine);
        sr_free(cosine);
        sr_html_text(out,
                     "Of the %d nearest neighbours of an image, %.0f %% had its class before "
                     "training and %.0f %% have it now (%d test images). ",
                     NEIGHBOURS, before, after, d->n);
        sr_text_add(out, "A red frame marks another class. ");
    } else {
        sr_text_add(out, "Each image with its nearest ones, by the trunk before and after "
                         "training. ");
    }
    if (d->lost_start)
        sr_text_add(out, "The weights that the run began from could not be read, so random ones "
                         "stand for them. ");
    sr_html_text(out, "%s are those of layer %s, %s",
                 d->prototypes ? "Neighbours and map" : "Neighbours, map and groups", d->layer,
                 d->best ? "the best one of the run's evaluation."
                         : "which the configuration names: the run has no evaluation of layers.");
    sr_text_add(out, "</p>\n");
    sr_text_add(out, "<div class=\"cards\">\n");
    for (int i = 0; i < n; i++) {
        char buffer[24];
        sr_text_add(out, "<div class=\"card\">");
        if (d->classes > 0) {
            sr_text_add(out, "<h3>");
            sr_html_escape(sr_gallery_class(d, d->after.label[query[i]], buffer), out);
            sr_text_add(out, "</h3>");
        }
        sr_text_add(out, "<div class=\"near\">");
        sr_gallery_thumb(g, query[i], "", out);
        add_row(g, &d->before, query[i], "before", out);
        add_row(g, &d->after, query[i], "after", out);
        sr_text_add(out, "</div></div>\n");
    }
    sr_text_add(out, "</div>\n");
    return SR_OK;
}

// ---- groups -------------------------------------------------------------------------------------

typedef struct {
    int group, size;
} Group;

static int larger_first(const void *a, const void *b) {
    const Group *x = a, *y = b;
    return x->size != y->size ? y->size - x->size : x->group - y->group;
}

// Adds the images with the highest scores in a group.
static void add_members(const SrGallery *g, int group, SrText *out) {
    const SrGalleryData *d = g->d;
    float last = INFINITY;
    int last_row = -1;
    for (int shown = 0; shown < OF_GROUP; shown++) {
        int best = -1;
        for (int i = 0; i < d->n; i++) {
            bool taken = d->strength[i] > last || (d->strength[i] == last && i <= last_row);
            if (d->group[i] == group && !taken && (best < 0 || d->strength[i] > d->strength[best]))
                best = i;
        }
        if (best < 0)
            return;
        sr_gallery_thumb(g, best, "", out);
        last = d->strength[best];
        last_row = best;
    }
}

// Adds the commonest class of a group and its share.
static void add_most(const SrGalleryData *d, const Group *g, SrText *out) {
    char buffer[24];
    int best = -1, most = 0;
    for (int c = 0; c < d->classes; c++) {
        int n = 0;
        for (int i = 0; i < d->n; i++)
            n += d->group[i] == g->group && d->after.label[i] == c;
        if (n > most) {
            most = n;
            best = c;
        }
    }
    if (best >= 0)
        sr_html_text(out, ", %.0f %% %s", 100.0 * most / g->size,
                     sr_gallery_class(d, best, buffer));
}

static void add_group(const SrGallery *gallery, const Group *g, SrText *out) {
    const SrGalleryData *d = gallery->d;
    sr_text_printf(out, "<div class=\"card\"><h3>%s %d <span class=\"pale\">%d image%s",
                   d->prototypes ? "Prototype" : "Cluster", g->group, g->size,
                   g->size == 1 ? "" : "s");
    add_most(d, g, out);
    sr_text_add(out, "</span></h3><div class=\"thumbs six\">");
    add_members(gallery, g->group, out);
    sr_text_add(out, "</div></div>\n");
}

SrStatus sr_gallery_groups(const SrGallery *gallery, SrText *out) {
    const SrGalleryData *d = gallery->d;
    Group *g = sr_calloc((size_t)d->groups, sizeof *g);
    int used = 0;
    SR_TRY_MEMORY(g, "%d groups", d->groups);
    for (int i = 0; i < d->groups; i++)
        g[i].group = i;
    for (int i = 0; i < d->n; i++)
        g[d->group[i]].size++;
    for (int i = 0; i < d->groups; i++)
        used += g[i].size > 0;
    qsort(g, (size_t)d->groups, sizeof *g, larger_first);
    sr_text_printf(out, "<h2>%s</h2>\n<p>",
                   d->prototypes ? "What the most used prototypes hold"
                                 : "Clusters: groups that the features form");
    sr_text_printf(out,
                   "Each of the %d images belongs to its nearest %s; %d of %d are used, and the "
                   "largest holds %.0f\u00a0%% of the images. ",
                   d->n, d->prototypes ? "prototype" : "cluster", used, d->groups,
                   100.0 * g[0].size / d->n);
    sr_text_add(out, d->prototypes
                         ? "If two or three hold everything, training has collapsed.</p>\n"
                         : "The most typical images of each come first.</p>\n");
    sr_text_add(out, "<div class=\"cards\">\n");
    for (int i = 0; i < SR_MIN(GROUPS, d->groups) && g[i].size > 0; i++)
        add_group(gallery, &g[i], out);
    sr_text_add(out, "</div>\n");
    sr_free(g);
    return SR_OK;
}

// ---- classes ------------------------------------------------------------------------------------

static const char *name_of(const void *data, int c, char buffer[24]) {
    return sr_gallery_class(data, c, buffer);
}

// Adds one pair of classes with the images concerned.
static void add_pair(const SrGallery *g, int is, int said, int n, SrText *out) {
    const SrGalleryData *d = g->d;
    char a[24], b[24];
    int shown = 0;
    sr_text_add(out, "<div class=\"card\"><h3>");
    sr_html_text(out, "%s taken for %s", sr_gallery_class(d, is, a), sr_gallery_class(d, said, b));
    sr_text_printf(out, " <span class=\"pale\">%d image%s</span></h3><div class=\"thumbs six\">", n,
                   n == 1 ? "" : "s");
    for (int i = 0; i < d->n && shown < OF_PAIR; i++)
        if (d->after.label[i] == is && d->said[i] == said) {
            sr_gallery_thumb(g, i, "", out);
            shown++;
        }
    sr_text_add(out, "</div></div>\n");
}

// Adds the pairs of classes with the most confusions.
static void add_worst_pairs(const SrGallery *g, int64_t *count, SrText *out) {
    const SrGalleryData *d = g->d;
    sr_text_add(out, "<h3>The commonest confusions</h3>\n<div class=\"cards\">\n");
    for (int shown = 0; shown < PAIRS; shown++) {
        int worst = -1;
        for (int i = 0; i < d->classes * d->classes; i++)
            if (i / d->classes != i % d->classes && count[i] > 0 &&
                (worst < 0 || count[i] > count[worst]))
                worst = i;
        if (worst < 0)
            break;
        add_pair(g, worst / d->classes, worst % d->classes, (int)count[worst], out);
        count[worst] = 0;
    }
    sr_text_add(out, "</div>\n");
}

SrStatus sr_gallery_classes(const SrGallery *g, SrText *out) {
    const SrGalleryData *d = g->d;
    if (!d->said || d->classes < 2)
        return SR_OK;
    int64_t *count = sr_calloc((size_t)d->classes * (size_t)d->classes, sizeof *count);
    SR_TRY_MEMORY(count, "%d classes", d->classes);
    for (int i = 0; i < d->n; i++)
        if (d->after.label[i] >= 0 && d->after.label[i] < d->classes && d->said[i] >= 0 &&
            d->said[i] < d->classes)
            count[d->after.label[i] * d->classes + d->said[i]]++;
    sr_text_printf(out,
                   "<h2>Which class is taken for which</h2>\n<p>Each of the %d images of the "
                   "gallery is given a class by its %d nearest training images; %.1f\u00a0%% are "
                   "right.</p>\n",
                   d->n, d->k, d->knn);
    sr_confusion_table(d, name_of, count, d->classes, out);
    add_worst_pairs(g, count, out);
    sr_free(count);
    return SR_OK;
}
