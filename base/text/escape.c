// Escapes of C for text that must stay on one line, and quotes of CSV.
#include "base/text/escape.h"

#include <string.h>

void sr_escape_line(const char *s, SrText *out) {
    static const char names[] = "\a\b\t\n\v\f\r", letters[] = "abtnvfr";
    for (; *s; s++) {
        const char *named = strchr(names, *s);
        if (named)
            sr_text_printf(out, "\\%c", letters[named - names]);
        else if ((unsigned char)*s < 0x20 || *s == 0x7f)
            sr_text_printf(out, "\\%03o", (unsigned char)*s);
        else
            sr_text_addn(out, *s == '\\' ? "\\\\" : s, *s == '\\' ? 2 : 1);
    }
}

void sr_escape_csv(const char *s, SrText *out) {
    if (!strpbrk(s, ",\"\r\n")) {
        sr_text_add(out, s);
        return;
    }
    sr_text_add(out, "\"");
    for (; *s; s++)
        sr_text_addn(out, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
    sr_text_add(out, "\"");
}
