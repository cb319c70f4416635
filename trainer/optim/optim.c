// One optimiser over a parameter table: memory of its state, and a step that is cut into pieces
// which do not depend on threads.  Each update rule has a file in trainer/optim/; param_groups.c
// decides which parameter decays.
//
// A step is two parallel passes over all pieces of all parameters.  The first computes norms if the
// rule asks for them, with sums in double that are combined in the order of the pieces.  The second
// updates element by element.  Rules that need whole parameters update one after the other instead.
#include "trainer/optim/optim.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/core/gemm.h"
#include "trainer/optim/norms.h"
#include "trainer/optim/optim_options.h"

// Numbers of one piece: 64 KiB for each array, so that value, gradient and state of a piece stay
// in a core's cache.
enum { PIECE = 16384 };

typedef struct { // one trainable parameter
    int index, group, rank, rows, columns;
    int64_t n;
    float *value, *grad;
    float *state[SR_OPTIM_MAX_STATES];
    int64_t steps;
    int first_piece, n_pieces;
    bool active; // not skipped in this step
    SrOptimUpdate update;
} Slot;

typedef struct {
    int slot;
    int64_t offset, n;
    double value_squares, grad_squares; // partial sums
} Piece;

struct SrOptim {
    const SrOptimizer *kind;
    const void *params; // its options
    const SrOptimizerConfig *config;
    SrArena arena;
    SrParamGroups groups;
    int n_slots, n_states, n_pieces, n_params;
    Slot *slots;
    Piece *pieces;
    int *slot_of; // (n_params) table index -> slot, -1 if not trained
    double *lr;   // (groups.n) scratch of sr_optim_step
    float *state; // one block for all parameters
    float *space; // work space of update_whole, at the end of that block
    size_t state_bytes;
    SrOptimNorms norms;
};

// ---- set-up

// Copies the groups, because their decay changes during training and their lists may belong to the
// caller.
static SrStatus copy_groups(SrOptim *o, const SrParamGroups *groups) {
    o->groups.n = groups->n;
    o->groups.groups =
        sr_arena_copy(&o->arena, groups->groups, sizeof(SrParamGroup) * (size_t)groups->n);
    o->lr = sr_arena_alloc(&o->arena, sizeof(double) * (size_t)(groups->n + 1));
    SR_TRY_MEMORY(o->groups.groups && o->lr, "the optimiser");
    for (int g = 0; g < groups->n; g++) {
        SrParamGroup *copy = &o->groups.groups[g];
        copy->params =
            sr_arena_copy(&o->arena, groups->groups[g].params, sizeof(int) * (size_t)copy->n);
        if (copy->n > 0 && !copy->params)
            return sr_out_of_memory("the optimiser");
        o->n_slots += copy->n;
    }
    return SR_OK;
}

static int rows_of(SrShape shape) { return shape.rank > 1 ? shape.d[0] : 1; }

static int64_t pieces_of(int64_t n) { return (n + PIECE - 1) / PIECE; }

// Fills one slot for each parameter, in the order of the groups.  Addresses are read once,
// because the table never moves them.
static SrStatus fill_slots(SrOptim *o, SrParams *params) {
    o->n_params = sr_params_count(params);
    o->slots = sr_arena_alloc(&o->arena, sizeof(Slot) * (size_t)(o->n_slots + 1));
    o->slot_of = sr_arena_alloc(&o->arena, sizeof(int) * (size_t)(o->n_params + 1));
    SR_TRY_MEMORY(o->slots && o->slot_of, "the optimiser");
    memset(o->slot_of, -1, sizeof(int) * (size_t)(o->n_params + 1));
    int s = 0;
    for (int g = 0; g < o->groups.n; g++) {
        for (int k = 0; k < o->groups.groups[g].n; k++, s++) {
            int index = o->groups.groups[g].params[k];
            const SrParam *p = sr_params_at(params, index);
            if (!p->value || !p->grad)
                SR_FAIL(SR_ERR_RUN, "parameter %s has no gradient, which the optimiser needs",
                        p->name);
            int64_t n = sr_shape_count(p->shape);
            SR_ASSERT(s < o->n_slots && o->slot_of[index] < 0); // no parameter is in two groups
            o->slots[s] = (Slot){.index = index,
                                 .group = g,
                                 .rank = p->shape.rank,
                                 .rows = rows_of(p->shape),
                                 .columns = (int)(n / rows_of(p->shape)),
                                 .n = n,
                                 .value = p->value,
                                 .grad = p->grad,
                                 .first_piece = o->n_pieces,
                                 .n_pieces = (int)pieces_of(n)};
            o->slot_of[index] = s;
            o->n_pieces += o->slots[s].n_pieces;
        }
    }
    return SR_OK;
}

