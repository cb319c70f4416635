// Wires one forward pass of the model: views -> trunk passes -> features -> heads.
#include "trainer/model/model_forward.h"

#include <stdio.h>
#include <string.h>

#include "base/text/yaml_load.h"
#include "kernels/basic/concat.h"
#include "kernels/basic/interpolate.h"
#include "kernels/basic/slice.h"
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

// Concatenates rows; the node has the name that torch.fx gives to torch.cat.
static SrNodeId concat(SrBuilder *b, const SrNodeId *x, int n) {
    return n == 1 ? x[0] : sr_build_n(b, "concat", "cat", NULL, x, n);
}

// True for VISSL's FeatureExtractorModel, whose parameters alone are under "trunk.base_model.".
static bool is_extractor(const SrModel *model) {
    const SrModelConfig *c = &model->config->model;
    return c->eval_mode_on && (c->freeze_trunk_only || c->freeze_trunk_and_head) &&
           model->features.n > 0;
}

// Nodes after the last feature are not run, so that their statistics do not move either.
static void mark_optional(SrGraph *graph, SrNodeId first) {
    for (SrNodeId id = first; id < sr_graph_count(graph); id++)
        sr_graph_set_optional(graph, id, true);
}

static SrNodeId channel(SrBuilder *b, const char *leaf, SrNodeId image, int c) {
    return sr_build(b, "slice", leaf, &(SrSliceParams){.begin = c, .count = 1, .dim = 3}, image);
}

// Orders the channels by MODEL.INPUT_TYPE.  VISSL does so for ResNets, RegNets and AlexNets only.
static SrNodeId channels_of(SrBuilder *b, int type, SrNodeId image) {
    if (type == SR_INPUT_RGB)
        return image;
    bool aside = sr_builder_set_aside(b, true);
    SrNodeId turned[3];
    sr_builder_push(b, "input");
    turned[0] =
        channel(b, type == SR_INPUT_LAB ? "lightness" : "b", image, type == SR_INPUT_LAB ? 0 : 2);
    if (type == SR_INPUT_BGR) {
        turned[1] = channel(b, "g", image, 1);
        turned[2] = channel(b, "r", image, 0);
        turned[0] = sr_build_n(b, "concat", "bgr", &(SrConcatParams){.dim = 3}, turned, 3);
    }
    sr_builder_pop(b);
    sr_builder_set_aside(b, aside);
    return turned[0];
}

// Checks the channels: a trunk for lightness would otherwise see red.
static SrStatus check_channels(const SrModel *model, SrBuilder *b) {
    SrInputType type = model->config->model.input_type;
    if (type != SR_INPUT_RGB && model->config->channels != 3)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "MODEL.INPUT_TYPE orders red, green and blue, but DATA.CHANNELS is "
                               "%d; leave INPUT_TYPE at rgb",
                               model->config->channels);
    if ((model->trunk->flags & SR_TRUNK_TAKES_LAB) &&
        model->config->model.input_type != SR_INPUT_LAB)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "MODEL.TRUNK.NAME: %s needs the lightness of LAB images; set "
                               "MODEL.INPUT_TYPE to lab and use the transform ImgPil2LabTensor",
                               model->trunk->name);
    return SR_OK;
}

SrStatus sr__model_trunk_pass(SrModel *model, const SrTrunkPass *p, SrTrunkPassed *out) {
    SrBuilder *b = p->b;
    const SrFeatures *features = p->features;
    char parameters[2 * SR__PREFIX_BYTES];
    const SrModelConfig *config = &model->config->model;
    bool frozen = config->freeze_trunk_only || config->freeze_trunk_and_head;
    SrGraph *graph = sr_builder_graph(b);
    SrNodeId first = sr_graph_count(graph);
    snprintf(parameters, sizeof parameters, "%strunk.%s%s", p->prefix,
             is_extractor(model) ? "base_model." : "", sr_trunk_param_prefix(model->trunk));
    const char *old = sr_builder_set_param_prefix(b, parameters);
    int64_t eval_from = sr_builder_eval_from(b);
    sr_builder_set_frozen(b, !p->trainable || frozen);
    if (frozen && config->eval_mode_on && !model->learn_statistics)
        sr_builder_set_eval_from(b, 0); // running statistics are used and do not move
    sr_builder_set_pass(b, p->pass);
    // The builder keeps the error.
    check_channels(model, b);
    SrTrunkInput in = p->in;
    in.image = channels_of(b, config->input_type, in.image);
    sr_trunk_build(model->trunk, b, model->trunk_params, &in, &out->given);
    out->feature[0] = out->given.pooled;
    out->n = 1;
    SrStatus status = sr_builder_status(b);
    if (features->n > 0 && status == SR_OK) {
        mark_optional(graph, first);
        bool flatten = features == &model->features && config->flatten_feats;
        out->n = features->n;
        status = sr_features_build(b, features, p->prefix, p->pass, flatten, out->feature);
    }
    sr_builder_set_pass(b, 0);
    sr_builder_set_eval_from(b, eval_from);
    sr_builder_set_param_prefix(b, old);
    return status;
}

