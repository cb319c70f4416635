// Implements the edited graphs of sslrun.h.  A graph owns a trunk with values (SrTrunkGraph); each
// edit makes the next trunk over a table of its own, copies the values that stay, and then takes
// the place of the old one.
#include "library/model_graph.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/yaml.h"
#include "base/text/yaml_load.h"
#include "formats/weights/save.h"
#include "formats/weights/weights.h"
#include "graph/edit/extract.h"
#include "graph/edit/surgery.h"
#include "library/arguments.h"
#include "library/tensor_info.h"
#include "library/trunk_source.h"
#include "trainer/features/feature_source.h"
#include "trainer/model/export_onnx.h"
#include "trainer/run/run_folder.h"

struct SrModelGraph {
    SrTrunkGraph trunk;
};

const SrTrunkGraph *sr__model_graph_trunk(const SrModelGraph *g) { return &g->trunk; }

SrShape sr__model_graph_images(const SrModelGraph *g) {
    return sr_graph_at(g->trunk.graph, g->trunk.input)->shape;
}

// ---- opening ------------------------------------------------------------------------------------

// Draws all values with the seed of sr_feature_model_tap, then loads the file, if there is one.
static SrStatus fill(SrModelGraph *g, SrParams *whole, const char *weights) {
    char path[4096];
    SR_TRY(sr_params_allocate(g->trunk.params));
    sr_params_init(g->trunk.params, 0);
    if (!weights)
        return SR_OK;
    SR_TRY(sr_folder_weights(weights, path, sizeof path));
    SrTrunkWeights source = sr_trunk_graph_weights(&g->trunk, path);
    return sr_trunk_weights_load(&source, whole, g->trunk.params);
}

static SrStatus build(SrModelGraph *g, const SrTrunkSource *from, const char *weights, int batch) {
    SrTrunkGraph built;
    SR_TRY(from->config_text ? sr_trunk_graph_parse(from->config_text, from->trunk, batch,
                                                    from->height, from->width, &built)
                             : sr_trunk_graph_open(from->trunk, NULL, 0, batch, from->height,
                                                   from->width, &built));
    SrStatus status = sr_trunk_graph_copy(&built, &g->trunk);
    if (status == SR_OK)
        status = fill(g, built.params, weights || !from->config_text ? weights : from->trunk);
    sr_trunk_graph_close(&built);
    return status;
}

int sr_model_graph_open(const char *trunk, const char *weights, int batch, int height, int width,
                        SrModelGraph **out) {
    SrTrunkSource from;
    SR_NEED(out, "out");
    *out = NULL;
    SR_NEED(trunk, "trunk");
    SrModelGraph *g = sr_calloc(1, sizeof *g);
    if (!g)
        return (int)sr_out_of_memory("%s", trunk);
    SrStatus status = sr__trunk_source_open(trunk, height, width, &from);
    if (status == SR_OK)
        status = build(g, &from, weights, batch);
    sr__trunk_source_close(&from);
    if (status == SR_OK)
        *out = g;
    else
        sr_model_graph_close(g);
    return (int)status;
}

void sr_model_graph_close(SrModelGraph *g) {
    if (!g)
        return;
    sr_trunk_graph_close(&g->trunk);
    sr_free(g);
}

// ---- looking ------------------------------------------------------------------------------------

int sr_model_graph_node(const SrModelGraph *g, int i, SrGraphNode *out) {
    if (!g || i < 0 || i >= sr_graph_count(g->trunk.graph))
        return 0;
    if (!out)
        return 1;
    const SrNode *node = sr_graph_at(g->trunk.graph, i);
    SrShape s = sr_node_torch_shape(node);
    *out = (SrGraphNode){.name = node->name,
                         .op = node->op ? node->op->name : "input",
                         .rank = s.rank,
                         .n_inputs = node->n_in,
                         .inputs = node->in,
                         .tags = node->tags};
    memcpy(out->shape, s.d, (size_t)s.rank * sizeof *s.d);
    return 1;
}

int sr_model_graph_find(const SrModelGraph *g, const char *name) {
    SrNodeId id = SR_NO_NODE;
    if (!g || !name)
        sr_fail(SR_ERR_CONFIG, "sr_model_graph_find: graph or name is NULL");
    else
        sr_layer_node(g->trunk.graph, name, SR_NAMES_NODES, &id);
    return id;
}

// ---- editing ------------------------------------------------------------------------------------

// Replaces the trunk by an edited graph and its table without values, which it takes over, also
// when it fails.
static SrStatus take(SrModelGraph *g, SrGraph *graph, SrParams *params) {
    const char *input = sr_graph_at(g->trunk.graph, g->trunk.input)->name;
    sr_params_set_trainable(params, "*", false);
    SrStatus status = sr_params_copy_fitting(params, g->trunk.params);
    if (status != SR_OK) {
        sr_graph_free(graph);
        sr_params_free(params);
        return status;
    }
    sr_params_init(params, 0);
    g->trunk.input = sr_graph_find(graph, input);
    sr_graph_free(g->trunk.graph);
    sr_params_free(g->trunk.params);
    g->trunk.graph = graph;
    g->trunk.params = params;
    return SR_OK;
}

