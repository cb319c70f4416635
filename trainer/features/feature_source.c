// Opens sources of features: builds the trunk, looks layers up, loads weights, folds norms,
// compiles the plan, and runs it.
#include "trainer/features/feature_source.h"

#include <string.h>

#include "graph/edit/fold_norm.h"
#include "graph/plan/plan_run.h"
#include "kernels/conv/conv_peak.h"
#include "trainer/model/trunk_weights.h"

enum { MAX_LAYERS = 256 };

static SrMode mode_of(const SrFeatureSource *s) {
    return s->options.mode ? s->options.mode : SR_MODE_EVAL;
}

// ---- graph and layers

static SrStatus open_trunk(const SrFeatureOptions *o, SrTrunkGraph *out) {
    if (o->edited) {
        *out = *o->edited;
        *o->edited = (SrTrunkGraph){.input = SR_NO_NODE};
        return SR_OK;
    }
    if (o->config_text)
        return sr_trunk_graph_parse(o->config_text, o->trunk, o->batch, o->height, o->width, out);
    return sr_trunk_graph_open(o->trunk, o->overrides, o->n_overrides, o->batch, o->height,
                               o->width, out);
}

// Checks the names of the other mode's list: a wrong name must not wait until that mode runs.
static SrStatus check_other(SrFeatureSource *s) {
    const SrFeatureOptions *o = &s->options;
    SrTaps taps;
    if (!o->other_layers)
        return SR_OK;
    SR_TRY(sr_taps_parse(o->other_layers, &s->arena, &taps));
    return sr_taps_find(s->whole, mode_of(s) == SR_MODE_TRAIN ? SR_MODE_EVAL : SR_MODE_TRAIN,
                        o->meaning, &taps);
}

// Gives up the plan and the part that it computes.
static void forget_plan(SrFeatureSource *s) {
    if (s->graph != s->whole)
        s->input = sr_graph_find(s->whole, sr_graph_at(s->graph, s->input)->name);
    sr_plan_free(s->plan);
    sr_extraction_free(&s->extraction);
    s->plan = NULL;
    s->graph = s->whole;
    s->passes = 0;
}

SrStatus sr_feature_source_choose(SrFeatureSource *s, const char *layers) {
    forget_plan(s);
    s->taps = (SrTaps){.n = 0};
    sr_arena_deinit(&s->arena);
    SR_TRY(sr_taps_parse(layers, &s->arena, &s->taps));
    SR_TRY(check_other(s));
    return sr_taps_find(s->whole, mode_of(s), s->options.meaning, &s->taps);
}

// Taps nodes under their own names.  Two of them may be one node.
static SrStatus tap_nodes(SrFeatureSource *s, const SrNodeId *nodes, int n) {
    s->taps = (SrTaps){n, sr_arena_alloc(&s->arena, ((size_t)n + 1) * sizeof *s->taps.v)};
    SR_TRY_MEMORY(s->taps.v, "a list of layers");
    for (int i = 0; i < n; i++) {
        const char *name = sr_graph_at(s->whole, nodes[i])->name;
        s->taps.v[i] = (SrTap){.query = name, .name = name, .node = nodes[i]};
    }
    return SR_OK;
}

static SrStatus build_heads(SrFeatureSource *s) {
    const SrFeatureOptions *o = &s->options;
    SrOutputGraph g;
    SR_TRY(o->kind == SR_FEATURES_HEADS
               ? sr_model_build_features(o->model, o->batch, o->height, o->width, &g)
               : sr_model_build_outputs(o->model, o->batch, 1, &o->height, &o->width, &g));
    s->whole = s->graph = g.graph;
    s->input = g.views[0];
    return tap_nodes(s, g.outputs, g.n_outputs);
}

static SrStatus tap_stages(SrFeatureSource *s) {
    SrNodeId nodes[SR_STAGES_MAX];
    sr_stages_find(s->whole, &s->stages);
    for (int i = 0; i < s->stages.n; i++)
        nodes[i] = s->stages.v[i].node;
    return tap_nodes(s, nodes, s->stages.n);
}

static SrStatus build(SrFeatureSource *s) {
    const SrFeatureOptions *o = &s->options;
    if (o->kind == SR_FEATURES_HEADS || o->kind == SR_FEATURES_OUTPUTS)
        return build_heads(s);
    if (o->model) {
        SR_TRY(sr_model_build_trunk(o->model, o->batch, o->height, o->width, &s->whole, &s->input));
    } else {
        SR_TRY(open_trunk(o, &s->trunk));
        s->whole = s->trunk.graph;
        s->input = s->trunk.input;
    }
    s->graph = s->whole;
    if (o->kind == SR_FEATURES_STAGES)
        return tap_stages(s);
    return o->layers ? sr_feature_source_choose(s, o->layers) : SR_OK;
}

static SrFeatureSource source_of(const SrFeatureOptions *options) {
    return (SrFeatureSource){.options = *options, .input = SR_NO_NODE};
}

SrStatus sr_feature_source_build(const SrFeatureOptions *options, SrFeatureSource *s) {
    *s = source_of(options);
    SrStatus status = build(s);
    if (status != SR_OK)
        sr_feature_source_close(s);
    return status;
}

