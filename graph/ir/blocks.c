// Closes and opens blocks.
//
// torch.fx decides during the trace which modules are leaves.  Here the trace is always complete,
// and blocks can be closed and opened at any time.
#include "graph/ir/blocks.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graph/edit/rewrite.h"
#include "graph/ir/block_op.h"
#include "graph/ir/cost.h"

// ---- lists of classes

// Module classes of torchvision.ops, which torchvision's feature extraction keeps closed next to
// those of torch.nn.
static const char *const composites[] = {
    "Conv2dNormActivation",
    "Conv3dNormActivation",
    "ConvNormActivation",
    "SqueezeExcitation",
    "StochasticDepth",
    "MLP",
    "Permute",
    "FrozenBatchNorm2d",
    "DropBlock2d",
    "DropBlock3d",
    "DeformConv2d",
    "FeaturePyramidNetwork",
    "MultiScaleRoIAlign",
    "RoIAlign",
    "RoIPool",
    "PSRoIAlign",
    "PSRoIPool",
};

static bool is_in(const char *const *list, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

static SrStatus unknown_class(const SrGraph *graph, const char *name) {
    enum { MAX_KNOWN = 64 };
    const char *known[MAX_KNOWN];
    int n = 0;
    for (int i = 0; i < sr_graph_block_count(graph) && n < MAX_KNOWN; i++)
        if (!is_in(known, n, sr_graph_block_at(graph, i)->class_name))
            known[n++] = sr_graph_block_at(graph, i)->class_name;
    SrText list = SR_TEXT_INIT;
    for (int i = 0; i < n; i++)
        sr_text_printf(&list, "%s%s", i ? ", " : "", known[i]);
    int near = sr_text_nearest(name, known, n);
    SrStatus status =
        sr_fail(SR_ERR_CONFIG,
                "there is no block of class '%s'%s%s%s (expected default, through, or classes of "
                "this trunk: %s)",
                name, near >= 0 ? "; did you mean '" : "", near >= 0 ? known[near] : "",
                near >= 0 ? "'?" : "", list.s ? list.s : "none");
    sr_text_deinit(&list);
    return status;
}

static bool has_class(const SrGraph *graph, const char *name) {
    for (int i = 0; i < sr_graph_block_count(graph); i++)
        if (strcmp(sr_graph_block_at(graph, i)->class_name, name) == 0)
            return true;
    return false;
}

// Adds one word of the list to `v`, which has room for it and for all composites.
static SrStatus add_class(const SrGraph *graph, const char *word, const char **v, int *n) {
    if (strcmp(word, "through") == 0)
        return SR_OK;
    if (strcmp(word, "default") == 0) {
        for (int i = 0; i < SR_COUNT(composites); i++)
            if (!is_in(v, *n, composites[i]))
                v[(*n)++] = composites[i];
        return SR_OK;
    }
    // A composite may be named although this trunk has none: one list then serves many trunks.
    if (!has_class(graph, word) && !is_in(composites, SR_COUNT(composites), word))
        return unknown_class(graph, word);
    if (!is_in(v, *n, word))
        v[(*n)++] = word;
    return SR_OK;
}

SrStatus sr_leaf_parse(const SrGraph *graph, const char *text, SrArena *arena, SrStrings *out) {
    size_t room = strlen(text) / 2 + 1 + SR_COUNT(composites); // a word and its comma
    const char **v = sr_arena_alloc(arena, room * sizeof *v);
    char *copy = sr_arena_strdup(arena, text), *save = NULL;
    SR_TRY_MEMORY(v && copy, "a list of blocks");
    *out = (SrStrings){0, v};
    int words = 0;
    for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save), words++)
        SR_TRY(add_class(graph, word, v, &out->n));
    if (words == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "an empty list of blocks: expected default, through, or classes joined by commas");
    return SR_OK;
}

SrStatus sr_leaf_check_taps(const SrGraph *graph, const SrStrings *classes, const SrTaps *taps) {
    for (int t = 0; t < taps->n; t++)
        for (int i = 0; i < sr_graph_block_count(graph); i++) {
            const SrBlock *b = sr_graph_block_at(graph, i);
            if (is_in(classes->v, classes->n, b->class_name) &&
                sr_text_below(taps->v[t].query, b->path))
                SR_FAIL(SR_ERR_CONFIG,
                        "layer '%s' is inside %s, a %s that is kept closed; name '%s' instead, or "
                        "open the block with --leaf through",
                        taps->v[t].query, b->path, b->class_name, b->path);
        }
    return SR_OK;
}

// ---- closing

typedef struct {
    int *owner; // (nodes) outermost block to close around it, -1 if none
} Closing;

static int length_of(const SrBlock *b) { return b->end - b->first; }

