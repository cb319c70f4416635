// Prints a graph as JSON and parses it.  The text may come from anywhere, so sizes are bounded
// before they are multiplied.
#include "graph/ir/graph_json.h"

#include <stdio.h>
#include <string.h>

#include "base/text/json.h"
#include "graph/ir/block_op.h"
#include "graph/ir/graph_internal.h"

enum { MAX_BYTES = 64 << 20, MAX_NODES = 100000, MAX_DIM = 1 << 24 };
#define MAX_COUNT ((int64_t)1 << 40) // most numbers in one value

// ---- printing

static const char *mode_name(unsigned mode) {
    return mode == SR_MODE_TRAIN ? "train" : mode == SR_MODE_EVAL ? "eval" : "both";
}

static SrYaml *string(SrArena *arena, const char *text) {
    SrYaml *node = sr_yaml_new(arena, SR_YAML_STRING, "graph", 0);
    if (node)
        node->text = text;
    return node;
}

static SrYaml *integer(SrArena *arena, int64_t i) {
    SrYaml *node = sr_yaml_new(arena, SR_YAML_INT, "graph", 0);
    if (node) {
        node->i = i;
        node->f = (double)i;
        node->text = sr_arena_printf(arena, "%lld", (long long)i);
    }
    return node;
}

static SrYaml *real(SrArena *arena, double f) {
    SrYaml *node = sr_yaml_new(arena, SR_YAML_FLOAT, "graph", 0);
    if (node)
        node->f = f;
    return node;
}

static SrStatus put(SrArena *arena, SrYaml *map, const char *key, SrYaml *value) {
    SR_TRY_MEMORY(value, "a graph's JSON");
    return map->type == SR_YAML_LIST ? sr_yaml_append(arena, map, value)
                                     : sr_yaml_put(arena, map, key, value);
}

// Adds a list or map under `key` of `parent`.
static SrStatus put_new(SrArena *arena, SrYaml *parent, const char *key, SrYamlType type,
                        SrYaml **out) {
    *out = sr_yaml_new(arena, type, "graph", 0);
    return put(arena, parent, key, *out);
}

static SrStatus put_inits(const SrGraph *graph, const SrNode *node, const SrSlot *slots,
                          SrArena *arena, SrYaml *map) {
    SrYaml *inits = NULL, *pair;
    for (int i = 0; i < node->n_w; i++) {
        const SrInit *init = &sr_params_at(sr_graph_params(graph), node->w[i])->init;
        if (init->kind == slots[i].init.kind && init->value == slots[i].init.value)
            continue;
        if (!inits)
            SR_TRY(put_new(arena, map, "init", SR_YAML_MAP, &inits));
        SR_TRY(put_new(arena, inits, slots[i].name, SR_YAML_LIST, &pair));
        SR_TRY(put(arena, pair, NULL, integer(arena, (int64_t)init->kind)));
        SR_TRY(put(arena, pair, NULL, real(arena, init->value)));
    }
    return SR_OK;
}

static SrStatus put_entries(const SrGraph *graph, const SrNode *node, SrArena *arena, SrYaml *map) {
    SrYaml *names, *frozen = NULL;
    SrShape x[SR_OP_MAX_IN];
    SrSlot slots[SR_OP_MAX_SLOTS];
    if (node->n_w == 0)
        return SR_OK;
    for (int i = 0; i < node->n_in; i++)
        x[i] = sr_graph_at(graph, node->in[i])->shape;
    node->op->slots(node->params, x, node->n_in, slots);
    SR_TRY(put_new(arena, map, "params", SR_YAML_LIST, &names));
    for (int i = 0; i < node->n_w; i++) {
        const SrParam *p = sr_params_at(sr_graph_params(graph), node->w[i]);
        SR_TRY(put(arena, names, NULL, string(arena, p->name)));
        if (p->kind != SR_SLOT_PARAM || p->trainable)
            continue;
        if (!frozen)
            SR_TRY(put_new(arena, map, "frozen", SR_YAML_LIST, &frozen));
        SR_TRY(put(arena, frozen, NULL, string(arena, slots[i].name)));
    }
    return put_inits(graph, node, slots, arena, map);
}

static SrStatus put_input(const SrNode *node, SrArena *arena, SrYaml *map) {
    SrYaml *shape;
    SR_TRY(put_new(arena, map, "shape", SR_YAML_LIST, &shape));
    for (int i = 0; i < node->shape.rank; i++)
        SR_TRY(put(arena, shape, NULL, integer(arena, node->shape.d[i])));
    return put(arena, map, "dtype", string(arena, sr_dtype_name(node->dtype)));
}

