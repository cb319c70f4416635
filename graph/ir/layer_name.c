// Looks layers up in both vocabularies: torchvision's nodes and modules, and the stages of trunks.
#include "graph/ir/layer_name.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/ir/graph_internal.h"

// Gives the length of a name without its pass ("layer1.0.add@1": 12) and the start of the pass
// ("@1", or "").
static size_t split_pass(const char *name, const char **pass) {
    const char *at = strrchr(name, '@');
    *pass = at ? at : name + strlen(name);
    return (size_t)(*pass - name);
}

// Tells whether a name is above another: "layer1" is above "layer1.0.add", and "layer1@1" above
// "layer1.0.add@1", but never across passes.
static bool is_below(const char *name, const char *query) {
    const char *query_pass, *name_pass;
    size_t query_len = split_pass(query, &query_pass), name_len = split_pass(name, &name_pass);
    return name_len > query_len && strncmp(name, query, query_len) == 0 && name[query_len] == '.' &&
           strcmp(name_pass, query_pass) == 0;
}

// Finds a remark, which torchvision lists but nobody can tap.
static SrStatus is_remark(const SrGraph *graph, const SrRemark *r) {
    const char *next = r->before < graph->count ? graph->nodes[r->before].name : "the end";
    if (r->is_tensor)
        SR_FAIL(SR_ERR_CONFIG,
                "layer '%s' is a parameter, or a step inside the operation that ends in %s, and "
                "cannot be tapped; name '%s' instead",
                r->name, next, next);
    SR_FAIL(SR_ERR_CONFIG,
            "layer '%s' is a step of torchvision's Python code and not a tensor; name the next "
            "layer, '%s'",
            r->name, next);
}

// Returns the first name that continues the query ("layer1" for "l"); -1: none.
static int first_below(const char *query, const char *const *names, int n) {
    for (int i = 0; *query && i < n; i++)
        if (sr_text_starts(names[i], query))
            return i;
    return -1;
}

// Suggests the nearest valid queries: "did you mean 'layer3' or 'layer2'?".
static SrStatus unknown(const SrGraph *graph, const char *query) {
    int n = graph->count + graph->n_aliases + graph->n_blocks;
    int remark = sr_name_map_find(&graph->by_remark, query);
    if (remark >= 0)
        return is_remark(graph, &graph->remarks[remark]);
    // Stages come first: the first of equally near names wins, and configurations mostly use
    // stages.
    const char **names = sr_calloc((size_t)n + 1, sizeof *names);
    if (!names)
        SR_FAIL(SR_ERR_CONFIG, "there is no layer '%s'", query);
    for (int i = 0; i < graph->n_aliases; i++)
        names[i] = graph->aliases[i].name;
    n = graph->n_aliases;
    for (int i = 0; i < graph->count; i++)
        if (graph->nodes[i].op && sr_name_map_find(&graph->by_alias, graph->nodes[i].name) < 0)
            names[n++] = graph->nodes[i].name; // images and labels are no layers; a name once
    for (int i = 0; i < graph->n_blocks; i++)
        names[n++] = graph->blocks[i].path;
    SrText nearest = SR_TEXT_INIT;
    for (int k = 0; k < 3; k++) {
        int best = first_below(query, names, n);
        if (best < 0)
            best = sr_text_nearest(query, names, n);
        if (best < 0)
            break;
        sr_text_printf(&nearest, "%s'%s'", k ? " or " : "; did you mean ", names[best]);
        names[best] = names[--n]; // not again
    }
    SrStatus status =
        sr_fail(SR_ERR_CONFIG, "there is no layer '%s'%s%s `sslrun graph %s` lists them all", query,
                nearest.s ? nearest.s : "", nearest.len ? "?" : ";", sr_graph_title(graph));
    sr_text_deinit(&nearest);
    sr_free(names);
    return status;
}