static void find_owners(const SrGraph *graph, const SrStrings *classes, int *owner) {
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++)
        owner[id] = -1;
    for (int i = 0; i < sr_graph_block_count(graph); i++) {
        const SrBlock *b = sr_graph_block_at(graph, i);
        if (!is_in(classes->v, classes->n, b->class_name))
            continue;
        for (SrNodeId id = b->first; id < b->end; id++)
            if (owner[id] < 0 || length_of(b) > length_of(sr_graph_block_at(graph, owner[id])))
                owner[id] = i;
    }
}

// Finds the value of the block that is read outside; if none is, the last node.
static SrStatus find_output(const SrGraph *graph, const SrBlock *b, SrNodeId *out) {
    SrNodeId read = SR_NO_NODE;
    for (SrNodeId id = b->end; id < sr_graph_count(graph); id++) {
        const SrNode *node = sr_graph_at(graph, id);
        for (int i = 0; i < node->n_in; i++) {
            if (node->in[i] < b->first || node->in[i] >= b->end || node->in[i] == read)
                continue;
            if (read != SR_NO_NODE)
                SR_FAIL(SR_ERR_CONFIG, "block %s cannot be closed: both %s and %s are read outside",
                        b->path, sr_graph_at(graph, read)->name,
                        sr_graph_at(graph, node->in[i])->name);
            read = node->in[i];
        }
    }
    *out = read == SR_NO_NODE ? b->end - 1 : read;
    return SR_OK;
}

typedef struct {
    SrGraph *body;
    int n_in;
    SrNodeId in[SR_OP_MAX_IN]; // of the outer graph
} Body;

// Returns the body's input for an outer value, and adds it if it is new.
static SrStatus body_input(SrRewrite *rw, Body *body, SrNodeId outer) {
    for (int i = 0; i < body->n_in; i++)
        if (body->in[i] == outer)
            return SR_OK;
    if (body->n_in == SR_OP_MAX_IN)
        SR_FAIL(SR_ERR_CONFIG, "a closed block may read at most %d values", SR_OP_MAX_IN);
    char name[16];
    snprintf(name, sizeof name, "%%%d", body->n_in);
    body->in[body->n_in++] = outer;
    const SrNode *node = sr_graph_at(rw->from, outer);
    return sr_graph_add_input(body->body, name, node->shape, node->dtype, &rw->map[outer]);
}

// Copies nodes [first, end) into the body, after its inputs.
static SrStatus fill_body(SrRewrite *rw, const SrBlock *b, Body *body) {
    for (SrNodeId id = b->first; id < b->end; id++) {
        const SrNode *node = sr_graph_at(rw->from, id);
        if (!node->op)
            SR_FAIL(SR_ERR_CONFIG, "block %s cannot be closed: %s is an input", b->path,
                    node->name);
        for (int i = 0; i < node->n_in; i++)
            if (node->in[i] < b->first)
                SR_TRY(body_input(rw, body, node->in[i]));
    }
    for (SrNodeId id = b->first; id < b->end; id++)
        SR_TRY(sr__rewrite_copy(rw, id));
    SrNodeId shift = body->n_in - b->first; // from outer to body numbers
    for (int i = 0; i < sr_graph_block_count(rw->from); i++) {
        const SrBlock *inner = sr_graph_block_at(rw->from, i);
        if (inner->first >= b->first && inner->end <= b->end)
            SR_TRY(sr_graph_add_block(body->body, inner->path, inner->class_name,
                                      inner->first + shift, inner->end + shift));
    }
    return SR_OK;
}

static SrStatus make_body(const SrRewrite *outer, const SrBlock *b, SrNodeId output, Body *body,
                          SrNodeId *body_output) {
    size_t n = (size_t)sr_graph_count(outer->from) + 1;
    SrRewrite rw = {.from = outer->from, .map = sr_calloc(n, sizeof *rw.map)};
    *body = (Body){.n_in = 0};
    SrStatus status = rw.map ? sr_graph_new(sr_graph_params(outer->to), &body->body)
                             : sr_out_of_memory("block %s", b->path);
    rw.to = body->body;
    if (status == SR_OK)
        status = fill_body(&rw, b, body);
    if (status == SR_OK)
        *body_output = rw.map[output];
    else
        sr_graph_free(body->body);
    sr_free(rw.map);
    return status;
}

// Makes the name of a block: the path, "_1" if the module ran before in this pass, and the pass.
static void closed_name(const SrRewrite *rw, const SrBlock *b, char *out, size_t bytes) {
    const char *pass = strrchr(sr_graph_at(rw->from, b->first)->name, '@');
    snprintf(out, bytes, "%s%s", b->path, pass ? pass : "");
    for (int k = 1; sr__graph_named(rw->to, out) != SR_NO_NODE; k++)
        snprintf(out, bytes, "%s_%d%s", b->path, k, pass ? pass : "");
}