// Looks the nodes up, and repeats those of both modes in `train`.
static SrStatus find_taps(const SrGraph *graph, const char *nodes, SrArena *arena, SrTaps *eval,
                          SrTaps *train) {
    SR_TRY(sr_taps_parse(nodes, arena, eval));
    SR_TRY(sr_taps_find(graph, SR_MODE_EVAL, SR_NAMES_NODES, eval));
    *train = (SrTaps){0, sr_arena_alloc(arena, (size_t)eval->n * sizeof *train->v)};
    SR_TRY_MEMORY(train->v, "a list of layers");
    for (int i = 0; i < eval->n; i++)
        if (sr_graph_at(graph, eval->v[i].node)->mode & SR_MODE_TRAIN)
            train->v[train->n++] = eval->v[i];
    return SR_OK;
}

int sr_model_graph_cut(SrModelGraph *g, const char *nodes) {
    SR_NEED(g, "graph");
    SR_NEED(nodes, "nodes");
    SrArena arena = SR_ARENA_INIT;
    SrTaps eval, train;
    SrExtraction part = {.params = NULL};
    SrStatus status;
    SR_TRY_GOTO(find_taps(g->trunk.graph, nodes, &arena, &eval, &train));
    SR_TRY_GOTO(sr_graph_extract(g->trunk.graph, &train, &eval, &part));
    status = take(g, part.graph, part.params);
    part.graph = NULL;
    part.params = NULL;
done:
    sr_extraction_free(&part);
    sr_arena_deinit(&arena);
    return (int)status;
}

// Returns what table entries of this trunk begin with, before torchvision's names.
static const char *prefix_of(const SrTrunkGraph *trunk) {
    static const char *const known[] = {"trunk._feature_blocks.", "trunk."};
    for (int k = 0; k < SR_COUNT(known); k++)
        for (int i = 0; i < sr_params_count(trunk->params); i++)
            if (sr_text_starts(sr_params_at(trunk->params, i)->name, known[k]))
                return known[k];
    return NULL;
}

// Reads the options of a graft from flow YAML.  *params belongs to the arena; NULL: the defaults.
static SrStatus parse_options(const char *op, const char *options, SrArena *arena,
                              const void **params) {
    const SrOp *kind;
    SrYaml *map;
    *params = NULL;
    SR_TRY(sr_op_find(op, &kind));
    if (!options)
        return SR_OK;
    SR_TRY(sr_yaml_parse(arena, options, strlen(options), "options", &map));
    if (!kind->options) {
        if (map && map->n > 0)
            SR_FAIL(SR_ERR_CONFIG, "%s has no options, but '%s' is given", op, options);
        return SR_OK;
    }
    void *filled = sr_arena_alloc(arena, kind->params_bytes);
    SR_TRY_MEMORY(filled, "the options of %s", op);
    memset(filled, 0, kind->params_bytes);
    *params = filled;
    return sr_options_parse(kind->options, map, op, arena, filled);
}

typedef SrStatus (*Surgery)(const SrGraph *, SrNodeId, const SrGraft *, SrGraph **);

// Puts an op to a node by sr_graph_append or sr_graph_replace.
static SrStatus graft(SrModelGraph *g, const char *node, Surgery surgery, SrGraft graft,
                      const char *options) {
    SrArena arena = SR_ARENA_INIT;
    SrGraph *graph = NULL;
    SrNodeId id;
    SrStatus status;
    graft.prefix = prefix_of(&g->trunk);
    SR_TRY_GOTO(sr_layer_node(g->trunk.graph, node, SR_NAMES_NODES, &id));
    SR_TRY_GOTO(parse_options(graft.op, options, &arena, &graft.params));
    SR_TRY_GOTO(sr_params_new(&graft.table));
    status = surgery(g->trunk.graph, id, &graft, &graph);
    if (status == SR_OK)
        status = take(g, graph, graft.table);
    else
        sr_params_free(graft.table);
done:
    sr_arena_deinit(&arena);
    return status;
}

int sr_model_graph_insert(SrModelGraph *g, const char *after, const char *name, const char *op,
                          const char *options) {
    SR_NEED(g, "graph");
    SR_NEED(after, "after");
    SR_NEED(name, "name");
    SR_NEED(op, "op");
    return (int)graft(g, after, sr_graph_append, (SrGraft){.op = op, .leaf = name}, options);
}

int sr_model_graph_replace(SrModelGraph *g, const char *node, const char *op, const char *options) {
    SR_NEED(g, "graph");
    SR_NEED(node, "node");
    SR_NEED(op, "op");
    return (int)graft(g, node, sr_graph_replace, (SrGraft){.op = op}, options);
}

