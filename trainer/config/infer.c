// VISSL's inference rules (spec 1.5) as functions over the composed tree, in VISSL's order: losses,
// learning rate, meters, labels.  Each changed value is one log line: people ask why numbers change.
//
// A rule writes only keys that the tree has, so a loss that does not declare a key is left alone.
// The tree has been checked against its tables before: the types below are what they should be,
// lists may still be empty.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/plugin.h"
#include "base/text.h"
#include "base/yaml_edit.h"
#include "trainer/config/schema.h"
#include "trainer/schedules/schedule.h"

typedef struct {
    SrYaml *tree;
    SrArena *arena;
    int64_t batch, world; // images a process, processes
    int64_t total_crops;  // of the transforms; 0: they do not say
    const SrYaml *num_crops;
    SrLogLevel level; // of the lines about changed values
} Rules;

// ---- writing with a line in the log

static void say(SrLogLevel level, const char *path, const SrYaml *old, const SrYaml *now) {
    SrText a = {0}, b = {0};
    sr_yaml_print_flow(old, &a);
    sr_yaml_print_flow(now, &b);
    sr_log(level, "%s: %s, inferred (was %s)", path, b.s ? b.s : "", a.s ? a.s : "");
    sr_text_deinit(&a);
    sr_text_deinit(&b);
}

// Replaces an existing key by a copy of `value`; nothing happens where the key is unknown or
// already equal.
static SrStatus set(Rules *r, const char *path, const SrYaml *value) {
    const SrYaml *old = sr_yaml_find_path(r->tree, path);
    if (!old || sr_yaml_equal(old, value))
        return SR_OK;
    SrYaml *copy = sr_yaml_copy(r->arena, value);
    if (!copy)
        return sr_fail(SR_ERR_MEMORY, "out of memory while inferring %s", path);
    copy->file = old->file;
    copy->line = old->line;
    say(r->level, path, old, copy);
    return sr_yaml_put_path(r->arena, r->tree, path, copy);
}

// Written as text first, because a node's number and text must always agree.
static SrStatus set_int(Rules *r, const char *path, int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    const SrYaml *node = sr_yaml_scalar(r->arena, text, "inferred", 0);
    return node ? set(r, path, node)
                : sr_fail(SR_ERR_MEMORY, "out of memory while inferring %s", path);
}

static SrStatus set_string(Rules *r, const char *path, const char *value) {
    SrYaml *node = sr_yaml_new(r->arena, SR_YAML_STRING, "inferred", 0);
    if (!node)
        return sr_fail(SR_ERR_MEMORY, "out of memory while inferring %s", path);
    node->text = value;
    return set(r, path, node);
}

// ---- what rules look at

// The number of crops is known only to the transform that makes them; the last one that says wins.
// Test transforms are looked at for their form alone.
static SrStatus scan_transforms(Rules *r, const char *split) {
    char path[64];
    snprintf(path, sizeof path, "DATA.%s.TRANSFORMS", split);
    const SrYaml *list = sr_yaml_find_path(r->tree, path);
    if (!list || list->type == SR_YAML_NULL)
        return SR_OK;
    if (list->type != SR_YAML_LIST)
        return sr_fail(SR_ERR_CONFIG, "%s: %s must be a list of {name: ..., options}",
                       sr_yaml_place(list).text, path);
    bool train = strcmp(split, "TRAIN") == 0;
    for (int i = 0; i < list->n; i++) {
        const SrYaml *name = sr_yaml_find(list->items[i], "name");
        if (!name || name->type != SR_YAML_STRING)
            return sr_fail(SR_ERR_CONFIG, "%s: %s: each transform is a map with a key `name`",
                           sr_yaml_place(list->items[i]).text, path);
        const SrYaml *total = sr_yaml_find(list->items[i], "total_num_crops");
        if (!train || !total)
            continue;
        if (total->type != SR_YAML_INT || total->i < 1 || total->i > 1000)
            return sr_fail(SR_ERR_CONFIG, "%s: total_num_crops must be a whole number from 1",
                           sr_yaml_place(total).text);
        r->total_crops = total->i;
        r->num_crops = sr_yaml_find(list->items[i], "num_crops");
    }
    return SR_OK;
}

