// Finds names by words of their name and help.
#include "trainer/config/manual_search.h"

#include <ctype.h>
#include <string.h>

enum { WORDS = 8, WORD_BYTES = 64, PLAIN_BYTES = 2048, LINE = 76 };

typedef struct {
    char word[WORDS][WORD_BYTES];
    int n;
} Query;

// Copies letters and digits in lower case.
static void plain(const char *s, char *out, size_t bytes) {
    size_t n = strlen(out);
    for (; s && *s && n + 1 < bytes; s++)
        if (isalnum((unsigned char)*s))
            out[n++] = (char)tolower((unsigned char)*s);
    out[n] = '\0';
}

// Splits at everything that is no letter or digit.
static void split(const char *text, Query *q) {
    *q = (Query){.n = 0};
    for (size_t len; *text && q->n < WORDS; text += len) {
        while (*text && !isalnum((unsigned char)*text))
            text++;
        for (len = 0; isalnum((unsigned char)text[len]);)
            len++;
        if (len == 0 || len >= WORD_BYTES)
            continue;
        for (size_t i = 0; i < len; i++)
            q->word[q->n][i] = (char)tolower((unsigned char)text[i]);
        q->n++;
    }
}

static bool holds_all(const Query *q, const char *text) {
    for (int i = 0; i < q->n; i++)
        if (!strstr(text, q->word[i]))
            return false;
    return q->n > 0;
}

// Adds a line with the first sentence of the help, cut to the width of a terminal.
static void add_line(const SrManualName *name, SrText *out) {
    const char *help = name->help ? name->help : "", *end = strpbrk(help, ".\n");
    int room = LINE - SR_MAX((int)strlen(name->name), 34);
    int n = end ? (int)(end - help) : (int)strlen(help);
    while (n > 0 && room > 0 && n > room && help[room] != ' ')
        room--;
    sr_text_printf(out, "  %-34s %.*s%s\n", name->name, SR_MAX(SR_MIN(n, room), 0), help,
                   n > room ? " ..." : "");
}

int sr_manual_search(const char *query, const SrManualName *names, int n, SrText *out) {
    Query q;
    int found = 0;
    split(query, &q);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < n; i++) {
            char text[PLAIN_BYTES] = "";
            plain(names[i].name, text, sizeof text);
            bool by_name = holds_all(&q, text);
            if (pass == 1)
                plain(names[i].help, text, sizeof text);
            if (pass == 0 ? !by_name : by_name || !holds_all(&q, text))
                continue;
            if (++found <= SR_SEARCH_SHOWN)
                add_line(&names[i], out);
        }
    if (found > SR_SEARCH_SHOWN)
        sr_text_printf(out, "  and %d more\n", found - SR_SEARCH_SHOWN);
    return found;
}
