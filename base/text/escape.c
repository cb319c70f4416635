// Escapes of C for text that must stay on one line, and quotes of CSV.
#include "base/text/escape.h"

#include <string.h>

void sr_escape_line(const char *s, SrText *out) {
    static const char names[] = "\a\b\t\n\v\f\r", letters[] = "abtnvfr";
    bool control;
    for (int n; *s; s += n) {
        const char *named = strchr(names, *s);
        n = sr_text_next(s, &control);
        if (named)
            sr_text_printf(out, "\\%c", letters[named - names]);
        else if (control)
            for (int i = 0; i < n; i++)
                sr_text_printf(out, "\\%03o", (unsigned char)s[i]);
        else
            sr_text_addn(out, *s == '\\' ? "\\\\" : s, *s == '\\' ? 2 : (size_t)n);
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
