// Collects strips of pictures, and writes them as a sheet or a page.
#include "pages/photos/picture_strips.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "data/encode.h"
#include "data/image_pool.h"
#include "data/pixels/pixel.h"
#include "data/pixels/pixel_resample.h"
#include "pages/canvas.h"
#include "pages/html.h"

enum { GAP = 3, SHEET_GAP = 12, SHEET_WIDTH = 1280, QUALITY = 88 };
enum { PAPER = 0xFFFFFF, INK = 0x222222, PALE = 0x777777 };

static SrStatus out_of_memory(void) { return sr_out_of_memory("pictures"); }

void sr_strips_deinit(SrStrips *s) {
    for (int i = 0; i < s->n; i++) {
        sr_free(s->strip[i].rgb);
        sr_free(s->strip[i].name);
        sr_free(s->strip[i].caption);
    }
    sr_text_deinit(&s->intro);
    s->n = 0;
}

// ---- collecting ---------------------------------------------------------------------------------

static void size_of(const SrImage *image, int *h, int *w) {
    double zoom = SR_MIN((double)SR_STRIP_HEIGHT / image->H, 2.0 * SR_STRIP_HEIGHT / image->W);
    *h = SR_MAX((int)(image->H * zoom + 0.5), 1);
    *w = SR_MAX((int)(image->W * zoom + 0.5), 1);
}

static SrStatus draw_panels(const SrImage *panel, int n, SrImagePool *pool, SrCanvas *canvas) {
    for (int i = 0, x = 0; i < n; i++) {
        SrImage small;
        int h, w;
        size_of(&panel[i], &h, &w);
        SR_TRY(sr_pixel_resize(&panel[i], (SrBox){0, 0, panel[i].H, panel[i].W}, h, w,
                               SR_FILTER_BILINEAR, pool, &small));
        sr_canvas_image(canvas, x, 0, small.rgb, h, w, 1);
        x += w + GAP;
    }
    return SR_OK;
}

// Returns the name of a file with its folder, which is often its class: "hat/0.jpg".
static const char *short_name(const char *file) {
    const char *name = file, *folder = file;
    for (const char *c = file; *c; c++)
        if (*c == '/' && c[1]) {
            folder = name;
            name = c + 1;
        }
    return folder;
}

SrStatus sr_strips_add(SrStrips *s, const SrImage *panel, int n, const char *file,
                       const char *caption, SrImagePool *pool) {
    SrCanvas canvas;
    int height = 0, width = -GAP;
    if (s->n == SR_STRIPS_MOST) {
        s->left_out++;
        return SR_OK;
    }
    for (int i = 0, h, w; i < n; i++) {
        size_of(&panel[i], &h, &w);
        height = SR_MAX(height, h);
        width += w + GAP;
    }
    SR_TRY(sr_canvas_init(&canvas, height, width, PAPER));
    SrStrip *strip = &s->strip[s->n++];
    *strip = (SrStrip){height, width, canvas.rgb, sr_strdup(short_name(file)), sr_strdup(caption)};
    size_t mark = sr_image_pool_mark(pool);
    SrStatus status =
        strip->name && strip->caption ? draw_panels(panel, n, pool, &canvas) : out_of_memory();
    sr_image_pool_rewind(pool, mark);
    return status;
}

// ---- the sheet ----------------------------------------------------------------------------------

// Draws a strip with its words at (x, y) and returns the height that it takes.  canvas NULL: only
// counts.
static int draw_strip(const SrStrip *t, SrCanvas *canvas, int x, int y) {
    char words[512];
    snprintf(words, sizeof words, "%.200s%s%.300s", t->name, *t->caption ? ": " : "", t->caption);
    if (canvas)
        sr_canvas_image(canvas, x, y, t->rgb, t->h, t->w, 1);
    return t->h + 4 +
           SR_CANVAS_LINE_H * sr_canvas_text(canvas, x, y + t->h + 4, SR_MAX(t->w, 60), INK, words);
}

