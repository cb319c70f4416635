// Logs a line for each key that is set and has no effect, so that nobody waits for one.
//
// A key has no effect if its row is marked IGNORED, or if another key switches it off (the learning
// rate of the heads while heads have no rate of their own).  Keys at their default get no line.
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/ranks/comm.h"
#include "base/text/text.h"
#include "base/text/yaml_edit.h"
#include "data/dataset.h"
#include "data/pipeline.h"
#include "losses/loss.h"
#include "measure/meter.h"
#include "trainer/config/arguments.h"
#include "trainer/config/vissl/ignored.h"
#include "trainer/config/vissl/missing_plugins.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/config/vissl/sharding.h"
#include "trainer/config/vissl/shared_maps.h"
#include "trainer/optim/optimizer.h"
#include "trunks/trunk.h"

typedef struct {
    const SrConfig *config;
    const SrYaml *tree, *defaults;
    SrArena *arena;
} Walk;

// ---- rows that mean nothing

static SrStatus report_head(void *arg, const SrHead *head, const SrYaml *arguments,
                            const char *where) {
    return sr_options_report(head->options, arguments, where, arg);
}

// True for a table of a trunk that shares its map with the chosen trunk, whose table counts.
static bool is_anothers_table(const SrSection *s, const SrTrunk *chosen) {
    return chosen && strcmp(chosen->subtree, s->path) == 0 && chosen->options != s->table;
}

static SrStatus report_rows(const Walk *w) {
    SrSchemaEntry *entries = NULL;
    int n = 0;
    SR_TRY(sr__schema_entries(w->arena, &entries, &n));
    const SrTrunk *chosen = sr__chosen_trunk(w->tree, w->arena);
    for (int i = 0; i < n; i++) {
        const SrSection *s = &entries[i].section;
        if (is_anothers_table(s, chosen))
            continue;
        const SrYaml *map = *s->path ? sr_yaml_find_path(w->tree, s->path) : w->tree;
        SR_TRY(sr_options_report(s->table, map, s->path, w->arena));
    }
    static const char *const lists[] = {"DATA.TRAIN.TRANSFORMS", "DATA.TEST.TRANSFORMS"};
    for (int i = 0; i < SR_COUNT(lists); i++)
        SR_TRY(
            sr_pipeline_report_ignored(sr_yaml_find_path(w->tree, lists[i]), lists[i], w->arena));
    return sr__each_head(w->tree, w->arena, report_head, w->arena);
}

// ---- keys that other keys leave without effect

// Returns the key's value if it is not the default; for a map, the first value that was set.  NULL:
// nothing was set.
static const SrYaml *changed(const Walk *w, const char *key) {
    const SrYaml *given = sr_yaml_find_path(w->tree, key);
    return given ? sr_tree_difference(given, sr_yaml_find_path(w->defaults, key)) : NULL;
}

static bool is_changed(const Walk *w, const char *key) { return changed(w, key) != NULL; }

// True if `word` is one of the words in `words`: "a" in "a b c".  The value "" of a section without
// keys is none.
static bool has_word(const char *words, const char *word) {
    size_t len = strlen(word);
    for (const char *hit = words; len > 0 && (hit = strstr(hit, word)) != NULL; hit += len)
        if ((hit == words || hit[-1] == ' ') && (hit[len] == ' ' || !hit[len]))
            return true;
    return false;
}

static void say_at(const SrYaml *at, const char *key, const char *why, const char *value) {
    sr_info("%s: %s is accepted and changes nothing: %s%s", sr_yaml_place(at).text, key, why,
            value);
}

static void say(const Walk *w, const char *key, const char *why, const char *value) {
    say_at(changed(w, key), key, why, value);
}

// ---- keys that another key decides about
//
// A recipe on top of another one may choose another loss; the options of the first loss stay in the
// tree, and that is no mistake.  So a value gets a line only if its layer is not below the layer of
// the decision.

// Returns the layer of a value: index of its file, or the number of files for the command line.
// -1: no layer, a default.
static int layer_of(const Walk *w, const SrYaml *value) {
    const SrStrings *files = &w->config->layers;
    if (sr_yaml_from_command_line(value))
        return files->n;
    for (int i = files->n - 1; value->file && i >= 0; i--)
        if (strcmp(files->v[i], value->file) == 0)
            return i;
    return -1;
}

