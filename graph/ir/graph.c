// The graph: appends nodes with all checks, names them, and verifies the invariants.
//
// Nodes are checked when they are added, so that passes, plans and kernels need no checks: a kernel
// cannot fail.
#include "graph/ir/graph.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "graph/ir/graph_internal.h"

SrStatus sr_graph_new(SrParams *params, SrGraph **out) {
    *out = sr_calloc(1, sizeof **out);
    if (!*out)
        return sr_out_of_memory("a graph");
    (*out)->params = params;
    return SR_OK;
}

void sr_graph_free(SrGraph *graph) {
    if (!graph)
        return;
    sr_name_map_deinit(&graph->by_name);
    sr_name_map_deinit(&graph->by_alias);
    sr_arena_deinit(&graph->arena);
    sr_free(graph->nodes);
    sr_name_map_deinit(&graph->by_remark);
    sr_free(graph->remarks);
    sr_free(graph->aliases);
    sr_free(graph->blocks);
    for (int i = 0; i < graph->n_bodies; i++)
        sr_graph_free(graph->bodies[i]);
    sr_free(graph->bodies);
    sr_free(graph);
}

SrParams *sr_graph_params(const SrGraph *graph) { return graph->params; }

SrArena *sr_graph_arena(SrGraph *graph) { return &graph->arena; }

int sr_graph_count(const SrGraph *graph) { return graph->count; }

const SrNode *sr_graph_at(const SrGraph *graph, SrNodeId id) {
    SR_ASSERT(id >= 0 && id < graph->count);
    return &graph->nodes[id];
}

void sr_graph_set_optional(SrGraph *graph, SrNodeId id, bool optional) {
    graph->nodes[id].optional = optional;
}

void sr_graph_set_params(SrGraph *graph, SrNodeId id, const void *params) {
    const SrNode *node = &graph->nodes[id];
    memcpy((void *)(uintptr_t)node->params, params, node->op->params_bytes);
}

void sr_graph_set_tags(SrGraph *graph, SrNodeId id, unsigned tags) { graph->nodes[id].tags = tags; }

SrStatus sr_graph_set_title(SrGraph *graph, const char *title) {
    char *copy = sr_arena_strdup(&graph->arena, title);
    SR_TRY_MEMORY(copy, "the title %s", title);
    graph->title = copy;
    return SR_OK;
}

const char *sr_graph_title(const SrGraph *graph) {
    return graph->title ? graph->title : "TRUNK|CONFIG";
}

static SrStatus out_of_memory(const char *name) { return sr_out_of_memory("node %s", name); }

// Users, configurations and checkpoints refer to nodes by name, so a name must exist and be unique.
static SrStatus check_name(const SrGraph *graph, const char *name) {
    if (!name || !*name)
        SR_FAIL(SR_ERR_CONFIG, "node %d has no name", graph->count);
    if (sr__graph_has_name(graph, name))
        SR_FAIL(SR_ERR_CONFIG, "there are two nodes %s: names must be unique", name);
    return SR_OK;
}

// Checks arity, order and modes: a node cannot exist in a mode in which one of its inputs does not.
static SrStatus check_inputs(const SrGraph *graph, const SrNodeSpec *spec, unsigned mode) {
    if (spec->n_in < spec->op->min_in || spec->n_in > SR_MIN(spec->op->max_in, SR_OP_MAX_IN))
        SR_FAIL(SR_ERR_CONFIG, "%s: %s takes %d to %d inputs, not %d", spec->name, spec->op->name,
                spec->op->min_in, spec->op->max_in, spec->n_in);
    for (int i = 0; i < spec->n_in; i++) {
        if (spec->in[i] < 0 || spec->in[i] >= graph->count)
            SR_FAIL(SR_ERR_CONFIG, "%s: input %d is node %d, which does not exist", spec->name, i,
                    spec->in[i]);
        const SrNode *from = &graph->nodes[spec->in[i]];
        if (mode & ~from->mode)
            SR_FAIL(SR_ERR_CONFIG, "%s lives in a mode in which its input %s does not", spec->name,
                    from->name);
    }
    return SR_OK;
}