// Searches from the end: the output of a module is its last node.
static SrNodeId last_below(const SrGraph *graph, const char *query, unsigned mode) {
    for (SrNodeId id = graph->count - 1; id >= 0; id--)
        if ((graph->nodes[id].mode & mode) && is_below(graph->nodes[id].name, query))
            return id;
    return SR_NO_NODE;
}

static bool is_path(const SrBlock *block, const char *path, size_t len) {
    return strncmp(block->path, path, len) == 0 && block->path[len] == '\0';
}

static int count_calls(const SrGraph *graph, const char *path, size_t len) {
    int n = 0;
    for (int i = 0; i < graph->n_blocks; i++)
        n += is_path(&graph->blocks[i], path, len);
    return n;
}

// Returns the end of the number in "path_1"; NULL: there is none.
static const char *call_number(const char *query, int *call) {
    const char *at = strrchr(query, '_');
    if (!at || !at[1] || strspn(at + 1, "0123456789") != strlen(at + 1) || strlen(at + 1) > 4)
        return NULL;
    *call = atoi(at + 1);
    return at;
}

// Handles a module that is called several times: `path` is the first call and path_1 the second,
// as in torch.fx.
static SrNodeId last_of_call(const SrGraph *graph, const char *query, unsigned mode) {
    size_t len = strlen(query);
    int call = 0;
    if (count_calls(graph, query, len) < 2) {
        const char *end = call_number(query, &call);
        len = end ? (size_t)(end - query) : 0;
        if (!end || count_calls(graph, query, len) <= call)
            return SR_NO_NODE;
    }
    for (int i = 0; i < graph->n_blocks; i++) {
        const SrBlock *block = &graph->blocks[i];
        if (!is_path(block, query, len) || call-- > 0)
            continue;
        for (SrNodeId id = block->end - 1; id >= block->first; id--)
            if (graph->nodes[id].mode & mode)
                return id;
    }
    return SR_NO_NODE;
}

static SrNodeId module_end(const SrGraph *graph, const char *name, unsigned mode) {
    SrNodeId id = last_of_call(graph, name, mode);
    if (id == SR_NO_NODE)
        id = last_below(graph, name, mode);
    return id == SR_NO_NODE ? last_below(graph, name, SR_MODE_BOTH) : id;
}

SrStatus sr_layer_find(const SrGraph *graph, const char *name, unsigned mode, SrLayerNames first,
                       SrLayerName *out) {
    SrNodeId node = sr__graph_named(graph, name), stage = sr__graph_alias(graph, name);
    bool is_stage = stage >= 0 && (node < 0 || first == SR_NAMES_STAGES);
    *out = (SrLayerName){.node = is_stage ? stage : node,
                         .names = is_stage ? SR_NAMES_STAGES : SR_NAMES_NODES,
                         .other = SR_NO_NODE};
    if (node >= 0 && stage >= 0 && node != stage)
        out->other = is_stage ? node : stage;
    if (out->node < 0)
        out->node = module_end(graph, name, mode);
    return out->node < 0 ? unknown(graph, name) : SR_OK;
}

SrStatus sr_layer_node(const SrGraph *graph, const char *name, SrLayerNames first, SrNodeId *out) {
    SrLayerName found;
    SrStatus status = sr_layer_find(graph, name, SR_MODE_BOTH, first, &found);
    *out = found.node;
    return status;
}

void sr_layer_name_text(const SrGraph *graph, const char *name, const SrLayerName *layer,
                        SrText *out) {
    static const char *const words[] = {"torchvision's", "VISSL's stage"};
    const char *node = sr_graph_at(graph, layer->node)->name;
    sr_text_printf(out, "%s: %s", name, words[layer->names]);
    if (layer->names == SR_NAMES_NODES)
        sr_text_add(out, strcmp(name, node) == 0 ? " node" : " module");
    if (strcmp(name, node) != 0)
        sr_text_printf(out, ", node %s", node);
    if (layer->other != SR_NO_NODE)
        sr_text_printf(out, " (%s of that name is %s)",
                       layer->names == SR_NAMES_STAGES ? "torchvision's node" : words[1],
                       sr_graph_at(graph, layer->other)->name);
}
