// Reads YAML text into a tree by libyaml's event parser, within the bounds of text, nodes and
// depth.  An alias counts as all nodes that it stands for; duplicate keys are errors.
#include "base/text/yaml_load.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/yaml.h"
#include "base/text/yaml_scalar.h"

enum { MAX_TEXT = 1 << 20, MAX_NODES = 100000, MAX_DEPTH = 64, MAX_ANCHORS = 1000 };
enum { MAX_MERGED = 1000 };
enum { MAX_KEY = 200 }; // libyaml reads keys of at most 1024 characters with escapes

// An anchor that later aliases may name.  Documents have few, so a list is enough.
typedef struct Anchor {
    const char *name;
    const SrYaml *node;
    struct Anchor *next;
} Anchor;

typedef struct {
    SrArena *arena;
    yaml_parser_t parser;
    const char *file, *text;
    int nodes, n_anchors;
    Anchor *anchors; // newest first: a later anchor hides an earlier one of the same name
} Loader;

static SrStatus parse_node(Loader *l, const yaml_event_t *event, int depth, SrYaml **out);

// Returns the line of libyaml's error.  libyaml counts from 0, and gives only the offset of bytes
// that are no text.
static size_t problem_line(const Loader *l) {
    size_t line = l->parser.problem_mark.line + 1;
    if (l->parser.error == YAML_READER_ERROR)
        for (size_t i = 0; i < l->parser.problem_offset; i++)
            line += l->text[i] == '\n';
    return line;
}

// Reads the next event; the caller deletes it.
static SrStatus next_event(Loader *l, yaml_event_t *event) {
    if (yaml_parser_parse(&l->parser, event))
        return SR_OK;
    if (l->parser.error == YAML_MEMORY_ERROR)
        SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", l->file);
    const char *problem = l->parser.problem ? l->parser.problem : "syntax error";
    bool tab =
        strstr(problem, "cannot start any token") != NULL; // other characters cause this error too
    SR_FAIL(SR_ERR_CONFIG, "%s:%zu: not valid YAML: %s%s", l->file, problem_line(l), problem,
            tab ? "; a tab may be the cause: indent with blanks" : "");
}

static int line_of(const yaml_event_t *event) { return (int)event->start_mark.line + 1; }

// Counts nodes before they take memory, so that no file costs more than the limit.
static SrStatus count_nodes(Loader *l, int line, int n) {
    l->nodes += n;
    if (l->nodes <= MAX_NODES)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "%s:%d: more than %d values once aliases are expanded; use fewer aliases", l->file,
            line, MAX_NODES);
}

// Returns the number of nodes; no overflow, because every existing tree is within the limit.
static int tree_size(const SrYaml *node) {
    int n = 1;
    for (int i = 0; i < node->n; i++)
        n += tree_size(node->items[i]);
    return n;
}

// Returns the levels of lists and maps: 0 for a scalar, 1 for a list of scalars.
static int tree_depth(const SrYaml *node) {
    int deepest = 0;
    for (int i = 0; i < node->n; i++) {
        int depth = tree_depth(node->items[i]);
        deepest = SR_MAX(deepest, depth);
    }
    return deepest + (node->type == SR_YAML_LIST || node->type == SR_YAML_MAP);
}

static SrStatus too_deep(const Loader *l, int line) {
    SR_FAIL(SR_ERR_CONFIG, "%s:%d: values are nested deeper than %d levels", l->file, line,
            MAX_DEPTH);
}

static SrStatus resolve_alias(Loader *l, const yaml_event_t *event, int depth, SrYaml **out) {
    const char *name = (const char *)event->data.alias.anchor;
    for (const Anchor *a = l->anchors; a; a = a->next) {
        if (strcmp(a->name, name) != 0)
            continue;
        SR_TRY(count_nodes(l, line_of(event), tree_size(a->node)));
        if (depth + tree_depth(a->node) > MAX_DEPTH)
            return too_deep(l, line_of(event));
        *out = sr_yaml_copy(l->arena, a->node);
        return *out ? SR_OK : sr_fail(SR_ERR_MEMORY, "%s: out of memory", l->file);
    }
    SR_FAIL(SR_ERR_CONFIG, "%s:%d: alias '*%s' has no anchor before it", l->file, line_of(event),
            name);
}