// Module of a path: "layer1" for "layer1.0"; "": the top.
static SrStatus parent_of(SrGraph *graph, const char *path, const char **out) {
    const char *dot = strrchr(path, '.');
    *out = sr_arena_printf(sr_graph_arena(graph), "%.*s", dot ? (int)(dot - path) : 0, path);
    return *out ? SR_OK : sr_out_of_memory("block %s", path);
}

static SrStatus add_closed(SrRewrite *rw, const SrBlock *b) {
    SrNodeId output = SR_NO_NODE, in[SR_OP_MAX_IN];
    SrBlockParams params = {.class_name = b->class_name};
    Body body;
    char name[2048];
    SR_TRY(find_output(rw->from, b, &output));
    SR_TRY(make_body(rw, b, output, &body, &params.output));
    SrStatus status = sr__graph_own(rw->to, body.body);
    if (status != SR_OK) {
        sr_graph_free(body.body);
        return status;
    }
    const SrNode *node = sr_graph_at(rw->from, output);
    params.body = body.body;
    params.shape = node->shape;
    params.channels_last = node->channels_last;
    params.class_name = sr_arena_strdup(sr_graph_arena(rw->to), b->class_name);
    for (int i = 0; i < body.n_in; i++)
        in[i] = rw->map[body.in[i]];
    closed_name(rw, b, name, sizeof name);
    SrNodeSpec spec = {.op = &sr__op_block,
                       .name = name,
                       .params = &params,
                       .n_in = body.n_in,
                       .in = in,
                       .mode = node->mode,
                       .has_eval_from = true,
                       .eval_from = node->eval_from,
                       .aside = node->aside};
    SR_TRY(parent_of(rw->to, b->path, &spec.module));
    return sr_graph_add(rw->to, &spec, &rw->map[output]);
}

static SrStatus close_each(SrRewrite *rw, SrNodeId id) {
    const Closing *closing = rw->arg;
    if (closing->owner[id] < 0)
        return sr__rewrite_copy(rw, id);
    const SrBlock *b = sr_graph_block_at(rw->from, closing->owner[id]);
    return id == b->end - 1 ? add_closed(rw, b) : SR_OK;
}

SrStatus sr_graph_close(const SrGraph *graph, const SrStrings *classes, SrGraph **out) {
    Closing closing = {sr_calloc((size_t)sr_graph_count(graph) + 1, sizeof *closing.owner)};
    *out = NULL;
    SR_TRY_MEMORY(closing.owner, "closing blocks");
    find_owners(graph, classes, closing.owner);
    SrStatus status =
        sr__rewrite(graph, sr_graph_params(graph), close_each, &closing, closing.owner, NULL, out);
    sr_free(closing.owner);
    return status;
}

// ---- opening

// Copies the body's nodes into rw->to, with its inputs bound to the node's.  *output: the node
// that holds the block's value.
static SrStatus open_body(SrRewrite *outer, const SrNodeSpec *spec, SrNodeId *output) {
    const SrBlockParams *p = spec->params;
    int n = sr_graph_count(p->body);
    SrRewrite rw = {.from = p->body, .to = outer->to};
    rw.map = sr_calloc((size_t)n + 1, sizeof *rw.map);
    SR_TRY_MEMORY(rw.map, "block %s", spec->name);
    SrNodeId shift = sr_graph_count(outer->to) - spec->n_in;
    SrStatus status = SR_OK;
    for (SrNodeId id = 0; id < n && status == SR_OK; id++) {
        if (id < spec->n_in)
            rw.map[id] = spec->in[id];
        else
            status = sr__rewrite_copy(&rw, id);
    }
    // The block itself is the last one of its body's list, as it was closed.
    for (int i = 0; i < sr_graph_block_count(p->body) && status == SR_OK; i++) {
        const SrBlock *b = sr_graph_block_at(p->body, i);
        status =
            sr_graph_add_block(outer->to, b->path, b->class_name, b->first + shift, b->end + shift);
    }
    *output = status == SR_OK ? rw.map[p->output] : SR_NO_NODE;
    sr_free(rw.map);
    return status;
}

static SrStatus inline_each(SrRewrite *rw, SrNodeId id) {
    const SrNodeId *wanted = rw->arg;
    if (sr_graph_at(rw->from, id)->op != &sr__op_block || (*wanted != SR_NO_NODE && *wanted != id))
        return sr__rewrite_copy(rw, id);
    SrRewriteSpec copy;
    SR_TRY(sr__rewrite_spec(rw, id, &copy));
    return open_body(rw, &copy.spec, &rw->map[id]);
}

SrStatus sr_graph_inline(const SrGraph *graph, SrNodeId id, SrGraph **out) {
    *out = NULL;
    if (id != SR_NO_NODE &&
        (id < 0 || id >= sr_graph_count(graph) || sr_graph_at(graph, id)->op != &sr__op_block))
        SR_FAIL(SR_ERR_CONFIG, "node %d is not a closed block", id);
    return sr__rewrite(graph, sr_graph_params(graph), inline_each, &id, NULL, NULL, out);
}
