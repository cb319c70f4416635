// From a file and overrides to a checked, complete configuration (spec 1.2, 1.3).
//
// compose: defaults <- file <- overrides.  read: every section against its table, into the structs.
// Reading happens twice: before inference, so that the rules meet only well-formed trees, and after
// it, for the resolved values.
#include "trainer/config.h"

#include <stdio.h>
#include <string.h>

#include "base/comm.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "losses/loss.h"
#include "trainer/schedule.h"
#include "trainer/schema.h"
#include "trainer/tree.h"
#include "trunks/trunk.h"

// ---- composing

// Hydra's own keys beside `config:` in a file: they steer its launcher and mean nothing here.
static const char *const launcher_keys[] = {"config", "hydra", "defaults", "node_id",
                                            "engine_name"};

// VISSL demands 1 and stops otherwise: a file of another version may mean other things by its keys.
static SrStatus check_version(const SrYaml *tree) {
    const SrYaml *version = sr_yaml_find(tree, "VERSION");
    if (!version || (version->type == SR_YAML_INT && version->i == 1))
        return SR_OK;
    return sr_fail(SR_ERR_CONFIG, "%s:%d: VERSION must be 1", version->file, version->line);
}

// What lies below the top key `config:`, or the whole file where there is none.
static SrStatus unwrap(SrYaml *file, SrYaml **out) {
    if (file->type == SR_YAML_NULL) { // an empty file changes nothing
        *out = NULL;
        return SR_OK;
    }
    if (file->type != SR_YAML_MAP)
        return sr_fail(SR_ERR_CONFIG, "%s:%d: a configuration is a map of keys, this is %s",
                       file->file, file->line, sr_yaml_type_name(file->type));
    SR_TRY(check_version(file));
    sr_yaml_remove(file, "VERSION");
    *out = sr_yaml_find(file, "config");
    if (!*out) {
        *out = file;
        return SR_OK;
    }
    for (int i = 0; i < file->n; i++) {
        bool known = false;
        for (int k = 0; k < SR_COUNT(launcher_keys); k++)
            known |= strcmp(file->keys[i], launcher_keys[k]) == 0;
        if (!known)
            return sr_fail(SR_ERR_CONFIG,
                           "%s:%d: the key '%s' stands beside `config:`; move it below", file->file,
                           file->items[i]->line, file->keys[i]);
    }
    if ((*out)->type == SR_YAML_NULL)
        *out = NULL;
    else if ((*out)->type != SR_YAML_MAP)
        return sr_fail(SR_ERR_CONFIG, "%s:%d: `config:` must hold a map of keys, this is %s",
                       (*out)->file, (*out)->line, sr_yaml_type_name((*out)->type));
    return SR_OK;
}

// The one place where the order of the sources is decided: later ones win, maps merge, lists and
// scalars are replaced whole.
static SrStatus compose(SrYaml *file, const char *const *overrides, int n_overrides, SrArena *arena,
                        SrYaml **out) {
    SrYaml *tree = NULL, *given = NULL;
    SR_TRY(sr__schema_defaults(arena, &tree));
    if (file)
        SR_TRY(unwrap(file, &given));
    if (given)
        SR_TRY(sr_yaml_merge(arena, tree, given));
    for (int i = 0; i < n_overrides; i++)
        SR_TRY(sr__override_apply(tree, overrides[i], arena));
    *out = tree;
    return SR_OK;
}

// The file as given, then with .yaml, then both below configs/: VISSL's names carry neither.
static SrStatus find_file(const char *path, SrArena *arena, const char **out) {
    static const char *const places[][2] = {
        {"", ""}, {"", ".yaml"}, {"configs/", ""}, {"configs/", ".yaml"}};
    for (int i = 0; i < SR_COUNT(places); i++) {
        char candidate[4096];
        int len = snprintf(candidate, sizeof candidate, "%s%s%s", places[i][0], path, places[i][1]);
        if (len < 0 || (size_t)len >= sizeof candidate || !sr_file_exists(candidate) ||
            sr_file_is_dir(candidate))
            continue;
        *out = sr_arena_strdup(arena, candidate);
        return *out ? SR_OK : sr_fail(SR_ERR_MEMORY, "out of memory");
    }
    return sr_fail(SR_ERR_CONFIG,
                   "%s: no such configuration file (nor %s.yaml, nor either below configs/)", path,
                   path);
}

