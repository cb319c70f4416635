// Replaces ${config.A.B} and ${env:NAME} in strings, as OmegaConf does, by the value of another key
// or of an environment variable.  A reference stands for one value, never for a map or a list.
//
// Depth and number of references are bounded: strings that hold each other twice would double at
// every level.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/text.h"
#include "base/text/yaml_edit.h"
#include "base/text/yaml_scalar.h"
#include "trainer/config/vissl/interpolate.h"

enum { MAX_DEPTH = 8, MAX_REFERENCES = 10000, MAX_TEXT = 4096 };

typedef struct {
    SrYaml *tree;
    SrArena *arena;
    int depth, references; // nesting now; number so far
} Walk;

static SrStatus resolve(Walk *w, SrYaml *node);

#define refuse(node, ...)                                                                        \
    sr_fail_prefix(sr_fail(SR_ERR_CONFIG, __VA_ARGS__), "%s: '%.80s'", sr_yaml_place(node).text, \
                   (node)->text)

// Gets the variable of "env:NAME" or "oc.env:NAME,default"; its text decides about its type.
static SrStatus from_environment(Walk *w, const SrYaml *node, const char *name, SrYaml **out) {
    char variable[256];
    int len = (int)strcspn(name, ",");
    if (len == 0 || len >= (int)sizeof variable)
        return refuse(node, "expected ${env:NAME} or ${oc.env:NAME,otherwise}");
    snprintf(variable, sizeof variable, "%.*s", len, name);
    const char *value = getenv(variable);
    if (!value && !name[len])
        return refuse(node, "the environment has no variable %s", variable);
    *out = sr_yaml_scalar(w->arena, value ? value : name + len + 1, node->file, node->line);
    return *out ? SR_OK : sr_out_of_memory("'%s'", node->text);
}

// Gets the value of the reference `name`, the text between the braces.
static SrStatus look_up(Walk *w, const SrYaml *node, const char *name, SrYaml **out) {
    if (sr_text_starts(name, "env:") || sr_text_starts(name, "oc.env:"))
        return from_environment(w, node, strchr(name, ':') + 1, out);
    const char *path = sr_text_starts(name, "config.") ? name + strlen("config.") : name;
    *out = sr_yaml_find_path(w->tree, path);
    if (!*out || !*path)
        return refuse(node, "there is no key '%s' to refer to", path);
    if ((*out)->type == SR_YAML_MAP || (*out)->type == SR_YAML_LIST)
        return refuse(node, "'%s' is %s; only single values can be referred to", path,
                      sr_yaml_type_name((*out)->type));
    if (*out == node || ++w->depth > MAX_DEPTH)
        return refuse(node, "references form a ring, or are nested deeper than %d", MAX_DEPTH);
    SrStatus status = resolve(w, *out);
    w->depth--;
    return status;
}

// Reads the reference at `open` ("${...}").  *end points after its closing brace.
static SrStatus read_reference(Walk *w, const SrYaml *node, const char *open, const char **end,
                               SrYaml **out) {
    char name[512];
    const char *close = strchr(open, '}');
    if (!close || close - open - 2 >= (ptrdiff_t)sizeof name)
        return refuse(node, "'${' without '}'");
    if (++w->references > MAX_REFERENCES)
        return refuse(node, "more than %d references", MAX_REFERENCES);
    snprintf(name, sizeof name, "%.*s", (int)(close - open - 2), open + 2);
    *end = close + 1;
    return look_up(w, node, name, out);
}

// Appends the node's text to `text`, with references replaced.  *whole gets the value if the text
// is a single reference, else NULL.
static SrStatus expand(Walk *w, SrYaml *node, SrText *text, SrYaml **whole) {
    const char *rest = node->text, *open;
    SrYaml *value = NULL;
    *whole = NULL;
    while ((open = strstr(rest, "${"))) {
        sr_text_addn(text, rest, (size_t)(open - rest));
        SR_TRY(read_reference(w, node, open, &rest, &value));
        *whole = open == node->text && !*rest ? value : NULL;
        sr_text_add(text, value->text ? value->text : "null");
        if (text->len > MAX_TEXT)
            return refuse(node, "the value becomes longer than %d bytes", MAX_TEXT);
    }
    sr_text_add(text, rest);
    return SR_OK;
}

// A string that is one reference takes the value with its type; any other becomes text.
static SrStatus replace(Walk *w, SrYaml *node) {
    SrText text = SR_TEXT_INIT;
    SrYaml *whole = NULL;
    SrStatus status;
    SR_TRY_GOTO(expand(w, node, &text, &whole));
    SrYaml *fresh = whole ? sr_yaml_copy(w->arena, whole)
                          : sr_yaml_new(w->arena, SR_YAML_STRING, node->file, node->line);
    if (fresh && !whole)
        fresh->text = text.failed ? NULL : sr_arena_strdup(w->arena, text.s);
    if (!fresh || (!whole && !fresh->text))
        SR_TRY_GOTO(sr_out_of_memory("'%s'", node->text));
    fresh->file = node->file;
    fresh->line = node->line;
    *node = *fresh;
done:
    sr_text_deinit(&text);
    return status;
}

static SrStatus resolve(Walk *w, SrYaml *node) {
    if (node->type == SR_YAML_STRING && node->text && strstr(node->text, "${"))
        return replace(w, node);
    for (int i = 0; (node->type == SR_YAML_MAP || node->type == SR_YAML_LIST) && i < node->n; i++)
        SR_TRY(resolve(w, node->items[i]));
    return SR_OK;
}

SrStatus sr__interpolate(SrYaml *tree, SrArena *arena) {
    Walk w = {.tree = tree, .arena = arena};
    return resolve(&w, tree);
}
