// Pictures, boxes and text on a canvas, with the letters of stb_easy_font.
#include "pages/canvas.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wshadow"
#include <stb/stb_easy_font.h>
#pragma GCC diagnostic pop

enum { LINE_BYTES = 200 };

SrStatus sr_canvas_init(SrCanvas *c, int h, int w, uint32_t color) {
    *c = (SrCanvas){.h = h, .w = w, .rgb = sr_alloc((size_t)h * (size_t)w * 3)};
    SR_TRY_MEMORY(c->rgb, "a picture of %d x %d pixels", w, h);
    sr_canvas_box(c, 0, 0, w, h, color);
    return SR_OK;
}

void sr_canvas_deinit(SrCanvas *c) {
    sr_free(c->rgb);
    c->rgb = NULL;
}

static void put(SrCanvas *c, int x, int y, const uint8_t rgb[3]) {
    if (x >= 0 && y >= 0 && x < c->w && y < c->h)
        memcpy(c->rgb + ((int64_t)y * c->w + x) * 3, rgb, 3);
}

void sr_canvas_box(SrCanvas *c, int x, int y, int w, int h, uint32_t color) {
    const uint8_t rgb[3] = {(uint8_t)(color >> 16), (uint8_t)(color >> 8), (uint8_t)color};
    for (int i = 0; i < h; i++)
        for (int k = 0; k < w; k++)
            put(c, x + k, y + i, rgb);
}

void sr_canvas_image(SrCanvas *c, int x, int y, const uint8_t *rgb, int h, int w, int zoom) {
    for (int i = 0; i < h * zoom; i++)
        for (int k = 0; k < w * zoom; k++)
            put(c, x + k, y + i, rgb + ((int64_t)(i / zoom) * w + k / zoom) * 3);
}

// Replacements for letters of Latin-1 from U+00C0 on, as German and French write them without
// accents.  Each has at most two letters, so that no line grows: UTF-8 takes two bytes.
static const char *const latin[64] = {
    "A", "A", "A", "A", "Ae", "A", "AE", "C", "E", "E", "E", "E", "I",  "I", "I",  "I",
    "D", "N", "O", "O", "O",  "O", "Oe", "x", "O", "U", "U", "U", "Ue", "Y", "Th", "ss",
    "a", "a", "a", "a", "ae", "a", "ae", "c", "e", "e", "e", "e", "i",  "i", "i",  "i",
    "d", "n", "o", "o", "o",  "o", "oe", "/", "o", "u", "u", "u", "ue", "y", "th", "y"};

// Returns the text drawn for a character: the font has ASCII only.
static const char *drawn_as(uint32_t code, char ascii[2]) {
    if (code >= 0xC0 && code < 0x100)
        return latin[code - 0xC0];
    if (code >= 0x300 && code < 0x370) // a combining accent, after its letter
        return "";
    ascii[0] = code < 32 || code > 126 ? '?' : (char)code;
    return ascii;
}

static void take_line(const char *text, size_t n, char line[LINE_BYTES]) {
    const char *end = text + n;
    size_t len = 0;
    while (text < end) {
        uint32_t code;
        char ascii[2] = "";
        int bytes = sr_text_utf8(text, &code);
        const char *letters = bytes && bytes <= end - text ? drawn_as(code, ascii) : "?";
        for (; *letters; letters++)
            line[len++] = *letters;
        text += SR_MAX(bytes, 1);
    }
    line[len] = '\0';
}

// Draws one line; the font gives rectangles of four corners, each (x, y, z, color).
static void draw_line(SrCanvas *c, int x, int y, uint32_t color, char *line) {
    struct {
        float x, y, z;
        uint32_t color;
    } corner[4 * 40 * LINE_BYTES / 10];
    int n = stb_easy_font_print((float)x, (float)y, line, NULL, corner, sizeof corner);
    for (int i = 0; i < n; i++) {
        int left = (int)corner[4 * i].x, top = (int)corner[4 * i].y;
        sr_canvas_box(c, left, top, (int)corner[4 * i + 2].x - left, (int)corner[4 * i + 2].y - top,
                      color);
    }
}

static bool fits(const char *text, size_t n, int width) {
    char line[LINE_BYTES];
    if (n >= sizeof line)
        return false;
    take_line(text, n, line);
    return stb_easy_font_width(line) <= width;
}

// Returns the end of the character at text[i].
static size_t after(const char *text, size_t i) {
    do
        i++;
    while (((unsigned char)text[i] & 0xC0) == 0x80);
    return i;
}

// Returns the length of the next line: the whole words that fit, or the first letters of a word
// that is too long.
static size_t next_line(const char *text, int width) {
    size_t n = strlen(text), best = 0;
    if (fits(text, n, width))
        return n;
    for (size_t i = after(text, 0); i < n && fits(text, i, width); i = after(text, i))
        if (text[i] == ' ')
            best = i;
    while (best == 0 || (best < n && text[best] != ' ' && fits(text, after(text, best), width)))
        best = after(text, best);
    return best;
}

int sr_canvas_text(SrCanvas *c, int x, int y, int width, uint32_t color, const char *text) {
    int lines = 0;
    while (*text) {
        char line[LINE_BYTES];
        size_t n = next_line(text, width);
        if (c) {
            take_line(text, n, line);
            draw_line(c, x, y + lines * SR_CANVAS_LINE_H, color, line);
        }
        lines++;
        text += n + strspn(text + n, " ");
    }
    return lines;
}