// Returns the layer of the deciding key.  A decision on the command line counts as one of the named
// file: that file's values for another choice get a line.
static int layer_of_decision(const Walk *w, const char *decider) {
    const SrYaml *value = sr_yaml_find_path(w->tree, decider);
    if (!value)
        return -1;
    int layer = layer_of(w, value);
    return layer < w->config->layers.n ? layer : layer_of(w, &(SrYaml){.file = w->config->path});
}

// Returns the first value of `given` that differs from `usual` and is not below `layer`, or NULL.
static const SrYaml *written_above(const Walk *w, const SrYaml *given, const SrYaml *usual,
                                   int layer) {
    if (given->type == SR_YAML_MAP && given->n > 0) {
        const SrYaml *found = NULL;
        for (int i = 0; !found && i < given->n; i++)
            found = written_above(w, given->items[i], sr_yaml_find(usual, given->keys[i]), layer);
        return found;
    }
    int own = layer_of(w, given);
    return sr_tree_difference(given, usual) && (own < 0 || own >= layer) ? given : NULL;
}

// Logs a line for a key that has no effect because of the value at `decider`.
static void say_decided(const Walk *w, const char *key, const char *why, const char *decider) {
    const SrYaml *given = sr_yaml_find_path(w->tree, key);
    const SrYaml *at = given ? written_above(w, given, sr_yaml_find_path(w->defaults, key),
                                             layer_of_decision(w, decider))
                             : NULL;
    if (at)
        say_at(at, key, why, decider);
}

// Reports keys of a map whose switch or weight is off (SrOption.needs).
static void report_needs(const Walk *w, const SrOption *table, const char *map) {
    for (const SrOption *o = table; o && o->name; o++) {
        const char *key = o->needs ? sr_arena_printf(w->arena, "%s.%s", map, o->name) : NULL,
                   *needs = key ? sr_arena_printf(w->arena, "%s.%s", map, o->needs) : NULL;
        const SrYaml *given = needs ? sr_yaml_find_path(w->tree, needs) : NULL;
        if (given && given->i == 0 && given->f == 0)
            say_decided(w, key, "it has an effect only with ", needs);
    }
}

// Reports options of features that are switched off, of the sections and of the chosen loss.
// `same` is the key that a value is inferred from: a saved configuration holds the copy, which is
// not worth a line.
static void report_switched_off(const Walk *w) {
    static const struct {
        const char *key, *switched_by, *same;
    } rows[] = {
        {"OPTIMIZER.larc_config", "OPTIMIZER.use_larc", NULL},
        {"OPTIMIZER.param_schedulers.lr_head", "OPTIMIZER.head_optimizer_params.use_different_lr",
         "OPTIMIZER.param_schedulers.lr"},
        {"OPTIMIZER.head_optimizer_params.weight_decay",
         "OPTIMIZER.head_optimizer_params.use_different_wd", "OPTIMIZER.weight_decay"},
    };
    for (int i = 0; i < SR_COUNT(rows); i++) {
        const SrYaml *same = rows[i].same ? sr_yaml_find_path(w->tree, rows[i].same) : NULL;
        bool copied = same && sr_yaml_equal(sr_yaml_find_path(w->tree, rows[i].key), same);
        if (!sr_tree_bool(w->tree, rows[i].switched_by, false) && !copied)
            say_decided(w, rows[i].key, "it has an effect only with ", rows[i].switched_by);
    }
    report_needs(w, sr__schema_model, "MODEL");
    report_needs(w, sr__schema_hooks, "HOOKS");
    const SrLoss *loss = NULL;
    if (sr_loss_find(sr_tree_text(w->tree, "LOSS.name", ""), &loss) == SR_OK)
        report_needs(w, loss->options, loss->subtree);
}

static void say_unread(const Walk *w, const char *key, const char *name, const char *chosen_by) {
    const char *why = sr_arena_printf(w->arena, "'%s' does not read the key; see ", name);
    say_decided(w, key, why ? why : "", chosen_by);
}