// True if two views can share a trunk pass.  VISSL compares widths alone, and fails if heights
// differ.
static bool same_group(const SrModel *model, SrShape a, SrShape b) {
    return !model->config->model.single_pass_every_crop && a.d[1] == b.d[1] && a.d[2] == b.d[2];
}

typedef struct { // state of one forward pass
    SrModel *model;
    SrBuilder *b;
    const SrModelRun *run;
    const char *prefix;
    SrModelPasses *passes;
    SrOutputs *out;
} Forward;

// Features of consecutive views whose rows stand in one node.
typedef struct {
    int first_view, n_views, n;
    SrNodeId feature[SR_MAX_FEATURES];
    SrTrunkOutput given;
} Span;

// Gets the masks of views that share a pass: all of them have masks, or none has.
static SrStatus masks_of(const Forward *f, const SrNodeId *views, int n, SrNodeId *out) {
    SrNodeId mask[SR_OP_MAX_IN];
    int found = 0;
    *out = SR_NO_NODE;
    for (int i = 0; i < n; i++) {
        int v = 0;
        while (v < f->model->n_view_nodes && f->model->view_node[v] != views[i])
            v++;
        mask[found] =
            v < f->model->n_view_nodes ? sr__model_extra(f->model, "mask", v) : SR_NO_NODE;
        found += mask[found] != SR_NO_NODE;
    }
    if (found > 0 && found < n)
        return sr_builder_fail(
            f->b, SR_ERR_CONFIG,
            "%d of %d views of equal size have a mask; expected masks for all of them or for none",
            found, n);
    if (found > 0)
        *out = concat(f->b, mask, found);
    return sr_builder_status(f->b);
}

// The indices of visible patches have rows for all views, so all views must share the pass.
static SrStatus check_visible(const Forward *f, int together, int n) {
    if (!f->run->visible || together == n)
        return SR_OK;
    return sr_builder_fail(
        f->b, SR_ERR_CONFIG,
        "%d views have different sizes, but a choice of visible patches needs equal sizes", n);
}

// Builds the images at a multiple of their size, where the run asks for it.
static SrNodeId enlarged(const Forward *f, SrNodeId images) {
    SrShape shape = sr_build_shape(f->b, images);
    SrInterpolateParams p = {.h = shape.d[1] * f->run->enlarge, .w = shape.d[2] * f->run->enlarge};
    if (f->run->enlarge <= 1)
        return images;
    bool aside = sr_builder_set_aside(f->b, true);
    images = sr_build(f->b, "interpolate", "enlarged", &p, images);
    sr_builder_set_aside(f->b, aside);
    return images;
}

// Builds the trunk passes.  Consecutive views of one size share a pass, and so batch statistics.
static SrStatus trunk_passes(const Forward *f, const SrFeatures *want, bool masked,
                             const SrNodeId *views, int n, Span spans[SR_OP_MAX_IN], int *n_spans) {
    *n_spans = 0;
    for (int first = 0, last; first < n; first = last) {
        SrShape shape = sr_build_shape(f->b, views[first]);
        for (last = first + 1;
             last < n && same_group(f->model, shape, sr_build_shape(f->b, views[last])); last++)
            ;
        if (*n_spans == SR_OP_MAX_IN || last - first > SR_OP_MAX_IN)
            return sr_builder_fail(
                f->b, SR_ERR_CONFIG,
                "%d crops: expected at most %d consecutive crops of equal size and %d changes of "
                "size; put crops of equal size next to each other",
                n, SR_OP_MAX_IN, SR_OP_MAX_IN - 1);
        SrTrunkPass pass = {.b = f->b,
                            .prefix = f->prefix,
                            .trainable = f->run->trainable,
                            .pass = f->passes->trunk++,
                            .features = want,
                            .in = {.image = enlarged(f, concat(f->b, views + first, last - first)),
                                   .mask = SR_NO_NODE}};
        SrTrunkPassed passed;
        SR_TRY(check_visible(f, last - first, n));
        pass.in.visible = f->run->visible;
        if (masked)
            SR_TRY(masks_of(f, views + first, last - first, &pass.in.mask));
        SR_TRY(sr__model_trunk_pass(f->model, &pass, &passed));
        Span *span = &spans[(*n_spans)++];
        *span = (Span){first, last - first, passed.n, .given = passed.given};
        memcpy(span->feature, passed.feature, sizeof span->feature);
    }
    return sr_builder_status(f->b);
}

