// A picture to draw on: filled boxes, images, small letters.  For contact sheets and previews of a batch.
#ifndef SR_PAGES_CANVAS_H
#define SR_PAGES_CANVAS_H

#include <stdint.h>

#include "base/status.h"

enum { SR_CANVAS_LETTER_W = 7, SR_CANVAS_LINE_H = 12 }; // about, of a letter; of a line

typedef struct {
    int h, w;
    uint8_t *rgb; // (h, w, 3), owned
} SrCanvas;

SrStatus sr_canvas_init(SrCanvas *canvas, int h, int w, uint32_t color); // 0xRRGGBB
void sr_canvas_deinit(SrCanvas *canvas);
// What lies outside of the canvas is left out, here and below.
void sr_canvas_box(SrCanvas *canvas, int x, int y, int w, int h, uint32_t color);
// rgb (h, w, 3), each pixel as a square of `zoom` a side.
void sr_canvas_image(SrCanvas *canvas, int x, int y, const uint8_t *rgb, int h, int w, int zoom);
// Words below each other within `width`, broken at blanks; returns the number of lines, which are drawn unless canvas is NULL.
int sr_canvas_text(SrCanvas *canvas, int x, int y, int width, uint32_t color, const char *text);

#endif
