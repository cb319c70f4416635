// Copies graphs with changes: the engine under extraction, surgery, folding and closed blocks.
//
// A copy is cheap compared with a forward pass.  In exchange no pass can leave a half-changed
// graph: the new one is built by sr_graph_add with all checks, or not at all.
#include "graph/edit/rewrite.h"

#include "base/mem.h"
#include "graph/ir/block_op.h"

// Returns the entry of the new table for entry `w` of the old one.
static SrStatus map_entry(SrRewrite *rw, int w, int *out) {
    SrParams *from = sr_graph_params(rw->from), *to = sr_graph_params(rw->to);
    *out = w;
    if (from == to)
        return SR_OK;
    const SrParam *p = sr_params_at(from, w);
    SrSlot slot = {.name = p->name,
                   .shape = p->shape,
                   .dtype = p->dtype,
                   .kind = p->kind,
                   .role = p->role,
                   .init = p->init};
    SR_TRY(sr_params_add(to, p->name, &slot, out));
    sr_params_at(to, *out)->trainable = p->trainable;
    return SR_OK;
}

SrStatus sr__rewrite_inputs(SrRewrite *rw, SrNodeId id, SrRewriteSpec *out) {
    const SrNode *node = sr_graph_at(rw->from, id);
    out->spec = (SrNodeSpec){.op = node->op,
                             .name = node->name,
                             .module = node->module,
                             .params = node->params,
                             .n_in = node->n_in,
                             .in = out->in,
                             .w = out->w,
                             .mode = node->mode,
                             .has_eval_from = true,
                             .eval_from = node->eval_from,
                             .aside = node->aside};
    for (int i = 0; i < node->n_in; i++) {
        out->in[i] = rw->map[node->in[i]];
        if (out->in[i] == SR_NO_NODE)
            SR_FAIL(SR_ERR_CONFIG, "%s reads %s, which is to be removed", node->name,
                    sr_graph_at(rw->from, node->in[i])->name);
    }
    return SR_OK;
}

SrStatus sr__rewrite_spec(SrRewrite *rw, SrNodeId id, SrRewriteSpec *out) {
    const SrNode *node = sr_graph_at(rw->from, id);
    SR_TRY(sr__rewrite_inputs(rw, id, out));
    out->spec.n_w = node->n_w;
    for (int i = 0; i < node->n_w; i++)
        SR_TRY(map_entry(rw, node->w[i], &out->w[i]));
    return SR_OK;
}

static SrStatus copy_each(SrRewrite *rw, SrNodeId id) { return sr__rewrite_copy(rw, id); }

// Adds a node of op block with a copy of its body.
static SrStatus copy_block(SrGraph *to, const SrNodeSpec *spec, SrNodeId *out) {
    SrBlockParams params = *(const SrBlockParams *)spec->params;
    SrNodeSpec copy = *spec;
    SrGraph *body;
    SR_TRY(sr__rewrite(params.body, sr_graph_params(to), copy_each, NULL, NULL, NULL, &body));
    SrStatus status = sr__graph_own(to, body);
    if (status != SR_OK) {
        sr_graph_free(body);
        return status;
    }
    params.body = body;
    params.class_name = sr_arena_strdup(sr_graph_arena(to), params.class_name);
    copy.params = &params;
    return params.class_name ? sr_graph_add(to, &copy, out)
                             : sr_out_of_memory("block %s", spec->name);
}

SrStatus sr__rewrite_add(SrRewrite *rw, SrNodeId id, const SrNodeSpec *spec) {
    if (spec->op == &sr__op_block)
        SR_TRY(copy_block(rw->to, spec, &rw->map[id]));
    else
        SR_TRY(sr_graph_add(rw->to, spec, &rw->map[id]));
    sr_graph_set_tags(rw->to, rw->map[id], sr_graph_at(rw->from, id)->tags);
    return SR_OK;
}

SrStatus sr__rewrite_copy(SrRewrite *rw, SrNodeId id) {
    const SrNode *node = sr_graph_at(rw->from, id);
    if (!node->op) {
        SR_TRY(sr_graph_add_input(rw->to, node->name, node->shape, node->dtype, &rw->map[id]));
        sr_graph_set_tags(rw->to, rw->map[id], node->tags);
        return SR_OK;
    }
    SrRewriteSpec copy;
    SR_TRY(sr__rewrite_spec(rw, id, &copy));
    return sr__rewrite_add(rw, id, &copy.spec);
}