// The one head a loss works on: its arguments, and SR_ERR_CONFIG unless HEAD.PARAMS is a single
// entry with one of the `names` ("swav_head").
static SrStatus only_head(const Rules *r, const char *loss, const char *names,
                          const SrYaml **arguments) {
    const SrYaml *list = sr_yaml_find_path(r->tree, "MODEL.HEAD.PARAMS");
    const SrYamlPlace at = sr_yaml_place(list);
    if (!list || list->type != SR_YAML_LIST || list->n != 1)
        return sr_fail(SR_ERR_CONFIG,
                       "%s: MODEL.HEAD.PARAMS: %s needs exactly one head, there are %d", at.text,
                       loss, list && list->type == SR_YAML_LIST ? list->n : 0);
    const SrYaml *entry = list->items[0];
    const SrYaml *name = entry->type == SR_YAML_LIST && entry->n > 0 ? entry->items[0] : NULL;
    bool known = false;
    for (const char *p = names; name && name->type == SR_YAML_STRING && *p;
         p += strcspn(p, " ") + (strchr(p, ' ') != 0))
        known |= strcspn(p, " ") == strlen(name->text) &&
                 strncmp(p, name->text, strlen(name->text)) == 0;
    if (!known)
        return sr_fail(
            SR_ERR_CONFIG,
            "%s: MODEL.HEAD.PARAMS: %s needs the head [%s, {...}], not a chain or another", at.text,
            loss, names);
    *arguments = entry->n > 1 ? entry->items[1] : NULL;
    return SR_OK;
}

// An argument of the head that a rule depends on; the head's own table may give it a default, a
// rule needs it written down.
static SrStatus need_argument(const SrYaml *arguments, const char *key, SrYamlType type,
                              const SrYaml **out) {
    *out = sr_yaml_find(arguments, key);
    if (*out && (*out)->type == type && (type != SR_YAML_LIST || (*out)->n > 0))
        return SR_OK;
    return sr_fail(SR_ERR_CONFIG, "%s: MODEL.HEAD.PARAMS: the head needs %s as %s",
                   sr_yaml_place(arguments).text, key, sr_yaml_type_name(type));
}

// Some losses make sense with one collator only, and VISSL then sets it instead of complaining.
static SrStatus force_collator(Rules *r, const char *name) {
    return set_string(r, "DATA.TRAIN.COLLATE_FUNCTION", name);
}

// The first of the allowed ones is what the message recommends.
static SrStatus check_collator(const Rules *r, const char *loss, const char *const *allowed,
                               int n) {
    const SrYaml *node = sr_yaml_find_path(r->tree, "DATA.TRAIN.COLLATE_FUNCTION");
    for (int i = 0; node && node->text && i < n; i++)
        if (strcmp(node->text, allowed[i]) == 0)
            return SR_OK;
    return sr_fail(SR_ERR_CONFIG, "%s: DATA.TRAIN.COLLATE_FUNCTION: %s needs %s, not %s",
                   sr_yaml_place(node).text, loss, allowed[0],
                   node && node->text ? node->text : "nothing");
}

// ---- one rule a loss; `at` is its map, "LOSS.swav_loss"

static const char *key_of(char buf[256], const char *at, const char *key) {
    snprintf(buf, 256, "%s.%s", at, key);
    return buf;
}

// Prototypes and embedding from the head, crops from the transforms, the queue rounded down to
// whole batches.
static SrStatus swav_common(Rules *r, const char *at, const SrYaml *head) {
    char k[256];
    const SrYaml *clusters = NULL, *dims = NULL;
    SR_TRY(need_argument(head, "num_clusters", SR_YAML_LIST, &clusters));
    SR_TRY(need_argument(head, "dims", SR_YAML_LIST, &dims));
    SR_TRY(set(r, key_of(k, at, "num_prototypes"), clusters));
    SR_TRY(set(r, key_of(k, at, "embedding_dim"), dims->items[dims->n - 1]));
    if (r->total_crops)
        SR_TRY(set_int(r, key_of(k, at, "num_crops"), r->total_crops));
    int64_t asked = sr_tree_int(r->tree, key_of(k, at, "queue.queue_length"), 0);
    int64_t whole = asked - asked % (r->batch * r->world);
    if (asked > 0 && whole == 0)
        sr_warn("%s is %" PRId64 ", less than one batch of %" PRId64 ": there is no queue", k,
                asked, r->batch * r->world);
    SR_TRY(set_int(r, k, whole)); // k is still the queue's length
    return set_int(r, key_of(k, at, "queue.local_queue_length"), whole / r->world);
}

