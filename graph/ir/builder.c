// The builder: makes names of scopes and prefixes, makes table entries for the slots of ops, and
// keeps the first error.
//
// Node names follow torchvision's feature extraction (_get_node_qualname): a name used before in
// the same parent gets _1, _2, ...  Parameter names follow torch.nn.Module and carry neither that
// suffix nor the pass, so a module called twice, or a trunk built at a second resolution, finds the
// parameters that exist.
#include "graph/ir/builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/number.h"
#include "graph/ir/graph_internal.h"

enum {
    MAX_SCOPES = 32,
    PATH_BYTES = 512,
    SUFFIX_BYTES = 64,
    NUMBERED_BYTES = 128,
    MAX_INITS = SR_OP_MAX_SLOTS
};

struct SrBuilder {
    SrGraph *graph; // borrowed
    SrStatus status;
    char message[1024]; // message of the first error

    char path[PATH_BYTES];           // open scopes, joined by dots
    size_t ends[MAX_SCOPES];         // length of `path` before each scope was opened
    const char *classes[MAX_SCOPES]; // of blocks, in the graph's arena; NULL for other scopes
    SrNodeId firsts[MAX_SCOPES];     // node count when each was opened
    int n_scopes;
    const char *param_prefix, *node_prefix; // in the graph's arena
    int pass;
    unsigned mode;
    int64_t eval_from;
    bool frozen, aside;

    struct {
        const char *slot;
        SrInit init;
    } inits[MAX_INITS]; // for the next node
    int n_inits;
    struct {
        const char *slot, *entry;
    } entries
        [MAX_INITS]; // of the next node: what slots are called in the table; others: by the leaf
    int n_entries;
};

SrStatus sr_builder_new(SrGraph *graph, SrBuilder **out) {
    SrBuilder *b = sr_calloc(1, sizeof *b);
    *out = b;
    SR_TRY_MEMORY(b, "a graph builder");
    b->graph = graph;
    b->param_prefix = b->node_prefix = "";
    b->mode = SR_MODE_BOTH;
    b->eval_from = INT64_MAX;
    return SR_OK;
}

void sr_builder_free(SrBuilder *b) { sr_free(b); }

SrGraph *sr_builder_graph(SrBuilder *b) { return b->graph; }

SrStatus sr_builder_status(const SrBuilder *b) {
    return b->status == SR_OK ? SR_OK : sr_fail(b->status, "%s", b->message);
}

// Keeps the status and this thread's message; later errors are consequences.
static void stick(SrBuilder *b, SrStatus status) {
    if (b->status != SR_OK || status == SR_OK)
        return;
    b->status = status;
    snprintf(b->message, sizeof b->message, "%s", sr_status_message());
}

SrStatus sr_builder_fail(SrBuilder *b, SrStatus status, const char *fmt, ...) {
    char text[sizeof b->message];
    va_list args;
    va_start(args, fmt);
    sr_number_vprint(text, sizeof text, fmt, args);
    va_end(args);
    stick(b, sr_fail(status, "%s%s%s", b->path, b->path[0] ? ": " : "", text));
    return b->status;
}

void sr_builder_push(SrBuilder *b, const char *scope) {
    size_t len = strlen(b->path), more = strlen(scope) + (len > 0);
    if (b->n_scopes == MAX_SCOPES || len + more >= PATH_BYTES) {
        sr_builder_fail(b, SR_ERR_CONFIG, "scopes are nested too deeply at '%s'", scope);
        return;
    }
    b->classes[b->n_scopes] = NULL;
    b->firsts[b->n_scopes] = sr_graph_count(b->graph);
    b->ends[b->n_scopes++] = len;
    snprintf(b->path + len, PATH_BYTES - len, "%s%s", len > 0 ? "." : "", scope);
}

void sr_builder_push_block(SrBuilder *b, const char *scope, const char *class_name) {
    int depth = b->n_scopes;
    sr_builder_push(b, scope);
    if (b->n_scopes == depth) // refused
        return;
    b->classes[depth] = sr_arena_strdup(sr_graph_arena(b->graph), class_name);
    if (!b->classes[depth])
        sr_builder_fail(b, SR_ERR_MEMORY, "out of memory for block %s", scope);
}

