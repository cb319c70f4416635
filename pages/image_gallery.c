// Turns the data of the gallery into HTML.
#include "pages/image_gallery.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "data/encode.h"
#include "pages/gallery_data.h"
#include "pages/html.h"
#include "pages/projector.h"
#include "trainer/eval/checkpoint_model.h"
#include "trainer/model/weights_init.h"
#include "trainer/run/run_folder.h"

enum {
    SPRITE_COLUMNS = 25,
    QUALITY = 78,
    QUERIES = 16,
    NEIGHBOURS = 6,
    GROUPS = 12,
    OF_GROUP = 10,
    WRONG = 40,
    WIDEST_CONFUSION = 40,
    MAP = 460
};

// ---- thumbnails ---------------------------------------------------------------------------------

// Adds all thumbnails as one picture, of which each place of the page shows a part: one
// compressed file is smaller than hundreds.
static SrStatus add_sprite(const SrGalleryData *d, SrText *out) {
    int rows = (d->n + SPRITE_COLUMNS - 1) / SPRITE_COLUMNS, w = SPRITE_COLUMNS * SR_THUMB;
    SrText jpeg = SR_TEXT_INIT;
    uint8_t *all = sr_calloc((size_t)rows * SR_THUMB, (size_t)w * 3);
    if (!all)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for the thumbnails");
    for (int i = 0; i < d->n; i++)
        for (int y = 0; y < SR_THUMB; y++) {
            int64_t row = (int64_t)(i / SPRITE_COLUMNS) * SR_THUMB + y;
            memcpy(all + (row * w + i % SPRITE_COLUMNS * SR_THUMB) * 3,
                   d->thumbs + ((int64_t)i * SR_THUMB + y) * SR_THUMB * 3, SR_THUMB * 3);
        }
    sr_jpeg_encode(all, rows * SR_THUMB, w, QUALITY, &jpeg);
    sr_free(all);
    sr_text_printf(out,
                   "<style>.t{width:%dpx;height:%dpx;background-image:url(data:image/jpeg;base64,",
                   SR_THUMB, SR_THUMB);
    sr_html_base64(jpeg.s, jpeg.len, out);
    sr_text_add(out, ")}\n");
    for (int i = 0; i < d->n; i++)
        sr_text_printf(out, ".s%d{background-position:-%dpx -%dpx}", i,
                       i % SPRITE_COLUMNS * SR_THUMB, i / SPRITE_COLUMNS * SR_THUMB);
    sr_text_add(out, "</style>\n");
    out->failed = out->failed || jpeg.failed;
    sr_text_deinit(&jpeg);
    return SR_OK;
}

static void add_title(const SrGalleryData *d, int i, SrText *out) {
    char buffer[24];
    const char *file = i < d->files.n ? sr__string_list_get(&d->files, i) : "";
    if (d->classes > 0) {
        sr_html_escape(sr_gallery_class(d, d->after.label[i], buffer), out);
        sr_text_add(out, *file ? ": " : "");
    }
    sr_html_escape(file, out);
}

static void add_thumb(const SrGalleryData *d, int i, const char *more, SrText *out) {
    sr_text_printf(out, "<span class=\"t s%d%s\" role=\"img\" title=\"", i, more);
    add_title(d, i, out);
    sr_text_add(out, "\"></span>");
}

// ---- map ----------------------------------------------------------------------------------------

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

static void add_map(const SrGalleryData *d, const char *title, const float *y, SrText *out) {
    double low[2], high[2];
    char color[8];
    int n;
    for (int axis = 0; axis < 2; axis++)
        range_of(y, d->n, axis, &low[axis], &high[axis]);
    sr_text_printf(
        out,
        "<figure><figcaption>%s</figcaption><svg class=\"map\" viewBox=\"0 0 %d %d\" "
        "role=\"img\"><rect class=\"axis\" x=\"1\" y=\"1\" width=\"%d\" height=\"%d\"/>\n",
        title, MAP, MAP, MAP - 2, MAP - 2);
    for (int i = 0; i < d->n; i++) {
        double at[2];
        for (int axis = 0; axis < 2; axis++)
            at[axis] =
                10 + (MAP - 20) * ((double)y[2 * i + axis] - low[axis]) / (high[axis] - low[axis]);
        int c = color_of(d, i, &n);
        sr_text_printf(out,
                       "<circle data-t=\"s%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.4\" fill=\"%s\" "
                       "fill-opacity=\".75\"><title>",
                       i, at[0], at[1], sr_html_color(c, n, color));
        add_title(d, i, out);
        sr_text_add(out, "</title></circle>\n");
    }
    sr_text_add(out, "</svg></figure>\n");
}

