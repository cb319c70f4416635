// Runs the golden case of ConViT's gated positional self-attention (GPSA) alone: its initial
// values, and the output of the module.
#include <stdio.h>
#include <string.h>

#include "graph/plan/plan.h"
#include "graph/plan/plan_run.h"
#include "tests/golden/table.h"
#include "trunks/vit/gpsa.h"

typedef struct {
    SrGoldenCase *c;
    char prefix[16]; // such as "gpsa0."
    SrGpsa gpsa;
    SrParams *params;
    SrGraph *graph;
    SrNodeId x, y;
} GpsaRun;

static double value_of(const GpsaRun *r, const char *key) {
    char path[64];
    snprintf(path, sizeof path, "%s%s", r->prefix, key);
    const SrYaml *v = sr_yaml_find_path(r->c->values, path);
    return v && v->type == SR_YAML_INT ? (double)v->i : v ? v->f : 0;
}

static const char *tensor_name(const GpsaRun *r, char name[64], const char *what) {
    snprintf(name, 64, "%s%s", r->prefix, what);
    return name;
}

// Compares what the local initialisation sets, before the values of the case are loaded.
static SrStatus compare_initial(GpsaRun *r) {
    static const char *const names[] = {"alpha", "v.weight", "pos_proj.weight", "pos_proj.bias",
                                        "proj.bias"};
    char name[64];
    sr_params_init(r->params, 0);
    for (int i = 0; i < SR_COUNT(names); i++) {
        int at = sr_params_find(r->params, names[i]);
        if (at < 0)
            SR_FAIL(SR_ERR_RUN, "the module has no %s", names[i]);
        const SrParam *p = sr_params_at(r->params, at);
        // A bias of the position scores does not change a softmax, and VISSL's keeps its random
        // start.
        if (strcmp(names[i], "pos_proj.bias") != 0)
            SR_TRY(golden_compare(r->c, tensor_name(r, name, names[i]), p->value,
                                  sr_shape_count(p->shape), 1e-6));
    }
    return golden_load_table(r->c, r->params, r->prefix, "", false);
}

static SrStatus compare_output(GpsaRun *r) {
    char name[64];
    SrPlan *plan;
    SrPlanOptions options = {.mode = SR_MODE_EVAL, .outputs = &r->y, .n_outputs = 1};
    SR_TRY(sr_plan_compile(r->graph, &options, &plan));
    SrTensor x = sr_plan_input(plan, r->x);
    memcpy(x.data, golden_floats(r->c, tensor_name(r, name, "x"), NULL),
           (size_t)sr_shape_count(x.shape) * sizeof(float));
    sr_plan_forward(plan, 0);
    SrTensor y = sr_plan_output(plan, r->y);
    SrStatus status = golden_compare(r->c, tensor_name(r, name, "out"), y.data,
                                     sr_shape_count(y.shape), GOLDEN_TAP);
    sr_plan_free(plan);
    return status;
}

static SrStatus build(GpsaRun *r) {
    char name[64];
    SrBuilder *b;
    SrShape x = golden_tensor(r->c, tensor_name(r, name, "x"))->shape; // (N, L, D), L = side^2
    int side = 1;
    while ((side + 1) * (side + 1) <= x.d[1])
        side++;
    r->gpsa = (SrGpsa){.heads = (int)value_of(r, "num_heads"),
                       .height = side,
                       .width = side,
                       .locality_dim = (int)value_of(r, "locality_dim"),
                       .locality_strength = value_of(r, "locality_strength"),
                       .local_init = true};
    SR_TRY(sr_params_new(&r->params));
    SR_TRY(sr_graph_new(r->params, &r->graph));
    SR_TRY(sr_builder_new(r->graph, &b));
    r->x = sr_build_input(b, "x", x, SR_F32);
    r->y = sr_gpsa(b, &r->gpsa, r->x);
    SrStatus status = sr_builder_status(b);
    sr_builder_free(b);
    SR_TRY(status);
    return sr_params_allocate(r->params);
}

static SrStatus run_one(GpsaRun *r) {
    SR_TRY(build(r));
    SR_TRY(compare_initial(r));
    return compare_output(r);
}

static SrStatus run(SrGoldenCase *c) {
    SrStatus status = SR_OK;
    for (int i = 0; status == SR_OK; i++) {
        GpsaRun r = {.c = c};
        char name[64];
        snprintf(r.prefix, sizeof r.prefix, "gpsa%d.", i);
        if (!golden_tensor(c, tensor_name(&r, name, "x")))
            break;
        status = run_one(&r);
        sr_graph_free(r.graph);
        sr_params_free(r.params);
    }
    return status;
}

const SrGolden sr_golden_convit = {
    .prefixes = {"convit_"},
    .run = run,
};
