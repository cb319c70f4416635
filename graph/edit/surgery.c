// Surgery: tags, search for chains, replacing, appending, erasing and inverting nodes, by the
// rewriting engine (rewrite.h).
#include "graph/edit/surgery.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graph/edit/rewrite.h"

int sr_graph_tag(SrGraph *graph, const char *glob, unsigned bits) {
    int n = 0;
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++) {
        const SrNode *node = sr_graph_at(graph, id);
        if (!sr_text_glob(glob, node->name))
            continue;
        sr_graph_set_tags(graph, id, node->tags | bits);
        n++;
    }
    return n;
}

// ---- patterns

typedef struct {
    int n;
    char op[SR_CHAIN_MAX][64];
} Pattern;

static SrStatus parse_pattern(const char *text, Pattern *out) {
    out->n = 0;
    for (const char *p = text; p;) {
        const char *arrow = strstr(p, "->"), *end = arrow ? arrow : p + strlen(p);
        p += strspn(p, " ");
        while (end > p && end[-1] == ' ')
            end--;
        if (end <= p || end - p >= (int)sizeof out->op[0] || out->n == SR_CHAIN_MAX)
            SR_FAIL(SR_ERR_CONFIG,
                    "pattern '%s': expected up to %d ops as in conv2d -> batch_norm -> relu", text,
                    SR_CHAIN_MAX);
        snprintf(out->op[out->n++], sizeof out->op[0], "%.*s", (int)(end - p), p);
        p = arrow ? arrow + 2 : NULL;
    }
    return SR_OK;
}

static bool is_like(const SrNode *node, const char *op) {
    return node->op && (strcmp(op, "*") == 0 || strcmp(node->op->name, op) == 0);
}

// Returns the only reader of node `id`; SR_NO_NODE: none or several.
static SrNodeId only_reader(const SrGraph *graph, SrNodeId id) {
    SrNodeId found = SR_NO_NODE;
    for (SrNodeId k = id + 1; k < sr_graph_count(graph); k++)
        for (int i = 0; i < sr_graph_at(graph, k)->n_in; i++) {
            if (sr_graph_at(graph, k)->in[i] != id)
                continue;
            if (found != SR_NO_NODE)
                return SR_NO_NODE;
            found = k;
        }
    return found;
}

static bool match_at(const SrGraph *graph, const Pattern *pattern, SrNodeId id, SrChain *out) {
    out->n = 0;
    for (int i = 0; i < pattern->n; i++) {
        if (i > 0)
            id = only_reader(graph, id);
        if (id == SR_NO_NODE || !is_like(sr_graph_at(graph, id), pattern->op[i]))
            return false;
        out->at[out->n++] = id;
    }
    return true;
}

SrStatus sr_graph_find_chain(const SrGraph *graph, const char *pattern, SrNodeId from,
                             SrChain *out) {
    Pattern p;
    SR_TRY(parse_pattern(pattern, &p));
    for (SrNodeId id = SR_MAX(from, 0); id < sr_graph_count(graph); id++)
        if (match_at(graph, &p, id, out))
            return SR_OK;
    out->n = 0;
    return SR_OK;
}

// ---- replace, append, erase

typedef struct {
    SrNodeId id;
    const SrGraft *graft; // NULL: erase
    bool append;
} Edit;

// Makes the spec of the graft on inputs in[n] of `to`, with the op's defaults and fresh
// parameters.  w has room for SR_OP_MAX_SLOTS entries.
static SrStatus graft_spec(SrGraph *to, const SrGraft *graft, SrNodeSpec *spec, int *w) {
    SrShape x[SR_OP_MAX_IN], y;
    SrSlot slots[SR_OP_MAX_SLOTS];
    if (sr_op_find(graft->op, &spec->op) != SR_OK)
        return sr_fail_prefix(SR_ERR_CONFIG, "%s", spec->name);
    if (spec->n_in < spec->op->min_in || spec->n_in > spec->op->max_in)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s takes %d to %d inputs, not %d", spec->name, graft->op,
                spec->op->min_in, spec->op->max_in, spec->n_in);
    SR_TRY(sr__params_copy(sr_graph_arena(to), spec->op, spec->name, graft->params, &spec->params));
    for (int i = 0; i < spec->n_in; i++)
        x[i] = sr_graph_at(to, spec->in[i])->shape;
    if (spec->op->infer(spec->params, x, spec->n_in, &y) != SR_OK)
        return sr_fail_prefix(SR_ERR_CONFIG, "%s (%s)", spec->name, graft->op);
    spec->n_w = spec->op->slots ? spec->op->slots(spec->params, x, spec->n_in, slots) : 0;
    spec->w = w;
    for (int i = 0; i < spec->n_w; i++) {
        char *name = sr_arena_printf(sr_graph_arena(to), "%s%s.%s",
                                     graft->prefix ? graft->prefix : "", spec->name, slots[i].name);
        SR_TRY_MEMORY(name, "node %s", spec->name);
        SR_TRY(sr_params_add(sr_graph_params(to), name, &slots[i], &w[i]));
    }
    return SR_OK;
}

static SrStatus add_replacement(SrRewrite *rw, SrNodeId id, const SrGraft *graft) {
    SrRewriteSpec copy;
    SR_TRY(sr__rewrite_inputs(rw, id, &copy));
    SR_TRY(graft_spec(rw->to, graft, &copy.spec, copy.w));
    return sr__rewrite_add(rw, id, &copy.spec);
}

