// Turns a file and overrides into a checked, complete configuration.
//
// compose.c merges the layers into a tree.  Reading then checks every section against its table and
// fills the structs.  Reading happens twice: before inference, whose rules need a well-formed tree,
// and after it, for the resolved values.
#include "trainer/config/config.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plugin/plugin.h"
#include "base/ranks/comm.h"
#include "base/text/text.h"
#include "base/text/yaml_edit.h"
#include "base/text/yaml_load.h"
#include "base/text/yaml_print.h"
#include "base/text/yaml_scalar.h"
#include "data/collator.h"
#include "losses/loss.h"
#include "measure/meter.h"
#include "trainer/config/arguments.h"
#include "trainer/config/config_internal.h"
#include "trainer/config/home_paths.h"
#include "trainer/config/paths_check.h"
#include "trainer/config/stages.h"
#include "trainer/config/vissl/compose.h"
#include "trainer/config/vissl/dataset_catalog.h"
#include "trainer/config/vissl/feature_eval_settings.h"
#include "trainer/config/vissl/ignored.h"
#include "trainer/config/vissl/inference.h"
#include "trainer/config/vissl/missing_plugins.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/config/vissl/sharding.h"
#include "trainer/config/vissl/shared_maps.h"
#include "trainer/config/vissl/vissl_keys.h"
#include "trainer/optim/param_groups.h"
#include "trainer/schedules/schedule.h"
#include "trunks/presets.h"

SrStatus sr_config_compose(const char *path, const char *const *overrides, int n_overrides,
                           SrArena *arena, SrYaml **tree) {
    const char *found = NULL;
    SrYaml *file = NULL;
    SR_TRY(sr__compose_load(path, arena, &found, &file));
    return sr__compose(file, overrides, n_overrides, arena, NULL, tree, NULL);
}

// ---- reading

// Reads a plugin's map only to find its errors: building the trunk or the loss reads it again.
static SrStatus read_owned(const SrSchemaEntry *entry, const SrYaml *map, SrArena *arena,
                           SrProblems *problems) {
    void *params = sr_arena_alloc(arena, entry->params_bytes + 1);
    SR_TRY_MEMORY(params, "a configuration");
    return sr_options_parse_all(entry->section.table, map, entry->section.path, arena, params,
                                problems);
}

// Returns the reason why the configured loss takes whole batches only.  NULL: it takes any size.
static const char *why_whole_batches(const SrConfig *config, const SrLoss *loss) {
    char key[256];
    if (!loss->whole_batches_with)
        return loss->whole_batches;
    snprintf(key, sizeof key, "%s.%s", loss->subtree, loss->whole_batches_with);
    return sr_tree_int(config->tree, key, 0) > 0 ? loss->whole_batches : NULL;
}

// Reads all sections.  A key that no table has fails here, with its file and line.
static SrStatus read_sections(SrConfig *config, SrProblems *problems) {
    SrSchemaEntry *entries = NULL;
    int n = 0;
    SR_TRY(sr__schema_entries(&config->arena, &entries, &n));
    const SrTrunk *chosen = sr__chosen_trunk(config->tree, &config->arena);
    for (int i = 0; i < n; i++) {
        const SrSection *s = &entries[i].section;
        const SrYaml *map = *s->path ? sr_yaml_find_path(config->tree, s->path) : config->tree;
        if (map && map->type == SR_YAML_NULL)
            map = NULL; // "HOOKS:" with nothing below it has the defaults
        if (!sr__table_counts(entries, i, chosen))
            continue;
        if (entries[i].owned)
            SR_TRY(read_owned(&entries[i], map, &config->arena, problems));
        else
            SR_TRY(sr_options_parse_all(s->table, map, s->path, &config->arena,
                                        (char *)config + s->offset, problems));
    }
    config->learns = sr__learns(config->tree);
    const SrLoss *loss = NULL;
    for (int i = 0; sr_loss_at(i); i++)
        if (strcmp(sr_loss_at(i)->name, config->loss_name) == 0)
            loss = sr_loss_at(i);
    config->supervised = config->learns && loss && loss->needs_labels;
    config->whole_batches = loss ? why_whole_batches(config, loss) : "nothing learns";
    // A rank that computes all replicas as one batch makes the same steps as several ranks.
    if (!config->whole_batches && config->sync_bn_group > 1)
        config->whole_batches = "a step needs one batch for every replica";
    config->train.tree = sr_yaml_find_path(config->tree, "DATA.TRAIN");
    config->test.tree = sr_yaml_find_path(config->tree, "DATA.TEST");
    return SR_OK;
}