// Lists the pieces of all parameters together, so that threads share a thousand small parameters as
// well as one large one.
static SrStatus fill_pieces(SrOptim *o) {
    o->pieces = sr_arena_alloc(&o->arena, sizeof(Piece) * (size_t)(o->n_pieces + 1));
    SR_TRY_MEMORY(o->pieces, "the optimiser");
    for (int s = 0; s < o->n_slots; s++) {
        const Slot *slot = &o->slots[s];
        for (int k = 0; k < slot->n_pieces; k++) {
            int64_t offset = (int64_t)k * PIECE;
            SR_ASSERT(offset < slot->n && slot->first_piece + k < o->n_pieces);
            o->pieces[slot->first_piece + k] =
                (Piece){s, offset, SR_MIN((int64_t)PIECE, slot->n - offset), 0, 0};
        }
    }
    return SR_OK;
}

SrOptimWork sr_optim_work(const SrOptimizer *kind, const void *options, SrParams *params,
                          const SrParamGroups *groups) {
    SrOptimWork work = {0, 0};
    for (int g = 0; kind->work && g < groups->n; g++)
        for (int k = 0; k < groups->groups[g].n; k++) {
            SrShape shape = sr_params_at(params, groups->groups[g].params[k])->shape;
            int rows = rows_of(shape);
            SrOptimWork one = kind->work(options, rows, (int)(sr_shape_count(shape) / rows));
            work.floats = SR_MAX(work.floats, one.floats);
            work.flops += one.flops;
        }
    return work;
}

// Maps all state and the work space in one block; each parameter's part starts on a cache line of
// its own.
static SrStatus allocate_state(SrOptim *o, SrParams *params) {
    const int64_t line = SR_ALIGN / (int)sizeof(float);
    int64_t total = sr_optim_work(o->kind, o->params, params, &o->groups).floats;
    for (int s = 0; s < o->n_slots; s++)
        total += (o->slots[s].n + line - 1) / line * line * o->n_states;
    if (total == 0)
        return SR_OK;
    o->state_bytes = (size_t)total * sizeof(float);
    o->state = sr_map(o->state_bytes);
    if (!o->state)
        SR_FAIL(SR_ERR_MEMORY, "no memory for %zu bytes of optimiser state", o->state_bytes);
    float *next = o->state;
    SR_ASSERT(o->n_states <= SR_OPTIM_MAX_STATES);
    for (int s = 0; s < o->n_slots; s++) {
        for (int k = 0; k < o->n_states; k++) {
            o->slots[s].state[k] = next;
            next += (o->slots[s].n + line - 1) / line * line;
        }
    }
    o->space = next;
    return o->kind->update_whole ? sr_gemm_reserve() : SR_OK;
}

// Does everything that can fail; the caller frees a partly built optimiser.
static SrStatus set_up(SrOptim *o, SrParams *params, const SrParamGroups *groups) {
    SR_TRY(sr_optim_check(o->config, &o->arena, &o->kind, &o->params));
    o->n_states = o->kind->n_states(o->params);
    o->norms = o->kind->norms ? o->kind->norms(o->params) : SR_NORMS_NONE;
    SrParamGroups own = {0};
    if (!groups)
        SR_TRY(sr_param_groups(params, o->config, &o->arena, &own));
    SR_TRY(copy_groups(o, groups ? groups : &own));
    SR_TRY(fill_slots(o, params));
    SR_TRY(fill_pieces(o));
    return allocate_state(o, params);
}

static SrStatus create(SrParams *params, const SrOptimizerConfig *config,
                       const SrParamGroups *groups, SrOptim **out) {
    SrOptim *o = sr_calloc(1, sizeof *o);
    SR_TRY_MEMORY(o, "the optimiser");
    o->config = config;
    SrStatus status = set_up(o, params, groups);
    if (status != SR_OK) {
        sr_optim_free(o);
        return status;
    }
    *out = o;
    return SR_OK;
}

SrStatus sr_optim_new(SrParams *params, const SrOptimizerConfig *config, SrOptim **out) {
    return create(params, config, NULL, out);
}

SrStatus sr_optim_new_grouped(SrParams *params, const SrOptimizerConfig *config,
                              const SrParamGroups *groups, SrOptim **out) {
    return create(params, config, groups, out);
}

void sr_optim_free(SrOptim *o) {
    if (!o)
        return;
    if (o->state)
        sr_unmap(o->state, o->state_bytes);
    sr_arena_deinit(&o->arena);
    sr_free(o);
}

