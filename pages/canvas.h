// A picture with filled boxes, images and small letters, for contact sheets and previews of a
// batch.
#ifndef SR_PAGES_CANVAS_H
#define SR_PAGES_CANVAS_H

#include <stdint.h>

#include "base/status.h"

enum {
    SR_CANVAS_LETTER_W = 7,
    SR_CANVAS_LINE_H = 12
}; // pixels: about a letter's width, a line's height

typedef struct {
    int h, w;
    uint8_t *rgb; // (h, w, 3), owned
} SrCanvas;

SrStatus sr_canvas_init(SrCanvas *canvas, int h, int w, uint32_t color); // 0xRRGGBB
void sr_canvas_deinit(SrCanvas *canvas);
// Fills a box.  Here and below, parts outside the canvas are left out.
void sr_canvas_box(SrCanvas *canvas, int x, int y, int w, int h, uint32_t color);
// Draws rgb (h, w, 3), each pixel as a square with sides of `zoom` pixels.
void sr_canvas_image(SrCanvas *canvas, int x, int y, const uint8_t *rgb, int h, int w, int zoom);
// Draws text in lines of at most `width` pixels, broken at blanks; returns the number of lines.
// canvas NULL: only counts them.
int sr_canvas_text(SrCanvas *canvas, int x, int y, int width, uint32_t color, const char *text);

#endif