// True if the shapes are equal except for the number of rows.
static bool same_form(SrShape a, SrShape b) {
    bool same = a.rank == b.rank;
    for (int i = 1; same && i < a.rank; i++)
        same = a.d[i] == b.d[i];
    return same;
}

// Joins vectors of all sizes into one node per feature.  Maps and tokens of different lengths stay
// separate.
static void join(const Forward *f, Span *spans, int *n_spans) {
    for (int s = 1; s < *n_spans; s++)
        for (int i = 0; i < spans[0].n; i++)
            if (!same_form(sr_build_shape(f->b, spans[0].feature[i]),
                           sr_build_shape(f->b, spans[s].feature[i])))
                return;
    for (int i = 0; i < spans[0].n; i++) {
        SrNodeId all[SR_OP_MAX_IN];
        for (int s = 0; s < *n_spans; s++)
            all[s] = spans[s].feature[i];
        spans[0].feature[i] = concat(f->b, all, *n_spans);
    }
    for (int s = 1; s < *n_spans; s++)
        spans[0].n_views += spans[s].n_views;
    *n_spans = 1;
}

// ---- heads

static SrStatus append(const Forward *f, const Span *span, const SrHeadOutputs *got) {
    if (f->out->n + got->n > SR_MAX_OUTPUTS)
        return sr_builder_fail(f->b, SR_ERR_CONFIG,
                               "MODEL.HEAD.PARAMS: the heads give more than %d outputs together",
                               SR_MAX_OUTPUTS);
    for (int i = 0; i < got->n; i++)
        f->out->v[f->out->n++] = (SrOutput){.name = got->name[i],
                                            .node = got->node[i],
                                            .first_view = span->first_view,
                                            .n_views = span->n_views};
    return SR_OK;
}

// Builds head i.  A head that runs again, for another input, has nodes of another pass and the same
// parameters.
static SrStatus one_head(const Forward *f, int i, SrNodeId x, const Span *span) {
    SrHeadOutputs got;
    sr_builder_set_pass(f->b, f->passes->heads[i % SR_HEAD_MAX_OUT]++);
    SrStatus status = sr_head_modules_build_one(f->b, &f->model->heads, i, x, &got);
    sr_builder_set_pass(f->b, 0);
    SR_TRY(status);
    return append(f, span, &got);
}

static SrStatus chain(const Forward *f, const Span *span) {
    SrHeadOutputs got;
    SrInts which = {f->run->n_heads, f->run->heads};
    sr_builder_set_pass(f->b, f->passes->heads[0]++);
    SrStatus status = sr_head_modules_build(f->b, &f->model->heads, which.v ? &which : NULL,
                                            span->feature[0], &got);
    sr_builder_set_pass(f->b, 0);
    SR_TRY(status);
    return append(f, span, &got);
}

// Builds all heads.  One feature goes through their chain, or with MODEL.HEAD.PARALLEL into each;
// several features have one head each.
static SrStatus all_heads(const Forward *f, const Span *span) {
    int n_heads = f->run->heads ? f->run->n_heads : f->model->heads.n;
    bool parallel = f->model->config->model.parallel_heads;
    if (span->n == 1 && (!parallel || n_heads < 2))
        return chain(f, span);
    if (span->n != 1 && span->n != n_heads)
        return sr_builder_fail(f->b, SR_ERR_CONFIG,
                               "MODEL.HEAD.PARAMS has %d heads, but "
                               "MODEL.FEATURE_EVAL_SETTINGS.LINEAR_EVAL_FEAT_POOL_OPS_MAP asks for "
                               "%d features; expected one head per feature",
                               n_heads, span->n);
    for (int i = 0; i < n_heads; i++)
        SR_TRY(one_head(f, f->run->heads ? f->run->heads[i] : i,
                        span->feature[span->n == 1 ? 0 : i], span));
    return SR_OK;
}

