// Style, script and building blocks of HTML pages.
#include "pages/html.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/number.h"

#include "gen/assets.h"

void sr_html_begin(const char *title, SrText *out) {
    sr_text_add(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                     "<link rel=\"icon\" href=\"data:,\"><title>");
    sr_html_escape(title, out);
    sr_text_add(out, "</title>\n<style>\n");
    sr_text_add(out, asset_page_css);
    sr_text_add(out, "</style></head>\n<body><main>\n");
}

void sr_html_end(SrText *out) {
    sr_text_add(out, "</main>\n<script>\n");
    sr_text_add(out, asset_page_js);
    sr_text_add(out, "</script></body></html>\n");
}

static void add_script(const char *script, SrText *out) {
    sr_text_add(out, "<script>\n");
    sr_text_add(out, script);
    sr_text_add(out, "</script>\n");
}

void sr_html_live_script(SrText *out) { add_script(asset_live_js, out); }
void sr_html_photo_script(SrText *out) { add_script(asset_photos_js, out); }

// Control characters and bytes that are not UTF-8 become U+FFFD, except for line breaks and tabs: a
// page must not control the terminal that prints it.
void sr_html_escape(const char *s, SrText *out) {
    bool control;
    for (int n; *s; s += n) {
        n = sr_text_next(s, &control);
        bool broken = n == 1 && (unsigned char)*s >= 0x80;
        const char *as = broken || (control && !strchr("\n\r\t", *s)) ? "&#xFFFD;"
                         : *s == '&'                                  ? "&amp;"
                         : *s == '<'                                  ? "&lt;"
                         : *s == '>'                                  ? "&gt;"
                         : *s == '"'                                  ? "&quot;"
                         : *s == '\''                                 ? "&#39;"
                         : *s == ' ' && s[1] == '%' ? "&nbsp;" // a number keeps its unit
                                                    : NULL;
        if (as)
            sr_text_add(out, as);
        else
            sr_text_addn(out, s, (size_t)n);
    }
}

void sr_html_text(SrText *out, const char *fmt, ...) {
    char line[4096];
    va_list args;
    va_start(args, fmt);
    sr_number_vprint(line, sizeof line, fmt, args);
    va_end(args);
    sr_html_escape(line, out);
}

void sr_html_base64(const void *bytes, size_t n, SrText *out) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *b = bytes;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        unsigned v = (unsigned)b[i] << 16 | (left > 1 ? (unsigned)b[i + 1] << 8 : 0) |
                     (left > 2 ? b[i + 2] : 0);
        char four[4] = {letters[v >> 18], letters[v >> 12 & 63],
                        left > 1 ? letters[v >> 6 & 63] : '=', left > 2 ? letters[v & 63] : '='};
        sr_text_addn(out, four, 4);
    }
}

// The first ten colours are a well-known set that most people can tell apart.  Further ones walk
// around the circle of hues by the golden angle.
const char *sr_html_color(int i, int n, char out[8]) {
    static const char *const ten[] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd",
                                      "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"};
    if (i < 0 || n <= 10) {
        snprintf(out, 8, "%s", i < 0 ? "#888888" : ten[i % 10]);
        return out;
    }
    double hue = fmod(i * 137.50776, 360) / 60, light = 0.42 + 0.16 * (i % 3) / 2;
    double chroma = 0.65 * (1 - fabs(2 * light - 1)), low = light - chroma / 2;
    int rgb[3];
    for (int c = 0; c < 3; c++) {
        double h = fmod(hue + (c == 0   ? 0
                               : c == 1 ? 4
                                        : 2),
                        6); // the channels lie a third of the circle apart
        double share = h < 1 || h >= 5 ? 1 : h < 2 ? 2 - h : h >= 4 ? h - 4 : 0;
        rgb[c] = (int)(255 * (low + chroma * share) + 0.5);
    }
    snprintf(out, 8, "#%02x%02x%02x", (unsigned)rgb[0] & 255, (unsigned)rgb[1] & 255,
             (unsigned)rgb[2] & 255);
    return out;
}