// SwAV complains about another collator where its momentum variant, below, sets the right one.
static SrStatus infer_swav(Rules *r, const char *at) {
    static const char *const collators[] = {"multicrop_collator", "multicrop_mixup_collator",
                                            "cutmixup_collator"};
    const SrYaml *head = NULL;
    SR_TRY(only_head(r, "swav_loss", "swav_head", &head));
    SR_TRY(check_collator(r, "swav_loss", collators, SR_COUNT(collators)));
    return swav_common(r, at, head);
}

static SrStatus infer_swav_momentum(Rules *r, const char *at) {
    const SrYaml *head = NULL;
    SR_TRY(only_head(r, "swav_momentum_loss", "swav_head", &head));
    SR_TRY(force_collator(r, "multicrop_collator"));
    return swav_common(r, at, head);
}

// The loss sees both copies of every image of every process.
static SrStatus infer_simclr(Rules *r, const char *at) {
    char k[256];
    SR_TRY(set_int(r, key_of(k, at, "buffer_params.world_size"), r->world));
    return set_int(r, key_of(k, at, "buffer_params.effective_batch_size"), 2 * r->batch * r->world);
}

static SrStatus infer_multicrop_simclr(Rules *r, const char *at) {
    char k[256];
    SR_TRY(set_int(r, key_of(k, at, "buffer_params.world_size"), r->world));
    // Images, not copies of them: unlike plain SimCLR.
    SR_TRY(set_int(r, key_of(k, at, "buffer_params.effective_batch_size"), r->batch * r->world));
    if (r->total_crops)
        SR_TRY(set_int(r, key_of(k, at, "num_crops"), r->total_crops));
    return force_collator(r, "multicrop_collator");
}

static SrStatus infer_bce(Rules *r, const char *at) {
    char k[256];
    return set_int(r, key_of(k, at, "world_size"), r->world);
}

// Its memory is filled in batches, so it must know how the loader cuts them.
static SrStatus infer_deepcluster(Rules *r, const char *at) {
    char k[256];
    const SrYaml *drop = sr_yaml_find_path(r->tree, "DATA.TRAIN.DROP_LAST");
    if (drop)
        SR_TRY(set(r, key_of(k, at, "DROP_LAST"), drop));
    SR_TRY(set_int(r, key_of(k, at, "BATCHSIZE_PER_REPLICA"), r->batch));
    if (r->total_crops)
        SR_TRY(set_int(r, key_of(k, at, "num_crops"), r->total_crops));
    return force_collator(r, "multicrop_collator");
}

// The teacher's centre is as wide as the head's output.
static SrStatus infer_dino(Rules *r, const char *at) {
    char k[256];
    const SrYaml *head = NULL, *clusters = NULL;
    SR_TRY(only_head(r, "dino_loss", "swav_head dino_head", &head));
    SR_TRY(need_argument(head, "num_clusters", SR_YAML_LIST, &clusters));
    SR_TRY(set(r, key_of(k, at, "output_dim"), clusters->items[0]));
    if (r->total_crops)
        SR_TRY(set_int(r, key_of(k, at, "num_crops"), r->total_crops));
    else if (sr_tree_is_default(sr_yaml_find_path(r->tree, key_of(k, at, "num_crops"))))
        return sr_fail(SR_ERR_CONFIG,
                       "%s: how many crops? A transform with total_num_crops in "
                       "DATA.TRAIN.TRANSFORMS says it, or the key itself",
                       k);
    return force_collator(r, "multicrop_collator");
}

// Masks are drawn over the grid of patches, whose size the transformer knows.
static SrStatus infer_mask_patches(Rules *r) {
    const SrYaml *patch = sr_yaml_find_path(r->tree, "MODEL.TRUNK.VISION_TRANSFORMERS.PATCH_SIZE"),
                 *list = sr_yaml_find_path(r->tree, "DATA.TRAIN.TRANSFORMS");
    const char *trunk = sr_tree_text(r->tree, "MODEL.TRUNK.NAME", "");
    if (!patch || !sr_text_starts(trunk, "vision_transformer"))
        return SR_OK;
    for (int i = 0; list && i < list->n; i++) {
        SrYaml *t = list->items[i], *copy = sr_yaml_copy(r->arena, patch);
        const SrYaml *old = sr_yaml_find(t, "patch_size");
        if (strcmp(sr_tree_text(t, "name", ""), "MaskedImageModeling") != 0)
            continue;
        if (!copy)
            return sr_fail(SR_ERR_MEMORY, "out of memory while inferring patch_size");
        if (old && !sr_yaml_equal(old, copy))
            say(r->level, "DATA.TRAIN.TRANSFORMS: MaskedImageModeling.patch_size", old, copy);
        SR_TRY(sr_yaml_put(r->arena, t, "patch_size", copy));
    }
    return SR_OK;
}

