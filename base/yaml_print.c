// YAML tree to text: block style for files, flow style for one line.  What is printed parses back equal.
#include <string.h>

#include "base/yaml.h"

// Plain when a parser would give the same string back; otherwise in double quotes.
static bool is_plain(const char *s) {
    SrArena arena = SR_ARENA_INIT;
    const SrYaml *typed = sr_yaml_scalar(&arena, s, "", 0);
    bool string = typed && typed->type == SR_YAML_STRING;
    sr_arena_deinit(&arena);
    if (!string || strchr("-?:,[]{}#&*!|>'\"%@` ", s[0]))
        return false;
    for (const char *p = s; *p; p++) {
        bool control = (unsigned char)*p < 0x20 || *p == 0x7f;
        if (control || strchr(",[]{}\"#:", *p))
            return false;
    }
    return s[strlen(s) - 1] != ' ';
}

static void print_string(const char *s, SrText *out) {
    if (is_plain(s)) {
        sr_text_add(out, s);
        return;
    }
    sr_text_add(out, "\"");
    for (const char *p = s; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            sr_text_printf(out, "\\%c", c);
        else if (c == '\n')
            sr_text_add(out, "\\n");
        else if (c < 0x20 || c == 0x7f)
            sr_text_printf(out, "\\x%02x", c);
        else
            sr_text_addn(out, p, 1);
    }
    sr_text_add(out, "\"");
}

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
        sr_text_printf(out, "%.17g", node->f);
}

static bool is_collection(const SrYaml *node) { return node->type == SR_YAML_LIST || node->type == SR_YAML_MAP; }

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

// Lists of scalars stay on one line, as people write them.
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
