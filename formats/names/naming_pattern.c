// Matches and writes patterns of names.
#include "formats/names/naming_pattern.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { // <2a+1>
    int factor, letter, more;
    const char *end;
} Number;

static Number parse_number(const char *pattern) {
    Number n = {.factor = 1};
    pattern++;
    if (isdigit((unsigned char)*pattern))
        n.factor = *pattern++ - '0';
    n.letter = *pattern++ - 'a';
    if (*pattern == '+')
        n.more = *++pattern - '0', pattern++;
    n.end = pattern + 1;
    return n;
}

// Reads the digits at *name as the letter's value, which must agree with a value it already has.
static bool match_number(Number n, const char **name, int values[SR_PATTERN_LETTERS]) {
    char *end;
    if (!isdigit((unsigned char)**name) || (**name == '0' && isdigit((unsigned char)(*name)[1])))
        return false;
    long v = strtol(*name, &end, 10) - n.more;
    if (v < 0 || v > 9999 || v % n.factor != 0)
        return false;
    v /= n.factor;
    if (values[n.letter] >= 0 && values[n.letter] != v)
        return false;
    values[n.letter] = (int)v;
    *name = end;
    return true;
}

const char *sr_pattern_match(const char *pattern, const char *name,
                             int values[SR_PATTERN_LETTERS]) {
    for (int i = 0; i < SR_PATTERN_LETTERS; i++)
        values[i] = -1;
    while (*pattern) {
        if (*pattern != '<') {
            if (*pattern++ != *name++)
                return NULL;
            continue;
        }
        Number n = parse_number(pattern);
        if (!match_number(n, &name, values))
            return NULL;
        pattern = n.end;
    }
    return name;
}

void sr_pattern_write(const char *pattern, const int values[SR_PATTERN_LETTERS], const char *rest,
                      char *out, size_t bytes) {
    size_t len = 0;
    while (*pattern && len + 16 < bytes) {
        if (*pattern != '<') {
            out[len++] = *pattern++;
            continue;
        }
        Number n = parse_number(pattern);
        len += (size_t)snprintf(out + len, bytes - len, "%d", n.factor * values[n.letter] + n.more);
        pattern = n.end;
    }
    snprintf(out + len, bytes - len, "%s", rest);
}
