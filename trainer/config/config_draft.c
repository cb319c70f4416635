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

// Composes and reads the file; a draft without one is an empty file.
static SrStatus begin(SrConfig *config, const char *path) {
    SrProblems problems = {.arena = &config->arena};
    SrYaml *file = NULL;
    config->path = SR_DRAFT_NAME;
    if (path)
        SR_TRY(sr__compose_load(path, &config->arena, &config->path, &file));
    else
        file = sr_yaml_new(&config->arena, SR_YAML_MAP, SR_DRAFT_NAME, 0);
    SR_TRY_MEMORY(file, "a configuration");
    SR_TRY(sr__compose(file, NULL, 0, &config->arena, &problems, &config->tree, &config->layers));
    SR_TRY(sr__vissl_keys_move(config->tree, &config->arena));
    SR_TRY(sr__config_read(config, &problems));
    return sr_problems_fail(&problems, config->path);
}

SrStatus sr_config_draft_new(const char *path, SrConfigDraft **out) {
    SrConfigDraft *draft = sr_calloc(1, sizeof *draft);
    SR_TRY_MEMORY(draft, "a configuration");
    SrStatus status = begin(&draft->config, path);
    if (status != SR_OK) {
        sr_config_draft_free(draft);
        return status;
    }
    draft->given = draft->config;
    *out = draft;
    return SR_OK;
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
    const SrStrings *layers = &draft->config.layers;
    config->path = sr_arena_strdup(&config->arena, draft->config.path);
    config->tree = sr_yaml_copy(&config->arena, draft->config.tree);
    const char **names = sr_arena_alloc(&config->arena, ((size_t)layers->n + 1) * sizeof *names);
    SR_TRY_MEMORY(config->path && config->tree && names, "a configuration");
    for (int i = 0; i < layers->n; i++) {
        names[i] = sr_arena_strdup(&config->arena, layers->v[i]);
        SR_TRY_MEMORY(names[i], "a configuration");
    }
    config->layers = (SrStrings){layers->n, names};
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