SrStatus sr__graph_options(const SrNode *node, SrArena *arena, SrYaml **changed) {
    SrYaml *all, *defaults;
    *changed = sr_yaml_new(arena, SR_YAML_MAP, "graph", 0);
    if (!*changed)
        return sr_out_of_memory("%s", node->name);
    if (!node->op || !node->op->options)
        return SR_OK;
    SR_TRY(sr_options_print(node->op->options, node->params, arena, &all));
    SR_TRY(sr_options_defaults(node->op->options, arena, &defaults));
    for (int i = 0; i < all->n; i++) {
        const SrYaml *usual = sr_yaml_find(defaults, all->keys[i]);
        if (!usual || !sr_yaml_equal(usual, all->items[i]))
            SR_TRY(sr_yaml_put(arena, *changed, all->keys[i], all->items[i]));
    }
    return SR_OK;
}

static SrStatus put_node(const SrGraph *graph, SrNodeId id, SrArena *arena, SrYaml *map) {
    const SrNode *node = sr_graph_at(graph, id);
    SrYaml *list, *options;
    if (node->op == &sr__op_block)
        SR_FAIL(SR_ERR_CONFIG,
                "%s is a closed block: JSON holds whole graphs only (--leaf through)", node->name);
    SR_TRY(put(arena, map, "name", string(arena, node->name)));
    SR_TRY(put(arena, map, "op", string(arena, node->op ? node->op->name : "input")));
    if (!node->op)
        return put_input(node, arena, map);
    SR_TRY(put(arena, map, "module", string(arena, node->module)));
    SR_TRY(put_new(arena, map, "in", SR_YAML_LIST, &list));
    for (int i = 0; i < node->n_in; i++)
        SR_TRY(put(arena, list, NULL, string(arena, sr_graph_at(graph, node->in[i])->name)));
    SR_TRY(sr__graph_options(node, arena, &options));
    if (options->n > 0)
        SR_TRY(put(arena, map, "options", options));
    SR_TRY(put_entries(graph, node, arena, map));
    if (node->mode != SR_MODE_BOTH)
        SR_TRY(put(arena, map, "mode", string(arena, mode_name(node->mode))));
    if (node->aside)
        SR_TRY(put(arena, map, "aside", integer(arena, 1)));
    if (node->eval_from != INT64_MAX)
        SR_TRY(put(arena, map, "eval_from", integer(arena, node->eval_from)));
    return node->tags ? put(arena, map, "tags", integer(arena, (int64_t)node->tags)) : SR_OK;
}

// Nodes stand one per line, so that diff can compare two graphs.
static SrStatus print_nodes(const SrGraph *graph, SrText *out) {
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++) {
        SrArena arena = SR_ARENA_INIT;
        SrYaml *map = sr_yaml_new(&arena, SR_YAML_MAP, "graph", 0);
        SrStatus status =
            map ? put_node(graph, id, &arena, map) : sr_out_of_memory("a graph's JSON");
        if (status == SR_OK) {
            sr_text_add(out, id ? ",\n  " : "\n  ");
            sr_json_print(map, out);
        }
        sr_arena_deinit(&arena);
        SR_TRY(status);
    }
    return SR_OK;
}

// Prints a line of JSON from a tree that was built for this line.
static SrStatus print_line(SrText *out, const char *before, const char *const *strings, int n,
                           const int *numbers, int n_numbers) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *list = sr_yaml_new(&arena, SR_YAML_LIST, "graph", 0);
    SrStatus status = list ? SR_OK : sr_out_of_memory("a graph's JSON");
    for (int i = 0; i < n && status == SR_OK; i++)
        status = put(&arena, list, NULL, string(&arena, strings[i]));
    for (int i = 0; i < n_numbers && status == SR_OK; i++)
        status = put(&arena, list, NULL, integer(&arena, numbers[i]));
    if (status == SR_OK) {
        sr_text_add(out, before);
        sr_json_print(list, out);
    }
    sr_arena_deinit(&arena);
    return status;
}

