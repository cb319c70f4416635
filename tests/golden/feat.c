// Runs golden cases of features: from a state dict and images the outputs of a frozen trunk by
// LINEAR_EVAL_FEAT_POOL_OPS_MAP. The tensors feat<i>.<layer> are compared in the order of the
// map.
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "graph/plan/plan.h"
#include "graph/plan/plan_run.h"
#include "tests/golden/table.h"
#include "trunks/shared/feature_extractor.h"
#include "trunks/trunk.h"

#define SETTINGS "MODEL.FEATURE_EVAL_SETTINGS."
#define MAP SETTINGS "LINEAR_EVAL_FEAT_POOL_OPS_MAP"

typedef struct {
    SrGoldenCase *c;
    SrParams *params;
    SrGraph *graph;
    SrNodeId x, feature[SR_MAX_FEATURES];
    SrFeatures features;
} FeatRun;

static SrStatus build_trunk(FeatRun *r, SrBuilder *b) {
    const SrTensor *x = golden_tensor(r->c, "x");
    const SrYaml *name = sr_yaml_find_path(r->c->config, "MODEL.TRUNK.NAME"),
                 *flatten = sr_yaml_find_path(r->c->config, SETTINGS "SHOULD_FLATTEN_FEATS");
    const SrTrunk *trunk;
    SrTrunkOutput last;
    char prefix[256];
    if (!x)
        SR_FAIL(SR_ERR_RUN, "the case has no input x");
    SR_TRY(sr_trunk_find(name ? name->text : "resnet", &trunk));
    void *params = sr_arena_alloc(r->c->arena, trunk->params_bytes + 1);
    SR_TRY(sr_options_parse(trunk->options, sr_yaml_find_path(r->c->config, trunk->subtree),
                            trunk->subtree, r->c->arena, params));
    SR_TRY(sr_features_parse(sr_yaml_find_path(r->c->config, MAP), MAP, r->c->arena, &r->features));
    const int *d = x->shape.d; // (N, C, H, W)
    r->x = sr_build_input(b, "x", SR_SHAPE(d[0], d[2], d[3], d[1]), SR_F32);
    snprintf(prefix, sizeof prefix, "trunk.base_model.%s", sr_trunk_param_prefix(trunk));
    sr_builder_set_param_prefix(b, prefix);
    SR_TRY(sr_trunk_build(trunk, b, params, &(SrTrunkInput){.image = r->x, .mask = SR_NO_NODE},
                          &last));
    return sr_features_build(b, &r->features, "", 0, !flatten || flatten->b, r->feature);
}

static SrStatus build(FeatRun *r) {
    SrBuilder *b;
    SR_TRY(sr_params_new(&r->params));
    SR_TRY(sr_graph_new(r->params, &r->graph));
    SR_TRY(sr_builder_new(r->graph, &b));
    SrStatus status = build_trunk(r, b);
    sr_builder_free(b);
    SR_TRY(status);
    SR_TRY(sr_params_allocate(r->params));
    return golden_load_table(r->c, r->params, "param.trunk.", "trunk.", true);
}

static SrStatus compare(FeatRun *r, SrPlan *plan) {
    for (int i = 0; i < r->features.n; i++) {
        char name[128];
        SrTensor y = sr_plan_output(plan, r->feature[i]);
        snprintf(name, sizeof name, "feat%d.%s", i, r->features.v[i].layer);
        SR_TRY(golden_compare(r->c, name, golden_to_nchw(r->c, y.data, y.shape),
                              sr_shape_count(y.shape), GOLDEN_TAP));
    }
    return SR_OK;
}

static SrStatus evaluate(FeatRun *r) {
    SrPlan *plan;
    SrPlanOptions options = {
        .mode = SR_MODE_EVAL, .outputs = r->feature, .n_outputs = r->features.n};
    SR_TRY(sr_plan_compile(r->graph, &options, &plan));
    const SrTensor *x = golden_tensor(r->c, "x");
    SrTensor to = sr_plan_input(plan, r->x);
    memcpy(to.data, golden_to_nhwc(r->c, x->data, x->shape),
           (size_t)sr_shape_count(to.shape) * sizeof(float));
    sr_plan_forward(plan, 0);
    SrStatus status = compare(r, plan);
    sr_plan_free(plan);
    return status;
}

static SrStatus run(SrGoldenCase *c) {
    FeatRun r = {.c = c};
    SrStatus status;
    SR_TRY_GOTO(build(&r));
    SR_TRY_GOTO(evaluate(&r));
done:
    sr_graph_free(r.graph);
    sr_params_free(r.params);
    return status;
}

const SrGolden sr_golden_feat = {
    .prefixes = {"feat_"},
    .run = run,
};
