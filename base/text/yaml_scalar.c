// Determines the type of a plain YAML scalar from its text.
#include "base/text/yaml_scalar.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/number.h"
#include "base/text/text.h"
#include "base/text/yaml.h"

enum { NUMBER_BYTES = 80 }; // longer scalars are strings: no number needs as many digits

static bool is_one_of(const char *s, const char *const *words) {
    for (; *words; words++)
        if (strcmp(s, *words) == 0)
            return true;
    return false;
}

// Copies s without the underscores that group digits; false: s cannot be a number.
static bool ungrouped(const char *s, char out[NUMBER_BYTES]) {
    size_t len = 0;
    const char *first = s + (*s == '-' || *s == '+');
    if (!isdigit((unsigned char)*first) && *first != '.')
        return false;
    for (; *s; s++) {
        if (len + 1 == NUMBER_BYTES)
            return false;
        if (*s != '_')
            out[len++] = *s;
    }
    out[len] = '\0';
    return true;
}

// Cuts off the prefix and passes the base, because strtoll does not know 0b.
static bool parse_int(const char *s, int64_t *out) {
    char digits[NUMBER_BYTES];
    size_t sign = *s == '-' || *s == '+';
    const char *rest = s + sign;
    int base = 10;
    if (rest[0] == '0' && rest[1] != '\0') {
        base = rest[1] == 'x' ? 16 : rest[1] == 'b' ? 2 : 8;
        rest += base == 8 ? 1 : 2;
    }
    if (!isxdigit((unsigned char)*rest)) // strtoll would skip blanks and take a second sign
        return false;
    memcpy(digits, s, sign);
    memcpy(digits + sign, rest, strlen(rest) + 1);
    char *end;
    errno = 0;
    long long value = strtoll(digits, &end, base);
    if (*end != '\0' || errno == ERANGE)
        return false;
    *out = value;
    return true;
}

// Accepts "1.5", "1e-4", ".5", "1." and whole numbers beyond 64 bits, but not strtod's words and
// hexadecimal floats.
static bool parse_float(const char *s, double *out) {
    const char *p = s + (*s == '-' || *s == '+');
    if (strcasecmp(p, ".inf") == 0) {
        *out = *s == '-' ? -INFINITY : INFINITY;
        return true;
    }
    if (strcasecmp(s, ".nan") == 0) {
        *out = NAN;
        return true;
    }
    bool octal_like = p[0] == '0' && p[1] != '\0' && !strpbrk(p, ".eE");
    bool starts = isdigit((unsigned char)p[0]) || (p[0] == '.' && isdigit((unsigned char)p[1]));
    if (octal_like || !starts || strspn(p, "0123456789.eE+-") != strlen(p))
        return false;
    char *end;
    double value = sr_number_parse(s, &end);
    if (*end != '\0')
        return false;
    *out = value;
    return true;
}

SrYaml *sr_yaml_scalar(SrArena *arena, const char *text, const char *file, int line) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const yes[] = {"true", "True", "TRUE", NULL};
    static const char *const no[] = {"false", "False", "FALSE", NULL};
    SrYaml *node = sr_yaml_new(arena, SR_YAML_STRING, file, line);
    if (!node || !(node->text = sr_arena_strdup(arena, text)))
        return NULL;
    char number[NUMBER_BYTES];
    if (is_one_of(text, nulls)) {
        node->type = SR_YAML_NULL;
    } else if (is_one_of(text, yes) || is_one_of(text, no)) {
        node->type = SR_YAML_BOOL;
        node->b = is_one_of(text, yes);
        node->i = node->b;
        node->f = node->b;
    } else if (!ungrouped(text, number)) {
        return node;
    } else if (parse_int(number, &node->i)) {
        node->type = SR_YAML_INT;
        node->f = (double)node->i;
    } else if (parse_float(number, &node->f)) {
        node->type = SR_YAML_FLOAT;
    }
    return node;
}

SrYaml *sr_yaml_bool(SrArena *arena, bool value) {
    return sr_yaml_scalar(arena, value ? "true" : "false", "", 0);
}

SrYaml *sr_yaml_int(SrArena *arena, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return sr_yaml_scalar(arena, text, "", 0);
}

SrYaml *sr_yaml_float(SrArena *arena, double value) {
    char text[SR_TEXT_NUMBER_BYTES];
    if (isnan(value) || isinf(value))
        return sr_yaml_scalar(arena, isnan(value) ? ".nan" : value < 0 ? "-.inf" : ".inf", "", 0);
    sr_text_number(value, text);
    const char *point = strpbrk(text, ".e") ? "" : ".0";
    const char *whole = sr_arena_printf(arena, "%s%s", text, point);
    return whole ? sr_yaml_scalar(arena, whole, "", 0) : NULL;
}

SrYaml *sr_yaml_string(SrArena *arena, const char *value) {
    SrYaml *node = sr_yaml_new(arena, value ? SR_YAML_STRING : SR_YAML_NULL, "", 0);
    if (node && !(node->text = sr_arena_strdup(arena, value ? value : "null")))
        return NULL;
    return node;
}
