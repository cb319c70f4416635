// Finds the parameters to freeze by name, and tells which are frozen at a step.  Parameters that
// are frozen for the whole run are not trainable in graph/ir/params.h.
#include "trainer/model/freeze.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/yaml_edit.h"

// The suggestion is a plain parameter name: the configuration has removed VISSL's "module.".
SrStatus sr_freeze_unknown(SrParams *params, const char *key, const char *name) {
    int n = sr_params_count(params), kept = 0;
    const char **names = sr_calloc((size_t)n + 1, sizeof *names);
    SR_TRY_MEMORY(names, "%d parameter names", n);
    for (int i = 0; i < n; i++)
        if (sr_params_at(params, i)->trainable)
            names[kept++] = sr_params_at(params, i)->name;
    int near = sr_text_nearest(name, names, kept);
    SrStatus status = sr_fail(SR_ERR_CONFIG, "%s: no parameter has the name '%s'%s%s%s", key, name,
                              near >= 0 ? "; did you mean '" : "", near >= 0 ? names[near] : "",
                              near >= 0 ? "'?" : "");
    sr_free(names);
    return status;
}

// Finds a parameter.  iBOT's files with shared_head name two sets of prototypes, which are one
// tensor here (heads/ibot_head.c).
static int find(SrParams *params, const char *name, const SrModelConfig *config) {
    static const char second[] = ".prototypes1.";
    char first[256];
    int index = sr_params_find(params, name);
    const char *hit = strstr(name, second);
    const SrYaml *arguments = sr_yaml_find_path(config->head_params, "0.1");
    if (index >= 0 || !hit || !sr_tree_bool(arguments, "shared_head", false))
        return index;
    snprintf(first, sizeof first, "%.*s.prototypes0.%s", (int)(hit - name), name,
             hit + strlen(second));
    return sr_params_find(params, first);
}

// The map may name parameters that never learn, as DINO's files do with weight_g.
SrStatus sr_freeze_new(SrParams *params, const SrModelConfig *config, SrArena *arena,
                       SrFreeze *out) {
    int n = config->n_frozen_until;
    *out = (SrFreeze){.n = n};
    out->param = sr_arena_alloc(arena, (size_t)(n + 1) * sizeof *out->param);
    out->iterations = sr_arena_alloc(arena, (size_t)(n + 1) * sizeof *out->iterations);
    out->skip = sr_arena_alloc(arena, (size_t)(sr_params_count(params) + 1) * sizeof *out->skip);
    SR_TRY_MEMORY(out->param && out->iterations && out->skip, "the map of frozen parameters");
    for (int i = 0; i < n; i++) {
        int index = find(params, config->frozen_until[i].param, config);
        if (index < 0)
            return sr_freeze_unknown(params, "MODEL.TEMP_FROZEN_PARAMS_ITER_MAP",
                                     config->frozen_until[i].param);
        out->param[i] = index;
        out->iterations[i] = config->frozen_until[i].iterations;
        out->last = SR_MAX(out->last, out->iterations[i]);
    }
    return SR_OK;
}

// The iteration counts completed updates from 0, so exactly iterations[i] updates are skipped.
const bool *sr_freeze_at(SrFreeze *freeze, int64_t iteration) {
    if (iteration >= freeze->last)
        return NULL;
    // Two entries may name one parameter: the longer freeze counts.
    for (int i = 0; i < freeze->n; i++)
        freeze->skip[freeze->param[i]] = false;
    for (int i = 0; i < freeze->n; i++)
        freeze->skip[freeze->param[i]] |= iteration < freeze->iterations[i];
    return freeze->skip;
}