// Reads TEMP_FROZEN_PARAMS_ITER_MAP: [[module.heads.0.prototypes0.weight, 313], ...].  VISSL
// demands "module."; here it is optional, and infixes of sharding are removed.
static SrStatus read_frozen(SrConfig *config) {
    const SrYaml *list = config->model.frozen_map;
    int n = list && list->type == SR_YAML_LIST ? list->n : 0;
    if (list && list->type != SR_YAML_LIST && list->type != SR_YAML_NULL)
        SR_FAIL(
            SR_ERR_CONFIG,
            "%s: MODEL.TEMP_FROZEN_PARAMS_ITER_MAP must be a list of [parameter name, iterations]",
            sr_yaml_place(list).text);
    config->model.frozen_until =
        sr_arena_alloc(&config->arena, sizeof(SrFrozenUntil) * (size_t)(n + 1));
    SR_TRY_MEMORY(config->model.frozen_until, "a configuration");
    for (int i = 0; i < n; i++) {
        const SrYaml *e = list->items[i];
        bool ok = e->type == SR_YAML_LIST && e->n == 2 && e->items[0]->type == SR_YAML_STRING &&
                  e->items[1]->type == SR_YAML_INT && e->items[1]->i >= 0;
        if (!ok)
            SR_FAIL(SR_ERR_CONFIG,
                    "%s: MODEL.TEMP_FROZEN_PARAMS_ITER_MAP: expected each entry to be [parameter "
                    "name, iterations]",
                    sr_yaml_place(e).text);
        const char *name = sr__plain_param_name(e->items[0]->text, &config->arena);
        SR_TRY_MEMORY(name, "a configuration");
        config->model.frozen_until[i] = (SrFrozenUntil){name, e->items[1]->i};
    }
    config->model.n_frozen_until = n;
    return SR_OK;
}

// A missing schedule is an empty map in the tree and NULL in the struct.
static const SrYaml *or_null(const SrYaml *map) {
    return map && map->type == SR_YAML_MAP && map->n > 0 ? map : NULL;
}

// Finds the trunk: layer-wise learning rates depend on it.  A missing trunk is reported elsewhere,
// together with all other missing plugins.
static SrStatus read_trunk(SrConfig *config) {
    SrOptimizerConfig *o = &config->optimizer;
    if (sr_trunk_find(config->model.trunk_name, &o->trunk) != SR_OK) {
        o->trunk = NULL;
        return SR_OK;
    }
    const SrTrunk *t = o->trunk;
    void *params = sr_arena_alloc(&config->arena, t->params_bytes + 1);
    SR_TRY_MEMORY(params, "%s", t->subtree);
    o->trunk_params = params;
    return sr_options_parse(t->options, sr_yaml_find_path(config->tree, t->subtree), t->subtree,
                            &config->arena, params);
}

SrStatus sr__config_read(SrConfig *config, SrProblems *problems) {
    SR_TRY(read_sections(config, problems));
    SR_TRY(sr__expand_homes(config));
    SR_TRY(sr_problems_keep(problems, read_frozen(config)));
    SrOptimizerConfig *o = &config->optimizer;
    o->options = sr_yaml_find_path(config->tree, "OPTIMIZER");
    o->weight_decay_schedule = or_null(o->weight_decay_schedule);
    SR_TRY(sr_problems_keep(problems, read_trunk(config)));
    o->weight_decay_head_schedule = or_null(o->weight_decay_head_schedule);
    return SR_OK;
}

// ---- checking

static SrStatus check_meters(const SrConfig *config) {
    const SrMeter *meter;
    const SrYaml *list = sr_yaml_find_path(config->tree, "METERS.names");
    for (int i = 0; i < config->meters.names.n; i++)
        if (sr_meter_find(config->meters.names.v[i], &meter) != SR_OK)
            return sr_fail_prefix(SR_ERR_CONFIG, "%s: METERS.names", sr_yaml_place(list).text);
    return SR_OK;
}

// Builds a schedule only to find its errors: a milestone beyond the last epoch must not show during
// the training.
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

// Arrays of results have SR_KNN_MAX_TOPK elements.
static SrStatus check_topk(const SrConfig *config) {
    const SrYaml *list = sr_yaml_find_path(config->tree, "NEAREST_NEIGHBOR.TOPK");
    if (config->knn.topk.n <= SR_KNN_MAX_TOPK)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG, "%s: NEAREST_NEIGHBOR.TOPK has %d entries, expected at most %d",
            sr_yaml_place(list).text, config->knn.topk.n, SR_KNN_MAX_TOPK);
}

// Warns if a classification loss would see a single class.
static void warn_of_labels(const SrConfig *config) {
    const SrSplitConfig *train = &config->train;
    if (config->supervised && strcmp(train->label_type, "zero") == 0)
        sr_warn("%s: DATA.TRAIN.LABEL_TYPE is zero, so LOSS.name %s sees every image as class 0; "
                "standard uses the images' classes",
                sr_yaml_place(sr_yaml_find(train->tree, "LABEL_TYPE")).text, config->loss_name);
}