// A path that cannot be read is the user's mistake, like any other in the configuration: exit
// code 2.
static SrStatus load_file(const char *path, SrArena *arena, const char **found, SrYaml **file) {
    SR_TRY(find_file(path, arena, found));
    SrStatus status = sr_yaml_load(arena, *found, file);
    if (status == SR_ERR_IO) // unreadable or too large: what the user named is wrong
        return sr_fail_prefix(SR_ERR_CONFIG, "configuration");
    return status;
}

SrStatus sr_config_compose(const char *path, const char *const *overrides, int n_overrides,
                           SrArena *arena, SrYaml **tree) {
    const char *found = NULL;
    SrYaml *file = NULL;
    SR_TRY(load_file(path, arena, &found, &file));
    return compose(file, overrides, n_overrides, arena, tree);
}

// ---- reading

// Only for its errors: whoever builds the trunk or the loss reads the map again into its own
// struct.
static SrStatus read_owned(const SrSchemaEntry *entry, const SrYaml *map, SrArena *arena) {
    void *params = sr_arena_alloc(arena, entry->params_bytes + 1);
    if (!params)
        return sr_fail(SR_ERR_MEMORY, "out of memory");
    return sr_options_parse(entry->section.table, map, entry->section.path, arena, params);
}

// Tables decide what is known, so a key that no table has fails here, with the place it came from.
static SrStatus read_sections(SrConfig *config) {
    SrSchemaEntry *entries = NULL;
    int n = 0;
    SR_TRY(sr__schema_entries(&config->arena, &entries, &n));
    for (int i = 0; i < n; i++) {
        const SrSection *s = &entries[i].section;
        const SrYaml *map = *s->path ? sr_yaml_find_path(config->tree, s->path) : config->tree;
        if (map && map->type == SR_YAML_NULL)
            map = NULL; // "HOOKS:" with nothing below it: the defaults
        if (entries[i].owned)
            SR_TRY(read_owned(&entries[i], map, &config->arena));
        else
            SR_TRY(sr_options_parse(s->table, map, s->path, &config->arena,
                                    (char *)config + s->offset));
    }
    config->train.tree = sr_yaml_find_path(config->tree, "DATA.TRAIN");
    config->test.tree = sr_yaml_find_path(config->tree, "DATA.TEST");
    return SR_OK;
}

// TEMP_FROZEN_PARAMS_ITER_MAP: [[module.heads.0.prototypes0.weight, 313], ...].  VISSL demands
// "module."; we take names with and without it.
static SrStatus read_frozen(SrConfig *config) {
    const SrYaml *list = config->model.frozen_map;
    int n = list && list->type == SR_YAML_LIST ? list->n : 0;
    if (list && list->type != SR_YAML_LIST && list->type != SR_YAML_NULL)
        return sr_fail(
            SR_ERR_CONFIG,
            "%s:%d: MODEL.TEMP_FROZEN_PARAMS_ITER_MAP must be a list of [name, iterations]",
            list->file, list->line);
    config->model.frozen_until =
        sr_arena_alloc(&config->arena, sizeof(SrFrozenUntil) * (size_t)(n + 1));
    if (!config->model.frozen_until)
        return sr_fail(SR_ERR_MEMORY, "out of memory");
    for (int i = 0; i < n; i++) {
        const SrYaml *e = list->items[i];
        bool ok = e->type == SR_YAML_LIST && e->n == 2 && e->items[0]->type == SR_YAML_STRING &&
                  e->items[1]->type == SR_YAML_INT && e->items[1]->i >= 0;
        if (!ok)
            return sr_fail(SR_ERR_CONFIG,
                           "%s:%d: MODEL.TEMP_FROZEN_PARAMS_ITER_MAP: each entry is [parameter "
                           "name, iterations]",
                           e->file, e->line);
        const char *name = e->items[0]->text;
        name += sr_text_starts(name, "module.") ? strlen("module.") : 0;
        config->model.frozen_until[i] = (SrFrozenUntil){name, e->items[1]->i};
    }
    config->model.n_frozen_until = n;
    return SR_OK;
}

// A schedule that is not asked for is an empty map in the tree and NULL in the struct.
static const SrYaml *or_null(const SrYaml *map) {
    return map && map->type == SR_YAML_MAP && map->n > 0 ? map : NULL;
}