// Reports keys of other optimisers: all of them share one map (trainer/optim/optim_options.c).
static void report_other_optimizers(const Walk *w) {
    const char *name = sr__unsharded_name(sr_tree_text(w->tree, "OPTIMIZER.name", ""), w->arena);
    const SrOptimizer *chosen = NULL;
    for (int i = 0; name && sr_optimizer_at(i); i++)
        if (strcmp(sr_optimizer_at(i)->name, name) == 0)
            chosen = sr_optimizer_at(i);
    const char *said = "";
    for (int i = 0; chosen && sr_optimizer_at(i); i++)
        for (const SrOption *o = sr_optimizer_at(i)->options; o && o->name; o++) {
            const char *key = sr_arena_printf(w->arena, "OPTIMIZER.%s", o->name);
            if (key && !sr_options_find(chosen->options, o->name) && !has_word(said, key) &&
                is_changed(w, key)) {
                say_unread(w, key, name, "OPTIMIZER.name");
                said = sr_arena_printf(w->arena, "%s %s", said, key);
                said = said ? said : "";
            }
        }
}

// Reports keys that only some values of another key read; `readers` lists those values.
static void report_unread(const Walk *w) {
    static const struct {
        const char *key, *chosen_by, *readers;
    } rows[] = {
#define GROUPS "OPTIMIZER.param_group_constructor"
        {"OPTIMIZER.construct_single_param_group_only", GROUPS, "default"},
        {"OPTIMIZER.regularize_bn", GROUPS, "default lr_decay linear_eval_heads"},
        {"OPTIMIZER.regularize_bias", GROUPS, "default lr_decay linear_eval_heads"},
        {"OPTIMIZER.non_regularized_parameters", GROUPS, "default"},
        {"OPTIMIZER.layer_wise_lr_decay.decay", GROUPS, "lr_decay"},
        {"OPTIMIZER.linear_eval_heads", GROUPS, "linear_eval_heads"},
        {"OPTIMIZER.head_optimizer_params.use_different_lr", GROUPS, "default"},
        {"OPTIMIZER.head_optimizer_params.use_different_wd", GROUPS, "default"},
        {"OPTIMIZER.param_schedulers.weight_decay", GROUPS, "default dino lr_decay"},
        {"OPTIMIZER.param_schedulers.weight_decay_head", GROUPS, "default"},
#undef GROUPS
    };
    for (int i = 0; i < SR_COUNT(rows); i++) {
        const char *value = sr_tree_text(w->tree, rows[i].chosen_by, "");
        if (!has_word(rows[i].readers, value))
            say_unread(w, rows[i].key, value, rows[i].chosen_by);
    }
}

// Reports options of heads, norms and biases when all parameters are in one group.
static void report_single_group(const Walk *w) {
    static const char *const keys[] = {
        "OPTIMIZER.regularize_bn",
        "OPTIMIZER.regularize_bias",
        "OPTIMIZER.non_regularized_parameters",
        "OPTIMIZER.head_optimizer_params.use_different_lr",
        "OPTIMIZER.head_optimizer_params.use_different_wd",
        "OPTIMIZER.param_schedulers.weight_decay_head",
    };
    static const char constructor[] = "OPTIMIZER.param_group_constructor",
                      single[] = "OPTIMIZER.construct_single_param_group_only";
    if (!sr_tree_bool(w->tree, single, false) ||
        strcmp(sr_tree_text(w->tree, constructor, "default"), "default") != 0)
        return;
    for (int i = 0; i < SR_COUNT(keys); i++)
        say_decided(w, keys[i], "all parameters are in one group; see ", single);
}

// Reports keys of another source of images.  Says nothing where the source is found by its path.
static void report_sources(const Walk *w, const char *split) {
    char path[96], *words, *rest;
    snprintf(path, sizeof path, "DATA.%s.DATA_SOURCES", split);
    const SrYaml *list = sr_yaml_find_path(w->tree, path);
    const char *source =
        list && list->type == SR_YAML_LIST && list->n > 0 ? list->items[0]->text : NULL;
    for (int i = 0; source && sr_dataset_at(i); i++) {
        const SrDataset *other = sr_dataset_at(i);
        if (!other->keys || strcmp(source, other->name) == 0)
            continue;
        words = sr_arena_strdup(w->arena, other->keys);
        for (char *key = words ? strtok_r(words, " ", &rest) : NULL; key;
             key = strtok_r(NULL, " ", &rest)) {
            snprintf(path, sizeof path, "DATA.%s.%s", split, key);
            if (is_changed(w, path))
                say(w, path, "it is an option of the data source ", other->name);
        }
    }
}

