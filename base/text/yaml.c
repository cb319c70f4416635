// The YAML tree: making, finding, changing, merging and comparing nodes.
#include "base/text/yaml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static SrStatus out_of_memory(void) { return sr_out_of_memory("a YAML tree"); }

SrYaml *sr_yaml_new(SrArena *arena, SrYamlType type, const char *file, int line) {
    SrYaml *node = sr_arena_alloc(arena, sizeof *node);
    if (!node)
        return NULL;
    node->type = type;
    node->file = file ? file : "";
    node->line = line;
    return node;
}

// Makes room for one more child.  The arena keeps the old arrays, which doubles the memory at most.
static SrStatus grow(SrArena *arena, SrYaml *node) {
    if (node->n < node->cap)
        return SR_OK;
    int cap = node->cap ? 2 * node->cap : 8;
    SrYaml **items = sr_arena_alloc(arena, (size_t)cap * sizeof *items);
    const char **keys = sr_arena_alloc(arena, (size_t)cap * sizeof *keys);
    if (!items || !keys)
        return out_of_memory();
    if (node->n) {
        memcpy(items, node->items, (size_t)node->n * sizeof *items);
        if (node->keys)
            memcpy(keys, node->keys, (size_t)node->n * sizeof *keys);
    }
    node->items = items;
    node->keys = keys;
    node->cap = cap;
    return SR_OK;
}

SrStatus sr_yaml_append(SrArena *arena, SrYaml *list, SrYaml *item) {
    if (!item)
        return out_of_memory();
    SR_TRY(grow(arena, list));
    list->items[list->n++] = item;
    return SR_OK;
}

// Returns the index of a key; -1: absent.  `key` may be longer than `len`, as a part of a path is.
static int index_of(const SrYaml *map, const char *key, size_t len) {
    if (!map || map->type != SR_YAML_MAP)
        return -1;
    for (int i = 0; i < map->n; i++)
        if (strncmp(map->keys[i], key, len) == 0 && map->keys[i][len] == '\0')
            return i;
    return -1;
}

SrStatus sr__yaml_push(SrArena *arena, SrYaml *map, const char *key, SrYaml *value) {
    if (!value)
        return out_of_memory();
    SR_TRY(grow(arena, map));
    map->keys[map->n] = sr_arena_strdup(arena, key);
    if (!map->keys[map->n])
        return out_of_memory();
    map->items[map->n++] = value;
    return SR_OK;
}

SrStatus sr_yaml_put(SrArena *arena, SrYaml *map, const char *key, SrYaml *value) {
    if (!value)
        return out_of_memory();
    int at = index_of(map, key, strlen(key));
    if (at < 0)
        return sr__yaml_push(arena, map, key, value);
    map->items[at] = value;
    return SR_OK;
}

typedef struct {
    const char *key;
    int at;
} Place;

// Orders equal keys by their place, so that a key and its repetition are neighbours.
static int by_key_and_place(const void *a, const void *b) {
    const Place *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    return order ? order : x->at - y->at;
}

SrStatus sr__yaml_repeated(const SrYaml *map, int *first, int *second) {
    *first = *second = -1;
    if (map->n < 2)
        return SR_OK;
    Place *places = sr_calloc((size_t)map->n, sizeof *places);
    if (!places)
        return out_of_memory();
    for (int i = 0; i < map->n; i++)
        places[i] = (Place){map->keys[i], i};
    qsort(places, (size_t)map->n, sizeof *places, by_key_and_place);
    for (int i = 1; i < map->n; i++) {
        bool same = strcmp(places[i - 1].key, places[i].key) == 0;
        if (!same || (*second >= 0 && places[i].at > *second))
            continue;
        *first = places[i - 1].at;
        *second = places[i].at;
    }
    sr_free(places);
    return SR_OK;
}

bool sr_yaml_remove(SrYaml *map, const char *key) {
    int at = index_of(map, key, strlen(key));
    if (at < 0)
        return false;
    size_t after = (size_t)(map->n - at - 1);
    memmove(map->items + at, map->items + at + 1, after * sizeof *map->items);
    memmove(map->keys + at, map->keys + at + 1, after * sizeof *map->keys);
    map->n--;
    return true;
}

SrYaml *sr_yaml_find(const SrYaml *map, const char *key) {
    int at = index_of(map, key, strlen(key));
    return at < 0 ? NULL : map->items[at];
}

// Takes one step of a dotted path: a key of a map or an index of a list.
static SrYaml *step(const SrYaml *node, const char *part, size_t len) {
    if (node->type == SR_YAML_LIST) {
        char *end;
        long i = strtol(part, &end, 10);
        return end == part + len && len > 0 && i >= 0 && i < node->n ? node->items[i] : NULL;
    }
    int at = index_of(node, part, len);
    return at < 0 ? NULL : node->items[at];
}

SrYaml *sr_yaml_find_path(const SrYaml *map, const char *path) {
    const SrYaml *node = map;
    while (node && *path) {
        size_t len = strcspn(path, ".");
        node = step(node, path, len);
        path += len + (path[len] == '.');
    }
    return (SrYaml *)(uintptr_t)node;
}

