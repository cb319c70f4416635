// Parameter groups, which give each parameter its decay and learning rate: the constructors by
// name, and VISSL's constructor `default`.  The other constructors are in param_groups_named.c.
//
// The default decays as follows:
//   * Weights of layers always decay, their biases with regularize_bias.
//   * In batch and layer norms, gamma decays with regularize_bn and beta with both keys.
//   * All others (group norm, tokens) always decay.
// Parameters of heads form groups of their own, with lr_head and the heads' decay.
#include <string.h>

#include "base/plugin/plugin.h"
#include "base/text/text.h"
#include "trainer/optim/param_groups.h"
#include "trainer/optim/param_groups_named.h"

enum { TRUNK_REG, TRUNK_FREE, HEAD_REG, HEAD_FREE, REST_REG, REST_FREE, N_GROUPS };

static const char *const group_names[N_GROUPS] = {
    "trunk regularised",  "trunk unregularised",   "head regularised",
    "head unregularised", "remaining regularised", "remaining unregularised",
};

// Compares substrings, as VISSL does: "pos_embedding" is found anywhere in a name.
static bool is_listed(const char *name, const SrStrings *substrings) {
    for (int i = 0; i < substrings->n; i++)
        if (strstr(name, substrings->v[i]))
            return true;
    return false;
}

static int group_by_role(const SrParam *p, const SrOptimizerConfig *c) {
    bool decays = true;
    switch (p->role) {
    case SR_ROLE_WEIGHT: break;
    case SR_ROLE_BIAS: decays = c->regularize_bias; break;
    case SR_ROLE_NORM_WEIGHT: decays = c->regularize_bn; break;
    case SR_ROLE_NORM_BIAS: decays = c->regularize_bn && c->regularize_bias; break;
    case SR_ROLE_OTHER: return REST_REG;
    }
    int base = sr__is_head_param(p) ? HEAD_REG : TRUNK_REG;
    return decays ? base : base + 1;
}

// A parameter of non_regularized_parameters that would decay goes to a separate group, with the
// trunk's rate.  Listed parameters that do not decay stay in their groups.
static int group_of(const SrParam *p, const SrOptimizerConfig *c) {
    int group = group_by_role(p, c);
    bool decays = group % 2 == 0;
    return decays && is_listed(p->name, &c->non_regularized_parameters) ? REST_FREE : group;
}

// construct_single_param_group_only: heads have the trunk's rate, and biases decay.
static int all_in_one(const SrParam *p, const SrOptimizerConfig *c) {
    (void)p;
    (void)c;
    return 0;
}

static SrStatus one_group(SrParams *params, const SrOptimizerConfig *config, SrArena *arena,
                          SrParamGroups *out) {
    SrParamGroup g = {.name = "all", .weight_decay = config->weight_decay, .regularised = true};
    return sr__param_groups_add(params, config, all_in_one, 0, &g, arena, out);
}

// Unregularised groups have decay 0, which no schedule changes.
static SrStatus by_default(SrParams *params, const SrOptimizerConfig *config, SrArena *arena,
                           SrParamGroups *out) {
    if (config->construct_single_param_group_only)
        return one_group(params, config, arena, out);
    double head_decay =
        config->head_use_different_wd ? config->head_weight_decay : config->weight_decay;
    for (int which = 0; which < N_GROUPS; which++) {
        bool head = which == HEAD_REG || which == HEAD_FREE, reg = which % 2 == 0;
        SrParamGroup g = {
            .name = group_names[which],
            .weight_decay = !reg   ? 0
                            : head ? head_decay
                                   : config->weight_decay,
            .head_lr = head,
            .regularised = reg,
        };
        SR_TRY(sr__param_groups_add(params, config, group_of, which, &g, arena, out));
        if (which >= REST_REG && out->groups[out->n - 1].n == 0)
            out->n--; // VISSL passes the other four even when they are empty
    }
    return SR_OK;
}

// ---- constructors by name

static const struct {
    const char *name;
    SrParamGroupConstructor *build;
} constructors[] = {
    {"default", by_default},
    {"dino", sr__param_groups_dino},
    {"lr_decay", sr__param_groups_lr_decay},
    {"linear_eval_heads", sr__param_groups_linear_eval_heads},
};

// Finds a constructor by the name in OPTIMIZER.param_group_constructor.
static SrStatus find(const char *name, SrParamGroupConstructor **out) {
    const char *known[SR_COUNT(constructors)];
    for (int i = 0; i < SR_COUNT(constructors); i++) {
        known[i] = constructors[i].name;
        if (strcmp(name, known[i]) == 0) {
            *out = constructors[i].build;
            return SR_OK;
        }
    }
    return sr_plugin_unknown("constructor", name, known, SR_COUNT(constructors));
}

// `sslrun check` makes no optimiser, so the constructors' keys are checked here.
SrStatus sr_param_groups_check(const SrOptimizerConfig *config) {
    SrParamGroupConstructor *build = NULL;
    SrStatus status = find(config->param_group_constructor, &build);
    if (status != SR_OK)
        return sr_fail_prefix(status, "OPTIMIZER.param_group_constructor");
    if (build == sr__param_groups_lr_decay)
        return sr__param_groups_lr_decay_check(config);
    return build == sr__param_groups_linear_eval_heads ? sr__param_groups_heads_check(config)
                                                       : SR_OK;
}

SrStatus sr_param_groups(SrParams *params, const SrOptimizerConfig *config, SrArena *arena,
                         SrParamGroups *out) {
    SrParamGroupConstructor *build = NULL;
    SR_TRY(sr_param_groups_check(config));
    SR_TRY(find(config->param_group_constructor, &build));
    *out = (SrParamGroups){0, NULL};
    return build(params, config, arena, out);
}