static SrStatus remove_node(SrModelGraph *g, const char *node) {
    SrParams *params;
    SrGraph *erased, *graph = NULL;
    SrNodeId id;
    SR_TRY(sr_layer_node(g->trunk.graph, node, SR_NAMES_NODES, &id));
    SR_TRY(sr_graph_erase(g->trunk.graph, id, &erased));
    SrStatus status = sr_params_new(&params);
    if (status == SR_OK) {
        status = sr_graph_copy(erased, params, &graph);
        if (status != SR_OK)
            sr_params_free(params);
    }
    sr_graph_free(erased);
    return status == SR_OK ? take(g, graph, params) : status;
}

int sr_model_graph_remove(SrModelGraph *g, const char *node) {
    SR_NEED(g, "graph");
    SR_NEED(node, "node");
    return (int)remove_node(g, node);
}

int sr_model_graph_tag(SrModelGraph *g, const char *pattern, unsigned bits, int *n) {
    SR_NEED(g, "graph");
    SR_NEED(pattern, "pattern");
    int matches = sr_graph_tag(g->trunk.graph, pattern, bits);
    if (n)
        *n = matches;
    if (matches == 0)
        return (int)sr_fail(SR_ERR_CONFIG,
                            "no node matches '%s'; sr_model_graph_node lists the names", pattern);
    return 0;
}

// ---- weights ------------------------------------------------------------------------------------

int sr_model_graph_tensor(const SrModelGraph *g, int i, SrTensorInfo *out) {
    if (!g || i < 0 || i >= sr_params_count(g->trunk.params))
        return 0;
    const SrParam *p = sr_params_at(g->trunk.params, i);
    sr__tensor_info(p->name, p->shape, p->dtype, out);
    return 1;
}

static SrStatus find_tensor(const SrModelGraph *g, const char *name, int64_t n, SrTensor *out) {
    int i = sr_params_find(g->trunk.params, name);
    if (i < 0)
        SR_FAIL(SR_ERR_CONFIG, "the graph has no tensor '%s'; sr_model_graph_tensor lists them",
                name);
    const SrParam *p = sr_params_at(g->trunk.params, i);
    *out = (SrTensor){p->shape, p->dtype, p->value};
    return sr__tensor_check_count(name, p->shape, n);
}

int sr_model_graph_read(const SrModelGraph *g, const char *name, float *x, int64_t n) {
    SrTensor tensor;
    SR_NEED(g, "graph");
    SR_NEED(name, "name");
    SR_NEED(x, "x");
    SrStatus status = find_tensor(g, name, n, &tensor);
    if (status == SR_OK)
        sr_weights_floats(&tensor, x);
    return (int)status;
}

// Table entries are floats, or counters of 64 bits.
int sr_model_graph_set(SrModelGraph *g, const char *name, const float *x, int64_t n) {
    SrTensor tensor;
    SR_NEED(g, "graph");
    SR_NEED(name, "name");
    SR_NEED(x, "x");
    SrStatus status = find_tensor(g, name, n, &tensor);
    if (status != SR_OK)
        return (int)status;
    if (tensor.dtype == SR_F32)
        memcpy(tensor.data, x, (size_t)n * sizeof *x);
    for (int64_t i = 0; tensor.dtype == SR_I64 && i < n; i++)
        ((int64_t *)tensor.data)[i] = llrintf(x[i]);
    return 0;
}

// ---- files --------------------------------------------------------------------------------------

static SrStatus give_value(void *arg, int i, const void **data) {
    *data = sr_params_at(arg, i)->value;
    return SR_OK;
}

int sr_model_graph_save(const SrModelGraph *g, const char *path) {
    SR_NEED(g, "graph");
    SR_NEED(path, "path");
    int n = sr_params_count(g->trunk.params);
    SrSaveItem *items = sr_calloc((size_t)n + 1, sizeof *items);
    if (!items)
        return (int)sr_out_of_memory("%s", path);
    for (int i = 0; i < n; i++) {
        const SrParam *p = sr_params_at(g->trunk.params, i);
        items[i] = (SrSaveItem){
            .name = p->name, .kind = SR_SAVE_TENSOR, .shape = p->shape, .dtype = p->dtype};
    }
    SrStatus status = sr_save(path, &(SrSave){items, n, give_value, g->trunk.params});
    sr_free(items);
    return (int)status;
}

static SrStatus export(const SrModelGraph *g, const char *nodes, const char *path) {
    SrTrunkGraph trunk;
    SrFeatureSource source;
    SR_TRY(sr_trunk_graph_copy(&g->trunk, &trunk));
    SrFeatureOptions o = {.edited = &trunk,
                          .trunk = sr_graph_title(g->trunk.graph),
                          .layers = nodes,
                          .batch = sr__model_graph_images(g).d[0]};
    SR_TRY(sr_feature_source_open(&o, &source));
    SrStatus status = sr_export_onnx(&source.extraction, o.trunk, path);
    sr_feature_source_close(&source);
    return status;
}

int sr_model_graph_export(const SrModelGraph *g, const char *nodes, const char *path) {
    SR_NEED(g, "graph");
    SR_NEED(nodes, "nodes");
    SR_NEED(path, "path");
    return (int)export(g, nodes, path);
}
