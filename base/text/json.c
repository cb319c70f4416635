// Converts jansson's documents into YAML trees, and writes records of one line.
#include "base/text/json.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/number.h"

enum {
    MAX_DEPTH = 64,
    MAX_VALUES = 2000000,   // each takes up to 300 bytes during the conversion
    MEMBER_VALUES = 100000, // in sr_json_members
};

// One document that a thread parses.  jansson's lexer does not survive an allocation that fails, so
// such a call does not return to it; all of its memory is in the arena and goes with that.
typedef struct {
    SrArena arena;
    jmp_buf exhausted;
} Parsing;

static _Thread_local Parsing *parsing; // NULL: jansson is called by another part of the process

static void *json_alloc(size_t bytes) {
    if (!parsing)
        return malloc(bytes);
    void *p = sr_arena_alloc(&parsing->arena, bytes);
    if (!p)
        longjmp(parsing->exhausted, 1);
    return p;
}

static void json_free(void *p) {
    if (!parsing)
        free(p);
}

static void hook_memory(void) { json_set_alloc_funcs(json_alloc, json_free); }

static SrStatus out_of_memory(const char *file) {
    SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", file);
}

// Facts about a text that are collected before jansson parses it.
typedef struct {
    int depth, deepest;
    int64_t values; // upper bound: brackets + commas + 1
    int line;
} Scan;

// Returns the closing quote of the string that opens at p.  `end`: there is none, or the string
// holds a NUL, which would cut it short.
static const char *scan_string(const char *p, const char *end) {
    for (p++; p < end && *p != '"'; p++) {
        if (*p != '\\')
            continue;
        if (end - p < 2 || (end - p > 5 && memcmp(p, "\\u0000", 6) == 0))
            return end;
        p++;
    }
    return p;
}

// Checks brackets, depth and number of values before jansson parses.  Depth bounds the recursion,
// and the number of values bounds jansson's memory at some 200 bytes each.
static SrStatus check_bounds(const char *text, size_t bytes, int64_t max_values, const char *file) {
    Scan scan = {.values = 1, .line = 1};
    const char *end = text + bytes;
    for (const char *p = text; p < end && scan.depth >= 0; p++) {
        bool opens = *p == '{' || *p == '[';
        scan.line += *p == '\n';
        scan.values += opens || *p == ',';
        scan.depth += opens - (*p == '}' || *p == ']');
        scan.deepest = SR_MAX(scan.deepest, scan.depth);
        if (*p == '"')
            p = scan_string(p, end);
        if (p == end)
            SR_FAIL(SR_ERR_CONFIG, "%s:%d: not valid JSON: a string is not closed or holds a NUL",
                    file, scan.line);
    }
    if (scan.depth != 0)
        SR_FAIL(SR_ERR_CONFIG, "%s:%d: not valid JSON: brackets do not match", file, scan.line);
    if (scan.deepest > MAX_DEPTH)
        SR_FAIL(SR_ERR_CONFIG, "%s: JSON nested deeper than %d levels", file, MAX_DEPTH);
    if (scan.values > max_values)
        SR_FAIL(SR_ERR_CONFIG, "%s: more than %lld JSON values", file, (long long)max_values);
    return SR_OK;
}

// Makes an integer of every whole number up to 2^53, also of one that is written as 1e3.
static SrYaml *number_node(SrArena *arena, const json_t *j, const char *file) {
    double value = json_number_value(j);
    bool whole = json_is_integer(j) || (value == floor(value) && fabs(value) <= 9007199254740992.0);
    SrYaml *node = sr_yaml_new(arena, whole ? SR_YAML_INT : SR_YAML_FLOAT, file, 0);
    if (!node)
        return NULL;
    char text[SR_TEXT_NUMBER_BYTES];
    node->f = value;
    node->i = json_is_integer(j) ? json_integer_value(j) : whole ? (int64_t)value : 0;
    node->text = whole ? sr_arena_printf(arena, "%lld", (long long)node->i)
                       : sr_arena_strdup(arena, sr_text_number(value, text));
    return node->text ? node : NULL;
}