void sr_builder_push_numbered(SrBuilder *b, const char *class_name, const char *fmt, ...) {
    char scope[NUMBERED_BYTES];
    va_list args;
    va_start(args, fmt);
    sr_number_vprint(scope, sizeof scope, fmt, args);
    va_end(args);
    sr_builder_push_block(b, scope, class_name);
}

// The nodes added since scope `top` was opened are one call of its module.
static SrStatus close_block(SrBuilder *b, int top) {
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s%s", b->node_prefix, b->path);
    return sr_graph_add_block(b->graph, path, b->classes[top], b->firsts[top],
                              sr_graph_count(b->graph));
}

void sr_builder_pop(SrBuilder *b) {
    // After an error pushes may have been refused, so pops no longer match them; the first error
    // stands.
    if (b->n_scopes == 0) {
        sr_builder_fail(b, SR_ERR_CONFIG, "a scope is closed that was never opened");
        return;
    }
    int top = --b->n_scopes;
    if (b->classes[top] && b->status == SR_OK)
        stick(b, close_block(b, top));
    b->path[b->ends[top]] = '\0';
}

// Copies, because the old prefix is handed back and must stay valid.
static const char *set_prefix(SrBuilder *b, const char **which, const char *prefix) {
    const char *old = *which;
    const char *copy = sr_arena_strdup(sr_graph_arena(b->graph), prefix);
    if (copy)
        *which = copy;
    else
        sr_builder_fail(b, SR_ERR_MEMORY, "out of memory for the prefix %s", prefix);
    return old;
}

const char *sr_builder_set_param_prefix(SrBuilder *b, const char *prefix) {
    return set_prefix(b, &b->param_prefix, prefix);
}

const char *sr_builder_set_node_prefix(SrBuilder *b, const char *prefix) {
    return set_prefix(b, &b->node_prefix, prefix);
}

void sr_builder_set_pass(SrBuilder *b, int pass) { b->pass = pass; }

void sr_builder_set_mode(SrBuilder *b, unsigned mode) { b->mode = mode; }

void sr_builder_set_eval_from(SrBuilder *b, int64_t iteration) { b->eval_from = iteration; }

int64_t sr_builder_eval_from(const SrBuilder *b) { return b->eval_from; }

bool sr_builder_set_frozen(SrBuilder *b, bool frozen) {
    bool old = b->frozen;
    b->frozen = frozen;
    return old;
}

bool sr_builder_set_aside(SrBuilder *b, bool aside) {
    bool old = b->aside;
    b->aside = aside;
    return old;
}

void sr_builder_set_init(SrBuilder *b, const char *slot, SrInit init) {
    if (b->n_inits == MAX_INITS) {
        sr_builder_fail(b, SR_ERR_CONFIG, "more than %d initialisations for one node", MAX_INITS);
        return;
    }
    b->inits[b->n_inits].slot = slot;
    b->inits[b->n_inits++].init = init;
}

void sr_builder_set_entry(SrBuilder *b, const char *slot, const char *entry) {
    if (b->n_entries == MAX_INITS) {
        sr_builder_fail(b, SR_ERR_CONFIG, "more than %d entries for one node", MAX_INITS);
        return;
    }
    b->entries[b->n_entries].slot = slot;
    b->entries[b->n_entries++].entry = entry;
}

// Names are passed by value: they are short-lived, and the graph and the table copy what they keep.
typedef struct {
    char s[2 * PATH_BYTES];
} Name;

// Makes a name of prefix, scopes and leaf.  There is room for "_12", "@1" or
// ".num_batches_tracked" even after a very long name, so that suffixes always tell names apart.
static Name qualify(const SrBuilder *b, const char *prefix, const char *leaf) {
    Name name;
    snprintf(name.s, sizeof name.s - SUFFIX_BYTES, "%s%s%s%s", prefix, b->path,
             b->path[0] ? "." : "", leaf);
    return name;
}

// Appends the pass, such as "@1"; the first pass has no suffix.
static void add_pass(const SrBuilder *b, Name *name) {
    size_t len = strlen(name->s);
    if (b->pass > 0)
        snprintf(name->s + len, sizeof name->s - len, "@%d", b->pass);
}

// Returns the first of x, x_1, x_2, ... that is free in this pass.
static Name node_name(const SrBuilder *b, const char *leaf) {
    Name base = qualify(b, b->node_prefix, leaf), name = base;
    add_pass(b, &name);
    size_t len = strlen(base.s);
    for (int k = 1; sr__graph_has_name(b->graph, name.s); k++) {
        name = base;
        snprintf(name.s + len, sizeof name.s - len, "_%d", k);
        add_pass(b, &name);
    }
    return name;
}