// Replaces a scalar on the way by a map: the later value counts, as in a merge.
SrStatus sr_yaml_put_path(SrArena *arena, SrYaml *map, const char *path, SrYaml *value) {
    for (;;) {
        size_t len = strcspn(path, ".");
        char *part = sr_arena_printf(arena, "%.*s", (int)len, path);
        if (!part || !value)
            return out_of_memory();
        if (path[len] == '\0')
            return sr_yaml_put(arena, map, part, value);
        SrYaml *next = sr_yaml_find(map, part);
        if (!next || next->type != SR_YAML_MAP) {
            next = sr_yaml_new(arena, SR_YAML_MAP, value->file, value->line);
            SR_TRY(sr_yaml_put(arena, map, part, next));
        }
        map = next;
        path += len + 1;
    }
}

// The file name of a copied tree, copied once for all nodes that share it.
typedef struct {
    const char *from, *to;
} FileName;

static SrYaml *copy_node(SrArena *arena, const SrYaml *node, FileName *file) {
    SrYaml *copy = sr_yaml_new(arena, node->type, NULL, node->line);
    if (!copy)
        return NULL;
    if (!file->to || node->file != file->from)
        *file = (FileName){node->file, sr_arena_strdup(arena, node->file ? node->file : "")};
    copy->file = file->to;
    copy->b = node->b;
    copy->i = node->i;
    copy->f = node->f;
    bool ok = file->to && (!node->text || (copy->text = sr_arena_strdup(arena, node->text)));
    for (int i = 0; ok && i < node->n; i++) {
        SrYaml *child = copy_node(arena, node->items[i], file);
        SrStatus status = node->type == SR_YAML_MAP
                              ? sr__yaml_push(arena, copy, node->keys[i], child)
                              : sr_yaml_append(arena, copy, child);
        ok = status == SR_OK;
    }
    return ok ? copy : NULL;
}

// Shares nothing with the original: the copy may outlive the original's arena.
SrYaml *sr_yaml_copy(SrArena *arena, const SrYaml *node) {
    return copy_node(arena, node, &(FileName){NULL, NULL});
}

SrStatus sr_yaml_merge(SrArena *arena, SrYaml *base, const SrYaml *over) {
    if (over->type == SR_YAML_NULL)
        return SR_OK; // an empty file changes nothing
    const SrYaml *wrong = base->type != SR_YAML_MAP ? base : over;
    if (wrong->type != SR_YAML_MAP)
        SR_FAIL(SR_ERR_CONFIG, "%s: expected a map of keys, found %s", sr_yaml_place(wrong).text,
                sr_yaml_type_name(wrong->type));
    for (int i = 0; i < over->n; i++) {
        SrYaml *old = sr_yaml_find(base, over->keys[i]);
        const SrYaml *new = over->items[i];
        if (old && old->type == SR_YAML_MAP && new->type == SR_YAML_MAP)
            SR_TRY(sr_yaml_merge(arena, old, new));
        else
            SR_TRY(sr_yaml_put(arena, base, over->keys[i], sr_yaml_copy(arena, new)));
    }
    return SR_OK;
}

// Compares keys in any order: both maps have as many, and none repeats.
static bool equal_maps(const SrYaml *a, const SrYaml *b) {
    for (int i = 0; i < a->n; i++) {
        const SrYaml *other = sr_yaml_find(b, a->keys[i]);
        if (!other || !sr_yaml_equal(a->items[i], other))
            return false;
    }
    return true;
}

// Compares values, not their text: 1 equals 1.0 but not "1", and NaN equals NaN.
bool sr_yaml_equal(const SrYaml *a, const SrYaml *b) {
    if (!a || !b)
        return a == b;
    bool numbers = (a->type == SR_YAML_INT || a->type == SR_YAML_FLOAT) &&
                   (b->type == SR_YAML_INT || b->type == SR_YAML_FLOAT);
    if (numbers)
        return a->f == b->f || (isnan(a->f) && isnan(b->f));
    if (a->type != b->type || a->n != b->n)
        return false;
    if (a->type == SR_YAML_MAP)
        return equal_maps(a, b);
    for (int i = 0; i < a->n; i++)
        if (!sr_yaml_equal(a->items[i], b->items[i]))
            return false;
    if (a->type == SR_YAML_STRING)
        return strcmp(a->text, b->text) == 0;
    return a->type != SR_YAML_BOOL || a->b == b->b;
}

bool sr_yaml_from_command_line(const SrYaml *node) {
    return node && node->file && strcmp(node->file, SR_YAML_COMMAND_LINE) == 0;
}

SrYamlPlace sr_yaml_place(const SrYaml *node) {
    SrYamlPlace place = {"defaults"};
    bool has_lines = node && node->file && !sr_yaml_from_command_line(node);
    if (has_lines && *node->file && node->line > 0)
        snprintf(place.text, sizeof place.text, "%s:%d", node->file, node->line);
    else if (node && node->file && *node->file)
        snprintf(place.text, sizeof place.text, "%s", node->file);
    return place;
}

const char *sr_yaml_type_name(SrYamlType type) {
    static const char *const names[] = {"null",     "true or false", "an integer", "a number",
                                        "a string", "a list",        "a map"};
    return names[type];
}