// Copies strings and numbers, because jansson's tree goes with the parsing.
static SrYaml *scalar_node(SrArena *arena, const json_t *j, const char *file) {
    if (json_is_number(j))
        return number_node(arena, j, file);
    SrYaml *node = sr_yaml_new(arena, SR_YAML_NULL, file, 0);
    if (node && json_is_boolean(j)) {
        node->type = SR_YAML_BOOL;
        node->b = json_is_true(j);
        node->i = node->b;
        node->f = node->b;
        node->text = node->b ? "true" : "false";
    } else if (node && json_is_string(j)) {
        node->type = SR_YAML_STRING;
        node->text = sr_arena_strdup(arena, json_string_value(j));
        return node->text ? node : NULL;
    }
    return node;
}

// Converts recursively, as deep as check_bounds allowed.  Lines are 0: jansson does not keep them.
static SrStatus convert(SrArena *arena, json_t *j, const char *file, SrYaml **out) {
    if (!json_is_object(j) && !json_is_array(j)) {
        *out = scalar_node(arena, j, file);
        return *out ? SR_OK : out_of_memory(file);
    }
    *out = sr_yaml_new(arena, json_is_object(j) ? SR_YAML_MAP : SR_YAML_LIST, file, 0);
    if (!*out)
        return out_of_memory(file);
    SrYaml *child;
    size_t index;
    json_t *value;
    json_array_foreach(j, index, value) {
        SR_TRY(convert(arena, value, file, &child));
        SR_TRY(sr_yaml_append(arena, *out, child));
    }
    for (void *i = json_object_iter(j); i; i = json_object_iter_next(j, i)) {
        SR_TRY(convert(arena, json_object_iter_value(i), file, &child));
        SR_TRY(sr__yaml_push(arena, *out, json_object_iter_key(i), child));
    }
    return SR_OK;
}

static const char *skip_blanks(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
        p++;
    return p;
}

// RFC 8259 leaves the meaning of repeated keys undefined, and two readers could see different
// values in one document; they are refused.
static SrStatus parse(SrArena *arena, const char *text, size_t bytes, const char *file,
                      SrYaml **out) {
    json_error_t error;
    json_t *root = json_loadb(text, bytes, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    if (!root)
        SR_FAIL(SR_ERR_CONFIG, "%s:%d: not valid JSON: %s", file, error.line, error.text);
    return convert(arena, root, file, out);
}

SrStatus sr_json_parse(SrArena *arena, const char *text, size_t bytes, const char *file,
                       SrYaml **out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, hook_memory);
    SR_TRY(check_bounds(text, bytes, MAX_VALUES, file));
    const char *name = sr_arena_strdup(arena, file);
    if (!name)
        return out_of_memory(file);
    Parsing p = {.arena = SR_ARENA_INIT};
    SrStatus status;
    parsing = &p;
    if (setjmp(p.exhausted) == 0)
        status = parse(arena, text, bytes, name, out);
    else
        status = out_of_memory(file);
    parsing = NULL;
    sr_arena_deinit(&p.arena);
    return status;
}

// Returns the comma or brace that ends the member at p.  check_bounds has made sure that strings
// are closed and that brackets match.
static const char *member_end(const char *p, const char *end) {
    for (int depth = 0; p < end; p++) {
        if (*p == '"')
            p = scan_string(p, end);
        else if (depth == 0 && (*p == ',' || *p == '}' || *p == ']'))
            return p;
        else
            depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
    }
    return end;
}

// Parses one member, put between braces for jansson, and calls fn.
static SrStatus read_member(const char *text, size_t bytes, const char *file, SrJsonMember fn,
                            void *arg) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree = NULL;
    char *object = sr_alloc(bytes + 2);
    if (!object)
        return out_of_memory(file);
    object[0] = '{';
    memcpy(object + 1, text, bytes);
    object[bytes + 1] = '}';
    SrStatus status = sr_json_parse(&arena, object, bytes + 2, file, &tree);
    sr_free(object);
    if (status == SR_OK && tree->n != 1)
        status = sr_fail(SR_ERR_CONFIG, "%s: not valid JSON: a comma without a member", file);
    if (status == SR_OK)
        status = fn(arg, tree->keys[0], tree->items[0]);
    sr_arena_deinit(&arena);
    return status;
}

