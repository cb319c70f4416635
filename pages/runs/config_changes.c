// Compares configurations key by key.
#include "pages/runs/config_changes.h"

#include "base/text/yaml_print.h"

static SrStatus descend(const SrYaml *a, const SrYaml *b, const char *prefix, SrArena *arena,
                        SrKeyDiffers fn, void *arg);

static SrStatus compare(const SrYaml *a, const SrYaml *b, const char *prefix, const char *name,
                        SrArena *arena, SrKeyDiffers fn, void *arg) {
    if (sr_yaml_equal(a, b))
        return SR_OK;
    const char *key = *prefix ? sr_arena_printf(arena, "%s.%s", prefix, name) : name;
    SR_TRY_MEMORY(key, "a comparison of configurations");
    if (a && b && a->type == SR_YAML_MAP && b->type == SR_YAML_MAP)
        return descend(a, b, key, arena, fn, arg);
    return fn(arg, key, a, b);
}

static SrStatus descend(const SrYaml *a, const SrYaml *b, const char *prefix, SrArena *arena,
                        SrKeyDiffers fn, void *arg) {
    for (int i = 0; i < a->n; i++)
        SR_TRY(
            compare(a->items[i], sr_yaml_find(b, a->keys[i]), prefix, a->keys[i], arena, fn, arg));
    for (int i = 0; i < b->n; i++)
        if (!sr_yaml_find(a, b->keys[i]))
            SR_TRY(compare(NULL, b->items[i], prefix, b->keys[i], arena, fn, arg));
    return SR_OK;
}

SrStatus sr_config_differ(const SrYaml *a, const SrYaml *b, SrArena *arena, SrKeyDiffers fn,
                          void *arg) {
    if (!a || !b || a->type != SR_YAML_MAP || b->type != SR_YAML_MAP)
        return SR_OK;
    return descend(a, b, "", arena, fn, arg);
}

enum { MOST = 400 };
typedef struct {
    SrArena *arena;
    const char **v;
    int n;
} List;

static void add_value(const SrYaml *node, SrText *out) {
    if (node)
        sr_yaml_print_flow(node, out);
    else
        sr_text_add(out, "nothing");
}

static SrStatus keep(void *arg, const char *key, const SrYaml *a, const SrYaml *b) {
    List *l = arg;
    SrText text = SR_TEXT_INIT;
    if (l->n == MOST)
        return SR_OK;
    sr_text_printf(&text, "%s: ", key);
    add_value(a, &text);
    sr_text_add(&text, " -> ");
    add_value(b, &text);
    l->v[l->n] = text.failed ? NULL : sr_arena_strdup(l->arena, text.s);
    sr_text_deinit(&text);
    return l->v[l->n++] ? SR_OK : sr_out_of_memory("the changed keys");
}

SrStatus sr_config_changes(const SrConfig *config, SrArena *arena, SrStrings *out) {
    SrYaml *file = NULL;
    List list = {.arena = arena, .v = sr_arena_alloc(arena, MOST * sizeof *list.v)};
    *out = (SrStrings){0, NULL};
    SR_TRY_MEMORY(list.v, "the changed keys");
    if (sr_config_compose(config->path, NULL, 0, arena, &file) != SR_OK)
        return SR_OK;
    SR_TRY(sr_config_differ(file, config->tree, arena, keep, &list));
    *out = (SrStrings){list.n, list.v};
    return SR_OK;
}
