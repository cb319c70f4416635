// Applies VISSL's inference rules to the composed tree, in VISSL's order: losses, learning rate,
// meters, labels.  Each changed value is one log line: people ask why numbers change.
//
// A rule writes only keys that the tree has, so a loss that does not declare a key is left alone.
// The tree has been checked against its tables, so that types are right; lists may still be empty.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/plugin/plugin.h"
#include "base/text/text.h"
#include "data/transform.h"
#include "losses/loss.h"
#include "measure/meter.h"
#include "trainer/config/vissl/inference.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/config/vissl/sharding.h"
#include "trainer/schedules/auto_lr_scaling.h"
#include "trunks/trunk.h"

// ---- what rules look at

// Asks the transforms for the number of crops; the last transform that knows it wins.  Test
// transforms are only checked for their form.
static SrStatus scan_transforms(SrInfer *r, const char *split) {
    char path[64];
    snprintf(path, sizeof path, "DATA.%s.TRANSFORMS", split);
    const SrYaml *list = sr_yaml_find_path(r->tree, path);
    if (!list || list->type == SR_YAML_NULL)
        return SR_OK;
    if (list->type != SR_YAML_LIST)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s must be a list of {name: ..., options}",
                sr_yaml_place(list).text, path);
    bool train = strcmp(split, "TRAIN") == 0;
    for (int i = 0; i < list->n; i++) {
        const SrYaml *name = sr_yaml_find(list->items[i], "name");
        if (!name || name->type != SR_YAML_STRING)
            SR_FAIL(SR_ERR_CONFIG,
                    "%s: %s: expected each transform to be a map with a key `name`, as in {name: "
                    "ToTensor}",
                    sr_yaml_place(list->items[i]).text, path);
        const SrYaml *total = sr_yaml_find(list->items[i], "total_num_crops");
        if (!train || !total)
            continue;
        if (total->type != SR_YAML_INT || total->i < 1 || total->i > 1000)
            SR_FAIL(SR_ERR_CONFIG, "%s: total_num_crops must be a whole number of at least 1",
                    sr_yaml_place(total).text);
        r->total_crops = total->i;
        r->num_crops = sr_yaml_find(list->items[i], "num_crops");
    }
    return SR_OK;
}

static bool draws_masks(const char *name) {
    for (int i = 0; sr_transform_at(i); i++)
        if (strcmp(sr_transform_at(i)->name, name) == 0)
            return sr_transform_at(i)->extras &&
                   sr_options_find(sr_transform_at(i)->options, "patch_size");
    return false;
}

// Finds the training transforms that fill an extra tensor of the batch, patch by patch.
static void find_masks(SrInfer *r) {
    const SrYaml *list = sr_yaml_find_path(r->tree, "DATA.TRAIN.TRANSFORMS");
    for (int i = 0; list && list->type == SR_YAML_LIST && i < list->n; i++)
        if (r->n_masks < SR_COUNT(r->mask) && draws_masks(sr_tree_text(list->items[i], "name", "")))
            r->mask[r->n_masks++] = list->items[i];
}

// Returns the options of the chosen trunk.  An unknown trunk is reported elsewhere.
static const SrYaml *trunk_map(const SrYaml *tree, SrArena *arena) {
    const char *name = sr__unsharded_name(sr_tree_text(tree, "MODEL.TRUNK.NAME", ""), arena);
    for (int i = 0; name && sr_trunk_at(i); i++)
        if (strcmp(sr_trunk_at(i)->name, name) == 0 && sr_trunk_at(i)->subtree)
            return sr_yaml_find_path(tree, sr_trunk_at(i)->subtree);
    return NULL;
}

// Runs the loss's own rule (losses/shared/infer.h), if it has one.
static SrStatus infer_loss(SrInfer *r) {
    char at[128];
    r->loss = sr_tree_text(r->tree, "LOSS.name", "");
    snprintf(at, sizeof at, "LOSS.%s", r->loss);
    r->at = at;
    SrStatus (*rule)(SrInfer *) = NULL;
    for (int i = 0; sr_loss_at(i); i++)
        if (strcmp(sr_loss_at(i)->name, r->loss) == 0)
            rule = sr_loss_at(i)->infer;
    SrStatus status = rule ? rule(r) : SR_OK;
    r->loss = r->at = "";
    return status;
}