// Records the anchor of a complete node, so that no tree can contain itself.
static SrStatus remember_anchor(Loader *l, const yaml_char_t *name, const SrYaml *node) {
    if (!name)
        return SR_OK;
    if (++l->n_anchors > MAX_ANCHORS)
        SR_FAIL(SR_ERR_CONFIG, "%s:%d: more than %d anchors", l->file, node->line, MAX_ANCHORS);
    Anchor *anchor = sr_arena_alloc(l->arena, sizeof *anchor);
    if (!anchor || !(anchor->name = sr_arena_strdup(l->arena, (const char *)name)))
        SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", l->file);
    anchor->node = node;
    anchor->next = l->anchors;
    l->anchors = anchor;
    return SR_OK;
}

static SrStatus unknown_tag(const Loader *l, const yaml_event_t *event, const char *tag) {
    SR_FAIL(SR_ERR_CONFIG, "%s:%d: tag '%.60s' is not supported; write the value without it",
            l->file, line_of(event), tag);
}

// Parses a scalar.  Only the tag !!str is known; the text determines all other types.
static SrStatus parse_scalar(Loader *l, const yaml_event_t *event, SrYaml **out) {
    const char *text = (const char *)event->data.scalar.value;
    const char *tag = (const char *)event->data.scalar.tag;
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (strlen(text) != event->data.scalar.length)
        SR_FAIL(SR_ERR_CONFIG, "%s:%d: a value holds a NUL character", l->file, line_of(event));
    if (tag && strcmp(tag, YAML_STR_TAG) != 0)
        return unknown_tag(l, event, tag);
    if (plain && !tag) {
        *out = sr_yaml_scalar(l->arena, text, l->file, line_of(event));
    } else {
        *out = sr_yaml_new(l->arena, SR_YAML_STRING, l->file, line_of(event));
        if (*out && !((*out)->text = sr_arena_strdup(l->arena, text)))
            *out = NULL;
    }
    if (!*out)
        SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", l->file);
    return remember_anchor(l, event->data.scalar.anchor, *out);
}

// Parses one key of a map and, from the next event, its value.  *merges: set if the key is an
// unquoted <<.
static SrStatus parse_pair(Loader *l, const yaml_event_t *key, SrYaml *map, int depth,
                           bool *merges) {
    if (key->type != YAML_SCALAR_EVENT)
        SR_FAIL(SR_ERR_CONFIG, "%s:%d: a key must be a plain word, not a list or a map", l->file,
                line_of(key));
    const char *name = (const char *)key->data.scalar.value;
    if (strlen(name) != key->data.scalar.length || key->data.scalar.length > MAX_KEY)
        SR_FAIL(SR_ERR_CONFIG, "%s:%d: key '%.40s' is longer than %d bytes or holds a NUL", l->file,
                line_of(key), name, MAX_KEY);
    *merges |= strcmp(name, "<<") == 0 && key->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    yaml_event_t event;
    SR_TRY(next_event(l, &event));
    SrYaml *value = NULL;
    SrStatus status = parse_node(l, &event, depth + 1, &value);
    yaml_event_delete(&event);
    SR_TRY(status);
    value->line = line_of(key); // errors point to the key, even if the value starts below it
    return sr__yaml_push(l->arena, map, name, value);
}

static SrStatus check_repeated(const Loader *l, const SrYaml *map) {
    int first, second;
    SR_TRY(sr__yaml_repeated(map, &first, &second));
    if (second < 0)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG, "%s:%d: key '%s' occurs twice in this map; the first is at line %d",
            l->file, map->items[second]->line, map->keys[second], map->items[first]->line);
}

// Adds the entries of "<<: *usual" (YAML 1.1): those of one map or several whose keys this map
// lacks; the first map wins.  Looking up each key is quadratic, hence the bound.
static SrStatus merge_key(Loader *l, SrYaml *map) {
    SrYaml *given = sr_yaml_find(map, "<<");
    sr_yaml_remove(map, "<<");
    bool several = given->type == SR_YAML_LIST;
    for (int i = 0; i < (several ? given->n : 1); i++) {
        const SrYaml *from = several ? given->items[i] : given;
        if (from->type != SR_YAML_MAP || from->n > MAX_MERGED || map->n > MAX_MERGED)
            SR_FAIL(SR_ERR_CONFIG, "%s:%d: << takes a map or a list of maps, of at most %d keys",
                    l->file, given->line, MAX_MERGED);
        for (int k = 0; k < from->n; k++)
            if (!sr_yaml_find(map, from->keys[k]))
                SR_TRY(sr__yaml_push(l->arena, map, from->keys[k], from->items[k]));
    }
    return SR_OK;
}

static SrStatus end_map(Loader *l, SrYaml *map, bool merges) {
    SR_TRY(check_repeated(l, map));
    return merges ? merge_key(l, map) : SR_OK;
}