// ---- the whole

// Makes batch norms use running statistics where the run asks for it.
static void set_statistics(const Forward *f) {
    if (f->run->use_running)
        sr_builder_set_eval_from(f->b, f->run->running_from);
}

// Sends features through `head` (-1: all heads), frozen and in evaluation mode if the settings
// say so.
static SrStatus heads_over(const Forward *f, int head, const Span *span) {
    const SrModelConfig *config = &f->model->config->model;
    const char *old = sr_builder_set_param_prefix(f->b, f->prefix);
    int64_t eval_from = sr_builder_eval_from(f->b);
    sr_builder_set_frozen(f->b, !f->run->trainable || config->freeze_trunk_and_head);
    if (config->freeze_trunk_and_head && config->eval_mode_on)
        sr_builder_set_eval_from(f->b, 0);
    SrStatus status =
        head < 0 ? all_heads(f, span)
        : span->n == 1
            ? one_head(f, head, span->feature[0], span)
            : sr_builder_fail(
                  f->b, SR_ERR_CONFIG,
                  "MODEL.MULTI_INPUT_HEAD_MAPPING asks for %d features for one head; name only one",
                  span->n);
    sr_builder_set_eval_from(f->b, eval_from);
    sr_builder_set_param_prefix(f->b, old);
    return status;
}

static SrStatus features_only(const Forward *f, const Span *span) {
    SrHeadOutputs got = {.n = span->n};
    memcpy(got.node, span->feature, (size_t)span->n * sizeof *got.node);
    return append(f, span, &got);
}

static SrStatus trunk_output(const Forward *f, const char *name, const Span *span, SrNodeId node) {
    SrHeadOutputs got = {.n = 1, .node = {node}, .name = {name}};
    if (node == SR_NO_NODE)
        return SR_OK;
    SR_TRY(append(f, span, &got));
    f->out->v[f->out->n - 1].grid_h = span->given.grid_h;
    f->out->v[f->out->n - 1].grid_w = span->given.grid_w;
    return SR_OK;
}

static SrStatus trunk_blocks(const Forward *f, const Span *span) {
    static const char *const names[SR_TRUNK_MAX_BLOCKS] = {
        "block0", "block1", "block2",  "block3",  "block4",  "block5",  "block6",  "block7",
        "block8", "block9", "block10", "block11", "block12", "block13", "block14", "block15"};
    static const char *const normed[SR_TRUNK_MAX_BLOCKS] = {
        "normed0",  "normed1",  "normed2",  "normed3", "normed4",  "normed5",
        "normed6",  "normed7",  "normed8",  "normed9", "normed10", "normed11",
        "normed12", "normed13", "normed14", "normed15"};
    int given = span->given.n_blocks, n_normed = given > 0 ? f->run->n_normed : 0;
    if (SR_MAX(f->run->n_blocks, n_normed) > given)
        return sr_builder_fail(f->b, SR_ERR_CONFIG,
                               "the last %d blocks of the trunk are needed, but it gives %d",
                               SR_MAX(f->run->n_blocks, n_normed), given);
    for (int i = 0; i < f->run->n_blocks; i++)
        SR_TRY(trunk_output(f, names[i], span, span->given.block[i]));
    for (int i = 0; i < n_normed; i++)
        SR_TRY(trunk_output(f, normed[i], span, span->given.normed[i]));
    return SR_OK;
}

// Adds the trunk's own outputs.  It runs before features are joined: here each size has its own.
static SrStatus trunk_outputs(const Forward *f, const Span *spans, int n) {
    for (int s = 0; s < n && f->run->trunk_outputs; s++) {
        SR_TRY(trunk_output(f, "pooled", &spans[s], spans[s].given.pooled));
        SR_TRY(trunk_output(f, "tokens", &spans[s], spans[s].given.tokens));
        SR_TRY(trunk_output(f, "map", &spans[s], spans[s].given.map));
        SR_TRY(trunk_blocks(f, &spans[s]));
    }
    return SR_OK;
}

