#include "tests/words.h"

#include <string.h>

int words_count(const char *text, const char *part) {
    int n = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        n++;
    return n;
}

const char *words_last_line(const char *text) {
    const char *line = text;
    for (const char *p = text; *p; p++)
        if (*p == '\n' && p[1])
            line = p + 1;
    return line;
}
