// Draws pairs of patches as dots and lines.
#include "pages/photos/match_picture.h"

#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "data/encode.h"
#include "data/pixels/pixel.h"
#include "data/pixels/pixel_resample.h"
#include "pages/canvas.h"
#include "pages/html.h"

enum { HEIGHT = 480, WIDTH = 720, GAP = 8, DOT = 5, PAPER = 0xFFFFFF };

static SrStatus draw_image(const SrImage *image, int x, SrImagePool *pool, SrCanvas *canvas,
                           SrBox *box) {
    SrImage scaled;
    SR_TRY(sr_pixel_resize(image, (SrBox){0, 0, image->H, image->W}, box->h, box->w,
                           SR_FILTER_BILINEAR, pool, &scaled));
    sr_canvas_image(canvas, x, 0, scaled.rgb, box->h, box->w, 1);
    box->left = x;
    return SR_OK;
}

static SrBox size_of(const SrImage *image) {
    double zoom = fmin((double)HEIGHT / image->H, (double)WIDTH / image->W);
    return (SrBox){0, 0, (int)fmax(image->H * zoom, 1), (int)fmax(image->W * zoom, 1)};
}

// Draws a line of two pixels from dot to dot.
static void draw_line(SrCanvas *c, int x0, int y0, int x1, int y1, uint32_t color) {
    int steps = abs(x1 - x0) > abs(y1 - y0) ? abs(x1 - x0) : abs(y1 - y0);
    for (int i = 0; i <= steps; i++) {
        double at = steps ? (double)i / steps : 0;
        sr_canvas_box(c, (int)lround(x0 + (x1 - x0) * at), (int)lround(y0 + (y1 - y0) * at), 2, 2,
                      color);
    }
}

static void draw_dot(SrCanvas *c, int x, int y, uint32_t color) {
    sr_canvas_box(c, x - DOT / 2 - 1, y - DOT / 2 - 1, DOT + 2, DOT + 2, PAPER);
    sr_canvas_box(c, x - DOT / 2, y - DOT / 2, DOT, DOT, color);
}

static void center_of(const SrMatchPicture *p, int patch, SrBox box, int *x, int *y) {
    *x = box.left + (int)((patch % p->columns + 0.5) * box.w / p->columns);
    *y = box.top + (int)((patch / p->columns + 0.5) * box.h / p->rows);
}

static void draw_pairs(const SrMatchPicture *p, SrBox a, SrBox b, SrCanvas *canvas) {
    for (int i = p->n - 1; i >= 0; i--) { // the most similar pair on top
        char text[8];
        uint32_t color = (uint32_t)strtoul(sr_html_color(i, p->n, text) + 1, NULL, 16);
        int x0, y0, x1, y1;
        center_of(p, p->pair[i].a, a, &x0, &y0);
        center_of(p, p->pair[i].b, b, &x1, &y1);
        draw_line(canvas, x0, y0, x1, y1, color);
        draw_dot(canvas, x0, y0, color);
        draw_dot(canvas, x1, y1, color);
    }
}

SrStatus sr_match_picture(const SrMatchPicture *p, SrImagePool *pool, const char *file) {
    SrBox a = size_of(p->a), b = size_of(p->b);
    SrCanvas canvas;
    SrText png = SR_TEXT_INIT;
    SR_TRY(sr_canvas_init(&canvas, a.h > b.h ? a.h : b.h, a.w + GAP + b.w, PAPER));
    SrStatus status = draw_image(p->a, 0, pool, &canvas, &a);
    if (status == SR_OK)
        status = draw_image(p->b, a.w + GAP, pool, &canvas, &b);
    if (status == SR_OK) {
        draw_pairs(p, a, b, &canvas);
        sr_png_encode(canvas.rgb, canvas.h, canvas.w, &png);
        status = sr_file_write_text(file, &png);
    }
    sr_text_deinit(&png);
    sr_canvas_deinit(&canvas);
    return status;
}