SrStatus sr_json_members(const char *text, size_t bytes, const char *file, size_t max_member,
                         SrJsonMember fn, void *arg) {
    const char *end = text + bytes, *p = skip_blanks(text, end);
    SR_TRY(check_bounds(text, bytes, MAX_VALUES, file));
    if (p == end || *p != '{')
        SR_FAIL(SR_ERR_CONFIG, "%s: not valid JSON: expected an object in braces", file);
    p = skip_blanks(p + 1, end);
    bool more = p < end && *p != '}';
    while (more) {
        const char *stop = member_end(p, end);
        if ((size_t)(stop - p) > max_member)
            SR_FAIL(SR_ERR_CONFIG, "%s: a JSON member has %zu bytes; expected at most %zu", file,
                    (size_t)(stop - p), max_member);
        SR_TRY(check_bounds(p, (size_t)(stop - p), MEMBER_VALUES, file));
        SR_TRY(read_member(p, (size_t)(stop - p), file, fn, arg));
        more = stop < end && *stop == ',';
        p = more ? stop + 1 : stop;
    }
    if (p == end || *p != '}' || skip_blanks(p + 1, end) != end)
        SR_FAIL(SR_ERR_CONFIG, "%s: not valid JSON: there is text after the end of the object",
                file);
    return SR_OK;
}

SrStatus sr_json_load(SrArena *arena, const char *path, size_t max_bytes, SrYaml **out) {
    char *text;
    size_t bytes;
    SR_TRY(sr_file_read(path, max_bytes, &text, &bytes));
    SrStatus status = sr_json_parse(arena, text, bytes, path, out);
    sr_free(text);
    return status;
}

// Writes a quoted string.  Bytes that are not UTF-8 become U+FFFD, because other readers would
// refuse the whole document.
static void quote(SrText *out, const char *s) {
    sr_text_add(out, "\"");
    for (int len; *s; s += len ? len : 1) {
        uint32_t code;
        len = sr_text_utf8(s, &code);
        if (len == 0)
            sr_text_add(out, "\xef\xbf\xbd");
        else if (*s == '"' || *s == '\\')
            sr_text_printf(out, "\\%c", *s);
        else if (sr_text_is_control(code))
            sr_text_printf(out, "\\u%04x", (unsigned)code);
        else
            sr_text_addn(out, s, (size_t)len);
    }
    sr_text_add(out, "\"");
}

static void number(SrText *out, double value) {
    char text[SR_TEXT_NUMBER_BYTES];
    sr_text_add(out, isfinite(value) ? sr_text_number(value, text) : "null");
}

// Writes a key, after a comma unless the text ends in the brace that opened the record.
static void key_of(SrText *out, const char *key) {
    if (out->len && out->s[out->len - 1] != '{')
        sr_text_add(out, ", ");
    quote(out, key);
    sr_text_add(out, ": ");
}

void sr_json_begin(SrText *out) { sr_text_add(out, "{"); }
void sr_json_end(SrText *out) { sr_text_add(out, "}\n"); }

void sr_json_int(SrText *out, const char *key, int64_t value) {
    key_of(out, key);
    sr_text_printf(out, "%lld", (long long)value);
}

void sr_json_float(SrText *out, const char *key, double value) {
    key_of(out, key);
    number(out, value);
}

void sr_json_string(SrText *out, const char *key, const char *value) {
    key_of(out, key);
    quote(out, value);
}

void sr_json_bool(SrText *out, const char *key, int value) {
    key_of(out, key);
    sr_text_add(out, value ? "true" : "false");
}

// Recurses without a bound, because the readers bound the depth of every tree.
void sr_json_print(const SrYaml *node, SrText *out) {
    switch (node->type) {
    case SR_YAML_NULL: sr_text_add(out, "null"); return;
    case SR_YAML_BOOL: sr_text_add(out, node->b ? "true" : "false"); return;
    case SR_YAML_INT: sr_text_printf(out, "%lld", (long long)node->i); return;
    case SR_YAML_FLOAT: number(out, node->f); return;
    case SR_YAML_STRING: quote(out, node->text); return;
    case SR_YAML_LIST:
    case SR_YAML_MAP: break;
    }
    bool map = node->type == SR_YAML_MAP;
    sr_text_add(out, map ? "{" : "[");
    for (int i = 0; i < node->n; i++) {
        sr_text_add(out, i ? ", " : "");
        if (map) {
            quote(out, node->keys[i]);
            sr_text_add(out, ": ");
        }
        sr_json_print(node->items[i], out);
    }
    sr_text_add(out, map ? "}" : "]");
}