// The patch head may be shared; VISSL takes one width for both in any case.  The first crop group
// is the global one.
static SrStatus infer_ibot(Rules *r, const char *at) {
    static const char *const collators[] = {"ibot_multicrop_masking_collator"};
    char k[256];
    const SrYaml *head = NULL, *out = NULL;
    SR_TRY(check_collator(r, "ibot_loss", collators, 1));
    SR_TRY(infer_mask_patches(r));
    SR_TRY(only_head(r, "ibot_loss", "ibot_head", &head));
    SR_TRY(need_argument(head, "out_dim", SR_YAML_INT, &out));
    SR_TRY(set(r, key_of(k, at, "out_dim"), out));
    SR_TRY(set(r, key_of(k, at, "patch_out_dim"), out));
    SR_TRY(
        set_int(r, key_of(k, at, "num_epochs"), sr_tree_int(r->tree, "OPTIMIZER.num_epochs", 1)));
    const SrYaml *first = r->num_crops && r->num_crops->n > 0 ? r->num_crops->items[0] : NULL;
    if (!first || first->type != SR_YAML_INT)
        return SR_OK;
    SR_TRY(set_int(r, key_of(k, at, "num_global_crops"), first->i));
    return set_int(r, key_of(k, at, "num_local_crops"), r->total_crops - first->i);
}

// One rule a loss that has one; the others (MoCo, Barlow Twins, NPID, ...) need nothing inferred.
static SrStatus infer_loss(Rules *r) {
    static const struct {
        const char *loss;
        SrStatus (*rule)(Rules *r, const char *at);
    } rules[] = {
        {"simclr_info_nce_loss", infer_simclr},
        {"multicrop_simclr_info_nce_loss", infer_multicrop_simclr},
        {"bce_logits_multiple_output_single_target", infer_bce},
        {"deepclusterv2_loss", infer_deepcluster},
        {"swav_loss", infer_swav},
        {"swav_momentum_loss", infer_swav_momentum},
        {"dino_loss", infer_dino},
        {"ibot_loss", infer_ibot},
    };
    const char *name = sr_tree_text(r->tree, "LOSS.name", "");
    for (int i = 0; i < SR_COUNT(rules); i++) {
        if (strcmp(rules[i].loss, name) != 0)
            continue;
        char at[128];
        snprintf(at, sizeof at, "LOSS.%s", name);
        return rules[i].rule(r, at);
    }
    return SR_OK;
}

// ---- meters

static bool has_text(const SrYaml *list, const char *text) {
    for (int i = 0; i < list->n; i++)
        if (list->items[i]->type == SR_YAML_STRING && strcmp(list->items[i]->text, text) == 0)
            return true;
    return false;
}

// The deprecated METERS.name joins METERS.names, at its end: VISSL makes a set of them and loses the
// order in which results are printed.
static SrStatus join_meter_names(Rules *r, SrYaml **out) {
    const SrYaml *names = sr_yaml_find_path(r->tree, "METERS.names");
    const char *single = sr_tree_text(r->tree, "METERS.name", "");
    *out = names && names->type == SR_YAML_LIST
               ? sr_yaml_copy(r->arena, names)
               : sr_yaml_new(r->arena, SR_YAML_LIST, "inferred", 0);
    if (!*out)
        return sr_fail(SR_ERR_MEMORY, "out of memory while inferring METERS.names");
    if (!*single || has_text(*out, single))
        return SR_OK;
    SrYaml *node = sr_yaml_new(r->arena, SR_YAML_STRING, "inferred", 0);
    if (!node)
        return sr_fail(SR_ERR_MEMORY, "out of memory while inferring METERS.names");
    node->text = single;
    SR_TRY(sr_yaml_append(r->arena, *out, node));
    return set(r, "METERS.names", *out);
}

// A frozen trunk with pooled layers has one head, so one meter, for each of them (spec 2.12).
static const SrYaml *pooled_layers(const Rules *r) {
    static const char settings[] = "MODEL.FEATURE_EVAL_SETTINGS";
    const SrYaml *s = sr_yaml_find_path(r->tree, settings);
    const SrYaml *map = sr_yaml_find(s, "LINEAR_EVAL_FEAT_POOL_OPS_MAP");
    bool frozen = sr_tree_bool(s, "FREEZE_TRUNK_ONLY", false) ||
                  sr_tree_bool(s, "FREEZE_TRUNK_AND_HEAD", false);
    bool used = sr_tree_bool(s, "EVAL_MODE_ON", false) && frozen;
    return used && map && map->type == SR_YAML_LIST && map->n > 0 ? map : NULL;
}

