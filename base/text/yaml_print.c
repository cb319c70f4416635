// Prints a YAML tree, in block style for files and in flow style for one line.  The text parses
// back to an equal tree.
#include "base/text/yaml_print.h"

#include <math.h>
#include <string.h>

#include "base/text/yaml.h"
#include "base/text/yaml_scalar.h"

// True: libyaml reads this character unchanged.  Control characters, line breaks of any alphabet
// and the byte order mark are excluded.
static bool is_printable(uint32_t code) {
    if (code < 0xA0)
        return code >= 0x20 && code < 0x7F;
    return code != 0x2028 && code != 0x2029 && code != 0xFEFF && (code & 0xFFFE) != 0xFFFE;
}

static bool all_printable(const char *s) {
    uint32_t code;
    for (int len; *s; s += len) {
        len = sr_text_utf8(s, &code);
        if (len == 0 || !is_printable(code))
            return false;
    }
    return true;
}

// True: other YAML readers do not take this word for a string.
static bool is_reserved(const char *s) {
    static const char *const words[] = {"yes", "no", "on", "off", "=", "<<"};
    for (int i = 0; i < SR_COUNT(words); i++)
        if (strcasecmp(s, words[i]) == 0)
            return true;
    return false;
}

// True: the string needs no quotes, because a parser returns it unchanged.  Without memory to parse
// it, the text fails: quotes that depend on memory would make equal trees differ.
static bool is_plain(const char *s, SrText *out) {
    SrArena arena = SR_ARENA_INIT;
    const SrYaml *typed = sr_yaml_scalar(&arena, s, "", 0);
    bool string = typed && typed->type == SR_YAML_STRING;
    out->failed |= !typed;
    sr_arena_deinit(&arena);
    if (!string || is_reserved(s) || !all_printable(s))
        return false;
    bool ends_document = sr_text_starts(s, "..."); // if it starts a line
    return !ends_document && !strchr("-?!|>'%@`& *", s[0]) && !strpbrk(s, ",[]{}\"#:") &&
           s[strlen(s) - 1] != ' ';
}

// Prints one character with escapes.  A byte that is not UTF-8, as in old file names, has no form
// in YAML; it is written as the character with that number, so that the file stays valid.
static void print_escaped(const char **s, SrText *out) {
    uint32_t code;
    int len = sr_text_utf8(*s, &code);
    unsigned byte = (unsigned char)**s;
    if (len == 0)
        sr_text_printf(out, "\\x%02x", byte);
    else if (byte == '"' || byte == '\\')
        sr_text_printf(out, "\\%c", (int)byte);
    else if (byte == '\n')
        sr_text_add(out, "\\n");
    else if (is_printable(code))
        sr_text_addn(out, *s, (size_t)len);
    else
        sr_text_printf(out,
                       code > 0xFFFF ? "\\U%08x"
                       : code > 0xFF ? "\\u%04x"
                                     : "\\x%02x",
                       (unsigned)code);
    *s += len ? len : 1;
}

static void print_string(const char *s, SrText *out) {
    if (is_plain(s, out)) {
        sr_text_add(out, s);
        return;
    }
    sr_text_add(out, "\"");
    while (*s)
        print_escaped(&s, out);
    sr_text_add(out, "\"");
}

// Prints a float that has no text, because the program computed it.
static void print_float(double value, SrText *out) {
    char text[SR_TEXT_NUMBER_BYTES];
    if (isnan(value))
        sr_text_add(out, ".nan");
    else if (isinf(value))
        sr_text_add(out, value < 0 ? "-.inf" : ".inf");
    else
        sr_text_add(out, sr_text_number(value, text));
}

// Prints numbers as they were written: 1e-4 stays 1e-4, 0x1F stays 0x1F.
static void print_scalar(const SrYaml *node, SrText *out) {
    if (node->type == SR_YAML_STRING)
        print_string(node->text, out);
    else if (node->type == SR_YAML_NULL)
        sr_text_add(out, "null");
    else if (node->type == SR_YAML_BOOL)
        sr_text_add(out, node->b ? "true" : "false");
    else if (node->text)
        sr_text_add(out, node->text);
    else if (node->type == SR_YAML_INT)
        sr_text_printf(out, "%lld", (long long)node->i);
    else
        print_float(node->f, out);
}

static bool is_collection(const SrYaml *node) {
    return node->type == SR_YAML_LIST || node->type == SR_YAML_MAP;
}

// print_string alone decides about quotes, and quotes every character with a meaning in flow style.
void sr_yaml_print_flow(const SrYaml *node, SrText *out) {
    if (!is_collection(node)) {
        print_scalar(node, out);
        return;
    }
    bool map = node->type == SR_YAML_MAP;
    sr_text_add(out, map ? "{" : "[");
    for (int i = 0; i < node->n; i++) {
        sr_text_add(out, i ? ", " : "");
        if (map) {
            print_string(node->keys[i], out);
            sr_text_add(out, ": ");
        }
        sr_yaml_print_flow(node->items[i], out);
    }
    sr_text_add(out, map ? "}" : "]");
}

// True: a scalar, an empty collection or a list of scalars, which stay on one line.
static bool fits_flow(const SrYaml *node) {
    if (!is_collection(node) || node->n == 0)
        return true;
    if (node->type == SR_YAML_MAP)
        return false;
    for (int i = 0; i < node->n; i++)
        if (is_collection(node->items[i]))
            return false;
    return true;
}

// Prints in block style.  Collections inside lists are printed in flow style: rare and unambiguous.
static void print_block(const SrYaml *node, int indent, SrText *out) {
    for (int i = 0; i < node->n; i++) {
        const SrYaml *child = node->items[i];
        sr_text_printf(out, "%*s", indent, "");
        if (node->type == SR_YAML_MAP) {
            print_string(node->keys[i], out);
            sr_text_add(out, ":");
        } else {
            sr_text_add(out, "-");
        }
        if (fits_flow(child) || node->type == SR_YAML_LIST) {
            sr_text_add(out, " ");
            sr_yaml_print_flow(child, out);
            sr_text_add(out, "\n");
        } else {
            sr_text_add(out, "\n");
            print_block(child, indent + 2, out);
        }
    }
}

void sr_yaml_print(const SrYaml *node, SrText *out) {
    if (node->n > 0) {
        print_block(node, 0, out);
        return;
    }
    sr_yaml_print_flow(node, out);
    sr_text_add(out, "\n");
}