SrStatus sr__graph_print_json(const SrGraph *graph, SrText *out) {
    sr_text_add(out, "{\"format\": \"sslrun graph 1\",\n \"nodes\": [");
    SR_TRY(print_nodes(graph, out));
    sr_text_add(out, "],\n \"stages\": [");
    for (int i = 0; i < sr_graph_alias_count(graph); i++) {
        SrNodeId id;
        const char *alias = sr_graph_alias_at(graph, i, &id);
        SR_TRY(print_line(out, i ? ",\n  " : "\n  ",
                          (const char *[]){alias, sr_graph_at(graph, id)->name}, 2, NULL, 0));
    }
    sr_text_add(out, "],\n \"blocks\": [");
    for (int i = 0; i < sr_graph_block_count(graph); i++) {
        const SrBlock *b = sr_graph_block_at(graph, i);
        SR_TRY(print_line(out, i ? ",\n  " : "\n  ", (const char *[]){b->path, b->class_name}, 2,
                          (int[]){b->first, b->end}, 2));
    }
    sr_text_add(out, "]}\n");
    return SR_OK;
}

// ---- parsing

typedef struct {
    SrArena arena; // the document
    SrGraph *graph;
    SrParams *params;
    const char *file;
} Parse;

// Finds a member of that type; NULL: absent.  A member of another type is an error.
static SrStatus member(const Parse *p, const SrYaml *map, const char *key, SrYamlType type,
                       const SrYaml **out) {
    *out = sr_yaml_find(map, key);
    if (*out && (*out)->type != type)
        SR_FAIL(SR_ERR_CONFIG, "%s: \"%s\" must be %s, not %s", p->file, key,
                sr_yaml_type_name(type), sr_yaml_type_name((*out)->type));
    return SR_OK;
}

static SrStatus text_member(const Parse *p, const SrYaml *map, const char *key, const char **out) {
    const SrYaml *node;
    SR_TRY(member(p, map, key, SR_YAML_STRING, &node));
    if (!node)
        SR_FAIL(SR_ERR_CONFIG, "%s: a node has no key \"%s\"", p->file, key);
    *out = node->text;
    return SR_OK;
}

static SrStatus check_size(const Parse *p, const char *name, SrShape shape) {
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.d[i] < 1 || shape.d[i] > MAX_DIM || (n *= shape.d[i]) > MAX_COUNT)
            SR_FAIL(SR_ERR_CONFIG, "%s: %s is too large", p->file, name);
    }
    return SR_OK;
}

static SrStatus parse_input(Parse *p, const SrYaml *map, const char *name) {
    const SrYaml *shape;
    const char *dtype_name = "";
    SrDtype dtype;
    SrNodeId id;
    SR_TRY(member(p, map, "shape", SR_YAML_LIST, &shape));
    SR_TRY(text_member(p, map, "dtype", &dtype_name));
    if (!sr_dtype_parse(dtype_name, &dtype))
        SR_FAIL(SR_ERR_CONFIG, "%s: input %s has the unknown type %s", p->file, name, dtype_name);
    SrShape s = {.rank = shape ? shape->n : -1};
    if (s.rank < 0 || s.rank > SR_MAX_RANK)
        SR_FAIL(SR_ERR_CONFIG, "%s: input %s needs a shape of at most %d numbers", p->file, name,
                SR_MAX_RANK);
    for (int i = 0; i < s.rank; i++) {
        if (shape->items[i]->type != SR_YAML_INT || shape->items[i]->i < 1 ||
            shape->items[i]->i > MAX_DIM)
            SR_FAIL(SR_ERR_CONFIG, "%s: input %s: dimension %d is out of range", p->file, name, i);
        s.d[i] = (int)shape->items[i]->i;
    }
    SR_TRY(check_size(p, name, s));
    return sr_graph_add_input(p->graph, name, s, dtype, &id);
}

static SrStatus parse_mode(const Parse *p, const SrYaml *map, unsigned *out) {
    const SrYaml *mode;
    SR_TRY(member(p, map, "mode", SR_YAML_STRING, &mode));
    *out = SR_MODE_BOTH;
    if (!mode)
        return SR_OK;
    for (*out = SR_MODE_TRAIN; *out <= SR_MODE_BOTH; ++*out)
        if (strcmp(mode->text, mode_name(*out)) == 0)
            return SR_OK;
    SR_FAIL(SR_ERR_CONFIG, "%s: mode '%s'; expected train, eval or both", p->file, mode->text);
}

static SrStatus parse_inputs(const Parse *p, const SrYaml *map, SrNodeSpec *spec, SrNodeId *in) {
    const SrYaml *list;
    SR_TRY(member(p, map, "in", SR_YAML_LIST, &list));
    spec->n_in = list ? list->n : 0;
    if (spec->n_in < spec->op->min_in || spec->n_in > SR_MIN(spec->op->max_in, SR_OP_MAX_IN))
        SR_FAIL(SR_ERR_CONFIG, "%s: %s: %s takes %d to %d inputs, not %d", p->file, spec->name,
                spec->op->name, spec->op->min_in, spec->op->max_in, spec->n_in);
    for (int i = 0; i < spec->n_in; i++) {
        const char *name = list->items[i]->type == SR_YAML_STRING ? list->items[i]->text : "";
        in[i] = sr__graph_named(p->graph, name);
        if (in[i] == SR_NO_NODE)
            SR_FAIL(SR_ERR_CONFIG, "%s: %s reads '%s', but no earlier node has that name", p->file,
                    spec->name, name);
    }
    spec->in = in;
    return SR_OK;
}

