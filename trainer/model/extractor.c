// Opens an extractor: builds the trunk, finds the taps, loads weights, folds norms and compiles.
// Copies outputs in torch's layout.
#include "trainer/model/extractor.h"

#include <string.h>

#include "base/compiler.h"
#include "kernels/conv/conv.h"
#include "trainer/model/trunk_weights.h"

// Checks the names of the other mode's list: a wrong name must not wait until that mode runs.
static SrStatus check_other(const SrExtractorOptions *o, const SrGraph *graph, SrArena *arena) {
    SrTaps taps;
    if (!o->other_nodes)
        return SR_OK;
    SR_TRY(sr_taps_parse(o->other_nodes, arena, &taps));
    return sr_taps_find(graph, o->mode == SR_MODE_TRAIN ? SR_MODE_EVAL : SR_MODE_TRAIN,
                        SR_NAMES_NODES, &taps);
}

static SrStatus cut(const SrExtractorOptions *o, SrExtractor *e) {
    SrArena arena = SR_ARENA_INIT;
    SrTaps taps;
    bool train = o->mode == SR_MODE_TRAIN;
    SrStatus status = sr_taps_parse(o->nodes, &arena, &taps);
    if (status == SR_OK)
        status = check_other(o, e->trunk.graph, &arena);
    if (status == SR_OK)
        status = sr_graph_extract(e->trunk.graph, train ? &taps : NULL, train ? NULL : &taps,
                                  &e->extraction);
    sr_arena_deinit(&arena);
    if (status == SR_OK)
        e->taps = train ? e->extraction.train : e->extraction.eval;
    return status;
}

static const SrNode *tapped(const SrExtractor *e, int tap) {
    return sr_graph_at(e->extraction.graph, e->taps.v[tap].node);
}

// Finds the grid of patches.  Every transformer has a map in front of its tokens; the last map
// counts.
static SrStatus find_grid(const SrExtractorOptions *o, SrExtractor *e) {
    SrNodeId map = sr_graph_find(e->trunk.graph, "lastMAP");
    if (map == SR_NO_NODE)
        map = sr_graph_find(e->trunk.graph, "0");
    SrShape s = {0};
    if (map != SR_NO_NODE)
        s = sr_graph_at(e->trunk.graph, map)->shape;
    if (s.rank != 4)
        SR_FAIL(SR_ERR_CONFIG, "--tokens map: %s has no map of patches", o->trunk);
    e->grid_h = s.d[1];
    e->grid_w = s.d[2];
    return SR_OK;
}

static bool is_tokens(const SrNode *node) { return node->shape.rank == 3 && node->channels_last; }

// Returns the number of tokens in front of the patches: class token, registers.
static int prefix_of(const SrExtractor *e, const SrNode *node) {
    return node->shape.d[1] - e->grid_h * e->grid_w;
}

static SrStatus check_grid(const SrExtractor *e) {
    for (int i = 0; i < e->taps.n; i++)
        if (is_tokens(tapped(e, i)) && prefix_of(e, tapped(e, i)) < 0)
            SR_FAIL(SR_ERR_CONFIG,
                    "--tokens map: %s has %d tokens, fewer than the %d x %d patches of the map",
                    e->taps.v[i].name, tapped(e, i)->shape.d[1], e->grid_h, e->grid_w);
    return SR_OK;
}

static SrStatus load(const SrExtractorOptions *o, SrExtractor *e) {
    SrParams *params = e->extraction.params;
    sr_params_set_trainable(params, "*", false); // so that gradients take no memory
    SR_TRY(sr_params_allocate(params));
    sr_params_init(params, o->seed);
    if (!o->weights)
        return SR_OK;
    SrTrunkWeights source = {.path = o->weights,
                             .lax = o->lax,
                             .classifier = e->trunk.preset ? e->trunk.preset->classifier : "fc"};
    return sr_trunk_weights_load(&source, e->trunk.params, params);
}

static SrStatus fold(SrExtractor *e) {
    SrExtraction folded;
    SR_TRY(sr_graph_fold_norm(&e->extraction, &folded, &e->n_folded));
    sr_extraction_free(&e->extraction);
    e->extraction = folded;
    e->taps = folded.eval;
    return SR_OK;
}

static SrStatus compile(const SrExtractorOptions *o, SrExtractor *e) {
    SrNodeId outputs[256];
    if (e->taps.n > SR_COUNT(outputs))
        SR_FAIL(SR_ERR_CONFIG, "%d layers at once; %d are possible", e->taps.n, SR_COUNT(outputs));
    for (int i = 0; i < e->taps.n; i++)
        outputs[i] = e->taps.v[i].node;
    e->bf16 = o->bf16 || (e->trunk.config && e->trunk.config->model.use_amp);
    SrMachine machine = *sr_machine_default();
    if (e->bf16)
        machine.pairs = sr_conv_pairs_are_faster();
    if (o->conv_designs)
        machine.conv_designs = o->conv_designs;
    SrPlanOptions plan = {.mode = o->mode,
                          .outputs = outputs,
                          .n_outputs = e->taps.n,
                          .machine = &machine,
                          .bf16 = e->bf16};
    SR_TRY(sr_plan_compile(e->extraction.graph, &plan, &e->plan));
    e->input = sr_graph_find(e->extraction.graph, "x");
    return SR_OK;
}

