// JSON on cJSON: documents into the YAML tree, one-line records out.
#include "base/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

static SrStatus out_of_memory(const char *file) { return sr_fail(SR_ERR_MEMORY, "%s: out of memory", file); }

// Whole numbers up to 2^53 keep their exactness through cJSON's double.
static SrYaml *number_node(SrArena *arena, double value, const char *file) {
    bool whole = value == floor(value) && fabs(value) <= 9007199254740992.0;
    SrYaml *node = sr_yaml_new(arena, whole ? SR_YAML_INT : SR_YAML_FLOAT, file, 0);
    if (!node)
        return NULL;
    node->f = value;
    node->i = whole ? (int64_t)value : 0;
    node->text = whole ? sr_arena_printf(arena, "%lld", (long long)node->i) : sr_arena_printf(arena, "%.17g", value);
    return node->text ? node : NULL;
}

static SrYaml *scalar_node(SrArena *arena, const cJSON *j, const char *file) {
    if (cJSON_IsNumber(j))
        return number_node(arena, j->valuedouble, file);
    SrYaml *node = sr_yaml_new(arena, SR_YAML_NULL, file, 0);
    if (node && cJSON_IsBool(j)) {
        node->type = SR_YAML_BOOL;
        node->b = cJSON_IsTrue(j);
        node->i = node->b;
        node->f = node->b;
        node->text = node->b ? "true" : "false";
    } else if (node && cJSON_IsString(j)) {
        node->type = SR_YAML_STRING;
        node->text = sr_arena_strdup(arena, j->valuestring);
        return node->text ? node : NULL;
    }
    return node;
}

// cJSON bounds the nesting (CJSON_NESTING_LIMIT) before this recursion sees it.
static SrStatus convert(SrArena *arena, const cJSON *j, const char *file, SrYaml **out) {
    bool object = cJSON_IsObject(j);
    if (!object && !cJSON_IsArray(j)) {
        *out = scalar_node(arena, j, file);
        return *out ? SR_OK : out_of_memory(file);
    }
    *out = sr_yaml_new(arena, object ? SR_YAML_MAP : SR_YAML_LIST, file, 0);
    if (!*out)
        return out_of_memory(file);
    for (const cJSON *c = j->child; c; c = c->next) {
        SrYaml *child;
        SR_TRY(convert(arena, c, file, &child));
        if (object && (*out)->n < 4096 && sr_yaml_find(*out, c->string))
            return sr_fail(SR_ERR_CONFIG, "%s: key '%s' stands in one object twice", file, c->string);
        SR_TRY(object ? sr_yaml_put(arena, *out, c->string, child) : sr_yaml_append(arena, *out, child));
    }
    return SR_OK;
}

SrStatus sr_json_parse(SrArena *arena, const char *text, size_t bytes, const char *file, SrYaml **out) {
    const char *name = sr_arena_strdup(arena, file);
    if (!name)
        return out_of_memory(file);
    const char *end = NULL;
    cJSON *root = cJSON_ParseWithLengthOpts(text, bytes, &end, 0);
    if (!root) {
        int line = 1;
        for (const char *p = text; end && p < end && p < text + bytes; p++)
            line += *p == '\n';
        return sr_fail(SR_ERR_CONFIG, "%s:%d: not valid JSON", file, line);
    }
    const char *rest = end;
    while (rest < text + bytes && strchr(" \t\r\n", *rest) && *rest)
        rest++;
    SrStatus status = SR_OK;
    if (rest < text + bytes && *rest)
        status = sr_fail(SR_ERR_CONFIG, "%s: something follows the JSON document", file);
    if (status == SR_OK)
        status = convert(arena, root, name, out);
    cJSON_Delete(root);
    return status;
}

SrStatus sr_json_load(SrArena *arena, const char *path, size_t max_bytes, SrYaml **out) {
    char *text;
    size_t bytes;
    SR_TRY(sr_file_read(path, max_bytes, &text, &bytes));
    SrStatus status = sr_json_parse(arena, text, bytes, path, out);
    sr_free(text);
    return status;
}

// ---- writing -----------------------------------------------------------------------------------------

static void quote(SrText *out, const char *s) {
    sr_text_add(out, "\"");
    for (const char *p = s; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            sr_text_printf(out, "\\%c", c);
        else if (c < 0x20)
            sr_text_printf(out, "\\u%04x", c);
        else
            sr_text_addn(out, p, 1);
    }
    sr_text_add(out, "\"");
}

static void number(SrText *out, double value) {
    char text[40];
    if (!isfinite(value)) {
        sr_text_add(out, "null");
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double back = 0;
        if (sscanf(text, "%lf", &back) == 1 && back == value)
            break;
    }
    sr_text_add(out, text);
}

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