static bool is_empty_list(const SrYaml *node) {
    return !node || node->type == SR_YAML_NULL || (node->type == SR_YAML_LIST && node->n == 0);
}

// Reports label keys of training.  Without LABEL_PATHS labels come with the images, whatever source
// of labels is named.
static void report_train_labels(const Walk *w) {
    static const char sources[] = "DATA.TRAIN.LABEL_SOURCES";
    const SrYaml *labels = sr_yaml_find_path(w->tree, sources),
                 *images = sr_yaml_find_path(w->tree, "DATA.TRAIN.DATA_SOURCES");
    bool listed = !is_empty_list(sr_yaml_find_path(w->tree, "DATA.TRAIN.LABEL_PATHS"));
    bool compared = !is_empty_list(labels) && !is_empty_list(images);
    if (compared && !listed && !sr_yaml_equal(labels, images) && is_changed(w, sources))
        say(w, sources, "labels come with the images, or from LABEL_PATHS", "");
}

// Reports label keys of testing.  Labels come with the images or from LABEL_PATHS; evaluation needs
// classes, whatever the type says.
static void report_test_labels(const Walk *w) {
    static const char type[] = "DATA.TEST.LABEL_TYPE", sources[] = "DATA.TEST.LABEL_SOURCES",
                      keys[] = "DATA.TEST.INPUT_KEY_NAMES",
                      targets[] = "DATA.TEST.TARGET_KEY_NAMES";
    const SrYaml *labels = sr_yaml_find_path(w->tree, sources),
                 *images = sr_yaml_find_path(w->tree, "DATA.TEST.DATA_SOURCES");
    bool inferred =
        is_empty_list(labels) && strcmp(sr_tree_text(w->tree, type, ""), "sample_index") == 0;
    bool listed = !is_empty_list(sr_yaml_find_path(w->tree, "DATA.TEST.LABEL_PATHS"));
    if (!inferred && is_changed(w, type))
        say(w, type, "evaluation always uses the classes of the images", "");
    if (!is_empty_list(labels) && !listed && !(images && sr_yaml_equal(labels, images)))
        say(w, sources, "labels come with the images, or from LABEL_PATHS", "");
    if (is_changed(w, keys))
        say(w, keys, "evaluation always has one input", "");
    if (is_changed(w, targets))
        say(w, targets, "evaluation always compares labels", "");
    static const char *const collators[] = {"DATA.TEST.COLLATE_FUNCTION",
                                            "DATA.TEST.COLLATE_FUNCTION_PARAMS"};
    for (int i = 0; i < SR_COUNT(collators); i++)
        if (is_changed(w, collators[i]))
            say(w, collators[i], "evaluation reads one view per image and uses no collator", "");
}

// Reports the map of a plugin that was not chosen.  Plugins may share a map: vision transformers
// do.
static void report_unchosen(const Walk *w, const char *map, bool chosen, const char *chooser) {
    if (map && !chosen)
        say_decided(w, map, "another plugin is chosen by ", chooser);
}

// True if an earlier trunk has the same map: it was reported then.
static bool has_earlier(int i) {
    for (int k = 0; k < i; k++)
        if (strcmp(sr_trunk_at(k)->subtree, sr_trunk_at(i)->subtree) == 0)
            return true;
    return false;
}

// Reports keys of distillation that the loss or CACHED_VIEWS switches off.
static void report_teacher(const Walk *w, bool has_teacher) {
    static const char cached[] = "DISTILLATION.CACHED_VIEWS", file[] = "DISTILLATION.CACHE_FILE";
    static const char *const keys[] = {"DISTILLATION.TEACHER_MODEL",
                                       "DISTILLATION.TEACHER_INPUT_SIZE", cached,
                                       "DISTILLATION.CACHE", file};
    for (int i = 0; i < SR_COUNT(keys) && !has_teacher; i++)
        say_decided(w, keys[i], "the loss has no teacher; see ", "LOSS.name");
    const SrYaml *views = sr_yaml_find_path(w->tree, cached);
    if (!has_teacher)
        return;
    for (int i = 3; i < SR_COUNT(keys) && !(views && views->i > 0); i++)
        say_decided(w, keys[i], "it has an effect only with ", cached);
    if (strcmp(sr_tree_text(w->tree, "DISTILLATION.CACHE", "on"), "off") == 0)
        say_decided(w, file, "no file is written; see ", "DISTILLATION.CACHE");
}

