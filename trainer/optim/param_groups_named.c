// Builds the groups of the constructors that have names of their own.
#include "trainer/optim/param_groups_named.h"

#include <math.h>
#include <string.h>

#include "base/text/text.h"
#include "base/text/yaml_edit.h"
#include "trainer/optim/param_group_list.h"
#include "trainer/schedules/schedule.h"

// Decides by name: biases and norms of transformers, which have "norm" in their names, do not
// decay.
static bool decays_by_name(const SrParam *p) {
    return !sr_text_ends(p->name, ".bias") && !strstr(p->name, "norm");
}

// ---- dino

// All rates are the trunk's, because DINO's head learns at the same rate.
static int dino_group(const SrParam *p, const SrOptimizerConfig *config) {
    (void)config;
    return decays_by_name(p) ? 0 : 1;
}

SrStatus sr__param_groups_dino(SrParams *params, const SrOptimizerConfig *config, SrArena *arena,
                               SrParamGroups *out) {
    SrParamGroup decayed = {.name = "regularised",
                            .weight_decay = config->weight_decay,
                            .regularised = true},
                 free = {.name = "unregularised"};
    SR_TRY(sr__param_groups_add(params, config, dino_group, 0, &decayed, arena, out));
    out->n -= out->groups[0].n == 0;
    SR_TRY(sr__param_groups_add(params, config, dino_group, 1, &free, arena, out));
    out->n -= out->groups[out->n - 1].n == 0;
    return SR_OK;
}

// ---- lr_decay: groups 2 * depth (regularised) and 2 * depth + 1 (unregularised)

// Returns the trunk's layers.  The heads are at depth layers + 1, where the rate is not reduced.
static int layers_of(const SrOptimizerConfig *config) {
    return config->trunk->layers(config->trunk_params);
}

static bool decays(const SrParam *p, const SrOptimizerConfig *config) {
    if (config->trunk->decays_by_name)
        return decays_by_name(p);
    return sr_text_ends(p->name, ".bias")   ? config->regularize_bias
           : p->role == SR_ROLE_NORM_WEIGHT ? config->regularize_bn
                                            : true;
}

static int lr_decay_group(const SrParam *p, const SrOptimizerConfig *config) {
    int layers = layers_of(config);
    int depth = sr__is_head_param(p) ? layers + 1 : config->trunk->depth(p->name, layers);
    return 2 * depth + (decays(p, config) ? 0 : 1);
}

// A trunk that this program does not have is reported elsewhere, so NULL passes here.
SrStatus sr__param_groups_lr_decay_check(const SrOptimizerConfig *config) {
    if (config->trunk && !config->trunk->depth)
        SR_FAIL(SR_ERR_CONFIG,
                "OPTIMIZER.param_group_constructor: lr_decay needs the depth of each layer, which "
                "the trunk %s does not give; use another constructor",
                config->trunk->name);
    return SR_OK;
}

// Depths without trainable parameters, such as a frozen stem, make no group.
SrStatus sr__param_groups_lr_decay(SrParams *params, const SrOptimizerConfig *config,
                                   SrArena *arena, SrParamGroups *out) {
    if (!config->trunk)
        SR_FAIL(SR_ERR_CONFIG, "OPTIMIZER.param_group_constructor: lr_decay needs a trunk");
    int layers = layers_of(config);
    for (int which = 0; which < 2 * (layers + 2); which++) {
        bool regularised = which % 2 == 0;
        SrParamGroup g = {
            .name = sr_arena_printf(arena, "depth %d %s", which / 2,
                                    regularised ? "regularised" : "unregularised"),
            .weight_decay = regularised ? config->weight_decay : 0,
            .regularised = regularised,
            .lr_scale = pow(config->layer_decay, layers + 1 - which / 2),
        };
        SR_TRY_MEMORY(g.name, "parameter groups");
        SR_TRY(sr__param_groups_add(params, config, lr_decay_group, which, &g, arena, out));
        out->n -= out->groups[out->n - 1].n == 0;
    }
    return SR_OK;
}

// ---- linear_eval_heads: groups 2 * head (unregularised) and 2 * head + 1 (regularised)

static const char heads_key[] = "OPTIMIZER.linear_eval_heads";

// Returns regularize_bn of the head's entry, or the optimiser's if the entry has none.
static bool regularize_bn_of(const SrOptimizerConfig *config, int head) {
    const SrYaml *list = config->linear_eval_heads;
    return list && head < list->n
               ? sr_tree_bool(list->items[head], "regularize_bn", config->regularize_bn)
               : config->regularize_bn;
}