SrStatus sr_feature_source_of_heads(SrModel *model, int batch, int h, int w, SrFeatureSource *out) {
    SrFeatureOptions o = {
        .model = model, .kind = SR_FEATURES_HEADS, .batch = batch, .height = h, .width = w};
    return sr_feature_source_build(&o, out);
}

void sr_feature_source_keep(SrFeatureSource *s, int i) { s->taps = (SrTaps){1, s->taps.v + i}; }

SrStatus sr_feature_source_check(SrModel *model, const char *layer, int batch, int h, int w) {
    SrFeatureSource s;
    SrFeatureOptions o = {.model = model,
                          .live = true,
                          .batch = batch,
                          .height = h,
                          .width = w,
                          .layers = layer,
                          .meaning = SR_NAMES_STAGES};
    SR_TRY(sr_feature_source_build(&o, &s));
    sr_feature_source_close(&s);
    return SR_OK;
}

void sr_feature_source_say_layers(const SrFeatureSource *s, SrText *out) {
    for (int i = 0; s->options.kind == SR_FEATURES_NAMED && i < s->taps.n; i++) {
        sr_text_add(out, "  ");
        sr_layer_name_text(s->whole, s->taps.v[i].query, &s->taps.v[i].found, out);
        sr_text_add(out, "\n");
    }
}

// ---- weights

// Cuts the graph down to what the layers need.
static SrStatus cut(SrFeatureSource *s) {
    bool train = mode_of(s) == SR_MODE_TRAIN;
    const char *input = sr_graph_at(s->whole, s->input)->name;
    SR_TRY(sr_graph_extract(s->whole, train ? &s->taps : NULL, train ? NULL : &s->taps,
                            &s->extraction));
    s->graph = s->extraction.graph;
    s->input = sr_graph_find(s->graph, input);
    return SR_OK;
}

static SrStatus load(SrFeatureSource *s) {
    const SrFeatureOptions *o = &s->options;
    SrParams *params = s->extraction.params;
    sr_params_set_trainable(params, "*", false); // so that gradients take no memory
    SR_TRY(sr_params_allocate(params));
    sr_params_init(params, o->seed);
    if (!o->weights)
        return SR_OK;
    SrTrunkWeights source = sr_trunk_graph_weights(&s->trunk, o->weights);
    source.lax = o->lax;
    return sr_trunk_weights_load(&source, s->trunk.params, params);
}

static SrStatus fold(SrFeatureSource *s) {
    SrExtraction folded;
    SR_TRY(sr_graph_fold_norm(&s->extraction, &folded, &s->n_folded));
    s->input = sr_graph_find(folded.graph, sr_graph_at(s->graph, s->input)->name);
    sr_extraction_free(&s->extraction);
    s->extraction = folded;
    s->graph = folded.graph;
    return SR_OK;
}

// Makes the part that the plan computes, with its own weights.
static SrStatus take_part(SrFeatureSource *s) {
    SR_TRY(cut(s));
    if (!s->options.model)
        SR_TRY(load(s));
    if (mode_of(s) == SR_MODE_EVAL && !s->options.keep_norms)
        SR_TRY(fold(s));
    s->taps = mode_of(s) == SR_MODE_TRAIN ? s->extraction.train : s->extraction.eval;
    return SR_OK;
}

// ---- maps of patches

// Every transformer has a map in front of its tokens; the last map counts.
static SrStatus find_grid(SrFeatureSource *s) {
    SrNodeId map = sr_graph_find(s->whole, "lastMAP");
    if (map == SR_NO_NODE)
        map = sr_graph_find(s->whole, "0");
    SrShape shape = {0};
    if (map != SR_NO_NODE)
        shape = sr_graph_at(s->whole, map)->shape;
    if (shape.rank != 4)
        SR_FAIL(SR_ERR_CONFIG, "--tokens map: %s has no map of patches", s->options.trunk);
    s->grid_h = shape.d[1];
    s->grid_w = shape.d[2];
    return SR_OK;
}

static bool is_tokens(const SrFeatureSource *s, int layer) {
    const SrNode *node = sr_graph_at(s->graph, s->taps.v[layer].node);
    return node->shape.rank == 3 && node->channels_last;
}

static bool has_tokens(const SrFeatureSource *s) {
    bool any = false;
    for (int i = 0; i < s->taps.n; i++)
        any = any || is_tokens(s, i);
    return any;
}

static bool becomes_map(const SrFeatureSource *s, int layer) {
    return s->grid_h > 0 && is_tokens(s, layer);
}

int sr_feature_source_prefix(const SrFeatureSource *s, int layer) {
    int patches = s->grid_h * s->grid_w;
    return becomes_map(s, layer) ? sr_feature_source_shape(s, layer).d[1] - patches : -1;
}

static SrStatus check_grid(const SrFeatureSource *s) {
    for (int i = 0; i < s->taps.n; i++)
        if (becomes_map(s, i) && sr_feature_source_prefix(s, i) < 0)
            SR_FAIL(SR_ERR_CONFIG,
                    "--tokens map: %s has %d tokens, fewer than the %d x %d patches of the map",
                    s->taps.v[i].name, sr_feature_source_shape(s, i).d[1], s->grid_h, s->grid_w);
    return SR_OK;
}