// Sends one input through the trunk and `head`.  -1: all heads, or none if only features are
// wanted.
static SrStatus one_input(const Forward *f, const SrFeatures *want, int head, bool masked,
                          const SrNodeId *views, int n_views) {
    Span spans[SR_OP_MAX_IN];
    int n = 0;
    SR_TRY(trunk_passes(f, want, masked, views, n_views, spans, &n));
    SR_TRY(trunk_outputs(f, spans, n));
    if (f->run->trunk_outputs && f->run->no_heads)
        return sr_builder_status(f->b);
    join(f, spans, &n);
    SR_TRY(sr_builder_status(f->b));
    bool bare = f->run->no_heads || f->model->config->model.extract_trunk_features_only;
    for (int s = 0; s < n; s++)
        SR_TRY(bare ? features_only(f, &spans[s]) : heads_over(f, head, &spans[s]));
    return SR_OK;
}

// Collects the views of one entry of the mapping, in order; returns their number.
static int views_of(const SrModel *model, int entry, const SrNodeId *views, int n, SrNodeId *out) {
    int found = 0;
    for (int v = 0; v < n; v++)
        for (int i = 0; i < model->n_view_nodes; i++)
            if (model->view_node[i] == views[v] && model->view_entry[i] == entry)
                out[found++] = views[v];
    return found;
}

// Runs the entries of the mapping in their order.  An input without views in this call gives no
// output: a teacher may see the images alone.
static SrStatus mapped(const Forward *f, const SrNodeId *views, int n_views) {
    const SrInputMapping *mapping = &f->model->mapping;
    for (int i = 0; i < mapping->n; i++) {
        SrNodeId of_entry[SR_MAX_VIEWS];
        int n = views_of(f->model, i, views, n_views, of_entry);
        if (n > 0)
            SR_TRY(one_input(f, &mapping->v[i].features, mapping->v[i].head,
                             f->run->masked && mapping->v[i].masked, of_entry, n));
    }
    return SR_OK;
}

static Forward begin(SrModel *model, SrBuilder *b, const SrModelRun *run, SrOutputs *out) {
    const char *prefix = run->prefix ? run->prefix : "";
    *out = (SrOutputs){.n = 0};
    return (Forward){model, b, run, prefix, passes_of(model, b, prefix), out};
}

SrStatus sr_model_forward(SrModel *model, SrBuilder *b, const SrModelRun *run,
                          const SrNodeId *views, int n_views, SrOutputs *out) {
    Forward f = begin(model, b, run, out);
    const char *old_nodes = sr_builder_set_node_prefix(b, f.prefix);
    int64_t eval_from = sr_builder_eval_from(b);
    set_statistics(&f);
    SrStatus status = model->mapping.n > 0
                          ? mapped(&f, views, n_views)
                          : one_input(&f, &model->features, -1, run->masked, views, n_views);
    if (status == SR_OK && run->reduce)
        status = run->reduce(b, model->config->loss_name, out);
    sr_builder_set_eval_from(b, eval_from);
    sr_builder_set_frozen(b, false);
    sr_builder_set_node_prefix(b, old_nodes);
    SR_TRY(status);
    return sr_builder_status(b);
}

SrStatus sr__model_heads(SrModel *model, SrBuilder *b, const SrNodeId *features, int n,
                         SrOutputs *out) {
    SrModelRun run = {.trainable = true};
    Forward f = begin(model, b, &run, out);
    Span span = {.n_views = 1, .n = n};
    memcpy(span.feature, features, (size_t)n * sizeof *features);
    SrStatus status = heads_over(&f, -1, &span);
    sr_builder_set_frozen(b, false);
    SR_TRY(status);
    return sr_builder_status(b);
}

// ---- a head that belongs to the loss

SrStatus sr__model_loss_head(SrModel *model, SrBuilder *b, const SrLossHead *head, SrNodeId x,
                             SrOutputs *out) {
    char scope[128];
    SrHeadModule module;
    SrHeadOutputs got;
    SrYaml *arguments = NULL;
    const char *text = head->options ? head->options : "{}";
    snprintf(scope, sizeof scope, "heads.%s", head->name);
    SR_TRY(sr_yaml_parse(&model->arena, text, strlen(text), head->name, &arguments));
    SR_TRY(sr_head_module_parse(head->kind, arguments, head->name, &model->arena, &module));
    SrModelPasses *passes = passes_of(model, b, scope);
    sr_builder_set_pass(b, passes->heads[0]++);
    SrStatus status = sr_head_module_build(b, &module, scope, &model->heads.settings, x, &got);
    sr_builder_set_pass(b, 0);
    SR_TRY(status);
    *out = (SrOutputs){.n = got.n};
    for (int i = 0; i < got.n; i++)
        out->v[i] = (SrOutput){.name = got.name[i], .node = got.node[i], .n_views = 1};
    return sr_builder_status(b);
}