// Applies the rules of the default constructor to each head; -1: no head.
static int heads_group(const SrParam *p, const SrOptimizerConfig *config) {
    int head = sr_text_number_after(p->name, "heads.");
    if (!sr__is_head_param(p) || head < 0)
        return -1;
    bool bn = regularize_bn_of(config, head);
    bool decays = p->role == SR_ROLE_BIAS          ? config->regularize_bias
                  : p->role == SR_ROLE_NORM_WEIGHT ? bn
                  : p->role == SR_ROLE_NORM_BIAS   ? bn && config->regularize_bias
                                                   : true;
    return 2 * head + (decays ? 1 : 0);
}

// Checks the list by hand, because no option table reads it.
SrStatus sr__param_groups_heads_check(const SrOptimizerConfig *config) {
    const SrYaml *list = config->linear_eval_heads;
    if (!list || list->type != SR_YAML_LIST || list->n == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: %s must be a list of {lr: ..., weight_decay: ...}, one for each head",
                sr_yaml_place(list).text, heads_key);
    for (int i = 0; i < list->n; i++) {
        double lr = 0;
        const SrYaml *entry = list->items[i];
        for (int k = 0; k < entry->n; k++)
            if (entry->type != SR_YAML_MAP ||
                (strcmp(entry->keys[k], "lr") && strcmp(entry->keys[k], "weight_decay") &&
                 strcmp(entry->keys[k], "regularize_bn")))
                SR_FAIL(SR_ERR_CONFIG,
                        "%s: %s[%d] has an unknown key; expected lr, weight_decay or regularize_bn",
                        sr_yaml_place(entry).text, heads_key, i);
        SR_TRY(sr_tree_number(entry, "lr", heads_key, &lr));
        if (!(lr > 0 && lr <= SR_SCHEDULE_MAX))
            SR_FAIL(SR_ERR_CONFIG,
                    "%s: %s[%d].lr must be above 0 and at most %g: it is a factor on the rate",
                    sr_yaml_place(entry).text, heads_key, i, SR_SCHEDULE_MAX);
    }
    return SR_OK;
}

// Every trainable parameter must belong to a head that has an entry.  VISSL would never update a
// trunk's parameters, and fails at a head without an entry.
static SrStatus check_covered(SrParams *params, const SrOptimizerConfig *config) {
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        if (!p->trainable || p->merged)
            continue;
        if (!sr__is_head_param(p))
            SR_FAIL(SR_ERR_CONFIG,
                    "OPTIMIZER.param_group_constructor: linear_eval_heads has rates for heads "
                    "only, but %s learns; set MODEL.FEATURE_EVAL_SETTINGS.FREEZE_TRUNK_ONLY=True",
                    p->name);
        if (sr_text_number_after(p->name, "heads.") >= config->linear_eval_heads->n)
            SR_FAIL(SR_ERR_CONFIG, "%s has %d entries, none for %s", heads_key,
                    config->linear_eval_heads->n, p->name);
    }
    return SR_OK;
}

// Makes the unregularised group of each head first, which is VISSL's order.
SrStatus sr__param_groups_linear_eval_heads(SrParams *params, const SrOptimizerConfig *config,
                                            SrArena *arena, SrParamGroups *out) {
    SR_TRY(check_covered(params, config));
    for (int which = 0; which < 2 * config->linear_eval_heads->n; which++) {
        const SrYaml *entry = config->linear_eval_heads->items[which / 2];
        double lr = 1, decay = config->weight_decay;
        SR_TRY(sr_tree_number(entry, "lr", heads_key, &lr));
        if (sr_yaml_find(entry, "weight_decay"))
            SR_TRY(sr_tree_number(entry, "weight_decay", heads_key, &decay));
        SrParamGroup g = {
            .name = sr_arena_printf(arena, "head %d %s", which / 2,
                                    which % 2 ? "regularised" : "unregularised"),
            .weight_decay = which % 2 ? decay : 0, // no schedule changes it
            .lr_scale = lr,
        };
        SR_TRY_MEMORY(g.name, "parameter groups");
        SR_TRY(sr__param_groups_add(params, config, heads_group, which, &g, arena, out));
        out->n -= out->groups[out->n - 1].n == 0;
    }
    return SR_OK;
}