// Names of the layers in the map's order, repeated ones twice: heads are told apart by position.
static SrStatus layer_names(const Rules *r, const SrYaml *map, SrYaml **out) {
    *out = sr_yaml_new(r->arena, SR_YAML_LIST, "inferred", 0);
    if (!*out)
        return sr_fail(SR_ERR_MEMORY, "out of memory while inferring METERS");
    for (int i = 0; i < map->n; i++) {
        const SrYaml *name = map->items[i]->type == SR_YAML_LIST && map->items[i]->n > 0
                                 ? map->items[i]->items[0]
                                 : map->items[i];
        SrYaml *copy = sr_yaml_copy(r->arena, name);
        if (!copy)
            return sr_fail(SR_ERR_MEMORY, "out of memory while inferring METERS");
        SR_TRY(sr_yaml_append(r->arena, *out, copy));
    }
    return SR_OK;
}

static SrStatus infer_meters(Rules *r) {
    static const char *const meters[] = {"accuracy_list_meter", "mean_ap_list_meter",
                                         "precision_at_k_list_meter", "recall_at_k_list_meter"};
    SrYaml *names = NULL, *layers = NULL;
    SR_TRY(join_meter_names(r, &names));
    const SrYaml *map = pooled_layers(r);
    if (!map)
        return SR_OK;
    SR_TRY(layer_names(r, map, &layers));
    for (int i = 0; i < SR_COUNT(meters); i++) {
        char at[128], k[256];
        if (!has_text(names, meters[i]))
            continue;
        snprintf(at, sizeof at, "METERS.%s", meters[i]);
        SR_TRY(set_int(r, key_of(k, at, "num_meters"), map->n));
        SR_TRY(set(r, key_of(k, at, "meter_names"), layers));
    }
    return SR_OK;
}

// ---- learning rate, decay, labels

// One machine, one process: the batch of a node is the batch of the run (see resolve_world).
static SrStatus infer_optimizer(Rules *r) {
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
        if (!copy)
            return sr_fail(SR_ERR_MEMORY, "out of memory while inferring %s", head_path);
        SR_TRY(sr_yaml_put_path(r->arena, r->tree, head_path, copy));
    }
    const SrYaml *decay = sr_yaml_find_path(r->tree, "OPTIMIZER.weight_decay");
    if (decay && !sr_tree_bool(r->tree, "OPTIMIZER.head_optimizer_params.use_different_wd", false))
        SR_TRY(set(r, "OPTIMIZER.head_optimizer_params.weight_decay", decay));
    return SR_OK;
}

// Checked here, because the rule below would write over a misspelt one.
static SrStatus check_label_type(const Rules *r, const char *split) {
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

// Without a source of labels the index of the sample stands in, which is what memory banks want.
static SrStatus infer_labels(Rules *r, const char *split) {
    char path[64];
    SR_TRY(check_label_type(r, split));
    snprintf(path, sizeof path, "DATA.%s.LABEL_SOURCES", split);
    const SrYaml *sources = sr_yaml_find_path(r->tree, path);
    if (sources && sources->n > 0)
        return SR_OK;
    snprintf(path, sizeof path, "DATA.%s.LABEL_TYPE", split);
    if (strcmp(sr_tree_text(r->tree, path, ""), "zero") == 0)
        return SR_OK;
    return set_string(r, path, "sample_index");
}

SrStatus sr__infer(SrYaml *tree, int world, SrArena *arena) {
    Rules r = {
        .tree = tree,
        .arena = arena,
        .batch = sr_tree_int(tree, "DATA.TRAIN.BATCHSIZE_PER_REPLICA", 256),
        .world = world,
        .level = SR_LOG_INFO,
    };
    SR_TRY(scan_transforms(&r, "TRAIN"));
    SR_TRY(scan_transforms(&r, "TEST"));
    SR_TRY(infer_loss(&r));
    r.level = SR_LOG_DEBUG; // the rest holds for nearly every run: nobody asks
    SR_TRY(set_int(&r, "MODEL._MODEL_INIT_SEED", sr_tree_int(tree, "SEED_VALUE", 0)));
    SR_TRY(infer_optimizer(&r));
    SR_TRY(infer_meters(&r));
    SR_TRY(infer_labels(&r, "TRAIN"));
    return infer_labels(&r, "TEST");
}