// Losses read masks from the batch themselves, so that `mask` only has to be there.
static SrStatus check_targets(const SrConfig *config) {
    static const char *const known[] = {"label", "mask"};
    static const char key[] = "DATA.TRAIN.TARGET_KEY_NAMES";
    const SrStrings *targets = &config->train.target_keys;
    const char *place = sr_yaml_place(sr_yaml_find_path(config->tree, key)).text;
    const SrCollator *collator = NULL;
    SR_TRY(sr_collator_find(config->train.collate_function, &collator));
    if (config->supervised && collator->blends)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: DATA.TRAIN.COLLATE_FUNCTION %s blends images whose labels LOSS.name %s reads; "
                "use cutmixup_collator, which mixes the labels too",
                sr_yaml_place(sr_yaml_find_path(config->tree, "DATA.TRAIN.COLLATE_FUNCTION")).text,
                collator->name, config->loss_name);
    for (int i = 0; i < targets->n; i++) {
        if (strcmp(targets->v[i], "label") != 0 && strcmp(targets->v[i], "mask") != 0)
            return sr_fail_prefix(sr_plugin_unknown("target", targets->v[i], known, 2), "%s: %s",
                                  place, key);
        if (strcmp(targets->v[i], "mask") == 0 && !collator->plans_extras)
            SR_FAIL(SR_ERR_CONFIG,
                    "%s: %s: %s makes no masks; ibot_multicrop_masking_collator does", place, key,
                    collator->name);
    }
    return SR_OK;
}

// ---- the whole

// All later stages, and checkpoints, see only the trunk.
SrStatus sr__preset_expand(SrConfig *config) {
    SrYaml *tree = config->tree, *options;
    const SrYaml *name = sr_yaml_find_path(tree, "MODEL.TRUNK.NAME");
    const SrTrunk *trunk;
    const SrPreset *preset;
    if (!name || name->type != SR_YAML_STRING || sr_trunk_find(name->text, &trunk) == SR_OK ||
        sr_preset_find(name->text, &preset) != SR_OK)
        return SR_OK; // an unknown name is reported with everything else that is not there
    trunk = sr_preset_trunk(preset);
    SR_TRY(sr_yaml_parse(&config->arena, preset->options, strlen(preset->options), name->text,
                         &options));
    SrYaml *named = sr_yaml_scalar(&config->arena, trunk->name, name->file, name->line);
    SR_TRY_MEMORY(named, "%s", preset->name);
    sr_info("%s: MODEL.TRUNK.NAME: %s is the trunk %s with %s: %s", sr_yaml_place(name).text,
            preset->name, trunk->name, trunk->subtree, preset->options);
    SR_TRY(sr_yaml_put_path(&config->arena, tree, "MODEL.TRUNK.NAME", named));
    SrYaml *own = sr_yaml_find_path(tree, trunk->subtree);
    return own ? sr_yaml_merge(&config->arena, own, options)
               : sr_yaml_put_path(&config->arena, tree, trunk->subtree, options);
}

// Reports all wrong keys and names: inference needs a tree without mistakes.
static SrStatus check_tree(SrConfig *config, SrProblems *problems) {
    SR_TRY(sr_problems_keep(problems, sr__vissl_keys_move(config->tree, &config->arena)));
    SR_TRY(sr_problems_keep(problems, sr__preset_expand(config)));
    SR_TRY(sr__config_read(config, problems));
    SrStatus status = sr__missing_plugins_check(config->tree, &config->arena, problems);
    if (status != SR_OK)
        status = sr_fail_prefix(status, "%s", config->path);
    SR_TRY(sr_problems_keep(problems, status));
    SR_TRY(sr__arguments_check(config->tree, &config->arena, problems));
    if (problems->n == 0) // contradictions mean something only among known keys and names
        SR_TRY(sr__eval_settings_check(config->tree));
    else // tells the user of wrong paths together with the wrong keys
        SR_TRY(sr_config_check_paths(config, problems));
    return sr_problems_fail(problems, config->path);
}

// Reports all wrong values together.  unscaled: the error of the schedules as the file has them;
// NULL: none.  auto_lr_scaling has changed their values since, which would confuse an error.
static SrStatus check_values(SrConfig *config, const char *unscaled) {
    SrProblems problems = {.arena = &config->arena};
    SR_TRY(sr_problems_keep(&problems, check_meters(config)));
    SR_TRY(sr_problems_keep(&problems, check_topk(config)));
    SR_TRY(sr_problems_keep(&problems, check_targets(config)));
    SR_TRY(sr_problems_keep(&problems, sr__stages_check(config)));
    warn_of_labels(config);
    if (config->learns)
        SR_TRY(sr_problems_keep(&problems, sr_param_groups_check(&config->optimizer)));
    SrStatus status = check_schedules(config);
    if (status == SR_ERR_CONFIG && unscaled)
        status = sr_fail(status, "%s", unscaled);
    SR_TRY(sr_problems_keep(&problems, status));
    return sr_problems_fail(&problems, config->path);
}