// Checks that the bound table entries are those that the op would create for these shapes.
static SrStatus check_slots(const SrGraph *graph, const SrNode *node, const SrShape *x) {
    SrSlot slots[SR_OP_MAX_SLOTS];
    int n = node->op->slots ? node->op->slots(node->params, x, node->n_in, slots) : 0;
    if (node->n_w != n)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s has %d slots, %d are bound", node->name, node->op->name, n,
                node->n_w);
    for (int i = 0; i < n; i++) {
        if (node->w[i] < 0 || node->w[i] >= sr_params_count(graph->params))
            SR_FAIL(SR_ERR_CONFIG, "%s: slot %s is bound to entry %d, which does not exist",
                    node->name, slots[i].name, node->w[i]);
        const SrParam *p = sr_params_at(graph->params, node->w[i]);
        char have[SR_SHAPE_TEXT_BYTES], want[SR_SHAPE_TEXT_BYTES];
        if (!sr_shape_equal(p->shape, slots[i].shape) || p->dtype != slots[i].dtype)
            SR_FAIL(SR_ERR_CONFIG, "%s: slot %s must be %s %s, but %s is %s %s", node->name,
                    slots[i].name, sr_dtype_name(slots[i].dtype),
                    sr_shape_text(slots[i].shape, want, sizeof want), p->name,
                    sr_dtype_name(p->dtype), sr_shape_text(p->shape, have, sizeof have));
    }
    return SR_OK;
}

// Replaces *v (n items) by a copy in the arena.  False: out of memory.
static bool copy_list(SrArena *arena, int n, size_t item_bytes, const void **v) {
    if (n == 0)
        return true;
    *v = sr_arena_copy(arena, *v, (size_t)n * item_bytes);
    return *v != NULL;
}

// Like copy_list, but copies the strings too.
static bool copy_strings(SrArena *arena, SrStrings *list) {
    if (list->n == 0)
        return true;
    const char **copy = sr_arena_alloc(arena, (size_t)list->n * sizeof *copy);
    for (int i = 0; copy && i < list->n; i++)
        if (!(copy[i] = sr_arena_strdup(arena, list->v[i])))
            return false;
    list->v = copy;
    return copy != NULL;
}

// Copies the target of an option's pointer into the arena, so that a caller's lists may be on its
// stack.
static bool own_option(SrArena *arena, const SrOption *option, void *params) {
    void *field = (char *)params + option->offset;
    SrInts *ints = field;
    SrDoubles *doubles = field;
    const char **string = field;
    switch (option->type) {
    case SR_OPT_INTS: return copy_list(arena, ints->n, sizeof *ints->v, (const void **)&ints->v);
    case SR_OPT_FLOATS:
        return copy_list(arena, doubles->n, sizeof *doubles->v, (const void **)&doubles->v);
    case SR_OPT_STRINGS: return copy_strings(arena, field);
    case SR_OPT_STRING: return !*string || (*string = sr_arena_strdup(arena, *string)) != NULL;
    default: // numbers are in the struct; trees belong to the configuration, which outlives graphs
        return true;
    }
}

SrStatus sr__params_copy(SrArena *arena, const SrOp *op, const char *name, const void *from,
                         const void **out) {
    *out = NULL;
    if (op->params_bytes == 0)
        return SR_OK;
    void *params = sr_arena_alloc(arena, op->params_bytes);
    if (!params)
        return out_of_memory(name);
    *out = params;
    if (!from) // the values of an empty configuration
        return op->options ? sr_options_parse(op->options, NULL, name, arena, params) : SR_OK;
    memcpy(params, from, op->params_bytes);
    for (const SrOption *o = op->options; o && o->name; o++)
        if (!own_option(arena, o, params))
            return out_of_memory(name);
    return SR_OK;
}

// Only this function moves `nodes`: it makes pointers from sr_graph_at invalid.
static SrStatus append(SrGraph *graph, const SrNode *node, SrNodeId *out) {
    if (graph->count == graph->capacity) {
        int capacity = graph->capacity ? 2 * graph->capacity : 64;
        SrNode *nodes = sr_realloc(graph->nodes, (size_t)capacity * sizeof *nodes);
        if (!nodes)
            return out_of_memory(node->name);
        graph->nodes = nodes;
        graph->capacity = capacity;
    }
    SR_TRY(sr_name_map_put(&graph->by_name, node->name, graph->count));
    graph->nodes[graph->count] = *node;
    *out = graph->count++;
    return SR_OK;
}

static SrStatus add_node(SrGraph *graph, const SrNodeSpec *spec, SrNodeId *out) {
    unsigned mode = spec->mode ? spec->mode : SR_MODE_BOTH;
    SR_TRY(check_name(graph, spec->name));
    SR_TRY(check_inputs(graph, spec, mode));
    SrNode node = {.op = spec->op,
                   .n_in = spec->n_in,
                   .n_w = spec->n_w,
                   .mode = mode,
                   .dtype = SR_F32,
                   .aside = spec->aside,
                   .eval_from = spec->has_eval_from ? spec->eval_from : INT64_MAX};
    node.name = sr_arena_strdup(&graph->arena, spec->name);
    node.module = sr_arena_strdup(&graph->arena, spec->module ? spec->module : "");
    if (!node.name || !node.module)
        return out_of_memory(spec->name);
    SR_TRY(sr__params_copy(&graph->arena, spec->op, spec->name, spec->params, &node.params));
    SrShape x[SR_OP_MAX_IN];
    for (int i = 0; i < spec->n_in; i++) {
        node.in[i] = spec->in[i];
        x[i] = graph->nodes[spec->in[i]].shape;
    }
    if (spec->op->infer(node.params, x, spec->n_in, &node.shape) != SR_OK)
        return sr_fail_prefix(SR_ERR_CONFIG, "%s (%s)", spec->name, spec->op->name);
    // A view shows what its input carries, labels included; kernels compute floats.
    if (spec->op->is_view && spec->op->is_view(node.params, x, spec->n_in))
        node.dtype = graph->nodes[spec->in[0]].dtype;
    node.channels_last = spec->n_in > 0 && graph->nodes[spec->in[0]].channels_last;
    if (spec->op->channels_last)
        node.channels_last = spec->op->channels_last(node.params, node.channels_last);
    for (int i = 0; i < SR_MIN(spec->n_w, SR_OP_MAX_SLOTS); i++)
        node.w[i] = spec->w[i];
    SR_TRY(check_slots(graph, &node, x));
    return append(graph, &node, out);
}