// Finds or adds a table entry; a new one follows the builder's frozen flag.
static SrStatus add_entry(SrBuilder *b, const char *name, const SrSlot *slot, int *index) {
    SrParams *params = sr_graph_params(b->graph);
    int before = sr_params_count(params);
    SR_TRY(sr_params_add(params, name, slot, index));
    if (*index == before && b->frozen)
        sr_params_at(params, *index)->trainable = false;
    return SR_OK;
}

// Applies sr_builder_set_init.  A slot that the op does not have is an error of the caller.
static void apply_inits(SrBuilder *b, const SrOp *op, SrSlot *slots, int n) {
    for (int k = 0; k < b->n_inits; k++) { // later calls for the same slot win
        int i = 0;
        while (i < n && strcmp(slots[i].name, b->inits[k].slot) != 0)
            i++;
        if (i < n)
            slots[i].init = b->inits[k].init;
        else
            sr_builder_fail(b, SR_ERR_CONFIG, "%s has no slot '%s' to initialise", op->name,
                            b->inits[k].slot);
    }
}

// Makes the entry's name: <param prefix><scopes>.<leaf>.<slot>, or that of sr_builder_set_entry.
static Name entry_name(const SrBuilder *b, const char *leaf, const char *slot) {
    for (int i = 0; i < b->n_entries; i++)
        if (!strcmp(b->entries[i].slot, slot))
            return qualify(b, b->param_prefix, b->entries[i].entry);
    Name name = qualify(b, b->param_prefix, leaf);
    size_t len = strlen(name.s);
    snprintf(name.s + len, sizeof name.s - len, ".%s", slot);
    return name;
}

// Creates or finds the entries a node owns.
static SrStatus bind_slots(SrBuilder *b, const SrNodeSpec *spec, const char *leaf, int *w,
                           int *n_w) {
    *n_w = 0;
    if (!spec->op->slots)
        return SR_OK;
    SrShape x[SR_OP_MAX_IN], y;
    SrSlot slots[SR_OP_MAX_SLOTS];
    for (int i = 0; i < spec->n_in; i++)
        x[i] = sr_graph_at(b->graph, spec->in[i])->shape;
    // Slots may only be asked for inputs the op accepts.
    if (spec->op->infer(spec->params, x, spec->n_in, &y) != SR_OK)
        return sr_fail_prefix(SR_ERR_CONFIG, "%s (%s)", spec->name, spec->op->name);
    *n_w = spec->op->slots(spec->params, x, spec->n_in, slots);
    apply_inits(b, spec->op, slots, *n_w);
    for (int i = 0; i < *n_w; i++)
        SR_TRY(add_entry(b, entry_name(b, leaf, slots[i].name).s, &slots[i], &w[i]));
    return b->status;
}

// Fills in the default params of an op if the caller gives none.  The slots depend on them, so
// they are needed before the graph makes its copy.
static SrStatus default_params(SrBuilder *b, const SrOp *op, const char *name,
                               const void **params) {
    if (*params || op->params_bytes == 0)
        return SR_OK;
    void *fresh = sr_arena_alloc(sr_graph_arena(b->graph), op->params_bytes);
    SR_TRY_MEMORY(fresh, "node %s", name);
    *params = fresh;
    return op->options ? sr_options_parse(op->options, NULL, name, sr_graph_arena(b->graph), fresh)
                       : SR_OK;
}

