// Prints graphs as names, lists, tables, code or for graphviz, as they were built.  plan_print.c
// prints plans.
#include "graph/ir/print.h"

#include <string.h>

#include "base/clock.h"
#include "base/text/number.h"
#include "base/text/yaml_print.h"
#include "graph/ir/cost.h"
#include "graph/ir/graph_json.h"

// Prints all stages of the node, each between `before` and `after`.
static void add_aliases(const SrGraph *graph, SrNodeId id, const char *before, const char *after,
                        SrText *out) {
    for (int i = 0; i < sr_graph_alias_count(graph); i++) {
        SrNodeId to;
        const char *alias = sr_graph_alias_at(graph, i, &to);
        if (to == id)
            sr_text_printf(out, "%s%s%s", before, alias, after);
    }
}

// Prints options that differ from the option table's defaults: {stride_h: 2}.
static SrStatus add_options(const SrNode *node, SrText *out) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *changed;
    SrStatus status = sr__graph_options(node, &arena, &changed);
    if (status == SR_OK && changed->n > 0) {
        sr_text_add(out, "  ");
        sr_yaml_print_flow(changed, out);
    }
    sr_arena_deinit(&arena);
    return status;
}

static const char *op_name(const SrNode *node) { return node->op ? node->op->name : "input"; }

static bool is_shown(const SrNode *node, unsigned mode) { return (node->mode & mode) != 0; }

static int longest_name(const SrGraph *graph) {
    size_t longest = 4;
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++)
        longest = SR_MAX(longest, strlen(sr_graph_at(graph, id)->name));
    for (int i = 0; i < sr_graph_remark_count(graph); i++)
        longest = SR_MAX(longest, strlen(sr_graph_remark_at(graph, i)->name));
    return (int)longest;
}

static void print_table_line(const SrGraph *graph, SrNodeId id, int width, SrText *out) {
    const SrNode *node = sr_graph_at(graph, id);
    char shape[SR_SHAPE_TEXT_BYTES];
    sr_text_printf(out, "%-*s  %-20s  %-20s  %10lld  %14lld  %12lld  ", width, node->name,
                   op_name(node), sr_shape_text(sr_node_torch_shape(node), shape, sizeof shape),
                   (long long)sr_graph_numbers(graph, id), (long long)sr_graph_flops(graph, id),
                   (long long)sr_graph_bytes(graph, id));
    for (int i = 0; i < node->n_in; i++)
        sr_text_printf(out, "%s%s", i ? ", " : "", sr_graph_at(graph, node->in[i])->name);
}

// Prints the remarks before node `id`.  Op and costs are '-', because nobody can tap them.
static void print_table_remarks(const SrGraph *graph, SrNodeId id, int *next, int width,
                                SrText *out) {
    char shape[SR_SHAPE_TEXT_BYTES];
    for (; *next < sr_graph_remark_count(graph); ++*next) {
        const SrRemark *r = sr_graph_remark_at(graph, *next);
        if (r->before > id)
            return;
        sr_text_printf(out, "%-*s  %-20s  %-20s  %10s  %14s  %12s\n", width, r->name, "-",
                       r->is_tensor ? sr_shape_text(r->shape, shape, sizeof shape) : "None", "-",
                       "-", "-");
    }
}

static SrStatus print_table(const SrGraph *graph, unsigned mode, SrText *out) {
    int width = longest_name(graph), nodes = 0, remark = 0;
    int64_t flops = 0, bytes = 0;
    sr_text_printf(out, "%-*s  %-20s  %-20s  %10s  %14s  %12s  %s\n", width, "node", "op", "shape",
                   "learned", "FLOPs", "bytes", "inputs  options");
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++) {
        const SrNode *node = sr_graph_at(graph, id);
        print_table_remarks(graph, id, &remark, width, out);
        if (!is_shown(node, mode))
            continue;
        print_table_line(graph, id, width, out);
        SR_TRY(add_options(node, out));
        if (node->mode != SR_MODE_BOTH)
            sr_text_add(out, node->mode == SR_MODE_TRAIN ? "  [train]" : "  [eval]");
        add_aliases(graph, id, "  <", ">", out);
        sr_text_add(out, "\n");
        nodes++;
        flops += sr_graph_flops(graph, id);
        bytes += sr_graph_bytes(graph, id);
    }
    print_table_remarks(graph, sr_graph_count(graph), &remark, width, out);
    char parameters[32], work[32], memory[32];
    sr_count_text((int64_t)flops, work);
    sr_text_printf(out, "%d nodes, %s parameters, %s%sFLOP, %s of activations\n", nodes,
                   sr_count_text(sr_params_numbers(sr_graph_params(graph), false), parameters),
                   work, strchr(work, ' ') ? "" : " ",
                   sr_bytes_text((double)bytes, memory, sizeof memory));
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
                   sr_shape_text(sr_node_torch_shape(node), shape, sizeof shape));
    add_aliases(graph, id, "\\n<", ">", out);
    sr_text_printf(out, "\"%s];\n", node->op ? "" : ", style=filled");
}

// Nodes of one module follow each other almost always, so a cluster is a run of equal modules.
static void print_dot(const SrGraph *graph, unsigned mode, SrText *out) {
    sr_text_add(out, "digraph model {\n  node [shape=box, fontname=sans];\n");
    const char *module = "";
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++) {
        const SrNode *node = sr_graph_at(graph, id);
        if (!is_shown(node, mode))
            continue;
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
        for (int i = 0; is_shown(sr_graph_at(graph, id), mode) && i < sr_graph_at(graph, id)->n_in;
             i++)
            sr_text_printf(out, "  n%d -> n%d;\n", sr_graph_at(graph, id)->in[i], id);
    sr_text_add(out, "}\n");
}

