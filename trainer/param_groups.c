// Which parameter gets which decay and which learning rate: VISSL's `default` constructor
// (spec 8.2).
//
// Layers decay their weights always and their biases with regularize_bias; batch and layer norm
// decay gamma with regularize_bn, beta with both; what belongs to neither (group norm, tokens)
// always decays.  Parameters of head modules form groups of their own, with lr_head and the heads'
// decay.
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "trainer/optim.h"

enum { TRUNK_REG, TRUNK_FREE, HEAD_REG, HEAD_FREE, REST_REG, REST_FREE, N_GROUPS };

static const char *const group_names[N_GROUPS] = {
    "trunk regularised",  "trunk unregularised",   "head regularised",
    "head unregularised", "remaining regularised", "remaining unregularised",
};

// Substrings, as VISSL compares them: "pos_embedding" finds it wherever it is.
static bool is_listed(const char *name, const SrStrings *substrings) {
    for (int i = 0; i < substrings->n; i++)
        if (strstr(name, substrings->v[i]))
            return true;
    return false;
}

// VISSL finds heads by "head" anywhere in a module's name; ours all start with "heads.", and a
// trunk module that happens to contain the word should not move.
static int group_of(const SrParam *p, const SrOptimizerConfig *c) {
    if (is_listed(p->name, &c->non_regularized_parameters))
        return REST_FREE;
    bool decays = true;
    switch (p->role) {
    case SR_ROLE_WEIGHT:
        break;
    case SR_ROLE_BIAS:
        decays = c->regularize_bias;
        break;
    case SR_ROLE_NORM_WEIGHT:
        decays = c->regularize_bn;
        break;
    case SR_ROLE_NORM_BIAS:
        decays = c->regularize_bn && c->regularize_bias;
        break;
    case SR_ROLE_OTHER:
        return REST_REG;
    }
    int base = sr_text_starts(p->name, "heads.") ? HEAD_REG : TRUNK_REG;
    return decays ? base : base + 1;
}

// Trainable parameters of one group, in the table's order; which < 0: all of them.
static SrStatus fill(SrParams *params, const SrOptimizerConfig *config, int which, SrArena *arena,
                     SrParamGroup *g) {
    int n = 0, count = sr_params_count(params);
    int *members = sr_arena_alloc(arena, sizeof(int) * (size_t)(count + 1));
    if (!members)
        return sr_fail(SR_ERR_MEMORY, "out of memory for parameter groups");
    for (int i = 0; i < count; i++) {
        const SrParam *p = sr_params_at(params, i);
        if (p->trainable && (which < 0 || group_of(p, config) == which))
            members[n++] = i;
    }
    g->n = n;
    g->params = members;
    return SR_OK;
}

// construct_single_param_group_only: heads too take the trunk's rate, and biases decay.
static SrStatus one_group(SrParams *params, const SrOptimizerConfig *config, SrArena *arena,
                          SrParamGroups *out) {
    out->n = 1;
    out->groups[0] =
        (SrParamGroup){.name = "all", .weight_decay = config->weight_decay, .regularised = true};
    return fill(params, config, -1, arena, &out->groups[0]);
}

SrStatus sr_param_groups(SrParams *params, const SrOptimizerConfig *config, SrArena *arena,
                         SrParamGroups *out) {
    out->n = 0;
    out->groups = sr_arena_alloc(arena, sizeof(SrParamGroup) * N_GROUPS);
    if (!out->groups)
        return sr_fail(SR_ERR_MEMORY, "out of memory for parameter groups");
    if (strcmp(config->param_group_constructor, "default") != 0)
        return sr_fail(SR_ERR_CONFIG,
                       "OPTIMIZER.param_group_constructor: '%s' is not built; known: default",
                       config->param_group_constructor);
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
        SR_TRY(fill(params, config, which, arena, &g));
        if (g.n > 0 || which < REST_REG)
            out->groups[out->n++] = g;
    }
    return SR_OK;
}
