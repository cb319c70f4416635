// Growing text, edit distance, shell patterns.
#include "base/text/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/text/number.h"

// Makes room for `more` characters and the NUL.
static bool reserve(SrText *text, size_t more) {
    if (text->failed || more > SIZE_MAX / 4 - text->len)
        return !(text->failed = true);
    size_t need = text->len + more + 1;
    if (need <= text->cap)
        return true;
    size_t cap = SR_MAX(need, SR_MAX(2 * text->cap, (size_t)64));
    char *s = sr_realloc(text->s, cap);
    if (!s)
        return !(text->failed = true);
    text->s = s;
    text->cap = cap;
    return true;
}

void sr_text_addn(SrText *text, const char *s, size_t len) {
    if (!reserve(text, len))
        return;
    if (len)
        memcpy(text->s + text->len, s, len);
    text->len += len;
    SR_ASSERT(text->len < text->cap);
    text->s[text->len] = '\0';
}

void sr_text_add(SrText *text, const char *s) { sr_text_addn(text, s, strlen(s)); }

// Measures the text first, so that one growth is enough.
void sr_text_printf(SrText *text, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = sr_number_vprint(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0)
        text->failed = true;
    else if (reserve(text, (size_t)len)) {
        sr_number_vprint(text->s + text->len, (size_t)len + 1, fmt, again);
        text->len += (size_t)len;
    }
    va_end(again);
}

void sr_text_add_word(SrText *text, const char *word) {
    const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (*word && strspn(word, plain) == strlen(word)) {
        sr_text_add(text, word);
        return;
    }
    sr_text_add(text, "'");
    for (const char *c = word; *c; c++)
        if (*c == '\'')
            sr_text_add(text, "'\\''");
        else
            sr_text_addn(text, c, 1);
    sr_text_add(text, "'");
}

const char *sr_text_word(const char *word, char *out, size_t n) {
    SrText text = SR_TEXT_INIT;
    sr_text_add_word(&text, word);
    snprintf(out, n, "%s", text.s ? text.s : "");
    sr_text_deinit(&text);
    return out;
}

void sr_text_deinit(SrText *text) {
    sr_free(text->s);
    *text = (SrText)SR_TEXT_INIT;
}

void sr_text_restart(SrText *text) {
    text->len = 0;
    text->failed = false;
}

// Fifteen digits are enough for numbers that people write (%g drops zeros), seventeen for every
// double.
const char *sr_text_number(double value, char buf[SR_TEXT_NUMBER_BYTES]) {
    for (int digits = 15; digits <= 17; digits++) {
        sr_number_print(buf, SR_TEXT_NUMBER_BYTES, "%.*g", digits, value);
        if (sr_number_parse(buf, NULL) == value)
            break;
    }
    return buf;
}

// Follows RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
int sr_text_utf8(const char *s, uint32_t *code) {
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s;
    int len = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
    *code = len == 1 ? p[0] : p[0] & (0xFFu >> (len + 1));
    for (int i = 1; i < len; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        *code = *code << 6 | (p[i] & 0x3F);
    }
    bool surrogate = *code >= 0xD800 && *code < 0xE000;
    return *code < smallest[len] || *code > 0x10FFFF || surrogate ? 0 : len;
}

bool sr_text_is_control(uint32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

int sr_text_next(const char *s, bool *control) {
    uint32_t code;
    int len = sr_text_utf8(s, &code);
    *control = sr_text_is_control(len ? code : (unsigned char)*s);
    return len ? len : 1;
}

void sr_text_disarm(char *text, const char *keep) {
    bool control;
    for (int n; *text; text += n) {
        n = sr_text_next(text, &control);
        if (control && !strchr(keep, *text))
            memset(text, '?', (size_t)n);
    }
}

enum { DISTANCE_CHARS = 127 }; // only this much of longer names is compared

// Returns 0.5 for a change of case, so that "RESNET" finds "resnet" rather than "regnet".
static double swap_cost(char a, char b) {
    if (a == b)
        return 0;
    return tolower((unsigned char)a) == tolower((unsigned char)b) ? 0.5 : 1;
}

// Damerau's distance in its "optimal string alignment" form: three rows of the table are enough.
double sr_text_distance(const char *a, const char *b) {
    double rows[3][DISTANCE_CHARS + 1];
    int len_a = (int)strnlen(a, DISTANCE_CHARS), len_b = (int)strnlen(b, DISTANCE_CHARS);
    for (int j = 0; j <= len_b; j++)
        rows[0][j] = j;
    for (int i = 1; i <= len_a; i++) {
        double *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= len_b; j++) {
            double best = above[j - 1] + swap_cost(a[i - 1], b[j - 1]);
            best = SR_MIN(best, SR_MIN(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = SR_MIN(best, two_above[j - 2] + 1);
            row[j] = best;
        }
    }
    return rows[len_a % 3][len_b];
}

// The first of equally near names wins, so that messages depend on the table alone.
int sr_text_nearest(const char *name, const char *const *names, int n) {
    double len = (double)strlen(name), best = SR_MIN(0.4 * len + 1, len - 0.5);
    int found = -1;
    for (int i = 0; i < n; i++) {
        double distance = sr_text_distance(name, names[i]);
        if (distance < best || (distance == best && found < 0)) {
            best = distance;
            found = i;
        }
    }
    return found;
}

// After a mismatch, the last star takes one more character.  Earlier stars need no second try, so
// the time is at most the product of the lengths.
bool sr_text_glob(const char *pattern, const char *s) {
    const char *star = NULL, *resume = NULL;
    while (*s) {
        if (*pattern == '*') {
            star = pattern++;
            resume = s;
        } else if (*pattern == '?' || *pattern == *s) {
            pattern++;
            s++;
        } else if (star) {
            pattern = star + 1;
            s = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool sr_text_starts(const char *s, const char *prefix) {
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool sr_text_ends(const char *s, const char *suffix) {
    size_t len = strlen(s), tail = strlen(suffix);
    return len >= tail && strcmp(s + len - tail, suffix) == 0;
}

const char *sr_text_below(const char *name, const char *path) {
    size_t len = strlen(path);
    return strncmp(name, path, len) == 0 && name[len] == '.' ? name + len + 1 : NULL;
}

int sr_text_number_after(const char *s, const char *mark) {
    const char *hit = strstr(s, mark), *digit = hit ? hit + strlen(mark) : "";
    return *digit >= '0' && *digit <= '9' ? atoi(digit) : -1;
}