static void report_plugins(const Walk *w) {
    const SrTrunk *trunk = sr__chosen_trunk(w->tree, w->arena);
    const char *loss = sr_tree_text(w->tree, "LOSS.name", "");
    const SrYaml *names = sr_yaml_find_path(w->tree, "METERS.names");
    const char *deprecated = sr_tree_text(w->tree, "METERS.name", "");
    for (int i = 0; sr_trunk_at(i); i++) {
        const char *map = sr_trunk_at(i)->subtree;
        bool chosen = trunk && (strcmp(map, trunk->subtree) == 0 ||
                                (trunk->base && strcmp(map, trunk->base) == 0));
        if (!has_earlier(i))
            report_unchosen(w, map, chosen, "MODEL.TRUNK.NAME");
    }
    bool teacher = false;
    for (int i = 0; sr_loss_at(i); i++) {
        const SrLoss *l = sr_loss_at(i);
        bool chosen = strcmp(l->name, loss) == 0;
        teacher |= chosen && l->has_teacher;
        report_unchosen(w, l->subtree, chosen, "LOSS.name");
    }
    report_teacher(w, teacher);
    for (int i = 0; sr_meter_at(i); i++) {
        bool chosen = strcmp(sr_meter_at(i)->name, deprecated) == 0;
        for (int k = 0; names && names->type == SR_YAML_LIST && k < names->n; k++)
            chosen |=
                names->items[k]->text && strcmp(names->items[k]->text, sr_meter_at(i)->name) == 0;
        report_unchosen(w, sr_meter_at(i)->subtree, chosen, "METERS.names");
    }
}

static void report_seed(const Walk *w) {
    static const char key[] = "MODEL._MODEL_INIT_SEED";
    if (is_changed(w, key) &&
        !sr_yaml_equal(sr_yaml_find_path(w->tree, key), sr_yaml_find_path(w->tree, "SEED_VALUE")))
        say(w, key, "the seed of the parameters is always ", "SEED_VALUE");
}

// Reports DISTRIBUTED.REDUCE: a single process sums without a network.
static void report_reduce(const Walk *w) {
    static const char key[] = "DISTRIBUTED.REDUCE";
    if (is_changed(w, key) && sr_comm_size() == 1)
        say(w, key, "the run has one rank", "");
}

// Reports MACHINE.RECOMPUTE: activation checkpointing decides what a step keeps.
static void report_recompute(const Walk *w) {
    static const char key[] = "MACHINE.RECOMPUTE",
                      segments[] = "MODEL.ACTIVATION_CHECKPOINTING.USE_ACTIVATION_CHECKPOINTING";
    if (sr_tree_bool(w->tree, segments, false) && is_changed(w, key))
        say(w, key, "the values that a step keeps follow from ", segments);
}

static void report_device(const Walk *w) {
    static const char key[] = "MACHINE.DEVICE";
    if (is_changed(w, key))
        say(w, key, "gpu and cpu both mean the CPU here", "");
}

SrStatus sr__report_ignored(const SrConfig *config, SrArena *arena) {
    SrYaml *defaults = NULL;
    SR_TRY(sr__schema_defaults(arena, &defaults));
    Walk w = {.config = config, .tree = config->tree, .defaults = defaults, .arena = arena};
    SR_TRY(report_rows(&w));
    report_plugins(&w);
    report_sources(&w, "TRAIN");
    report_sources(&w, "TEST");
    report_train_labels(&w);
    report_test_labels(&w);
    report_seed(&w);
    report_device(&w);
    report_reduce(&w);
    if (!sr__learns(config->tree))
        return SR_OK;
    report_switched_off(&w);
    report_other_optimizers(&w);
    report_unread(&w);
    report_single_group(&w);
    report_recompute(&w);
    return SR_OK;
}