const SrParamGroups *sr_optim_groups(const SrOptim *o) { return &o->groups; }

// Unregularised groups keep their decay, whatever the schedule says.
void sr_optim_set_weight_decay(SrOptim *o, double weight_decay, double head_weight_decay) {
    for (int g = 0; g < o->groups.n; g++) {
        SrParamGroup *group = &o->groups.groups[g];
        if (group->regularised)
            group->weight_decay = group->head_lr ? head_weight_decay : weight_decay;
    }
}

// ---- a step

// Computes one piece's share of both norms.  Pieces of skipped parameters keep old sums, which no
// update reads.
static void norm_body(void *arg, int64_t i, int thread) {
    (void)thread;
    SrOptim *o = arg;
    Piece *piece = &o->pieces[i];
    const Slot *slot = &o->slots[piece->slot];
    if (!slot->active)
        return;
    const float *value = slot->value + piece->offset, *grad = slot->grad + piece->offset;
    piece->value_squares = sr__sum_squares(value, piece->n);
    piece->grad_squares =
        o->norms == SR_NORMS_GRAD
            ? sr__sum_squares(grad, piece->n)
            : sr__sum_decayed_squares(grad, value, (float)slot->update.weight_decay, piece->n);
}

// Calls the rule for one piece, as if it were the whole parameter.
static void update_body(void *arg, int64_t i, int thread) {
    (void)thread;
    SrOptim *o = arg;
    const Piece *piece = &o->pieces[i];
    const Slot *slot = &o->slots[piece->slot];
    if (!slot->active)
        return;
    float *state[SR_OPTIM_MAX_STATES] = {0};
    for (int k = 0; k < o->n_states; k++)
        state[k] = slot->state[k] + piece->offset;
    o->kind->update(&slot->update, piece->n, slot->value + piece->offset,
                    slot->grad + piece->offset, state);
}

static void update_whole(SrOptim *o) {
    for (int s = 0; s < o->n_slots; s++) {
        const Slot *slot = &o->slots[s];
        if (slot->active)
            o->kind->update_whole(&slot->update, slot->value, slot->grad, slot->state, o->space);
    }
}

// Adds partial sums in the order of the pieces, so that the result does not depend on threads.
static void take_norms(SrOptim *o) {
    sr_parallel_for(o->n_pieces, norm_body, o);
    for (int s = 0; s < o->n_slots; s++) {
        Slot *slot = &o->slots[s];
        double value = 0, grad = 0;
        for (int k = 0; k < slot->n_pieces; k++) {
            value += o->pieces[slot->first_piece + k].value_squares;
            grad += o->pieces[slot->first_piece + k].grad_squares;
        }
        slot->update.value_norm = sqrt(value);
        slot->update.grad_norm = sqrt(grad);
    }
}

void sr_optim_step_groups(SrOptim *o, const double *lr, const bool *skip) {
    for (int s = 0; s < o->n_slots; s++) {
        Slot *slot = &o->slots[s];
        slot->active = !(skip && skip[slot->index]);
        slot->update = (SrOptimUpdate){
            .params = o->params,
            .lr = lr[slot->group],
            .weight_decay = o->groups.groups[slot->group].weight_decay,
            .rank = slot->rank,
            .rows = slot->rows,
            .columns = slot->columns,
            .steps = slot->steps,
        };
    }
    if (o->norms != SR_NORMS_NONE)
        take_norms(o);
    if (o->kind->update_whole)
        update_whole(o);
    else
        sr_parallel_for(o->n_pieces, update_body, o);
    for (int s = 0; s < o->n_slots; s++)
        o->slots[s].steps += o->slots[s].active;
}

void sr_optim_step(SrOptim *o, double lr, double lr_head, const bool *skip) {
    for (int g = 0; g < o->groups.n; g++) {
        double scale = o->groups.groups[g].lr_scale;
        o->lr[g] = (o->groups.groups[g].head_lr ? lr_head : lr) * (scale != 0 ? scale : 1);
    }
    sr_optim_step_groups(o, o->lr, skip);
}

// ---- state for checkpoints

float *sr_optim_state(SrOptim *o, int index, int k, const char **name, int64_t **steps) {
    int s = index >= 0 && index < o->n_params ? o->slot_of[index] : -1;
    if (s < 0)
        return NULL;
    if (steps)
        *steps = &o->slots[s].steps;
    if (k < 0 || k >= o->n_states)
        return NULL;
    if (name)
        *name = o->kind->state_names[k];
    return o->slots[s].state[k];
}

size_t sr_optim_bytes(const SrOptim *o) { return o->state_bytes; }