// w NULL: bind fresh or shared entries by name.
static SrStatus add_node(SrBuilder *b, const char *op, const char *leaf, const void *params,
                         const SrNodeId *x, int n, const int *w, int n_w, SrNodeId *out) {
    Name name = node_name(b, leaf);
    int bound[SR_OP_MAX_SLOTS];
    SrNodeSpec spec = {.name = name.s,
                       .module = b->path,
                       .params = params,
                       .n_in = n,
                       .in = x,
                       .n_w = n_w,
                       .w = w,
                       .mode = b->mode,
                       .has_eval_from = true,
                       .eval_from = b->eval_from,
                       .aside = b->aside};
    SR_TRY(sr_op_find(op, &spec.op));
    SR_TRY(default_params(b, spec.op, name.s, &spec.params));
    if (n < spec.op->min_in || n > SR_MIN(spec.op->max_in, SR_OP_MAX_IN))
        SR_FAIL(SR_ERR_CONFIG, "%s: %s takes %d to %d inputs, not %d", name.s, op, spec.op->min_in,
                spec.op->max_in, n);
    for (int i = 0; i < n; i++)
        if (x[i] < 0 || x[i] >= sr_graph_count(b->graph))
            SR_FAIL(SR_ERR_CONFIG, "%s: input %d is node %d, which does not exist", name.s, i,
                    x[i]);
    if (!w) {
        SR_TRY(bind_slots(b, &spec, leaf, bound, &spec.n_w));
        spec.w = bound;
    }
    return sr_graph_add(b->graph, &spec, out);
}

SrNodeId sr_build_bound(SrBuilder *b, const char *op, const char *leaf, const void *params,
                        const SrNodeId *x, int n, const int *w, int n_w) {
    if (b->status != SR_OK)
        return SR_NO_NODE;
    SrNodeId id = SR_NO_NODE;
    SrStatus status = add_node(b, op, leaf, params, x, n, w, n_w, &id);
    stick(b, status);
    b->n_inits = 0; // they were for this node only
    b->n_entries = 0;
    return b->status == SR_OK ? id : SR_NO_NODE;
}

SrNodeId sr_build_n(SrBuilder *b, const char *op, const char *leaf, const void *params,
                    const SrNodeId *x, int n) {
    return sr_build_bound(b, op, leaf, params, x, n, NULL, 0);
}

SrNodeId sr_build(SrBuilder *b, const char *op, const char *leaf, const void *params, SrNodeId x) {
    return sr_build_n(b, op, leaf, params, &x, 1);
}

SrNodeId sr_build_input(SrBuilder *b, const char *name, SrShape shape, SrDtype dtype) {
    if (b->status != SR_OK)
        return SR_NO_NODE;
    Name full = node_name(b, name);
    SrNodeId id;
    stick(b, sr_graph_add_input(b->graph, full.s, shape, dtype, &id));
    return id;
}

void sr_build_remark(SrBuilder *b, const char *leaf, const SrShape *shape) {
    if (b->status == SR_OK)
        stick(b, sr_graph_add_remark(b->graph, node_name(b, leaf).s, shape));
}

// The path's dots become underscores, as in torch.fx.
void sr_build_parameter_remark(SrBuilder *b, const char *parameter, SrShape shape) {
    char leaf[PATH_BYTES + NUMBERED_BYTES];
    snprintf(leaf, sizeof leaf, "%s%s%s", b->path, b->path[0] ? "_" : "", parameter);
    for (char *at = leaf; (at = strchr(at, '.'));)
        *at = '_';
    sr_build_remark(b, leaf, &shape);
}

int sr_build_state(SrBuilder *b, const char *name, SrShape shape, SrDtype dtype, SrInit init) {
    if (b->status != SR_OK)
        return -1;
    SrSlot slot = {.name = name,
                   .shape = shape,
                   .dtype = dtype,
                   .kind = SR_SLOT_STATE,
                   .role = SR_ROLE_OTHER,
                   .init = init};
    int index = -1;
    stick(b, add_entry(b, qualify(b, b->param_prefix, name).s, &slot, &index));
    return b->status == SR_OK ? index : -1;
}

SrShape sr_build_shape(const SrBuilder *b, SrNodeId id) {
    if (id < 0 || id >= sr_graph_count(b->graph))
        return SR_SHAPE(1, 1, 1, 1); // after an error: something build functions may compute with
    return sr_graph_at(b->graph, id)->shape;
}

void sr_build_alias(SrBuilder *b, const char *alias, SrNodeId id) {
    if (b->status != SR_OK)
        return;
    Name name;
    snprintf(name.s, sizeof name.s, "%s%s", b->node_prefix, alias);
    add_pass(b, &name);
    stick(b, sr_graph_alias(b->graph, name.s, id));
}

void sr_build_alias_numbered(SrBuilder *b, SrNodeId id, const char *fmt, ...) {
    char alias[NUMBERED_BYTES];
    va_list args;
    va_start(args, fmt);
    sr_number_vprint(alias, sizeof alias, fmt, args);
    va_end(args);
    sr_build_alias(b, alias, id);
}
