// Graphs as text: names, a table, graphviz.  Of the graph as built; what a plan makes of it is
// plan_print.c.
#include "graph/print.h"

#include <string.h>

// All stages that stand for the node, each between `before` and `after`.
static void add_aliases(const SrGraph *graph, SrNodeId id, const char *before, const char *after,
                        SrText *out) {
    for (int i = 0; i < sr_graph_alias_count(graph); i++) {
        SrNodeId to;
        const char *alias = sr_graph_alias_at(graph, i, &to);
        if (to == id)
            sr_text_printf(out, "%s%s%s", before, alias, after);
    }
}

// {stride_h: 2}: only what differs from the option table's defaults.
static SrStatus add_options(const SrNode *node, SrText *out) {
    if (!node->op || !node->op->options)
        return SR_OK;
    SrArena arena = SR_ARENA_INIT;
    SrStatus status;
    SrYaml *all, *defaults, *changed = sr_yaml_new(&arena, SR_YAML_MAP, "graph", 0);
    SR_TRY_GOTO(changed ? SR_OK : sr_fail(SR_ERR_MEMORY, "out of memory for %s", node->name));
    SR_TRY_GOTO(sr_options_print(node->op->options, node->params, &arena, &all));
    SR_TRY_GOTO(sr_options_defaults(node->op->options, &arena, &defaults));
    for (int i = 0; i < all->n; i++) {
        const SrYaml *usual = sr_yaml_find(defaults, all->keys[i]);
        if (!usual || !sr_yaml_equal(usual, all->items[i]))
            SR_TRY_GOTO(sr_yaml_put(&arena, changed, all->keys[i], all->items[i]));
    }
    if (changed->n > 0) {
        sr_text_add(out, "  ");
        sr_yaml_print_flow(changed, out);
    }
done:
    sr_arena_deinit(&arena);
    return status;
}

// Counted where they are used: shared parameters appear at each of their nodes, and once in the
// total.
static int64_t learned_numbers(const SrGraph *graph, const SrNode *node) {
    int64_t n = 0;
    for (int i = 0; i < node->n_w; i++) {
        const SrParam *p = sr_params_at(sr_graph_params(graph), node->w[i]);
        n += p->kind == SR_SLOT_PARAM ? sr_shape_count(p->shape) : 0;
    }
    return n;
}

static const char *op_name(const SrNode *node) { return node->op ? node->op->name : "input"; }

static int longest_name(const SrGraph *graph) {
    size_t longest = 4;
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++)
        longest = SR_MAX(longest, strlen(sr_graph_at(graph, id)->name));
    return (int)longest;
}

static SrStatus print_table(const SrGraph *graph, SrText *out) {
    int width = longest_name(graph);
    sr_text_printf(out, "%-*s  %-20s  %-20s  %10s  %s\n", width, "node", "op", "shape", "learned",
                   "inputs  options");
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++) {
        const SrNode *node = sr_graph_at(graph, id);
        char shape[SR_SHAPE_TEXT_BYTES];
        sr_text_printf(out, "%-*s  %-20s  %-20s  %10lld  ", width, node->name, op_name(node),
                       sr_shape_text(node->shape, shape, sizeof shape),
                       (long long)learned_numbers(graph, node));
        for (int i = 0; i < node->n_in; i++)
            sr_text_printf(out, "%s%s", i ? ", " : "", sr_graph_at(graph, node->in[i])->name);
        SR_TRY(add_options(node, out));
        if (node->mode != SR_MODE_BOTH)
            sr_text_add(out, node->mode == SR_MODE_TRAIN ? "  [train]" : "  [eval]");
        add_aliases(graph, id, "  <", ">", out);
        sr_text_add(out, "\n");
    }
    sr_text_printf(out, "%d nodes, %lld learned numbers\n", sr_graph_count(graph),
                   (long long)sr_params_numbers(sr_graph_params(graph), false));
    return SR_OK;
}

// Names hold no quotes or backslashes in practice; in case one does, it must not end the string.
static void add_quoted(SrText *out, const char *s) {
    sr_text_add(out, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            sr_text_add(out, "\\");
        sr_text_addn(out, s, 1);
    }
    sr_text_add(out, "\"");
}

// Nodes are n0, n1, ... to graphviz, so that any name can be a label.
static void print_dot_node(const SrGraph *graph, SrNodeId id, SrText *out) {
    const SrNode *node = sr_graph_at(graph, id);
    char shape[SR_SHAPE_TEXT_BYTES];
    sr_text_printf(out, "    n%d [label=", id);
    add_quoted(out, node->name);
    // graphviz joins strings with +
    sr_text_printf(out, " + \"\\n%s %s", op_name(node),
                   sr_shape_text(node->shape, shape, sizeof shape));
    add_aliases(graph, id, "\\n<", ">", out);
    sr_text_printf(out, "\"%s];\n", node->op ? "" : ", style=filled");
}

// Nodes of one module follow each other almost always, so a cluster is a run of equal modules.
static void print_dot(const SrGraph *graph, SrText *out) {
    sr_text_add(out, "digraph model {\n  node [shape=box, fontname=sans];\n");
    const char *module = "";
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++) {
        const SrNode *node = sr_graph_at(graph, id);
        if (strcmp(node->module, module) != 0) {
            sr_text_add(out, *module ? "  }\n" : "");
            module = node->module;
            if (*module) {
                sr_text_printf(out, "  subgraph cluster_%d {\n    label=", id);
                add_quoted(out, module);
                sr_text_add(out, ";\n");
            }
        }
        print_dot_node(graph, id, out);
    }
    sr_text_add(out, *module ? "  }\n" : "");
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++)
        for (int i = 0; i < sr_graph_at(graph, id)->n_in; i++)
            sr_text_printf(out, "  n%d -> n%d;\n", sr_graph_at(graph, id)->in[i], id);
    sr_text_add(out, "}\n");
}

SrStatus sr_graph_print(const SrGraph *graph, SrGraphFormat format, SrText *out) {
    if (format == SR_GRAPH_TABLE)
        SR_TRY(print_table(graph, out));
    if (format == SR_GRAPH_DOT)
        print_dot(graph, out);
    for (SrNodeId id = 0; format == SR_GRAPH_NAMES && id < sr_graph_count(graph); id++)
        sr_text_printf(out, "%s\n", sr_graph_at(graph, id)->name);
    return out->failed ? sr_fail(SR_ERR_MEMORY, "out of memory for printing a graph") : SR_OK;
}