SrStatus sr__config_read(SrConfig *config) {
    SR_TRY(read_sections(config));
    SR_TRY(read_frozen(config));
    SrOptimizerConfig *o = &config->optimizer;
    o->weight_decay_schedule = or_null(o->weight_decay_schedule);
    o->weight_decay_head_schedule = or_null(o->weight_decay_head_schedule);
    return SR_OK;
}

// ---- checking

// Names of plugins are no keys, so no table has checked them.  A loss of VISSL's that is not built
// gets an answer of its own: the user has not misspelt anything.
static SrStatus check_names(const SrConfig *config) {
    char at[512];
    const SrTrunk *trunk = NULL;
    SrStatus status = sr_trunk_find(config->model.trunk_name, &trunk);
    if (status != SR_OK)
        return sr_fail_prefix(
            status, "%s: MODEL.TRUNK.NAME",
            sr_tree_at(sr_yaml_find_path(config->tree, "MODEL.TRUNK.NAME"), at, sizeof at));
    const SrLoss *loss = NULL;
    status = sr_loss_find(config->loss_name, &loss);
    if (status == SR_OK)
        return SR_OK;
    for (const SrOption *row = sr__schema_loss; row->name;
         row++) // one of VISSL's: it is not a misspelling
        if (row->type == SR_OPT_IGNORED && strcmp(row->name, config->loss_name) == 0)
            status = sr_fail(status, "loss '%s' is not built", row->name);
    SrText known = {0};
    for (int i = 0; sr_loss_at(i); i++)
        sr_text_printf(&known, "%s%s", i ? ", " : "", sr_loss_at(i)->name);
    if (strstr(sr_status_message(), "is not built"))
        status = sr_fail(status, "%s; known: %s", sr_status_message(), known.s ? known.s : "none");
    sr_text_deinit(&known);
    return sr_fail_prefix(status, "%s: LOSS.name",
                          sr_tree_at(sr_yaml_find_path(config->tree, "LOSS.name"), at, sizeof at));
}

// Built for its errors only: milestones beyond the last epoch should not wait for the training.
static SrStatus check_schedule(SrConfig *config, const SrYaml *tree, const char *where) {
    SrSchedule *unused = NULL;
    return tree
               ? sr_schedule_new(tree, where, config->optimizer.num_epochs, &config->arena, &unused)
               : SR_OK;
}

static SrStatus check_schedules(SrConfig *config) {
    const SrOptimizerConfig *o = &config->optimizer;
    SR_TRY(check_schedule(config, o->lr, "OPTIMIZER.param_schedulers.lr"));
    if (o->head_use_different_lr)
        SR_TRY(check_schedule(config, o->lr_head, "OPTIMIZER.param_schedulers.lr_head"));
    SR_TRY(check_schedule(config, o->weight_decay_schedule,
                          "OPTIMIZER.param_schedulers.weight_decay"));
    return check_schedule(config, o->weight_decay_head_schedule,
                          "OPTIMIZER.param_schedulers.weight_decay_head");
}

// Flags that contradict each other; each alone is fine by its table.
static SrStatus check_model(const SrConfig *config) {
    if (config->model.freeze_trunk_only && config->model.freeze_trunk_and_head)
        return sr_fail(
            SR_ERR_CONFIG,
            "MODEL.FEATURE_EVAL_SETTINGS: set FREEZE_TRUNK_ONLY or FREEZE_TRUNK_AND_HEAD, "
            "not both");
    if (config->model.extract_trunk_features_only && !config->model.eval_mode_on)
        return sr_fail(SR_ERR_CONFIG,
                       "MODEL.FEATURE_EVAL_SETTINGS: EXTRACT_TRUNK_FEATURES_ONLY does nothing "
                       "without EVAL_MODE_ON; for features set both and FREEZE_TRUNK_ONLY");
    if (config->model.extract_trunk_features_only && config->model.eval_trunk_and_head)
        return sr_fail(SR_ERR_CONFIG,
                       "MODEL.FEATURE_EVAL_SETTINGS: EXTRACT_TRUNK_FEATURES_ONLY runs no heads, "
                       "EVAL_TRUNK_AND_HEAD wants them; for the head's output set "
                       "EXTRACT_TRUNK_FEATURES_ONLY to False");
    return SR_OK;
}