static bool has_string(const SrYaml *list, const char *text) {
    for (int i = 0; list && i < list->n; i++)
        if (list->items[i]->type == SR_YAML_STRING && strcmp(list->items[i]->text, text) == 0)
            return true;
    return false;
}

static SrStatus parse_init(const Parse *p, const SrYaml *inits, SrSlot *slot) {
    const SrYaml *pair = sr_yaml_find(inits, slot->name);
    if (!pair)
        return SR_OK;
    bool good = pair->type == SR_YAML_LIST && pair->n == 2 && pair->items[0]->type == SR_YAML_INT &&
                pair->items[0]->i >= 0 && pair->items[0]->i < SR_INIT_KINDS &&
                (pair->items[1]->type == SR_YAML_FLOAT || pair->items[1]->type == SR_YAML_INT);
    if (!good)
        SR_FAIL(SR_ERR_CONFIG, "%s: expected the initialisation of a slot as [kind, value]",
                p->file);
    slot->init = (SrInit){(SrInitKind)pair->items[0]->i, pair->items[1]->f};
    return SR_OK;
}

// Reads a node's entries by name.  The op gives their shapes, and entries that exist must agree.
static SrStatus parse_entries(Parse *p, const SrYaml *map, SrNodeSpec *spec, int *w) {
    const SrYaml *names, *frozen, *inits;
    SrSlot slots[SR_OP_MAX_SLOTS];
    SrShape x[SR_OP_MAX_IN], y;
    SR_TRY(member(p, map, "params", SR_YAML_LIST, &names));
    SR_TRY(member(p, map, "frozen", SR_YAML_LIST, &frozen));
    SR_TRY(member(p, map, "init", SR_YAML_MAP, &inits));
    for (int i = 0; i < spec->n_in; i++)
        x[i] = sr_graph_at(p->graph, spec->in[i])->shape;
    if (spec->op->infer(spec->params, x, spec->n_in, &y) != SR_OK)
        return sr_fail_prefix(SR_ERR_CONFIG, "%s: %s (%s)", p->file, spec->name, spec->op->name);
    SR_TRY(check_size(p, spec->name, y));
    spec->n_w = spec->op->slots ? spec->op->slots(spec->params, x, spec->n_in, slots) : 0;
    if (spec->n_w != (names ? names->n : 0))
        SR_FAIL(SR_ERR_CONFIG, "%s: %s has %d parameters, but %d names are given", p->file,
                spec->name, spec->n_w, names ? names->n : 0);
    for (int i = 0; i < spec->n_w; i++) {
        SR_TRY(check_size(p, slots[i].name, slots[i].shape));
        SR_TRY(parse_init(p, inits, &slots[i]));
        if (names->items[i]->type != SR_YAML_STRING)
            SR_FAIL(SR_ERR_CONFIG, "%s: %s: expected the names of parameters as strings", p->file,
                    spec->name);
        SR_TRY(sr_params_add(p->params, names->items[i]->text, &slots[i], &w[i]));
        if (has_string(frozen, slots[i].name))
            sr_params_at(p->params, w[i])->trainable = false;
    }
    spec->w = w;
    return SR_OK;
}

static SrStatus parse_options(Parse *p, const SrYaml *map, SrNodeSpec *spec) {
    const SrYaml *options;
    SR_TRY(member(p, map, "options", SR_YAML_MAP, &options));
    if (spec->op->params_bytes == 0)
        return SR_OK;
    void *params = sr_arena_alloc(sr_graph_arena(p->graph), spec->op->params_bytes);
    SR_TRY_MEMORY(params, "node %s", spec->name);
    spec->params = params;
    return spec->op->options ? sr_options_parse(spec->op->options, options, spec->name,
                                                sr_graph_arena(p->graph), params)
                             : SR_OK;
}