// ---- meters

static bool has_text(const SrYaml *list, const char *text) {
    for (int i = 0; i < list->n; i++)
        if (list->items[i]->type == SR_YAML_STRING && strcmp(list->items[i]->text, text) == 0)
            return true;
    return false;
}

// Appends the deprecated METERS.name to METERS.names.  VISSL makes a set of them, and so loses the
// order in which results are printed.
static SrStatus join_meter_names(SrInfer *r, SrYaml **out) {
    const SrYaml *names = sr_yaml_find_path(r->tree, "METERS.names");
    const char *single = sr_tree_text(r->tree, "METERS.name", "");
    *out = names && names->type == SR_YAML_LIST
               ? sr_yaml_copy(r->arena, names)
               : sr_yaml_new(r->arena, SR_YAML_LIST, "inferred", 0);
    SR_TRY_MEMORY(*out, "METERS.names");
    if (!*single || has_text(*out, single))
        return SR_OK;
    SrYaml *node = sr_yaml_new(r->arena, SR_YAML_STRING, "inferred", 0);
    SR_TRY_MEMORY(node, "METERS.names");
    node->text = single;
    SR_TRY(sr_yaml_append(r->arena, *out, node));
    return sr_infer_set_path(r, "METERS.names", *out);
}

// Returns the pooled layers of a frozen trunk: each has one head, and so one meter.
static const SrYaml *pooled_layers(const SrInfer *r) {
    static const char settings[] = "MODEL.FEATURE_EVAL_SETTINGS";
    const SrYaml *s = sr_yaml_find_path(r->tree, settings);
    const SrYaml *map = sr_yaml_find(s, "LINEAR_EVAL_FEAT_POOL_OPS_MAP");
    bool frozen = sr_tree_bool(s, "FREEZE_TRUNK_ONLY", false) ||
                  sr_tree_bool(s, "FREEZE_TRUNK_AND_HEAD", false);
    bool used = sr_tree_bool(s, "EVAL_MODE_ON", false) && frozen;
    return used && map && map->type == SR_YAML_LIST && map->n > 0 ? map : NULL;
}

// Lists the layers in the map's order, repeated ones twice: the position tells heads apart.
static SrStatus layer_names(const SrInfer *r, const SrYaml *map, SrYaml **out) {
    *out = sr_yaml_new(r->arena, SR_YAML_LIST, "inferred", 0);
    SR_TRY_MEMORY(*out, "METERS");
    for (int i = 0; i < map->n; i++) {
        const SrYaml *name = map->items[i]->type == SR_YAML_LIST && map->items[i]->n > 0
                                 ? map->items[i]->items[0]
                                 : map->items[i];
        SrYaml *copy = sr_yaml_copy(r->arena, name);
        SR_TRY_MEMORY(copy, "METERS");
        SR_TRY(sr_yaml_append(r->arena, *out, copy));
    }
    return SR_OK;
}

static SrStatus infer_meters(SrInfer *r) {
    SrYaml *names = NULL, *layers = NULL;
    SR_TRY(join_meter_names(r, &names));
    const SrYaml *map = pooled_layers(r);
    if (!map)
        return SR_OK;
    SR_TRY(layer_names(r, map, &layers));
    for (int i = 0; sr_meter_at(i); i++) { // every meter has these two keys (SR_METER_OPTIONS)
        char number[128], texts[128];
        if (!has_text(names, sr_meter_at(i)->name))
            continue;
        snprintf(number, sizeof number, "%s.num_meters", sr_meter_at(i)->subtree);
        snprintf(texts, sizeof texts, "%s.meter_names", sr_meter_at(i)->subtree);
        SR_TRY(sr_infer_set_path_int(r, number, map->n));
        SR_TRY(sr_infer_set_path(r, texts, layers));
    }
    return SR_OK;
}

// ---- learning rate, decay, labels