// The world is this process whatever the file says.  Say so once if the file says something else,
// and write down what is true, so that the saved configuration does not ask for it again.
static SrStatus resolve_world(SrConfig *config) {
    SrYaml *map = sr_yaml_find(config->tree, "DISTRIBUTED");
    if (!map || map->type != SR_YAML_MAP)
        return SR_OK;
    bool given = !sr_tree_is_default(sr_yaml_find(map, "NUM_NODES")) ||
                 !sr_tree_is_default(sr_yaml_find(map, "NUM_PROC_PER_NODE"));
    int64_t asked = (int64_t)config->num_nodes * config->num_proc_per_node;
    if (given && asked != sr_comm_size())
        sr_info("DISTRIBUTED asks for %lld processes; this run has %d, and batch and learning rate "
                "are counted for it",
                (long long)asked, sr_comm_size());
    SR_TRY(sr_tree_put_int(&config->arena, map, "NUM_NODES", 1));
    return sr_tree_put_int(&config->arena, map, "NUM_PROC_PER_NODE", sr_comm_size());
}

// ---- the whole

// From a composed tree to a configuration.  Names come before the lines about ignored keys, so that
// a wrong file gives its error and nothing else.
static SrStatus resolve(SrConfig *config) {
    SR_TRY(sr__config_read(config));
    SR_TRY(check_names(config));
    SR_TRY(sr__schema_report_ignored(config->tree, &config->arena));
    SR_TRY(resolve_world(config));
    SR_TRY(sr__infer(config->tree, sr_comm_size(), &config->arena));
    SR_TRY(sr__config_read(config));
    SR_TRY(check_schedules(config));
    return check_model(config);
}

// What loading from a file and from text share.  Takes over `config`, also when it fails.
static SrStatus finish(SrConfig *config, SrYaml *file, const char *const *overrides,
                       int n_overrides, SrStatus status, SrConfig **out) {
    if (status == SR_OK)
        status = compose(file, overrides, n_overrides, &config->arena, &config->tree);
    if (status == SR_OK)
        status = resolve(config);
    if (status != SR_OK)
        sr_config_free(config);
    else
        *out = config;
    return status;
}

SrStatus sr_config_load(const char *path, const char *const *overrides, int n_overrides,
                        SrConfig **out) {
    SrConfig *config = sr_calloc(1, sizeof *config);
    if (!config)
        return sr_fail(SR_ERR_MEMORY, "out of memory for the configuration");
    SrYaml *file = NULL;
    SrStatus status = load_file(path, &config->arena, &config->path, &file);
    return finish(config, file, overrides, n_overrides, status, out);
}

SrStatus sr_config_parse(const char *text, const char *name, const char *const *overrides,
                         int n_overrides, SrConfig **out) {
    SrConfig *config = sr_calloc(1, sizeof *config);
    if (!config)
        return sr_fail(SR_ERR_MEMORY, "out of memory for the configuration");
    SrYaml *file = NULL;
    config->path = sr_arena_strdup(&config->arena, name);
    SrStatus status = config->path
                          ? sr_yaml_parse(&config->arena, text, strlen(text), config->path, &file)
                          : sr_fail(SR_ERR_MEMORY, "out of memory for the configuration");
    return finish(config, file, overrides, n_overrides, status, out);
}

// The arena holds everything, the struct only the arena: free what the copy points to.
void sr_config_free(SrConfig *config) {
    if (!config)
        return;
    SrArena arena = config->arena;
    sr_arena_deinit(&arena);
    sr_free(config);
}

SrStatus sr_config_save(const SrConfig *config, const char *dir) {
    char path[4096];
    SR_TRY(sr_file_mkdirs(dir));
    SR_TRY(sr_file_join(path, sizeof path, dir, "train_config.yaml"));
    SrArena arena = SR_ARENA_INIT;
    SrText text = {0};
    SrYaml *root = sr_yaml_new(&arena, SR_YAML_MAP, config->path, 0);
    SrStatus status = root ? sr_yaml_put(&arena, root, "config", config->tree)
                           : sr_fail(SR_ERR_MEMORY, "out of memory for %s", path);
    if (status == SR_OK) {
        sr_text_add(&text, "# Resolved configuration of a run: loads again as it is.\n");
        sr_yaml_print(root, &text);
        status = text.failed ? sr_fail(SR_ERR_MEMORY, "out of memory for %s", path)
                             : sr_file_write(path, text.s, text.len);
    }
    sr_text_deinit(&text);
    sr_arena_deinit(&arena);
    return status;
}
