// Drafts of configurations: a composed tree, and members that become keys of it.
//
// The option tables are the only list of members: a row whose field changed since it was read is
// written under its key.
#include "trainer/config/config_draft.h"

#include <string.h>

#include "base/mem.h"
#include "base/text/yaml_edit.h"
#include "trainer/config/config.h"
#include "trainer/config/config_internal.h"
#include "trainer/config/vissl/compose.h"
#include "trainer/config/vissl/interpolate.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/config/vissl/vissl_keys.h"

// Composes the file; a draft without one is an empty file.
static SrStatus compose(SrConfig *config, const char *path) {
    SrProblems problems = {.arena = &config->arena};
    SrYaml *file = NULL;
    config->path = SR_DRAFT_NAME;
    if (path)
        SR_TRY(sr__compose_load(path, &config->arena, &config->path, &file));
    else
        file = sr_yaml_new(&config->arena, SR_YAML_MAP, SR_DRAFT_NAME, 0);
    SR_TRY_MEMORY(file, "a configuration");
    SR_TRY(sr__compose(file, NULL, 0, &config->arena, &problems, &config->tree, &config->layers));
    return sr__vissl_keys_move(config->tree, &config->arena);
}

// Copies path, layers and tree.
static SrStatus copy(const SrConfig *from, SrConfig *to) {
    const char **names = sr_arena_alloc(&to->arena, ((size_t)from->layers.n + 1) * sizeof *names);
    to->path = sr_arena_strdup(&to->arena, from->path);
    to->tree = sr_yaml_copy(&to->arena, from->tree);
    SR_TRY_MEMORY(to->path && to->tree && names, "a configuration");
    for (int i = 0; i < from->layers.n; i++) {
        names[i] = sr_arena_strdup(&to->arena, from->layers.v[i]);
        SR_TRY_MEMORY(names[i], "a configuration");
    }
    to->layers = (SrStrings){from->layers.n, names};
    return SR_OK;
}

// Reads the members of a tree that was composed or copied with `status`.  Takes over the draft.
static SrStatus begin(SrConfigDraft *draft, SrStatus status, SrConfigDraft **out) {
    SrProblems problems = {.arena = &draft->config.arena};
    if (status == SR_OK)
        status = sr__config_read(&draft->config, &problems);
    if (status == SR_OK)
        status = sr_problems_fail(&problems, draft->config.path);
    if (status != SR_OK) {
        sr_config_draft_free(draft);
        return status;
    }
    draft->given = draft->config;
    *out = draft;
    return SR_OK;
}

SrStatus sr_config_draft_new(const char *path, SrConfigDraft **out) {
    SrConfigDraft *draft = sr_calloc(1, sizeof *draft);
    SR_TRY_MEMORY(draft, "a configuration");
    return begin(draft, compose(&draft->config, path), out);
}

SrStatus sr_config_draft_of(const SrConfig *config, SrConfigDraft **out) {
    SrConfigDraft *draft = sr_calloc(1, sizeof *draft);
    SR_TRY_MEMORY(draft, "a configuration");
    return begin(draft, copy(config, &draft->config), out);
}

void sr_config_draft_free(SrConfigDraft *draft) {
    if (!draft)
        return;
    sr_arena_deinit(&draft->config.arena);
    sr_free(draft);
}

// Fails unless a text is UTF-8, the encoding of the file that a run saves.
static SrStatus check_text(const char *key, const char *text) {
    uint32_t code;
    for (const char *c = text ? text : ""; *c;) {
        int len = sr_text_utf8(c, &code);
        if (len == 0)
            SR_FAIL(SR_ERR_CONFIG,
                    SR_DRAFT_NAME ": %s: the byte 0x%02x is not valid UTF-8, the encoding of "
                                  "configurations",
                    key, (unsigned char)*c);
        c += len;
    }
    return SR_OK;
}

// Gives a value the name of its origin, and checks its texts.
static SrStatus claim(const char *key, SrYaml *value) {
    SR_TRY(check_text(key, value->text));
    value->file = SR_DRAFT_NAME;
    for (int i = 0; i < value->n; i++) {
        if (value->type == SR_YAML_MAP)
            SR_TRY(check_text(key, value->keys[i]));
        SR_TRY(claim(key, value->items[i]));
    }
    return SR_OK;
}

SrStatus sr_config_draft_set(SrConfigDraft *draft, const char *key, SrYaml *value) {
    SR_TRY_MEMORY(value, "%s", key);
    SR_TRY(check_text("a key", key));
    SR_TRY(claim(key, value));
    SrStatus status = sr_tree_set(&draft->config.arena, draft->config.tree, key, value);
    return status == SR_ERR_CONFIG ? sr_fail_prefix(status, SR_DRAFT_NAME) : status;
}

// Merges the changed members of one section into the tree.
static SrStatus write_section(const SrConfigDraft *draft, const SrSection *s, SrConfig *config) {
    SrYaml *changes = NULL, *map = config->tree;
    SR_TRY(sr_options_changes(s->table, (const char *)&draft->config + s->offset,
                              (const char *)&draft->given + s->offset, &config->arena, &changes));
    SR_TRY(claim(s->path, changes));
    if (*s->path)
        map = sr_yaml_find_path(config->tree, s->path);
    if (map && map->type == SR_YAML_MAP)
        return sr_yaml_merge(&config->arena, map, changes);
    return changes->n ? sr_yaml_put_path(&config->arena, config->tree, s->path, changes) : SR_OK;
}

static SrStatus write_members(const SrConfigDraft *draft, SrConfig *config) {
    SrSchemaEntry *entries = NULL;
    int n = 0;
    SR_TRY(sr__schema_entries(&config->arena, &entries, &n));
    for (int i = 0; i < n; i++)
        if (!entries[i].owned)
            SR_TRY(write_section(draft, &entries[i].section, config));
    return SR_OK;
}

static SrStatus resolve(const SrConfigDraft *draft, SrConfig *config) {
    SrProblems problems = {.arena = &config->arena};
    SR_TRY(copy(&draft->config, config));
    SR_TRY(write_members(draft, config));
    SR_TRY(sr__interpolate(config->tree, &config->arena));
    return sr__config_resolve(config, &problems);
}

SrStatus sr_config_draft_resolve(const SrConfigDraft *draft, SrConfig **out) {
    SrConfig *config = sr_calloc(1, sizeof *config);
    SR_TRY_MEMORY(config, "a configuration");
    SrStatus status = resolve(draft, config);
    if (status != SR_OK)
        sr_config_free(config);
    else
        *out = config;
    return status;
}
