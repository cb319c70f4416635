// One forward of the model: views -> trunk passes -> features -> heads (spec 4.2 to 4.7).  Not the
// graphs it stands in (model.c).
#include <stdio.h>
#include <string.h>

#include "trainer/model/model_internal.h"

static SrModelPasses *passes_of(SrModel *model, SrBuilder *b, const char *prefix) {
    for (int i = 0; i < model->n_passes; i++)
        if (!strcmp(model->passes[i].prefix, prefix))
            return &model->passes[i];
    if (model->n_passes == SR__MAX_PREFIXES || strlen(prefix) >= SR__PREFIX_BYTES) {
        sr_builder_fail(b, SR_ERR_CONFIG, "no room for another copy of the model under '%s'",
                        prefix);
        return &model->passes[0];
    }
    SrModelPasses *p = &model->passes[model->n_passes++];
    *p = (SrModelPasses){.trunk = 0};
    memcpy(p->prefix, prefix, strlen(prefix) + 1);
    return p;
}

// What fx calls torch.cat: rows of all, one below the other.
static SrNodeId concat(SrBuilder *b, const SrNodeId *x, int n) {
    return n == 1 ? x[0] : sr_build_n(b, "concat", "cat", NULL, x, n);
}

// VISSL's FeatureExtractorModel: only its parameters stand under "trunk.base_model.".
static bool is_extractor(const SrModel *model) {
    const SrModelConfig *c = &model->config->model;
    return c->eval_mode_on && (c->freeze_trunk_only || c->freeze_trunk_and_head) &&
           model->features.n > 0;
}

// What stands behind the last feature is not run: its statistics must not move either.
static void mark_optional(SrGraph *graph, SrNodeId first) {
    for (SrNodeId id = first; id < sr_graph_count(graph); id++)
        sr_graph_set_optional(graph, id, true);
}

SrStatus sr__model_trunk_pass(SrModel *model, SrBuilder *b, const char *prefix, bool trainable,
                              int pass, const SrFeatures *features, SrNodeId x,
                              SrNodeId out[SR_MAX_FEATURES], int *n_out) {
    char parameters[2 * SR__PREFIX_BYTES];
    const SrModelConfig *config = &model->config->model;
    bool frozen = config->freeze_trunk_only || config->freeze_trunk_and_head;
    SrGraph *graph = sr_builder_graph(b);
    SrNodeId first = sr_graph_count(graph);
    snprintf(parameters, sizeof parameters, "%strunk.%s%s", prefix,
             is_extractor(model) ? "base_model." : "", model->trunk->param_prefix);
    const char *old = sr_builder_set_param_prefix(b, parameters);
    int64_t eval_from = sr_builder_eval_from(b);
    sr_builder_set_frozen(b, !trainable || frozen);
    if (frozen && config->eval_mode_on && !model->learn_statistics)
        sr_builder_set_eval_from(b, 0); // running statistics are used and stay
    sr_builder_set_pass(b, pass);
    SrTrunkOutput given; // errors stick to the builder
    sr_trunk_build(model->trunk, b, model->trunk_params, &(SrTrunkInput){x, SR_NO_NODE}, &given);
    out[0] = given.pooled;
    *n_out = 1;
    SrStatus status = sr_builder_status(b);
    if (features->n > 0 && status == SR_OK) {
        mark_optional(graph, first);
        bool flatten = features == &model->features && config->flatten_feats;
        *n_out = features->n;
        status = sr_features_build(b, features, prefix, pass, flatten, out);
    }
    sr_builder_set_pass(b, 0);
    sr_builder_set_eval_from(b, eval_from);
    sr_builder_set_param_prefix(b, old);
    return status;
}

// VISSL compares widths alone and would fail on heights that differ.
static bool same_group(const SrModel *model, SrShape a, SrShape b) {
    return !model->config->model.single_pass_every_crop && a.d[1] == b.d[1] && a.d[2] == b.d[2];
}

typedef struct { // one forward under way
    SrModel *model;
    SrBuilder *b;
    const char *prefix;
    bool trainable;
    SrModelPasses *passes;
} Forward;

