// HTML pages of one file: style and script are inside, nothing is fetched, and a page can be read
// without script.
#ifndef SR_PAGES_HTML_H
#define SR_PAGES_HTML_H

#include "base/text/text.h"

// Writes from <!doctype> to the open <main>; sr_html_end closes the page.
void sr_html_begin(const char *title, SrText *out);
void sr_html_end(SrText *out);
void sr_html_live_script(SrText *out);           // script of the live page, which needs #live
void sr_html_photo_script(SrText *out);          // script of pages of photos in sections
void sr_html_escape(const char *s, SrText *out); // escapes & < > " '; joins a number and %
// Appends formatted text, all of it escaped.
void sr_html_text(SrText *out, const char *fmt, ...) SR_PRINTF(2, 3);
void sr_html_base64(const void *bytes, size_t n, SrText *out);
// Returns a colour "#rrggbb" for class i of n; consecutive classes differ in hue and lightness.
const char *sr_html_color(int i, int n, char out[8]);

#endif
