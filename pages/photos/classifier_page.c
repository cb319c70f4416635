// Writes the page of a classifier: bars, layers, accuracy per class, confusions, photos.
#include "pages/photos/classifier_page.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "pages/html.h"
#include "pages/runs/score_tables.h"

enum { MISTAKES = 60, DOUBTFUL = 24 };

static const char *name_of(const void *report, int c, char buffer[24]) {
    return sr_classifier_report_class(report, c, buffer);
}

// ---- figures ------------------------------------------------------------------------------------

static void add_bars(const SrClassifierReport *r, SrText *out) {
    sr_text_add(out, "<figure><figcaption>Compared with what costs nothing</figcaption>\n"
                     "<table class=\"bars\"><tbody>\n");
    sr_score_bar("classifier", true, sr_classifier_report_accuracy(r), r->n_test, out);
    sr_score_bar("raw pixels", false, r->pixels.test, r->n_test, out);
    sr_score_bar("commonest class", false, r->majority, r->n_test, out);
    sr_text_add(out, "</tbody></table></figure>\n");
}

static void add_layers(const SrClassifierReport *r, SrText *out) {
    sr_text_add(out, "<figure><figcaption>By layer</figcaption>\n"
                     "<table class=\"bars\"><tbody>\n");
    for (int i = 0; i < r->layers.n; i++)
        if (r->probe[i].cost > 0)
            sr_score_bar(r->layers.v[i].name, i == r->best, r->probe[i].test, r->n_test, out);
    sr_text_printf(out, "</tbody></table><p class=\"pale\">%s</p></figure>\n",
                   r->named
                       ? "The layer was named on the command line; without --layer the best is "
                         "chosen on training images that are held out."
                       : "The layer was chosen on training images that were held out.");
}

static void add_classes(const SrClassifierReport *r, SrText *out) {
    char number[16];
    sr_text_add(out, "<h2>Accuracy per class</h2>\n<table class=\"bars\"><tbody>\n");
    for (int c = 0; c < r->classes; c++) {
        int64_t n = 0;
        for (int k = 0; k < r->classes; k++)
            n += r->confusion[(int64_t)c * r->classes + k];
        if (n > 0)
            sr_score_bar(sr_classifier_report_class(r, c, number), true,
                         100 * (double)r->confusion[(int64_t)c * r->classes + c] / (double)n, n,
                         out);
    }
    sr_text_add(out, "</tbody></table>\n<h2>Which class is taken for which</h2>\n");
    sr_confusion_table(r, name_of, r->confusion, r->classes, out);
}

// ---- photos -------------------------------------------------------------------------------------

static int surest_first(const void *a, const void *b) {
    const SrClassifiedImage *x = *(SrClassifiedImage *const *)a;
    const SrClassifiedImage *y = *(SrClassifiedImage *const *)b;
    return x->sure != y->sure ? (x->sure < y->sure) - (x->sure > y->sure) : (x > y) - (x < y);
}

static bool add_photo(const SrClassifierReport *r, const SrClassifiedImage *image, SrPhotoBody *p) {
    char caption[256], a[16], b[16];
    const char *is = image->is >= 0 ? sr_classifier_report_class(r, image->is, a) : "no class";
    const char *said = sr_classifier_report_class(r, image->said, b);
    if (image->is == image->said)
        snprintf(caption, sizeof caption, "%.100s, %.0f\u00a0%%", is, 100 * image->sure);
    else
        snprintf(caption, sizeof caption, "%.100s, taken for %.100s, %.0f\u00a0%%", is, said,
                 100 * image->sure);
    return sr_photo_body_add(p, sr__string_list_get(&r->files, image - r->image), caption);
}

// Adds a section with a grid of photos: those that are right or wrong, at most `most`, in the order
// of v (n), or from its end.
static void add_section(const SrClassifierReport *r, const char *heading, SrClassifiedImage **v,
                        int64_t n, bool right, bool from_end, int most, SrPhotoBody *p) {
    int shown = 0;
    sr_photo_body_section(p, heading);
    sr_text_printf(&p->html, "<h2>%s</h2>\n", heading);
    sr_photo_body_begin(p);
    for (int64_t i = 0; i < n && shown < most; i++) {
        const SrClassifiedImage *image = v[from_end ? n - 1 - i : i];
        if ((image->is == image->said) == right && add_photo(r, image, p))
            shown++;
    }
    sr_photo_body_end(p);
    if (shown == 0)
        sr_text_add(&p->html, "<p class=\"pale\">There is none.</p>\n");
}

static SrStatus add_photos(const SrClassifierReport *r, SrPhotoBody *p) {
    int64_t n = r->files.n;
    SrClassifiedImage **v = sr_alloc((size_t)n * sizeof *v + 1);
    SR_TRY_MEMORY(v, "the page of a classifier");
    for (int64_t i = 0; i < n; i++)
        v[i] = &r->image[i];
    if (n > 0)
        qsort(v, (size_t)n, sizeof *v, surest_first);
    add_section(r, "Mistakes, the most certain first", v, n, false, false, MISTAKES, p);
    add_section(r, "Right, the least certain first", v, n, true, true, DOUBTFUL, p);
    sr_free(v);
    return SR_OK;
}

// ---- the page -----------------------------------------------------------------------------------

SrStatus sr_classifier_page(const SrClassifierReport *r, const SrPhotoFiles *files) {
    char title[256];
    SrPhotoBody *p = NULL;
    SrStatus status;
    SR_TRY_GOTO(sr_photo_body_new(&p));
    snprintf(title, sizeof title, "%.1f %% of %lld test images are given their class",
             sr_classifier_report_accuracy(r), (long long)r->n_test);
    sr_text_add(&p->html, "<p>");
    sr_html_text(&p->html, "A linear classifier on layer %s, trained on %lld images; %s",
                 r->layers.v[r->best].name, (long long)r->n_train,
                 *r->note ? r->note : "the test images are those of the data set");
    sr_text_add(&p->html, ".</p>\n<div class=\"grid\">\n");
    add_bars(r, &p->html);
    add_layers(r, &p->html);
    sr_text_add(&p->html, "</div>\n");
    add_classes(r, &p->html);
    if (r->files.n > 0)
        SR_TRY_GOTO(add_photos(r, p));
    else
        sr_text_add(&p->html, "<p class=\"pale\">The images are no files of their own, so that "
                              "none is shown.</p>\n");
    SR_TRY_GOTO(sr_photo_files_write(p, title, files));
done:
    sr_photo_body_free(p);
    return status;
}