// Consecutive crops of one size share a pass and so their batch statistics (spec 4.4).  out: each
// feature for all rows, crop-major
static SrStatus trunk(const Forward *f, const SrFeatures *want, const SrNodeId *views, int n,
                      SrNodeId out[SR_MAX_FEATURES], int *n_out) {
    SrNodeId groups[SR_MAX_FEATURES][SR_OP_MAX_IN], got[SR_MAX_FEATURES];
    int n_groups = 0;
    for (int first = 0, last; first < n; first = last) {
        SrShape shape = sr_build_shape(f->b, views[first]);
        for (last = first + 1;
             last < n && same_group(f->model, shape, sr_build_shape(f->b, views[last])); last++)
            ;
        if (n_groups == SR_OP_MAX_IN || last - first > SR_OP_MAX_IN)
            return sr_builder_fail(f->b, SR_ERR_CONFIG,
                                   "%d crops: at most %d of one size in a row and %d changes of "
                                   "size are possible; put crops of one size beside each other",
                                   n, SR_OP_MAX_IN, SR_OP_MAX_IN - 1);
        SrNodeId x = concat(f->b, views + first, last - first);
        SR_TRY(sr__model_trunk_pass(f->model, f->b, f->prefix, f->trainable, f->passes->trunk++,
                                    want, x, got, n_out));
        for (int i = 0; i < *n_out; i++)
            groups[i][n_groups] = got[i];
        n_groups++;
    }
    for (int i = 0; i < *n_out; i++)
        out[i] = concat(f->b, groups[i], n_groups);
    return sr_builder_status(f->b);
}

// ---- heads

typedef struct {
    SrNodeId v[SR_HEAD_MAX_OUT];
    int n;
} Outputs;

static SrStatus append(SrBuilder *b, Outputs *out, const SrNodeId *nodes, int n) {
    if (out->n + n > SR_HEAD_MAX_OUT)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "MODEL.HEAD.PARAMS: the heads give more than %d outputs together",
                               SR_HEAD_MAX_OUT);
    memcpy(out->v + out->n, nodes, (size_t)n * sizeof *nodes);
    out->n += n;
    return SR_OK;
}

// Head `i`; a head that runs again (another input) has nodes of another pass and the same
// parameters.
static SrStatus one_head(const Forward *f, int i, SrNodeId x, Outputs *out) {
    SrNodeId got[SR_HEAD_MAX_OUT];
    int n = 0;
    sr_builder_set_pass(f->b, f->passes->heads[i % SR_HEAD_MAX_OUT]++);
    SrStatus status = sr_head_modules_build_one(f->b, &f->model->heads, i, x, got, &n);
    sr_builder_set_pass(f->b, 0);
    SR_TRY(status);
    return append(f->b, out, got, n);
}

static SrStatus chain(const Forward *f, SrNodeId x, Outputs *out) {
    SrNodeId got[SR_HEAD_MAX_OUT];
    int n = 0;
    sr_builder_set_pass(f->b, f->passes->heads[0]++);
    SrStatus status = sr_head_modules_build(f->b, &f->model->heads, x, got, &n);
    sr_builder_set_pass(f->b, 0);
    SR_TRY(status);
    return append(f->b, out, got, n);
}

// Spec 4.6, and side by side on one feature where MODEL.HEAD.PARALLEL asks for it.
static SrStatus all_heads(const Forward *f, const SrNodeId *features, int n, Outputs *out) {
    int n_heads = f->model->heads.n;
    bool parallel = f->model->config->model.parallel_heads;
    if (n == 1 && (!parallel || n_heads < 2))
        return chain(f, features[0], out);
    if (n != 1 && n != n_heads)
        return sr_builder_fail(
            f->b, SR_ERR_CONFIG,
            "MODEL.HEAD.PARAMS has %d heads, but "
            "MODEL.FEATURE_EVAL_SETTINGS.LINEAR_EVAL_FEAT_POOL_OPS_MAP asks for %d features; "
            "there must be one head a feature",
            n_heads, n);
    for (int i = 0; i < n_heads; i++)
        SR_TRY(one_head(f, i, features[n == 1 ? 0 : i], out));
    return SR_OK;
}