// Copies stages with their nodes, and blocks with the nodes that replace theirs; empty blocks are
// dropped.
static SrStatus carry_names(const SrRewrite *rw) {
    const SrGraph *from = rw->from;
    for (int i = 0; i < from->n_aliases; i++)
        if (rw->map[from->aliases[i].id] != SR_NO_NODE)
            SR_TRY(sr_graph_alias(rw->to, from->aliases[i].name, rw->map[from->aliases[i].id]));
    for (int i = 0; i < from->n_blocks; i++) {
        const SrBlock *b = &from->blocks[i];
        bool inside = rw->owner && b->first < b->end && rw->owner[b->first] >= 0 &&
                      rw->owner[b->first] == rw->owner[b->end - 1];
        if (!inside && rw->start[b->first] < rw->start[b->end])
            SR_TRY(sr_graph_add_block(rw->to, b->path, b->class_name, rw->start[b->first],
                                      rw->start[b->end]));
    }
    return from->title ? sr_graph_set_title(rw->to, from->title) : SR_OK;
}

// Tells whether the name is below the path of the closed block around node `id`, if there is one.
static bool is_closed(const SrRewrite *rw, SrNodeId id, const char *name) {
    int block = id >= 0 && id < rw->from->count ? rw->owner[id] : -1;
    return block >= 0 && sr_text_below(name, rw->from->blocks[block].path);
}

// Remarks are for lists, so they are copied if blocks are closed and nothing is cut away, except
// those inside a closed block.
static SrStatus carry_remarks(const SrRewrite *rw, SrNodeId id, int *next) {
    const SrGraph *from = rw->from;
    for (; *next < from->n_remarks && from->remarks[*next].before <= id; ++*next) {
        const SrRemark *r = &from->remarks[*next];
        if (!is_closed(rw, id, r->name) && !is_closed(rw, id - 1, r->name))
            SR_TRY(sr_graph_add_remark(rw->to, r->name, r->is_tensor ? &r->shape : NULL));
    }
    return SR_OK;
}

static SrStatus run(SrRewrite *rw, SrStatus (*each)(SrRewrite *, SrNodeId)) {
    int n = sr_graph_count(rw->from), remark = 0;
    for (SrNodeId id = 0; id < n; id++)
        rw->map[id] = SR_NO_NODE;
    for (SrNodeId id = 0; id < n; id++) {
        rw->start[id] = sr_graph_count(rw->to);
        if (rw->owner)
            SR_TRY(carry_remarks(rw, id, &remark));
        SR_TRY(each(rw, id));
    }
    if (rw->owner)
        SR_TRY(carry_remarks(rw, n, &remark));
    rw->start[n] = sr_graph_count(rw->to);
    SR_TRY(carry_names(rw));
    return sr_graph_check(rw->to);
}

SrStatus sr__rewrite(const SrGraph *from, SrParams *params, SrStatus (*each)(SrRewrite *, SrNodeId),
                     void *arg, const int *owner, SrNodeId **map, SrGraph **out) {
    size_t n = (size_t)sr_graph_count(from) + 1;
    SrRewrite rw = {.from = from, .arg = arg, .owner = owner};
    SrStatus status;
    *out = NULL;
    SR_TRY_GOTO(sr_graph_new(params, &rw.to));
    rw.map = sr_calloc(n, sizeof *rw.map);
    rw.start = sr_calloc(n, sizeof *rw.start);
    SR_TRY_GOTO(rw.map && rw.start ? SR_OK : sr_out_of_memory("copying a graph"));
    SR_TRY_GOTO(run(&rw, each));
    *out = rw.to;
    if (map) {
        *map = rw.map;
        rw.map = NULL;
    }
done:
    if (status != SR_OK)
        sr_graph_free(rw.to);
    sr_free(rw.map);
    sr_free(rw.start);
    return status;
}

int *sr__graph_readers(const SrGraph *graph) {
    int *readers = sr_calloc((size_t)sr_graph_count(graph) + 1, sizeof *readers);
    for (SrNodeId id = 0; readers && id < sr_graph_count(graph); id++)
        for (int i = 0; i < sr_graph_at(graph, id)->n_in; i++)
            readers[sr_graph_at(graph, id)->in[i]]++;
    return readers;
}