// Parses the events of a list or a map up to its end; libyaml reports an error if the end is
// missing.
static SrStatus parse_children(Loader *l, SrYaml *node, int depth) {
    yaml_event_type_t end =
        node->type == SR_YAML_MAP ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    bool merges = false;
    for (;;) {
        yaml_event_t event;
        SR_TRY(next_event(l, &event));
        SrStatus status = SR_OK;
        bool last = event.type == end;
        if (!last && node->type == SR_YAML_MAP) {
            status = parse_pair(l, &event, node, depth, &merges);
        } else if (!last) {
            SrYaml *item = NULL;
            status = parse_node(l, &event, depth + 1, &item);
            if (status == SR_OK)
                status = sr_yaml_append(l->arena, node, item);
        }
        yaml_event_delete(&event);
        if (last)
            return node->type == SR_YAML_MAP ? end_map(l, node, merges) : SR_OK;
        SR_TRY(status);
    }
}

// Parses one value from its first event on; parse_children reads the events of its children.  The
// recursion is at most MAX_DEPTH deep.
static SrStatus parse_node(Loader *l, const yaml_event_t *event, int depth, SrYaml **out) {
    if (event->type == YAML_ALIAS_EVENT)
        return resolve_alias(l, event, depth, out);
    SR_TRY(count_nodes(l, line_of(event), 1));
    if (event->type == YAML_SCALAR_EVENT)
        return parse_scalar(l, event, out);
    bool map = event->type == YAML_MAPPING_START_EVENT;
    if (!map && event->type != YAML_SEQUENCE_START_EVENT)
        SR_FAIL(SR_ERR_CONFIG, "%s:%d: not valid YAML: a value is missing", l->file,
                line_of(event));
    const yaml_char_t *tag = map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    const yaml_char_t *anchor =
        map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    if (tag)
        return unknown_tag(l, event, (const char *)tag);
    if (depth >= MAX_DEPTH)
        return too_deep(l, line_of(event));
    *out = sr_yaml_new(l->arena, map ? SR_YAML_MAP : SR_YAML_LIST, l->file, line_of(event));
    if (!*out)
        SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", l->file);
    SR_TRY(parse_children(l, *out, depth));
    return remember_anchor(l, anchor, *out);
}

// Parses a stream of one document; an empty stream is a null.
static SrStatus parse_stream(Loader *l, SrYaml **out) {
    bool seen = false;
    for (;;) {
        yaml_event_t event;
        SR_TRY(next_event(l, &event));
        yaml_event_type_t type = event.type;
        SrStatus status = SR_OK;
        if (type == YAML_DOCUMENT_START_EVENT && seen)
            status = sr_fail(SR_ERR_CONFIG, "%s:%d: the file holds a second document; expected one",
                             l->file, line_of(&event));
        bool outer = type == YAML_STREAM_START_EVENT || type == YAML_STREAM_END_EVENT ||
                     type == YAML_DOCUMENT_START_EVENT || type == YAML_DOCUMENT_END_EVENT;
        if (!outer) {
            status = parse_node(l, &event, 0, out);
            seen = true;
        }
        yaml_event_delete(&event);
        SR_TRY(status);
        if (type == YAML_STREAM_END_EVENT)
            return SR_OK;
    }
}

// libyaml allocates memory that is not counted; the bound on the text bounds it.
SrStatus sr_yaml_parse(SrArena *arena, const char *text, size_t bytes, const char *file,
                       SrYaml **out) {
    if (bytes > MAX_TEXT)
        SR_FAIL(SR_ERR_CONFIG, "%s: %zu bytes of YAML; expected at most %d", file, bytes, MAX_TEXT);
    Loader l = {.arena = arena, .file = sr_arena_strdup(arena, file), .text = text};
    *out = sr_yaml_new(arena, SR_YAML_NULL, l.file, 1);
    if (!l.file || !*out || !yaml_parser_initialize(&l.parser))
        SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", file);
    yaml_parser_set_input_string(&l.parser, (const unsigned char *)text, bytes);
    SrStatus status = parse_stream(&l, out);
    yaml_parser_delete(&l.parser);
    return status;
}

SrStatus sr_yaml_load(SrArena *arena, const char *path, SrYaml **out) {
    char *text;
    size_t bytes;
    errno = 0;
    SrStatus status = sr_file_read(path, MAX_TEXT, &text, &bytes);
    if (status == SR_ERR_IO && (errno == 0 || sr_file_is_own_fault(errno)))
        return SR_ERR_CONFIG; // the user can mend a missing file, but not a failing disk
    SR_TRY(status);
    status = sr_yaml_parse(arena, text, bytes, path, out);
    sr_free(text);
    return status;
}