// The batch of a step is that of all replicas: they take the place of VISSL's processes.
static SrStatus infer_optimizer(SrInfer *r) {
    static const char lr_path[] = "OPTIMIZER.param_schedulers.lr",
                      head_path[] = "OPTIMIZER.param_schedulers.lr_head";
    SrYaml *lr = sr_yaml_find_path(r->tree, lr_path), *head = sr_yaml_find_path(r->tree, head_path);
    int batch = (int)(r->batch * r->world);
    if (lr)
        SR_TRY(sr_schedule_auto_scale(lr, lr_path, batch, batch, 1, r->arena));
    if (sr_tree_bool(r->tree, "OPTIMIZER.head_optimizer_params.use_different_lr", false)) {
        if (head)
            SR_TRY(sr_schedule_auto_scale(head, head_path, batch, batch, 1, r->arena));
    } else if (lr) {
        SrYaml *copy = sr_yaml_copy(r->arena, lr); // the same schedule: not worth a line
        SR_TRY_MEMORY(copy, "%s", head_path);
        SR_TRY(sr_yaml_put_path(r->arena, r->tree, head_path, copy));
    }
    const SrYaml *decay = sr_yaml_find_path(r->tree, "OPTIMIZER.weight_decay");
    if (decay && !sr_tree_bool(r->tree, "OPTIMIZER.head_optimizer_params.use_different_wd", false))
        SR_TRY(sr_infer_set_path(r, "OPTIMIZER.head_optimizer_params.weight_decay", decay));
    return SR_OK;
}

// Checks the label type here, because infer_labels would overwrite a misspelt one.
static SrStatus check_label_type(const SrInfer *r, const char *split) {
    static const char *const known[] = {"standard", "sample_index", "zero"};
    char path[64];
    snprintf(path, sizeof path, "DATA.%s.LABEL_TYPE", split);
    const char *type = sr_tree_text(r->tree, path, known[0]);
    for (int i = 0; i < SR_COUNT(known); i++)
        if (strcmp(type, known[i]) == 0)
            return SR_OK;
    return sr_fail_prefix(sr_plugin_unknown("label type", type, known, SR_COUNT(known)), "%s: %s",
                          sr_yaml_place(sr_yaml_find_path(r->tree, path)).text, path);
}

// A source of labels overrides LABEL_TYPE, as in VISSL.  Without one the label is the index of the
// sample, which memory banks need.
static SrStatus infer_labels(SrInfer *r, const char *split) {
    char path[64], type[64];
    SR_TRY(check_label_type(r, split));
    snprintf(path, sizeof path, "DATA.%s.LABEL_SOURCES", split);
    snprintf(type, sizeof type, "DATA.%s.LABEL_TYPE", split);
    const char *given = sr_tree_text(r->tree, type, "");
    const SrYaml *sources = sr_yaml_find_path(r->tree, path);
    if (!sources || sources->n == 0)
        return strcmp(given, "zero") == 0 ? SR_OK : sr_infer_set_path_text(r, type, "sample_index");
    if (strcmp(given, "standard") == 0 || strcmp(split, "TRAIN") != 0)
        return SR_OK; // evaluation always takes the classes of the images
    sr_info("%s: %s: %s is accepted and changes nothing: labels come from %s",
            sr_yaml_place(sr_yaml_find_path(r->tree, type)).text, type, given, path);
    return sr_infer_set_path_text(r, type, "standard");
}

SrStatus sr__infer(SrYaml *tree, int world, SrArena *arena) {
    SrInfer r = {
        .tree = tree,
        .trunk = trunk_map(tree, arena),
        .arena = arena,
        .batch = sr_tree_int(tree, "DATA.TRAIN.BATCHSIZE_PER_REPLICA", 256),
        .world = world,
        .level = SR_LOG_INFO,
    };
    SR_TRY(scan_transforms(&r, "TRAIN"));
    SR_TRY(scan_transforms(&r, "TEST"));
    find_masks(&r);
    SR_TRY(infer_loss(&r));
    r.level = SR_LOG_DEBUG; // the remaining rules change nearly every run: not worth a line
    SR_TRY(sr_infer_set_path_int(&r, "MODEL._MODEL_INIT_SEED", sr_tree_int(tree, "SEED_VALUE", 0)));
    SR_TRY(infer_optimizer(&r));
    SR_TRY(infer_meters(&r));
    SR_TRY(infer_labels(&r, "TRAIN"));
    return infer_labels(&r, "TEST");
}