SrStatus sr_graph_add(SrGraph *graph, const SrNodeSpec *spec, SrNodeId *out) {
    SrNodeId id = SR_NO_NODE; // `out` may be where spec->in points
    SrStatus status = add_node(graph, spec, &id);
    *out = id;
    return status;
}

SrStatus sr_graph_add_input(SrGraph *graph, const char *name, SrShape shape, SrDtype dtype,
                            SrNodeId *out) {
    *out = SR_NO_NODE;
    SR_TRY(check_name(graph, name));
    for (int i = 0; i < shape.rank; i++)
        if (shape.d[i] < 1)
            SR_FAIL(SR_ERR_CONFIG, "input %s: dimension %d is %d, must be at least 1", name, i,
                    shape.d[i]);
    SrNode node = {.module = "",
                   .shape = shape,
                   .dtype = dtype,
                   .mode = SR_MODE_BOTH,
                   .eval_from = INT64_MAX,
                   .channels_last = shape.rank != 4};
    node.name = sr_arena_strdup(&graph->arena, name);
    return node.name ? append(graph, &node, out) : out_of_memory(name);
}

SrShape sr_node_torch_shape(const SrNode *node) {
    SrShape s = node->shape;
    int C = sr_shape_last(s);
    if (node->channels_last || s.rank < 3)
        return s;
    for (int i = s.rank - 1; i > 1; i--)
        s.d[i] = s.d[i - 1];
    s.d[1] = C;
    return s;
}

bool sr__graph_has_name(const SrGraph *graph, const char *name) {
    return sr_name_map_find(&graph->by_name, name) >= 0 ||
           sr_name_map_find(&graph->by_remark, name) >= 0;
}

SrStatus sr_graph_add_remark(SrGraph *graph, const char *name, const SrShape *shape) {
    SR_TRY(check_name(graph, name));
    if (graph->n_remarks == graph->remarks_capacity) {
        int capacity = graph->remarks_capacity ? 2 * graph->remarks_capacity : 32;
        SrRemark *remarks = sr_realloc(graph->remarks, (size_t)capacity * sizeof *remarks);
        if (!remarks)
            return out_of_memory(name);
        graph->remarks = remarks;
        graph->remarks_capacity = capacity;
    }
    SrRemark remark = {.name = sr_arena_strdup(&graph->arena, name),
                       .before = graph->count,
                       .is_tensor = shape != NULL};
    if (!remark.name)
        return out_of_memory(name);
    if (shape)
        remark.shape = *shape;
    SR_TRY(sr_name_map_put(&graph->by_remark, remark.name, graph->n_remarks));
    graph->remarks[graph->n_remarks++] = remark;
    return SR_OK;
}

int sr_graph_remark_count(const SrGraph *graph) { return graph->n_remarks; }

const SrRemark *sr_graph_remark_at(const SrGraph *graph, int i) {
    SR_ASSERT(i >= 0 && i < graph->n_remarks);
    return &graph->remarks[i];
}

SrStatus sr_graph_add_block(SrGraph *graph, const char *path, const char *class_name,
                            SrNodeId first, SrNodeId end) {
    if (first < 0 || end > graph->count || first > end)
        SR_FAIL(SR_ERR_CONFIG, "block %s: nodes %d to %d do not exist", path, first, end - 1);
    if (graph->n_blocks == graph->blocks_capacity) {
        int capacity = graph->blocks_capacity ? 2 * graph->blocks_capacity : 32;
        SrBlock *blocks = sr_realloc(graph->blocks, (size_t)capacity * sizeof *blocks);
        if (!blocks)
            return out_of_memory(path);
        graph->blocks = blocks;
        graph->blocks_capacity = capacity;
    }
    SrBlock block = {.first = first, .end = end};
    block.path = sr_arena_strdup(&graph->arena, path);
    block.class_name = sr_arena_strdup(&graph->arena, class_name);
    if (!block.path || !block.class_name)
        return out_of_memory(path);
    graph->blocks[graph->n_blocks++] = block;
    return SR_OK;
}