// Checks names before ignored keys are logged, so that a wrong file gives its errors and nothing
// else.
SrStatus sr__config_resolve(SrConfig *config, SrProblems *problems) {
    SR_TRY(check_tree(config, problems));
    SR_TRY(sr__catalog_resolve(config->tree, config->path, &config->arena));
    SR_TRY(sr__report_ignored(config, &config->arena));
    SR_TRY(sr__sharding_resolve(config));
    const char *unscaled = NULL;
    if (check_schedules(config) != SR_OK)
        unscaled = sr_arena_strdup(&config->arena, sr_status_message());
    sr_status_clear();
    SR_TRY(sr__trunk_base(config->tree, &config->arena));
    SR_TRY(sr__infer(config->tree, config->replicas * config->sync_bn_group, &config->arena));
    SR_TRY(sr__config_read(config, NULL));
    config->batch = config->sync_bn_group * config->train.batchsize_per_replica;
    return check_values(config, unscaled);
}

// Finishes what loading from a file or a text began.  Takes over `config`, also when it fails.
static SrStatus finish(SrConfig *config, SrYaml *file, const char *const *overrides,
                       int n_overrides, SrStatus status, SrConfig **out) {
    SrProblems problems = {.arena = &config->arena};
    if (status == SR_OK)
        status = sr__compose(file, overrides, n_overrides, &config->arena, &problems, &config->tree,
                             &config->layers);
    if (status == SR_OK)
        status = sr__config_resolve(config, &problems);
    if (status != SR_OK)
        sr_config_free(config);
    else
        *out = config;
    return status;
}

SrStatus sr_config_load(const char *path, const char *const *overrides, int n_overrides,
                        SrConfig **out) {
    SrConfig *config = sr_calloc(1, sizeof *config);
    SR_TRY_MEMORY(config, "the configuration");
    SrYaml *file = NULL;
    SrStatus status = sr__compose_load(path, &config->arena, &config->path, &file);
    return finish(config, file, overrides, n_overrides, status, out);
}

SrStatus sr_config_parse(const char *text, const char *name, const char *const *overrides,
                         int n_overrides, SrConfig **out) {
    SrConfig *config = sr_calloc(1, sizeof *config);
    SR_TRY_MEMORY(config, "the configuration");
    SrYaml *file = NULL;
    config->path = sr_arena_strdup(&config->arena, name);
    SrStatus status = config->path
                          ? sr_yaml_parse(&config->arena, text, strlen(text), config->path, &file)
                          : sr_out_of_memory("the configuration");
    return finish(config, file, overrides, n_overrides, status, out);
}

SrStatus sr_config_parse_saved(const char *text, const char *name, SrConfig **out) {
    SrLogLevel before = sr_log_set_level(SR_LOG_WARN);
    if (before > SR_LOG_WARN)
        sr_log_set_level(before);
    SrStatus status = sr_config_parse(text, name, NULL, 0, out);
    sr_log_set_level(before);
    return status;
}

SrStatus sr_config_options(const char *const *overrides, int n_overrides, SrConfig **out) {
    SrConfig *config = sr_calloc(1, sizeof *config);
    SR_TRY_MEMORY(config, "the configuration");
    config->path = SR_YAML_COMMAND_LINE;
    SrProblems problems = {.arena = &config->arena};
    SrStatus status =
        sr__compose(NULL, overrides, n_overrides, &config->arena, &problems, &config->tree, NULL);
    if (status == SR_OK)
        status = sr__config_read(config, &problems);
    if (status == SR_OK)
        status = sr_problems_fail(&problems, config->path);
    if (status == SR_OK)
        status = sr__report_ignored(config, &config->arena);
    if (status != SR_OK)
        sr_config_free(config);
    else
        *out = config;
    return status;
}

// The arena may hold anything that the struct points to, so it is copied out before it is freed.
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
    SrStatus status =
        root ? sr_yaml_put(&arena, root, "config", config->tree) : sr_out_of_memory("%s", path);
    if (status == SR_OK) {
        sr_text_add(&text, "# Resolved configuration of a run: loads again as it is.\n");
        sr_yaml_print(root, &text);
        status = sr_file_write_text(path, &text);
    }
    sr_text_deinit(&text);
    sr_arena_deinit(&arena);
    return status;
}