// Draws all strips in rows and returns the height of the sheet.
static int draw_sheet(const SrStrips *s, const char *title, SrCanvas *canvas) {
    int x = SHEET_GAP, y = SHEET_GAP, tallest = 0, width = SHEET_WIDTH - 2 * SHEET_GAP;
    y += SR_CANVAS_LINE_H * sr_canvas_text(canvas, x, y, width, INK, title) + SHEET_GAP;
    for (int i = 0; i < s->n; i++) {
        if (x > SHEET_GAP && x + s->strip[i].w > SHEET_WIDTH - SHEET_GAP) {
            x = SHEET_GAP;
            y += tallest + SHEET_GAP;
            tallest = 0;
        }
        int height = draw_strip(&s->strip[i], canvas, x, y);
        tallest = SR_MAX(tallest, height);
        x += s->strip[i].w + SHEET_GAP;
    }
    y += tallest + SHEET_GAP;
    if (s->left_out > 0) {
        char more[96];
        snprintf(more, sizeof more, "%lld more images are not shown here.", (long long)s->left_out);
        y += SR_CANVAS_LINE_H * sr_canvas_text(canvas, SHEET_GAP, y, width, PALE, more) + SHEET_GAP;
    }
    return y;
}

static SrStatus write_sheet(const SrStrips *s, const char *title, const char *file) {
    SrCanvas canvas;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_canvas_init(&canvas, draw_sheet(s, title, NULL), SHEET_WIDTH, PAPER));
    draw_sheet(s, title, &canvas);
    sr_png_encode(canvas.rgb, canvas.h, canvas.w, &out);
    SrStatus status = sr_file_write_text(file, &out);
    sr_canvas_deinit(&canvas);
    sr_text_deinit(&out);
    return status;
}

// ---- the page -----------------------------------------------------------------------------------

static void add_strip(const SrStrip *t, SrText *out) {
    SrText jpeg = SR_TEXT_INIT;
    sr_jpeg_encode(t->rgb, t->h, t->w, QUALITY, &jpeg);
    sr_text_printf(out, "<figure style=\"max-width:%dpx\"><img width=\"%d\" height=\"%d\" alt=\"",
                   t->w, t->w, t->h);
    sr_html_text(out, "%s: %s", t->name, t->caption);
    sr_text_add(out, "\" src=\"data:image/jpeg;base64,");
    sr_html_base64(jpeg.s, jpeg.len, out);
    sr_text_add(out, "\"><small>");
    sr_html_text(out, "%s%s%s", t->name, *t->caption ? ": " : "", t->caption);
    sr_text_add(out, "</small></figure>\n");
    out->failed = out->failed || jpeg.failed;
    sr_text_deinit(&jpeg);
}

static SrStatus write_page(const SrStrips *s, const char *title, const char *file) {
    SrText out = SR_TEXT_INIT;
    sr_html_begin(title, &out);
    sr_text_add(&out, "<h1>");
    sr_html_escape(title, &out);
    sr_text_add(&out, "</h1>\n");
    sr_text_add(&out, s->intro.s ? s->intro.s : "");
    sr_text_add(&out, "<div class=\"strips\">\n");
    for (int i = 0; i < s->n; i++)
        add_strip(&s->strip[i], &out);
    sr_text_add(&out, "</div>\n");
    if (s->left_out > 0)
        sr_text_printf(&out, "<p class=\"pale\">%lld more images are not shown here.</p>\n",
                       (long long)s->left_out);
    sr_html_end(&out);
    SrStatus status = s->intro.failed ? out_of_memory() : sr_file_write_text(file, &out);
    sr_text_deinit(&out);
    return status;
}

SrStatus sr_strips_write(const SrStrips *s, const char *title, const SrPhotoFiles *files) {
    if (files->page)
        SR_TRY(write_page(s, title, files->page));
    return files->sheet ? write_sheet(s, title, files->sheet) : SR_OK;
}