// ---- the plan

static SrStatus compile(const SrFeatureSource *s, bool bf16, bool dry, SrPlan **out) {
    const SrFeatureOptions *o = &s->options;
    SrNodeId outputs[MAX_LAYERS];
    const SrModel *model = o->model ? o->model : s->trunk.model;
    SrMachine machine = *sr_machine_default();
    if (model)
        machine = *sr_model_machine(model);
    else if (s->trunk.config)
        machine = sr_machine_of_config(s->trunk.config);
    if (s->taps.n > MAX_LAYERS)
        SR_FAIL(SR_ERR_CONFIG, "%d layers at once; %d are possible", s->taps.n, MAX_LAYERS);
    for (int i = 0; i < s->taps.n; i++)
        outputs[i] = s->taps.v[i].node;
    if (bf16 && !o->model)
        machine.pairs = sr_conv_pairs_are_faster();
    if (o->conv_designs)
        machine.conv_designs = o->conv_designs;
    SrPlanOptions plan = {.mode = mode_of(s),
                          .outputs = outputs,
                          .n_outputs = s->taps.n,
                          .machine = &machine,
                          .bf16 = bf16,
                          .no_allocate = dry};
    return sr_plan_compile(s->graph, &plan, out);
}

SrStatus sr_feature_source_of_outputs(const SrModel *model, const SrOutputGraph *graph,
                                      SrPlan **out) {
    SrPlanOptions plan = {.mode = SR_MODE_EVAL,
                          .outputs = graph->outputs,
                          .n_outputs = graph->n_outputs,
                          .machine = sr_model_machine(model),
                          .bf16 = sr_model_bf16(model)};
    return sr_plan_compile(graph->graph, &plan, out);
}

static bool takes_bf16(const SrFeatureSource *s) {
    if (s->options.model && sr_model_bf16(s->options.model))
        return true;
    return s->options.bf16 || (s->trunk.config && s->trunk.config->model.use_amp);
}

SrStatus sr_feature_source_compile(SrFeatureSource *s) {
    s->bf16 = takes_bf16(s);
    SR_TRY(s->options.model && s->options.live
               ? sr_params_allocate(sr_model_params(s->options.model))
               : take_part(s));
    SR_TRY(compile(s, s->bf16, false, &s->plan));
    if (s->options.token_maps && has_tokens(s))
        SR_TRY(find_grid(s));
    return check_grid(s);
}

SrStatus sr_feature_source_dry(const SrFeatureSource *s, SrPlan **out) {
    return compile(s, takes_bf16(s), true, out);
}

SrStatus sr_feature_source_open(const SrFeatureOptions *options, SrFeatureSource *s) {
    *s = source_of(options);
    SrStatus status = build(s);
    if (status == SR_OK)
        status = sr_feature_source_compile(s);
    if (status != SR_OK)
        sr_feature_source_close(s);
    return status;
}

void sr_feature_source_close(SrFeatureSource *s) {
    sr_plan_free(s->plan);
    sr_extraction_free(&s->extraction);
    sr_trunk_graph_close(&s->trunk);
    sr_arena_deinit(&s->arena);
    *s = (SrFeatureSource){.input = SR_NO_NODE};
}

// ---- values

SrTensor sr_feature_source_input(const SrFeatureSource *s) {
    return sr_plan_input(s->plan, s->input);
}

// A plan in evaluation exchanges nothing with other ranks, so that it cannot fail.
void sr_feature_source_forward(SrFeatureSource *s) { (void)sr_plan_forward(s->plan, s->passes++); }

void sr_feature_source_run(SrFeatureSource *s, const float *images, int n) {
    SrTensor in = sr_feature_source_input(s);
    size_t image = (size_t)(sr_shape_count(in.shape) / in.shape.d[0]);
    size_t own = (size_t)n * image, rest = (size_t)(in.shape.d[0] - n) * image;
    memcpy(in.data, images, own * sizeof(float));
    memset((float *)in.data + own, 0, rest * sizeof(float));
    sr_feature_source_forward(s);
}

SrTensor sr_feature_source_value(const SrFeatureSource *s, int layer) {
    return sr_plan_output(s->plan, s->taps.v[layer].node);
}

SrShape sr_feature_source_shape(const SrFeatureSource *s, int layer) {
    return sr_graph_at(s->graph, s->taps.v[layer].node)->shape;
}

int64_t sr_feature_source_floats(const SrFeatureSource *s, int layer) {
    SrShape shape = sr_feature_source_shape(s, layer);
    return sr_shape_count(shape) / SR_MAX(shape.rank ? shape.d[0] : 1, 1);
}

int sr_feature_source_shapes(const SrFeatureSource *s, int batch, SrShape *out) {
    for (int i = 0; i < s->taps.n; i++) {
        out[i] = sr_feature_source_shape(s, i);
        out[i].d[0] = batch;
    }
    return s->taps.n;
}