static SrStatus open_trunk(const SrExtractorOptions *o, SrTrunkGraph *out) {
    if (o->config_text)
        return sr_trunk_graph_parse(o->config_text, o->trunk, o->batch, o->height, o->width, out);
    return sr_trunk_graph_open(o->trunk, o->overrides, o->n_overrides, o->batch, o->height,
                               o->width, out);
}

SrStatus sr_extractor_open(const SrExtractorOptions *o, SrExtractor *e) {
    SrStatus status;
    *e = (SrExtractor){.input = SR_NO_NODE};
    SR_TRY_GOTO(open_trunk(o, &e->trunk));
    SR_TRY_GOTO(cut(o, e));
    SR_TRY_GOTO(load(o, e));
    if (o->mode == SR_MODE_EVAL && !o->keep_norms)
        SR_TRY_GOTO(fold(e));
    SR_TRY_GOTO(compile(o, e));
    if (o->token_maps) {
        SR_TRY_GOTO(find_grid(o, e));
        SR_TRY_GOTO(check_grid(e));
    }
done:
    if (status != SR_OK)
        sr_extractor_close(e);
    return status;
}

void sr_extractor_close(SrExtractor *e) {
    sr_plan_free(e->plan);
    sr_extraction_free(&e->extraction);
    sr_trunk_graph_close(&e->trunk);
    *e = (SrExtractor){.input = SR_NO_NODE};
}

SrTensor sr_extractor_input(const SrExtractor *e) { return sr_plan_input(e->plan, e->input); }

void sr_extractor_run(SrExtractor *e) { sr_plan_forward(e->plan, 0); }

SrTensor sr_extractor_output(const SrExtractor *e, int tap) {
    return sr_plan_output(e->plan, e->taps.v[tap].node);
}

// Transposes one image from (rows, columns) to (columns, rows).
static void transpose(const float *from, int64_t rows, int64_t columns, float *to) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            to[c * rows + r] = from[r * columns + c];
}

static void each_image(const float *from, SrShape s, float *to, bool to_nchw) {
    if (s.rank < 3) {
        memcpy(to, from, (size_t)sr_shape_count(s) * sizeof *to);
        return;
    }
    int64_t C = sr_shape_last(s), pixels = sr_shape_count(s) / s.d[0] / C;
    for (int n = 0; n < s.d[0]; n++, from += pixels * C, to += pixels * C)
        transpose(from, to_nchw ? pixels : C, to_nchw ? C : pixels, to);
}

void sr_layout_to_nhwc(const float *nchw, SrShape shape, float *nhwc) {
    each_image(nchw, shape, nhwc, false);
}

void sr_layout_to_nchw(const float *nhwc, SrShape shape, float *nchw) {
    each_image(nhwc, shape, nchw, true);
}

static bool becomes_map(const SrExtractor *e, int tap) {
    return e->grid_h > 0 && is_tokens(tapped(e, tap));
}

SrShape sr_extractor_shape(const SrExtractor *e, int tap, bool nhwc) {
    if (becomes_map(e, tap)) {
        SrShape s = tapped(e, tap)->shape;
        return nhwc ? SR_SHAPE(s.d[0], e->grid_h, e->grid_w, s.d[2])
                    : SR_SHAPE(s.d[0], s.d[2], e->grid_h, e->grid_w);
    }
    return nhwc ? tapped(e, tap)->shape : sr_node_torch_shape(tapped(e, tap));
}

// Copies the patches of `rows` images, without the tokens in front of them.
static void copy_map(const SrExtractor *e, int tap, int rows, bool nhwc, float *to) {
    SrTensor t = sr_extractor_output(e, tap);
    int64_t L = t.shape.d[1], D = t.shape.d[2], prefix = prefix_of(e, tapped(e, tap));
    int64_t map = (L - prefix) * D;
    for (int n = 0; n < rows; n++, to += map) {
        const float *from = (const float *)t.data + (n * L + prefix) * D;
        if (nhwc)
            memcpy(to, from, (size_t)map * sizeof *to);
        else
            transpose(from, L - prefix, D, to);
    }
}

void sr_extractor_copy(const SrExtractor *e, int tap, int rows, bool nhwc, float *to) {
    SrTensor t = sr_extractor_output(e, tap);
    if (becomes_map(e, tap)) {
        copy_map(e, tap, rows, nhwc, to);
        return;
    }
    if (t.shape.rank > 0 && t.shape.d[0] == sr_extractor_input(e).shape.d[0])
        t.shape.d[0] = rows;
    if (nhwc || tapped(e, tap)->channels_last)
        memcpy(to, t.data, (size_t)sr_shape_count(t.shape) * sizeof *to);
    else
        sr_layout_to_nchw(t.data, t.shape, to);
}