int sr_graph_block_count(const SrGraph *graph) { return graph->n_blocks; }

const SrBlock *sr_graph_block_at(const SrGraph *graph, int i) {
    SR_ASSERT(i >= 0 && i < graph->n_blocks);
    return &graph->blocks[i];
}

SrStatus sr__graph_own(SrGraph *graph, SrGraph *body) {
    size_t n = (size_t)graph->n_bodies + 1;
    SrGraph **bodies = sr_realloc(graph->bodies, n * sizeof *bodies);
    SR_TRY_MEMORY(bodies, "a closed block");
    graph->bodies = bodies;
    graph->bodies[graph->n_bodies++] = body;
    return SR_OK;
}

// Checks one node against the invariants in graph.h, as if it were added now.
static SrStatus check_node(const SrGraph *graph, SrNodeId id) {
    const SrNode *node = &graph->nodes[id];
    if (sr_name_map_find(&graph->by_name, node->name) != id)
        SR_FAIL(SR_ERR_CONFIG, "graph: name %s does not lead to node %d", node->name, id);
    if (!node->op) // an input has nothing above it
        return SR_OK;
    SrShape x[SR_OP_MAX_IN], y;
    for (int i = 0; i < node->n_in; i++) {
        if (node->in[i] < 0 || node->in[i] >= id)
            SR_FAIL(SR_ERR_CONFIG, "graph: input %d of %s does not come before it", i, node->name);
        if (node->mode & ~graph->nodes[node->in[i]].mode)
            SR_FAIL(SR_ERR_CONFIG, "graph: %s outlives its input %d", node->name, i);
        x[i] = graph->nodes[node->in[i]].shape;
    }
    SR_TRY(node->op->infer(node->params, x, node->n_in, &y));
    if (!sr_shape_equal(y, node->shape))
        SR_FAIL(SR_ERR_CONFIG, "graph: %s has a shape its op would not give", node->name);
    return check_slots(graph, node, x);
}

SrStatus sr_graph_check(const SrGraph *graph) {
    for (SrNodeId id = 0; id < graph->count; id++)
        SR_TRY(check_node(graph, id));
    for (int i = 0; i < graph->n_aliases; i++)
        if (graph->aliases[i].id < 0 || graph->aliases[i].id >= graph->count)
            SR_FAIL(SR_ERR_CONFIG, "graph: alias %s leads nowhere", graph->aliases[i].name);
    return SR_OK;
}

// ---- names

SrStatus sr_graph_alias(SrGraph *graph, const char *alias, SrNodeId id) {
    if (id < 0 || id >= graph->count)
        SR_FAIL(SR_ERR_CONFIG, "stage %s is node %d, which does not exist", alias, id);
    // An alias may equal another node's name (VISSL's conv1 is torchvision's relu); exact names win
    // in find.
    int old = sr_name_map_find(&graph->by_alias, alias);
    if (old == id)
        return SR_OK;
    if (old >= 0)
        SR_FAIL(SR_ERR_CONFIG, "stage %s is announced twice, at %s and at %s", alias,
                graph->nodes[old].name, graph->nodes[id].name);
    if (graph->n_aliases == graph->aliases_capacity) {
        int capacity = graph->aliases_capacity ? 2 * graph->aliases_capacity : 16;
        SrAlias *aliases = sr_realloc(graph->aliases, (size_t)capacity * sizeof *aliases);
        SR_TRY_MEMORY(aliases, "stage %s", alias);
        graph->aliases = aliases;
        graph->aliases_capacity = capacity;
    }
    char *name = sr_arena_strdup(&graph->arena, alias);
    SR_TRY_MEMORY(name, "stage %s", alias);
    SR_TRY(sr_name_map_put(&graph->by_alias, name, id));
    graph->aliases[graph->n_aliases++] = (SrAlias){name, id};
    return SR_OK;
}

int sr_graph_alias_count(const SrGraph *graph) { return graph->n_aliases; }

const char *sr_graph_alias_at(const SrGraph *graph, int i, SrNodeId *id) {
    *id = graph->aliases[i].id;
    return graph->aliases[i].name;
}

SrNodeId sr__graph_named(const SrGraph *graph, const char *name) {
    return sr_name_map_find(&graph->by_name, name);
}

SrNodeId sr__graph_alias(const SrGraph *graph, const char *alias) {
    return sr_name_map_find(&graph->by_alias, alias);
}

SrNodeId sr_graph_find(const SrGraph *graph, const char *name) {
    SrNodeId id = sr__graph_named(graph, name);
    return id >= 0 ? id : sr__graph_alias(graph, name);
}