static SrStatus parse_op(Parse *p, const SrYaml *map, const char *name, const char *op) {
    SrNodeId in[SR_OP_MAX_IN], id;
    int w[SR_OP_MAX_SLOTS];
    const SrYaml *module, *from, *tags, *aside;
    SrNodeSpec spec = {.name = name, .has_eval_from = true, .eval_from = INT64_MAX};
    if (sr_op_find(op, &spec.op) != SR_OK)
        return sr_fail_prefix(SR_ERR_CONFIG, "%s: %s", p->file, name);
    SR_TRY(member(p, map, "module", SR_YAML_STRING, &module));
    SR_TRY(member(p, map, "eval_from", SR_YAML_INT, &from));
    SR_TRY(member(p, map, "tags", SR_YAML_INT, &tags));
    spec.module = module ? module->text : "";
    spec.eval_from = from ? from->i : INT64_MAX;
    SR_TRY(member(p, map, "aside", SR_YAML_INT, &aside));
    spec.aside = aside && aside->i == 1;
    SR_TRY(parse_mode(p, map, &spec.mode));
    SR_TRY(parse_inputs(p, map, &spec, in));
    SR_TRY(parse_options(p, map, &spec));
    SR_TRY(parse_entries(p, map, &spec, w));
    SR_TRY(sr_graph_add(p->graph, &spec, &id));
    sr_graph_set_tags(p->graph, id, tags ? (unsigned)tags->i : 0);
    return SR_OK;
}

static SrStatus parse_node(Parse *p, const SrYaml *map) {
    const char *name = "", *op = "";
    SR_TRY(text_member(p, map, "name", &name));
    SR_TRY(text_member(p, map, "op", &op));
    return strcmp(op, "input") == 0 ? parse_input(p, map, name) : parse_op(p, map, name, op);
}

static bool is_row(const SrYaml *row, int n) {
    if (row->type != SR_YAML_LIST || row->n != n)
        return false;
    for (int i = 0; i < n; i++)
        if (row->items[i]->type != (i < 2 ? SR_YAML_STRING : SR_YAML_INT))
            return false;
    return true;
}

static SrStatus parse_names(Parse *p, const SrYaml *root) {
    const SrYaml *stages, *blocks;
    SR_TRY(member(p, root, "stages", SR_YAML_LIST, &stages));
    SR_TRY(member(p, root, "blocks", SR_YAML_LIST, &blocks));
    for (int i = 0; stages && i < stages->n; i++) {
        const SrYaml *row = stages->items[i];
        if (!is_row(row, 2))
            SR_FAIL(SR_ERR_CONFIG, "%s: expected a stage as [name, node]", p->file);
        SR_TRY(sr_graph_alias(p->graph, row->items[0]->text,
                              sr__graph_named(p->graph, row->items[1]->text)));
    }
    for (int i = 0; blocks && i < blocks->n; i++) {
        const SrYaml *row = blocks->items[i];
        if (!is_row(row, 4) || row->items[2]->i < 0 ||
            row->items[3]->i > sr_graph_count(p->graph) || row->items[2]->i > row->items[3]->i)
            SR_FAIL(SR_ERR_CONFIG, "%s: expected a block as [path, class, first node, end]",
                    p->file);
        SR_TRY(sr_graph_add_block(p->graph, row->items[0]->text, row->items[1]->text,
                                  (int)row->items[2]->i, (int)row->items[3]->i));
    }
    return SR_OK;
}

static SrStatus parse_document(Parse *p, const char *text, size_t bytes) {
    SrYaml *root;
    const SrYaml *nodes;
    if (bytes > MAX_BYTES)
        SR_FAIL(SR_ERR_CONFIG, "%s: the graph has more than %d bytes", p->file, MAX_BYTES);
    SR_TRY(sr_json_parse(&p->arena, text, bytes, p->file, &root));
    SR_TRY(member(p, root, "nodes", SR_YAML_LIST, &nodes));
    if (!nodes || nodes->n > MAX_NODES)
        SR_FAIL(SR_ERR_CONFIG, "%s: expected a graph: {\"nodes\": [at most %d]}", p->file,
                MAX_NODES);
    for (int i = 0; i < nodes->n; i++)
        SR_TRY(parse_node(p, nodes->items[i]));
    SR_TRY(parse_names(p, root));
    return sr_graph_check(p->graph);
}

SrStatus sr_graph_parse(const char *text, size_t bytes, const char *file, SrParams *params,
                        SrGraph **out) {
    Parse p = {.params = params, .file = file};
    *out = NULL;
    SR_TRY(sr_graph_new(params, &p.graph));
    SrStatus status = parse_document(&p, text, bytes);
    sr_arena_deinit(&p.arena);
    if (status == SR_OK)
        *out = p.graph;
    else
        sr_graph_free(p.graph);
    return status;
}