// Copies node `id` and adds the graft in its module, which replaces it for all readers.
static SrStatus add_after(SrRewrite *rw, SrNodeId id, const SrGraft *graft) {
    const SrNode *node = sr_graph_at(rw->from, id);
    int w[SR_OP_MAX_SLOTS];
    SR_TRY(sr__rewrite_copy(rw, id));
    SrNodeId in = rw->map[id];
    char *name = sr_arena_printf(sr_graph_arena(rw->to), "%s%s%s", node->module,
                                 *node->module ? "." : "", graft->leaf);
    SR_TRY_MEMORY(name, "node %s", graft->leaf);
    SrNodeSpec spec = {.name = name,
                       .module = node->module,
                       .n_in = 1,
                       .in = &in,
                       .mode = node->mode,
                       .has_eval_from = true,
                       .eval_from = node->eval_from};
    SR_TRY(graft_spec(rw->to, graft, &spec, w));
    return sr_graph_add(rw->to, &spec, &rw->map[id]);
}

static SrStatus edit_each(SrRewrite *rw, SrNodeId id) {
    const Edit *edit = rw->arg;
    const SrNode *node = sr_graph_at(rw->from, id);
    if (id != edit->id)
        return sr__rewrite_copy(rw, id);
    if (edit->append)
        return add_after(rw, id, edit->graft);
    if (!node->op || node->n_in == 0)
        SR_FAIL(SR_ERR_CONFIG, "%s has no input: it can be neither replaced nor erased",
                node->name);
    if (edit->graft)
        return add_replacement(rw, id, edit->graft);
    rw->map[id] = rw->map[node->in[0]];
    return SR_OK;
}

static SrStatus edit(const SrGraph *graph, const Edit *e, SrGraph **out) {
    *out = NULL;
    if (e->id < 0 || e->id >= sr_graph_count(graph))
        SR_FAIL(SR_ERR_CONFIG, "node %d does not exist", e->id);
    SrParams *table = e->graft && e->graft->table ? e->graft->table : sr_graph_params(graph);
    return sr__rewrite(graph, table, edit_each, (void *)e, NULL, NULL, out);
}

SrStatus sr_graph_copy(const SrGraph *graph, SrParams *table, SrGraph **out) {
    return sr__rewrite(graph, table, sr__rewrite_copy, NULL, NULL, NULL, out);
}

SrStatus sr_graph_replace(const SrGraph *graph, SrNodeId id, const SrGraft *graft, SrGraph **out) {
    return edit(graph, &(Edit){id, graft, false}, out);
}

SrStatus sr_graph_append(const SrGraph *graph, SrNodeId id, const SrGraft *graft, SrGraph **out) {
    return edit(graph, &(Edit){id, graft, true}, out);
}

SrStatus sr_graph_erase(const SrGraph *graph, SrNodeId id, SrGraph **out) {
    return edit(graph, &(Edit){id, NULL, false}, out);
}

// ---- inverting

// Adds the op that undoes node `id` after *y, the present end of the chain.
static SrStatus invert_node(const SrGraph *graph, SrNodeId id, SrGraph *to, SrNodeId *y) {
    const SrNode *node = sr_graph_at(graph, id);
    size_t bytes = node->op ? node->op->params_bytes : 0;
    void *params = sr_arena_copy(sr_graph_arena(to), node->params, bytes);
    if (bytes && !params)
        return sr_out_of_memory("the inverse of %s", node->name);
    if (node->n_in != 1 || !node->op->inverse || !node->op->inverse(node->params, params))
        SR_FAIL(SR_ERR_CONFIG, "%s (%s) has no inverse", node->name,
                node->op ? node->op->name : "input");
    const SrNode *restored = sr_graph_at(graph, node->in[0]);
    SrNodeSpec spec = {.op = node->op,
                       .name = restored->name,
                       .module = restored->module,
                       .n_in = 1,
                       .in = y,
                       .params = bytes ? params : NULL};
    return sr_graph_add(to, &spec, y);
}

static SrStatus invert_into(const SrGraph *graph, SrNodeId first, SrNodeId last, SrGraph *to) {
    const SrNode *node = sr_graph_at(graph, last);
    SrNodeId y;
    SR_TRY(sr_graph_add_input(to, node->name, node->shape, node->dtype, &y));
    for (SrNodeId id = last;; id = node->in[0]) {
        node = sr_graph_at(graph, id);
        SR_TRY(invert_node(graph, id, to, &y));
        if (id == first)
            return sr_graph_check(to);
        if (node->in[0] < first)
            SR_FAIL(SR_ERR_CONFIG, "%s is not above %s in a chain", sr_graph_at(graph, first)->name,
                    sr_graph_at(graph, last)->name);
    }
}

SrStatus sr_graph_invert(const SrGraph *graph, SrNodeId first, SrNodeId last, SrGraph **out) {
    *out = NULL;
    if (first < 0 || last < first || last >= sr_graph_count(graph))
        SR_FAIL(SR_ERR_CONFIG, "nodes %d to %d do not form a chain", first, last);
    SR_TRY(sr_graph_new(sr_graph_params(graph), out));
    SrStatus status = invert_into(graph, first, last, *out);
    if (status == SR_OK)
        return SR_OK;
    sr_graph_free(*out);
    *out = NULL;
    return status;
}
