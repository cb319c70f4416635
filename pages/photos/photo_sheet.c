// Draws contact sheets of photos, row by row.
#include "pages/photos/photo_sheet.h"

#include <stdio.h>

#include "base/file.h"
#include "data/encode.h"
#include "data/image_pool.h"
#include "pages/canvas.h"

enum { GAP = 10, SIDE = 128, COLUMNS = 8, WIDTH = GAP + COLUMNS * (SIDE + GAP) };
enum { PAPER = 0xFFFFFF, INK = 0x222222, PALE = 0x777777, FRAME = 0xDDDDDD, EMPTY = 0xEEEEEE };

typedef struct {
    const SrPhotoBody *body;
    int n;            // photos that are shown
    SrCanvas *canvas; // NULL: only heights are counted
    uint8_t rgb[SIDE * SIDE * 3];
} Sheet;

// Draws a text over the whole width and returns the height that it takes.
static int draw_line(Sheet *s, int y, uint32_t color, const char *text) {
    return SR_CANVAS_LINE_H * sr_canvas_text(s->canvas, GAP, y, WIDTH - 2 * GAP, color, text);
}

// Draws a picture with its words; *height gets the height of the cell.
static SrStatus draw_cell(Sheet *s, int i, int x, int y, int *height) {
    const SrThumb *thumb = &s->body->thumb[i];
    char words[512];
    snprintf(words, sizeof words, "%s%s%s", s->body->caption[i], *s->body->caption[i] ? " " : "",
             s->body->name[i]);
    if (s->canvas) {
        sr_canvas_box(s->canvas, x - 1, y - 1, SIDE + 2, SIDE + 2, FRAME);
        sr_canvas_box(s->canvas, x, y, SIDE, SIDE, EMPTY);
        if (thumb->side > 0) {
            sr_image_pool_reset(s->body->pool);
            SR_TRY(sr_thumb_scale(thumb, SIDE, s->body->pool, s->rgb));
            sr_canvas_image(s->canvas, x, y, s->rgb, SIDE, SIDE, 1);
        }
    }
    *height =
        SIDE + 4 + SR_CANVAS_LINE_H * sr_canvas_text(s->canvas, x, y + SIDE + 4, SIDE, INK, words);
    return SR_OK;
}

// Draws photos first to last - 1 in rows; *y moves below them.
static SrStatus draw_photos(Sheet *s, int first, int last, int *y) {
    for (int i = first; i < last; i += COLUMNS) {
        int tallest = 0;
        for (int c = 0; c < COLUMNS && i + c < last; c++) {
            int height;
            SR_TRY(draw_cell(s, i + c, GAP + c * (SIDE + GAP), *y, &height));
            tallest = SR_MAX(tallest, height);
        }
        *y += tallest + GAP;
    }
    return SR_OK;
}

// Draws everything; *height gets the height of the sheet.
static SrStatus draw(Sheet *s, const char *title, int *height) {
    const SrPhotoBody *b = s->body;
    char more[96];
    int y = GAP;
    y += draw_line(s, y, INK, title) + GAP;
    for (int k = 0; k < b->n_sections && b->section[k].first < s->n; k++) {
        int last = k + 1 < b->n_sections ? b->section[k + 1].first : b->n;
        y += draw_line(s, y, PALE, b->section[k].heading) + 4;
        SR_TRY(draw_photos(s, b->section[k].first, SR_MIN(last, s->n), &y));
    }
    if (s->n < b->n) {
        snprintf(more, sizeof more, "%d more photos are not shown here; --page shows them.",
                 b->n - s->n);
        y += draw_line(s, y, PALE, more) + GAP;
    }
    *height = y;
    return SR_OK;
}

SrStatus sr_photo_sheet(const SrPhotoBody *body, const char *title, const char *file) {
    Sheet s = {.body = body, .n = SR_MIN(body->n, SR_SHEET_PHOTOS)};
    SrCanvas canvas;
    SrText out = SR_TEXT_INIT;
    int height;
    SR_TRY(draw(&s, title, &height));
    SR_TRY(sr_canvas_init(&canvas, height, WIDTH, PAPER));
    s.canvas = &canvas;
    SrStatus status = draw(&s, title, &height);
    if (status == SR_OK)
        sr_png_encode(canvas.rgb, canvas.h, canvas.w, &out);
    if (status == SR_OK)
        status = sr_file_write_text(file, &out);
    sr_canvas_deinit(&canvas);
    sr_text_deinit(&out);
    return status;
}
