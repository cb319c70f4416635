// Runs golden cases optim_*: steps of an optimiser with given gradients, for parameters in two or
// more groups.
#include <stdio.h>
#include <string.h>

#include "tests/golden/golden.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/optim/optim.h"
#include "trainer/optim/optim_options.h"

typedef struct {
    SrGoldenCase *c;
    SrParams *params;
    SrOptim *optim;
    SrOptimizerConfig config;
    SrParamGroups groups;
    double *lr; // learning rate per group
    int n;      // number of parameters
} Run;

static SrStatus missing(const char *what) {
    SR_FAIL(SR_ERR_RUN, "the manifest has no usable %s", what);
}

// Reads OPTIMIZER without `lr`, which VISSL passes to the class directly.
static SrStatus read_config(Run *r) {
    const SrYaml *given = sr_yaml_find(r->c->config, "OPTIMIZER");
    SrYaml *map = given ? sr_yaml_copy(r->c->arena, given) : NULL;
    if (!map)
        return missing("OPTIMIZER");
    sr_yaml_remove(map, "lr");
    const SrOption *table;
    SR_TRY(sr_optim_options(r->c->arena, &table));
    SR_TRY(sr_options_parse(table, map, "OPTIMIZER", r->c->arena, &r->config));
    r->config.options = map;
    return SR_OK;
}

static SrStatus add_params(Run *r) {
    const SrYaml *group_of = sr_yaml_find(r->c->config, "group_of_param");
    if (!group_of || group_of->type != SR_YAML_LIST)
        return missing("group_of_param");
    r->n = group_of->n;
    for (int i = 0; i < r->n; i++) {
        char name[32];
        int index = 0;
        snprintf(name, sizeof name, "p%d_init", i);
        const SrTensor *t = golden_tensor(r->c, name);
        if (!t)
            return missing(name);
        SrSlot slot = {.name = "weight", .shape = t->shape, .dtype = SR_F32, .kind = SR_SLOT_PARAM};
        SR_TRY(sr_params_add(r->params, sr_arena_printf(r->c->arena, "p%d", i), &slot, &index));
    }
    SR_TRY(sr_params_allocate(r->params));
    for (int i = 0; i < r->n; i++) {
        char name[32];
        int64_t n = 0;
        snprintf(name, sizeof name, "p%d_init", i);
        const float *init = golden_floats(r->c, name, &n);
        memcpy(sr_params_at(r->params, i)->value, init, sizeof(float) * (size_t)n);
    }
    return SR_OK;
}

static SrStatus make_groups(Run *r) {
    const SrYaml *group_of = sr_yaml_find(r->c->config, "group_of_param");
    const SrYaml *decay = sr_yaml_find(r->c->config, "wd_groups"),
                 *lr = sr_yaml_find(r->c->values, "lr_groups");
    if (!decay || !lr || decay->n != lr->n || decay->n == 0)
        return missing("wd_groups and lr_groups");
    r->groups.n = decay->n;
    r->groups.groups = sr_arena_alloc(r->c->arena, sizeof(SrParamGroup) * (size_t)decay->n);
    r->lr = sr_arena_alloc(r->c->arena, sizeof(double) * (size_t)decay->n);
    for (int g = 0; g < decay->n; g++) {
        SrParamGroup *group = &r->groups.groups[g];
        *group = (SrParamGroup){.name = "group", .weight_decay = decay->items[g]->f};
        group->params = sr_arena_alloc(r->c->arena, sizeof(int) * (size_t)(r->n + 1));
        r->lr[g] = lr->items[g]->f;
        for (int i = 0; i < r->n; i++)
            if (group_of->items[i]->i == g)
                group->params[group->n++] = i;
    }
    return sr_optim_new_grouped(r->params, &r->config, &r->groups, &r->optim);
}

static SrStatus run_steps(Run *r) {
    for (int step = 0;; step++) {
        char name[32];
        int64_t n = 0;
        snprintf(name, sizeof name, "g%d_0", step);
        if (!golden_tensor(r->c, name))
            return step > 0 ? SR_OK : missing("gradients");
        for (int i = 0; i < r->n; i++) {
            snprintf(name, sizeof name, "g%d_%d", step, i);
            const float *g = golden_floats(r->c, name, &n);
            if (!g || n != sr_shape_count(sr_params_at(r->params, i)->shape))
                return missing(name);
            memcpy(sr_params_at(r->params, i)->grad, g, sizeof(float) * (size_t)n);
        }
        sr_optim_step_groups(r->optim, r->lr, NULL);
        for (int i = 0; i < r->n; i++) {
            const SrParam *p = sr_params_at(r->params, i);
            snprintf(name, sizeof name, "p%d_%d", step, i);
            SR_TRY(golden_compare(r->c, name, p->value, sr_shape_count(p->shape), 1e-5));
        }
    }
}

static SrStatus run_case(Run *r) {
    SR_TRY(read_config(r));
    SR_TRY(sr_params_new(&r->params));
    SR_TRY(add_params(r));
    SR_TRY(make_groups(r));
    return run_steps(r);
}

static SrStatus run(SrGoldenCase *c) {
    Run r = {.c = c};
    SrStatus status = run_case(&r);
    sr_optim_free(r.optim);
    sr_params_free(r.params);
    return status;
}

const SrGolden sr_golden_optim = {.prefixes = {"optim_"}, .run = run};
