// Small reads and writes of a configuration tree.
#include "base/text/yaml_edit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/number.h"
#include "base/text/yaml_scalar.h"

// A saved configuration must give the same double again and stay readable.
const char *sr_tree_float_text(double value, char *buf, size_t buf_bytes) {
    for (int digits = 1; digits <= 17; digits++) {
        sr_number_print(buf, buf_bytes, "%.*g", digits, value);
        if (sr_number_parse(buf, NULL) == value)
            break;
    }
    size_t len = strlen(buf);
    if (!strpbrk(buf, ".eni") && len + 3 <= buf_bytes) // "nan" and "inf" stay as they are
        memcpy(buf + len, ".0", 3);
    return buf;
}

// Puts a scalar with the file and line of the one that it replaces, or of the map.
static SrStatus put(SrArena *arena, SrYaml *map, const char *key, const char *text) {
    const SrYaml *old = sr_yaml_find(map, key);
    const SrYaml *at = old ? old : map;
    SrYaml *node = sr_yaml_scalar(arena, text, at->file, at->line);
    if (!node)
        SR_FAIL(SR_ERR_MEMORY, "out of memory while setting %s", key);
    return sr_yaml_put(arena, map, key, node);
}

SrStatus sr_tree_put_float(SrArena *arena, SrYaml *map, const char *key, double value) {
    char buf[40];
    return put(arena, map, key, sr_tree_float_text(value, buf, sizeof buf));
}

SrStatus sr_tree_put_int(SrArena *arena, SrYaml *map, const char *key, int64_t value) {
    char buf[24];
    snprintf(buf, sizeof buf, "%" PRId64, value);
    return put(arena, map, key, buf);
}

// Returns the part of a path as an index; -1: it is none.
static int index_of(const char *part, size_t len) {
    return len > 0 && len < 9 && strspn(part, "0123456789") >= len ? atoi(part) : -1;
}

// Puts `value` at the first part of `rest`, the end of `path`, in `node`.
static SrStatus set_child(SrArena *arena, SrYaml *node, const char *path, const char *rest,
                          SrYaml *value) {
    size_t len = strcspn(rest, ".");
    int parent = rest > path ? (int)(rest - path) - 1 : 0, i = index_of(rest, len);
    const char *key = sr_arena_printf(arena, "%.*s", (int)len, rest);
    SR_TRY_MEMORY(key && value, "%s", path);
    if (node->type == SR_YAML_MAP)
        return sr_yaml_put(arena, node, key, value);
    if (node->type != SR_YAML_LIST)
        SR_FAIL(SR_ERR_CONFIG, "'%s' leads through '%.*s', which is %s, expected a map or a list",
                path, parent, path, sr_yaml_type_name(node->type));
    if (i < 0 || i > node->n)
        SR_FAIL(SR_ERR_CONFIG, "'%s': '%.*s' is a list, expected an index from 0 to %d, not '%s'",
                path, parent, path, node->n, key);
    if (i == node->n)
        return sr_yaml_append(arena, node, value);
    node->items[i] = value;
    return SR_OK;
}

SrStatus sr_tree_set(SrArena *arena, SrYaml *map, const char *path, SrYaml *value) {
    SrYaml *node = map;
    for (const char *rest = path;;) {
        size_t len = strcspn(rest, ".");
        const char *part = sr_arena_printf(arena, "%.*s", (int)len, rest), *next = rest + len + 1;
        SR_TRY_MEMORY(part && value, "%s", path);
        if (len == 0)
            SR_FAIL(SR_ERR_CONFIG, "the key '%s' has an empty part", path);
        SrYaml *child = sr_yaml_find_path(node, part);
        bool last = rest[len] == '\0';
        if (last && child && child->type == SR_YAML_MAP && value->type == SR_YAML_MAP)
            return sr_yaml_merge(arena, child, value);
        if (last)
            return set_child(arena, node, path, rest, value);
        if (!child || child->type == SR_YAML_NULL) {
            bool list = index_of(next, strcspn(next, ".")) >= 0;
            child = sr_yaml_new(arena, list ? SR_YAML_LIST : SR_YAML_MAP, value->file, value->line);
            SR_TRY(set_child(arena, node, path, rest, child));
        }
        node = child;
        rest = next;
    }
}

bool sr_tree_is_default(const SrYaml *node) {
    return !node || !node->file || strcmp(node->file, "defaults") == 0;
}

// Serves trees that no option table describes, such as schedules before they are built.
SrStatus sr_tree_number(const SrYaml *map, const char *key, const char *where, double *out) {
    const SrYaml *node = sr_yaml_find(map, key);
    if (node && (node->type == SR_YAML_INT || node->type == SR_YAML_FLOAT)) {
        *out = node->f;
        return SR_OK;
    }
    SR_FAIL(SR_ERR_CONFIG, "%s: %s.%s must be a number", sr_yaml_place(node ? node : map).text,
            where, key);
}

const char *sr_tree_text(const SrYaml *tree, const char *path, const char *otherwise) {
    const SrYaml *node = sr_yaml_find_path(tree, path);
    return node && node->type == SR_YAML_STRING ? node->text : otherwise;
}

int64_t sr_tree_int(const SrYaml *tree, const char *path, int64_t otherwise) {
    const SrYaml *node = sr_yaml_find_path(tree, path);
    return node && node->type == SR_YAML_INT ? node->i : otherwise;
}

bool sr_tree_bool(const SrYaml *tree, const char *path, bool otherwise) {
    const SrYaml *node = sr_yaml_find_path(tree, path);
    return node && node->type == SR_YAML_BOOL ? node->b : otherwise;
}

const SrYaml *sr_tree_difference(const SrYaml *given, const SrYaml *usual) {
    if (!usual || given->type != SR_YAML_MAP || usual->type != SR_YAML_MAP)
        return usual && sr_yaml_equal(given, usual) ? NULL : given;
    for (int i = 0; i < given->n; i++) {
        const SrYaml *other =
            sr_tree_difference(given->items[i], sr_yaml_find(usual, given->keys[i]));
        if (other)
            return other;
    }
    return NULL;
}