static void add_maps(const SrGalleryData *d, SrText *out) {
    char color[8], buffer[24];
    sr_text_printf(
        out,
        "<h2>Map of %d test images</h2>\n<p class=\"pale\">Points that lie near each other "
        "are images the trained trunk finds alike; coloured by %s.</p>\n",
        d->n, d->classes > 0 ? "class" : "group");
    if (d->classes > 0 && d->classes <= WIDEST_CONFUSION) {
        sr_text_add(out, "<div class=\"key\">");
        for (int c = 0; c < d->classes; c++) {
            sr_text_printf(out, "<span><i style=\"background:%s\"></i>",
                           sr_html_color(c, d->classes, color));
            sr_html_escape(sr_gallery_class(d, c, buffer), out);
            sr_text_add(out, "</span>");
        }
        sr_text_add(out, "</div>\n");
    }
    sr_text_add(out, "<div class=\"grid\">\n");
    add_map(d, "t-SNE", d->tsne, out);
    add_map(d, "Principal components", d->pca, out);
    sr_text_add(out, "</div>\n");
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

static void add_neighbours(const SrGalleryData *d, const SrMatrix *f, int query, SrText *out) {
    int near[NEIGHBOURS], n = sr_gallery_nearest(f, query, NEIGHBOURS, near);
    for (int i = 0; i < n; i++) {
        bool other = d->classes > 0 && d->after.label[near[i]] != d->after.label[query];
        add_thumb(d, near[i], other ? " wrong" : "", out);
    }
}

static void add_all_neighbours(const SrGalleryData *d, SrText *out) {
    int query[QUERIES], n = choose_queries(d, query);
    sr_text_add(out,
                "<h2>Nearest neighbours before and after training</h2>\n<p class=\"pale\">Left the "
                "image, then its nearest ones among the test images, by the untrained and by the "
                "trained trunk");
    sr_text_add(out,
                d->classes > 0 ? "; framed in red where the class is another.</p>\n" : ".</p>\n");
    sr_text_add(out,
                "<div class=\"wide\"><table><tr><th></th><th style=\"text-align:left\">before</th>"
                "<th style=\"text-align:left\">after</th></tr>\n");
    for (int i = 0; i < n; i++) {
        sr_text_add(out, "<tr><td>");
        add_thumb(d, query[i], " first", out);
        sr_text_add(out, "</td><td><div class=\"thumbs\">");
        add_neighbours(d, &d->before, query[i], out);
        sr_text_add(out, "</div></td><td><div class=\"thumbs\">");
        add_neighbours(d, &d->after, query[i], out);
        sr_text_add(out, "</div></td></tr>\n");
    }
    sr_text_add(out, "</table></div>\n");
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
static void add_members(const SrGalleryData *d, int group, SrText *out) {
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
        add_thumb(d, best, "", out);
        last = d->strength[best];
        last_row = best;
    }
}

static SrStatus add_groups(const SrGalleryData *d, SrText *out) {
    Group *g = sr_calloc((size_t)d->groups, sizeof *g);
    int used = 0;
    double entropy = 0;
    if (!g)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %d groups", d->groups);
    for (int i = 0; i < d->groups; i++)
        g[i].group = i;
    for (int i = 0; i < d->n; i++)
        g[d->group[i]].size++;
    for (int i = 0; i < d->groups; i++) {
        double share = (double)g[i].size / d->n;
        used += g[i].size > 0;
        entropy -= share > 0 ? share * log(share) : 0;
    }
    qsort(g, (size_t)d->groups, sizeof *g, larger_first);
    sr_text_printf(
        out,
        "<h2>What the most used %s hold</h2>\n<p class=\"pale\">%d of %d are the best of any "
        "test image; as many images as evenly filled %.1f would be told apart by them.</p>\n",
        d->prototypes ? "prototypes" : "clusters of the features", used, d->groups, exp(entropy));
    sr_text_add(out, "<div class=\"wide\"><table>\n");
    for (int i = 0; i < SR_MIN(GROUPS, d->groups) && g[i].size > 0; i++) {
        sr_text_printf(out,
                       "<tr><td class=\"num\">%s %d, %d images<br><span class=\"bar\"><b "
                       "style=\"width:%d%%\"></b></span></td><td><div class=\"thumbs\">",
                       d->prototypes ? "prototype" : "cluster", g[i].group, g[i].size,
                       100 * g[i].size / SR_MAX(g[0].size, 1));
        add_members(d, g[i].group, out);
        sr_text_add(out, "</div></td></tr>\n");
    }
    sr_text_add(out, "</table></div>\n");
    sr_free(g);
    return SR_OK;
}

// ---- classes ------------------------------------------------------------------------------------

static void confusion_cell(int n, int of, SrText *out) {
    double share = of ? (double)n / of : 0;
    sr_text_printf(out, "<td style=\"background:rgba(31,119,180,%.2f)\">", 0.85 * share);
    if (n)
        sr_text_printf(out, "%d", n);
    sr_text_add(out, "</td>");
}

static void add_confusion(const SrGalleryData *d, const int *count, SrText *out) {
    char buffer[24];
    sr_text_add(out, "<div class=\"wide\"><table><tr><th>is, and is taken for</th>");
    for (int c = 0; c < d->classes; c++) {
        sr_text_add(out, "<th>");
        sr_html_escape(sr_gallery_class(d, c, buffer), out);
        sr_text_add(out, "</th>");
    }
    sr_text_add(out, "</tr>\n");
    for (int c = 0; c < d->classes; c++) {
        int of = 0;
        for (int k = 0; k < d->classes; k++)
            of += count[c * d->classes + k];
        sr_text_add(out, "<tr><td>");
        sr_html_escape(sr_gallery_class(d, c, buffer), out);
        sr_text_add(out, "</td>");
        for (int k = 0; k < d->classes; k++)
            confusion_cell(count[c * d->classes + k], of, out);
        sr_text_add(out, "</tr>\n");
    }
    sr_text_add(out, "</table></div>\n");
}

// Adds the pairs of classes with the most confusions, if a matrix would be too wide.
static void add_worst_pairs(const SrGalleryData *d, int *count, SrText *out) {
    char a[24], b[24];
    sr_text_add(out, "<ul>\n");
    for (int shown = 0; shown < 20; shown++) {
        int worst = -1;
        for (int i = 0; i < d->classes * d->classes; i++)
            if (i / d->classes != i % d->classes && count[i] > 0 &&
                (worst < 0 || count[i] > count[worst]))
                worst = i;
        if (worst < 0)
            break;
        sr_text_add(out, "<li>");
        sr_html_text(out, "%s taken for %s: %d", sr_gallery_class(d, worst / d->classes, a),
                     sr_gallery_class(d, worst % d->classes, b), count[worst]);
        sr_text_add(out, "</li>\n");
        count[worst] = 0;
    }
    sr_text_add(out, "</ul>\n");
}

static void add_wrong(const SrGalleryData *d, SrText *out) {
    char a[24], b[24];
    int shown = 0;
    sr_text_add(out, "<h3>Taken for another class</h3>\n<div class=\"row\">\n");
    for (int i = 0; i < d->n && shown < WRONG; i++) {
        if (d->after.label[i] < 0 || d->said[i] == d->after.label[i])
            continue;
        sr_text_add(out, "<span>");
        add_thumb(d, i, "", out);
        sr_text_add(out, "<br><small>");
        sr_html_text(out, "%s: %s", sr_gallery_class(d, d->after.label[i], a),
                     sr_gallery_class(d, d->said[i], b));
        sr_text_add(out, "</small></span>\n");
        shown++;
    }
    sr_text_add(out, shown ? "</div>\n" : "none</div>\n");
}

static SrStatus add_classes(const SrGalleryData *d, SrText *out) {
    if (!d->said || d->classes < 2)
        return SR_OK;
    int *count = sr_calloc((size_t)d->classes * (size_t)d->classes, sizeof *count);
    if (!count)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %d classes", d->classes);
    for (int i = 0; i < d->n; i++)
        if (d->after.label[i] >= 0 && d->after.label[i] < d->classes && d->said[i] >= 0 &&
            d->said[i] < d->classes)
            count[d->after.label[i] * d->classes + d->said[i]]++;
    sr_text_printf(
        out,
        "<h2>Which class is taken for which</h2>\n<p class=\"pale\">By the vote of %d "
        "neighbours among training images: %.1f %% of these %d test images are right.</p>\n",
        d->k, d->knn, d->n);
    if (d->classes <= WIDEST_CONFUSION)
        add_confusion(d, count, out);
    else
        add_worst_pairs(d, count, out);
    add_wrong(d, out);
    sr_free(count);
    return SR_OK;
}

// ---- all ----------------------------------------------------------------------------------------

static SrStatus write_page(const SrConfig *config, const SrGalleryData *d, size_t *bytes) {
    char path[4096];
    SrText out = SR_TEXT_INIT;
    SrStatus status;
    SR_TRY(sr_file_join(path, sizeof path, config->checkpoint.dir, SR_GALLERY_FILE));
    SR_TRY_GOTO(add_sprite(d, &out));
    add_maps(d, &out);
    add_all_neighbours(d, &out);
    SR_TRY_GOTO(sr_attention_maps_add(&d->attention, &out));
    SR_TRY_GOTO(add_groups(d, &out));
    SR_TRY_GOTO(add_classes(d, &out));
    *bytes = out.len;
    SR_TRY_GOTO(out.failed ? sr_fail(SR_ERR_MEMORY, "out of memory for %s", path)
                           : sr_file_write(path, out.s, out.len));
done:
    sr_text_deinit(&out);
    return status;
}

SrStatus sr_image_gallery(const SrConfig *config, SrModel *trained, const SrGalleryOptions *options,
                          SrGalleryReport *out) {
    SrGalleryData data;
    double began = sr_clock();
    *out = (SrGalleryReport){0};
    SrStatus status = sr_gallery_data_fill(config, trained, options, &data);
    if (status == SR_OK)
        status = write_page(config, &data, &out->bytes);
    if (status == SR_OK)
        status = sr_projector_features(config, &data);
    out->images = data.n;
    out->features_s = data.features_s;
    out->seconds = sr_clock() - began;
    sr_gallery_data_deinit(&data);
    return status;
}

// Loads trunk and heads, as at the end of the run.
static SrStatus load_model(const SrConfig *config, const char *checkpoint, SrModel **out) {
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    SrOutputGraph outputs;
    SrGraph *graph;
    SrNodeId input, tap;
    SR_TRY(sr_split_train_shape(config, &n, h, w));
    SR_TRY(sr_model_new(config, out));
    SR_TRY(sr_model_build_outputs(*out, 1, 1, h, w, &outputs));
    SR_TRY(sr_model_build_eval(*out, 1, h[0], w[0], config->knn.layer, &graph, &input, &tap));
    SR_TRY(sr_params_allocate(sr_model_params(*out)));
    sr_params_init(sr_model_params(*out), config->seed);
    SrWeightsSource source = {
        .path = checkpoint, .remove_prefix = "", .append_prefix = "", .quiet = true};
    return sr_weights_load(&source, sr_model_params(*out));
}

SrStatus sr_image_gallery_again(const char *run, const SrGalleryOptions *options,
                                SrGalleryReport *out) {
    char checkpoint[4096];
    SrConfig *config = NULL;
    SrModel *model = NULL;
    SrStatus status;
    SR_TRY(sr_folder_newest(run, checkpoint, sizeof checkpoint));
    SR_TRY_GOTO(sr_checkpoint_config(checkpoint, &config));
    config->checkpoint.dir = run; // the folder may have moved
    SR_TRY_GOTO(load_model(config, checkpoint, &model));
    SR_TRY_GOTO(sr_image_gallery(config, model, options, out));
done:
    sr_model_free(model);
    sr_config_free(config);
    return status;
}