// ---- the whole

// Features through `head` (-1: all of them), frozen and in evaluation where the settings say so.
static SrStatus heads_over(const Forward *f, int head, const SrNodeId *features, int n,
                           Outputs *out) {
    const SrModelConfig *config = &f->model->config->model;
    const char *old = sr_builder_set_param_prefix(f->b, f->prefix);
    int64_t eval_from = sr_builder_eval_from(f->b);
    sr_builder_set_frozen(f->b, !f->trainable || config->freeze_trunk_and_head);
    if (config->freeze_trunk_and_head && config->eval_mode_on)
        sr_builder_set_eval_from(f->b, 0);
    SrStatus status = head < 0 ? all_heads(f, features, n, out)
                      : n == 1 ? one_head(f, head, features[0], out)
                               : sr_builder_fail(f->b, SR_ERR_CONFIG,
                                                 "MODEL.MULTI_INPUT_HEAD_MAPPING asks for %d "
                                                 "features for one head; name one",
                                                 n);
    sr_builder_set_eval_from(f->b, eval_from);
    sr_builder_set_param_prefix(f->b, old);
    return status;
}

// One input through the trunk and `head` (-1: all of them; none where only features are wanted).
static SrStatus one_input(const Forward *f, const SrFeatures *want, int head, const SrNodeId *views,
                          int n_views, Outputs *out) {
    SrNodeId features[SR_MAX_FEATURES];
    int n = 0;
    SR_TRY(trunk(f, want, views, n_views, features, &n));
    if (f->model->config->model.extract_trunk_features_only)
        return append(f->b, out, features, n);
    return heads_over(f, head, features, n, out);
}

// The views of one entry of the mapping, in their order.
static int views_of(const SrModel *model, int entry, const SrNodeId *views, int n, SrNodeId *out) {
    int found = 0;
    for (int v = 0; v < n; v++)
        for (int i = 0; i < model->n_view_nodes; i++)
            if (model->view_node[i] == views[v] && model->view_entry[i] == entry)
                out[found++] = views[v];
    return found;
}

// Spec 4.3: outputs in the mapping's order; an input without views in this call gives none (a
// teacher may see the images alone).
static SrStatus mapped(const Forward *f, const SrNodeId *views, int n_views, Outputs *out) {
    const SrInputMapping *mapping = &f->model->mapping;
    for (int i = 0; i < mapping->n; i++) {
        SrNodeId of_entry[SR_MAX_VIEWS];
        int n = views_of(f->model, i, views, n_views, of_entry);
        if (n > 0)
            SR_TRY(one_input(f, &mapping->v[i].features, mapping->v[i].head, of_entry, n, out));
    }
    return SR_OK;
}

SrStatus sr_model_forward(SrModel *model, SrBuilder *b, const char *param_prefix, bool trainable,
                          const SrNodeId *views, int n_views, SrNodeId *outputs, int *n_outputs) {
    Forward f = {model, b, param_prefix, trainable, passes_of(model, b, param_prefix)};
    Outputs out = {.n = 0};
    const char *old_nodes = sr_builder_set_node_prefix(b, param_prefix);
    SrStatus status = model->mapping.n > 0
                          ? mapped(&f, views, n_views, &out)
                          : one_input(&f, &model->features, -1, views, n_views, &out);
    sr_builder_set_frozen(b, false);
    sr_builder_set_node_prefix(b, old_nodes);
    SR_TRY(status);
    memcpy(outputs, out.v, sizeof out.v);
    *n_outputs = out.n;
    return sr_builder_status(b);
}

SrStatus sr__model_heads(SrModel *model, SrBuilder *b, const SrNodeId *features, int n,
                         SrNodeId *outputs, int *n_outputs) {
    Forward f = {model, b, "", true, passes_of(model, b, "")};
    Outputs out = {.n = 0};
    SrStatus status = heads_over(&f, -1, features, n, &out);
    sr_builder_set_frozen(b, false);
    SR_TRY(status);
    memcpy(outputs, out.v, sizeof out.v);
    *n_outputs = out.n;
    return sr_builder_status(b);
}