static void print_line(const char *name, const SrShape *torch_shape, bool shapes, SrText *out) {
    char text[SR_SHAPE_TEXT_BYTES];
    sr_text_add(out, name);
    if (shapes)
        sr_text_printf(out, " %s",
                       torch_shape ? sr_shape_text(*torch_shape, text, sizeof text) : "None");
    sr_text_add(out, "\n");
}

// Prints torchvision's list: with its remarks, and without nodes that it does not have.
static void print_list(const SrGraph *graph, unsigned mode, bool shapes, SrText *out) {
    int remark = 0, n = sr_graph_remark_count(graph);
    for (SrNodeId id = 0; id <= sr_graph_count(graph); id++) {
        for (; remark < n && sr_graph_remark_at(graph, remark)->before <= id; remark++) {
            const SrRemark *r = sr_graph_remark_at(graph, remark);
            print_line(r->name, r->is_tensor ? &r->shape : NULL, shapes, out);
        }
        if (id == sr_graph_count(graph))
            return;
        const SrNode *node = sr_graph_at(graph, id);
        SrShape shape = sr_node_torch_shape(node);
        if (is_shown(node, mode) && !node->aside)
            print_line(node->name, &shape, shapes, out);
    }
}

// "layer1.0.add = add(layer1.0.bn2, relu)": node names hold dots, so this is for eyes only.
static SrStatus print_code(const SrGraph *graph, unsigned mode, SrText *out) {
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++) {
        const SrNode *node = sr_graph_at(graph, id);
        char shape[SR_SHAPE_TEXT_BYTES];
        if (!is_shown(node, mode))
            continue;
        sr_text_printf(out, "%s = %s(", node->name, op_name(node));
        for (int i = 0; i < node->n_in; i++)
            sr_text_printf(out, "%s%s", i ? ", " : "", sr_graph_at(graph, node->in[i])->name);
        sr_text_add(out, ")");
        SR_TRY(add_options(node, out));
        sr_text_printf(out, "  # %s\n",
                       sr_shape_text(sr_node_torch_shape(node), shape, sizeof shape));
    }
    return SR_OK;
}

// Tells whether the list shows the node, and whether the node exists in this mode alone or in both.
static bool is_of_mode(const SrNode *node, unsigned mode) {
    return node->mode == mode && !node->aside;
}

// Counts the lines of the list; remarks belong to both modes.
static int count_mode(const SrGraph *graph, unsigned mode) {
    int n = mode == SR_MODE_BOTH ? sr_graph_remark_count(graph) : 0;
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++)
        n += is_of_mode(sr_graph_at(graph, id), mode);
    return n;
}

// Prints the nodes that exist in this mode alone: " (a, b)".
static void add_only(const SrGraph *graph, unsigned mode, SrText *out) {
    const char *before = " (";
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++) {
        if (!is_of_mode(sr_graph_at(graph, id), mode))
            continue;
        sr_text_printf(out, "%s%s", before, sr_graph_at(graph, id)->name);
        before = ", ";
    }
    sr_text_add(out, ")");
}

SrStatus sr_graph_print_modes(const SrGraph *graph, SrText *out) {
    int train = count_mode(graph, SR_MODE_TRAIN), eval = count_mode(graph, SR_MODE_EVAL);
    int both = count_mode(graph, SR_MODE_BOTH);
    if (train == 0 && eval == 0) {
        sr_text_printf(out, "train and eval: the same %d nodes\n", both);
    } else if (train == 0 || eval == 0) {
        const char *more = train ? "train" : "eval", *less = train ? "eval" : "train";
        sr_text_printf(out, "%s (%d nodes) is a subsequence of %s (%d nodes), which adds %d", less,
                       both, more, both + train + eval, train + eval);
        add_only(graph, train ? SR_MODE_TRAIN : SR_MODE_EVAL, out);
        sr_text_add(out, "\n");
    } else {
        sr_text_printf(out, "train and eval differ: %d nodes are shared, %d in train only", both,
                       train);
        add_only(graph, SR_MODE_TRAIN, out);
        sr_text_printf(out, ", %d in eval only", eval);
        add_only(graph, SR_MODE_EVAL, out);
        sr_text_add(out, "\n");
    }
    return out->failed ? sr_out_of_memory("printing a graph") : SR_OK;
}

SrStatus sr_graph_print_mode(const SrGraph *graph, SrGraphFormat format, unsigned mode,
                             SrText *out) {
    SrStatus status = SR_OK;
    switch (format) {
    case SR_GRAPH_NAMES: print_list(graph, mode, false, out); break;
    case SR_GRAPH_LIST: print_list(graph, mode, true, out); break;
    case SR_GRAPH_TABLE: status = print_table(graph, mode, out); break;
    case SR_GRAPH_DOT: print_dot(graph, mode, out); break;
    case SR_GRAPH_CODE: status = print_code(graph, mode, out); break;
    case SR_GRAPH_JSON: status = sr__graph_print_json(graph, out); break;
    }
    if (status == SR_OK && out->failed)
        return sr_out_of_memory("printing a graph");
    return status;
}

SrStatus sr_graph_print(const SrGraph *graph, SrGraphFormat format, SrText *out) {
    return sr_graph_print_mode(graph, format, SR_MODE_BOTH, out);
}
