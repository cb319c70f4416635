// Adds groups to a list, and tells parameters of heads from others.
#include "trainer/optim/param_group_list.h"

#include <string.h>

#include "base/text/text.h"

// VISSL looks for "head" anywhere in a module's name.  Here the names of heads start with
// "heads.", so a trunk module whose name contains the word is not taken for a head.
bool sr__is_head_param(const SrParam *p) {
    return sr_text_starts(p->name, "heads.") || sr_text_starts(p->name, "loss.heads.");
}

// The list is copied to grow, because groups are few.  Members keep the order of the table.
SrStatus sr__param_groups_add(SrParams *params, const SrOptimizerConfig *config,
                              SrParamGroupOf *group_of_param, int which, const SrParamGroup *like,
                              SrArena *arena, SrParamGroups *out) {
    int count = sr_params_count(params);
    SrParamGroup *groups = sr_arena_alloc(arena, sizeof *groups * (size_t)(out->n + 1));
    int *members = sr_arena_alloc(arena, sizeof(int) * (size_t)(count + 1));
    SR_TRY_MEMORY(groups && members, "parameter groups");
    if (out->n > 0)
        memcpy(groups, out->groups, sizeof *groups * (size_t)out->n);
    SrParamGroup *g = &groups[out->n++];
    *g = *like;
    g->n = 0;
    g->params = members;
    for (int i = 0; i < count; i++) {
        const SrParam *p = sr_params_at(params, i);
        if (p->trainable && !p->merged && group_of_param(p, config) == which)
            members[g->n++] = i;
    }
    out->groups = groups;
    return SR_OK;
}
