// Sums gradients up the tree within a rank, and sends buckets of them to other ranks while the last
// backward pass is still running.
#include "trainer/run/ranks/grad_sums.h"

#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/ranks/comm.h"
#include "graph/plan/plan_run.h"

enum { MAX_LEVELS = 21 };                // 2^20 replicas per rank
#define FIRST_FLOATS ((int64_t)1 << 18)  // 1 MiB crosses after the end of the backward pass
#define BUCKET_FLOATS ((int64_t)6 << 20) // 24 MiB cross at once
#define MOST_FLOATS ((int64_t)1 << 28)   // of one parameter that crosses whole
#define PIECE_FLOATS ((int64_t)1 << 15)  // that a thread moves at a time

// Consecutive parameters of the table that cross between ranks together.
typedef struct {
    int first, end; // parameters first .. end - 1
    int64_t at;     // offset of the first one among all trainable numbers
    int ready;      // call of the backward pass after which all its gradients are complete
    bool left;      // sent in this step
    SrCommSum sum;
} Bucket;

struct SrGradSums {
    SrParams *params;
    SrGradSumsOptions options;
    int64_t n; // trainable numbers
    int levels;
    float *level[MAX_LEVELS]; // (n) sums over 2^level replicas
    float *own;               // (n) gradients of the loss's own parameters.  NULL: none
    Bucket *buckets;
    int n_buckets;
    float *values, *scratch;     // (crossing) all buckets, padded.  NULL: one rank
    int64_t crossing;            // floats
    const SrPlan *watched;       // plan whose calls `ready` counts
    int64_t steps;               // completed steps
    double exchange_s, waited_s; // seconds in step PLAIN_STEP, and in all later steps
};

// Step that exchanges after its backward pass, to measure how long an exchange takes.  Not the
// first one, which opens connections.
enum { PLAIN_STEP = 1 };

// ---- sizes

static int64_t floats_of(const SrParam *p) { return p->trainable ? sr_shape_count(p->shape) : 0; }

static int64_t count(SrParams *params) {
    int64_t n = 0;
    for (int i = 0; i < sr_params_count(params); i++)
        n += floats_of(sr_params_at(params, i));
    return n;
}

// Returns the number of bits of n: the number of subtrees that wait at the same time.
static int levels_of(int n) {
    int levels = 0;
    while (levels < MAX_LEVELS && n >> levels)
        levels++;
    return levels;
}

size_t sr_grad_sums_bytes(SrParams *params, const SrGradSumsOptions *o) {
    int blocks = levels_of(o->mine - 1) + o->own;
    if (sr_comm_size() > 1)
        blocks += o->library ? 1 : 2;
    return (size_t)blocks * (size_t)count(params) * sizeof(float);
}

static bool power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }

bool sr_grad_sums_exact(int replicas, int ranks) {
    return ranks == 1 || power_of_two(replicas / ranks);
}

// ---- buckets

// Returns the end of bucket b, which begins with parameter `first`.  Gradients of the first
// parameters are complete last, when no backward pass is left to overlap with.  So the first
// buckets are small, each twice as large as the one before.
static int bucket_end(const SrGradSums *s, int b, int first, int64_t *n) {
    int end = first;
    int64_t most =
        SR_MAX(BUCKET_FLOATS, s->n / (SR_COMM_CHANNELS / 2)); // each has a channel of its own
    int64_t full = SR_MIN(FIRST_FLOATS << SR_MIN(b, 20), most);
    *n = 0;
    while (end < sr_params_count(s->params) && (*n == 0 || *n < full))
        *n += floats_of(sr_params_at(s->params, end++));
    return end;
}

static SrStatus make_buckets(SrGradSums *s) {
    int64_t n, at = 0, place = 0;
    for (int first = 0; first < sr_params_count(s->params); s->n_buckets++)
        first = bucket_end(s, s->n_buckets, first, &n);
    s->buckets = sr_calloc((size_t)s->n_buckets + 1, sizeof *s->buckets);
    SR_TRY_MEMORY(s->buckets, "sums over ranks");
    for (int b = 0, first = 0; b < s->n_buckets; b++) {
        int end = bucket_end(s, b, first, &n);
        if (n > MOST_FLOATS)
            SR_FAIL(SR_ERR_CONFIG, "'%s' is too large to be summed over ranks",
                    sr_params_at(s->params, first)->name);
        s->buckets[b] = (Bucket){
            .first = first, .end = end, .at = place, .sum = {.n = sr_comm_padded(n), .channel = b}};
        place += n;
        s->crossing += s->buckets[b].sum.n;
        first = end;
    }
    s->values = sr_calloc((size_t)s->crossing + 1, sizeof *s->values);
    s->scratch = s->options.library ? NULL : sr_calloc((size_t)s->crossing + 1, sizeof *s->scratch);
    if (!s->values || (!s->scratch && !s->options.library))
        return sr_out_of_memory("sums over ranks");
    for (int b = 0; b < s->n_buckets; b++) {
        SrCommSum *sum = &s->buckets[b].sum;
        sum->values = s->values + at;
        sum->scratch = s->scratch ? s->scratch + at : NULL;
        sum->descending = s->options.descending;
        sum->library = s->options.library;
        at += sum->n;
    }
    return SR_OK;
}

// ---- memory

static SrStatus allocate(SrGradSums *s) {
    size_t block = (size_t)s->n * sizeof(float) + 1;
    bool ok = true;
    for (int i = 0; ok && i < s->levels; i++)
        ok = (s->level[i] = sr_alloc(block)) != NULL;
    if (ok && s->options.own)
        ok = (s->own = sr_alloc(block)) != NULL;
    SR_TRY_MEMORY(ok, "the sums of %d replicas", s->options.mine);
    return sr_comm_size() > 1 ? make_buckets(s) : SR_OK;
}

SrStatus sr_grad_sums_new(SrParams *params, const SrGradSumsOptions *options, SrGradSums **out) {
    SrGradSums *s = sr_calloc(1, sizeof *s);
    *out = NULL;
    SR_TRY_MEMORY(s, "the sums of gradients");
    s->params = params;
    s->options = *options;
    s->n = count(params);
    s->levels = levels_of(options->mine - 1);
    SrStatus status = allocate(s);
    if (status != SR_OK)
        sr_grad_sums_free(s);
    else
        *out = s;
    return status;
}

void sr_grad_sums_free(SrGradSums *s) {
    if (!s)
        return;
    for (int i = 0; i < s->levels; i++)
        sr_free(s->level[i]);
    sr_free(s->own);
    sr_free(s->buckets);
    sr_free(s->values);
    sr_free(s->scratch);
    sr_free(s);
}

// ---- the tree within a rank

typedef enum { STORE, ADD, LOAD } Move; // block = table; table = block + table; table = block

typedef struct {
    float *grad, *block;
    int64_t n;
    Move how;
} Moving;

static void move_piece(void *arg, int64_t piece, int thread) {
    const Moving *m = arg;
    int64_t from = piece * PIECE_FLOATS, n = SR_MIN(m->n - from, PIECE_FLOATS);
    float *grad = m->grad + from, *block = m->block + from;
    (void)thread;
    if (m->how == STORE)
        memcpy(block, grad, (size_t)n * sizeof *block);
    if (m->how == LOAD)
        memcpy(grad, block, (size_t)n * sizeof *block);
    for (int64_t k = 0; m->how == ADD && k < n; k++)
        grad[k] = block[k] + grad[k];
}

static int64_t pieces_of(int64_t n) { return (n + PIECE_FLOATS - 1) / PIECE_FLOATS; }

static float *move_param(const SrParam *p, float *block, Move how) {
    Moving m = {p->grad, block, p->grad ? sr_shape_count(p->shape) : 0, how};
    sr_parallel_for(pieces_of(m.n), move_piece, &m);
    return block + m.n;
}

// Moves parameters first .. end - 1, the first of them at offset `at` of the block.
static void move_range(SrGradSums *s, int first, int end, float *at, Move how) {
    for (int i = first; i < end; i++)
        at = move_param(sr_params_at(s->params, i), at, how);
}

static void move_grads(SrGradSums *s, float *block, Move how) {
    move_range(s, 0, sr_params_count(s->params), block, how);
}

void sr_grad_sums_keep_own(SrGradSums *s) {
    if (s->own)
        move_grads(s, s->own, STORE);
}

// Adds the gradients of parameters [first, end) of replica number `done` to the tree, up to the
// highest level that is complete with them.
static void climb(SrGradSums *s, int done, int first, int end, int64_t at) {
    int level = 0, last = s->options.mine - 1;
    for (; done >> level & 1; level++)
        move_range(s, first, end, s->level[level] + at, ADD);
    if (done < last)
        move_range(s, first, end, s->level[level] + at, STORE);
    // With a number that is no power of two, remaining subtrees are joined from the smallest up.
    for (int rest = level + 1; done == last && rest < s->levels; rest++)
        if (done >> rest & 1)
            move_range(s, first, end, s->level[rest] + at, ADD);
}

void sr_grad_sums_add(SrGradSums *s, int done) {
    if (!s->buckets)
        climb(s, done, 0, sr_params_count(s->params), 0);
    for (int b = 0; b < s->n_buckets; b++) // buckets that were sent are summed already
        if (!s->buckets[b].left)
            climb(s, done, s->buckets[b].first, s->buckets[b].end, s->buckets[b].at);
}

// ---- over ranks

static void move_bucket(SrGradSums *s, Bucket *b, Move how) {
    float *block = b->sum.values;
    for (int i = b->first; i < b->end; i++)
        block = move_param(sr_params_at(s->params, i), block, how);
}

static void leave(SrGradSums *s, Bucket *b) {
    move_bucket(s, b, STORE);
    sr_comm_sum_begin(&b->sum);
    b->left = true;
}

// All ranks have the same plan, so they send buckets in the same order.
static void after_call(void *arg, int call) {
    SrGradSums *s = arg;
    for (int i = 0; i < s->n_buckets; i++) {
        Bucket *b = &s->buckets[i];
        if (b->left)
            sr_comm_sum_poll(&b->sum);
        if (b->ready != call)
            continue;
        climb(s, s->options.mine - 1, b->first, b->end, b->at);
        leave(s, b);
    }
}

static void watch(SrGradSums *s, const SrPlan *plan) {
    for (int i = 0; i < s->n_buckets; i++) {
        Bucket *b = &s->buckets[i];
        b->ready = -1;
        for (int k = b->first; k < b->end; k++)
            b->ready = SR_MAX(b->ready, sr_plan_gradient_done(plan, k));
    }
    s->watched = plan;
}

SrStatus sr_grad_sums_backward(SrGradSums *s, SrPlan *plan, int done) {
    bool last = done == s->options.mine - 1;
    if (!s->buckets || !last || s->steps == PLAIN_STEP) {
        return sr_plan_backward(plan);
    }
    if (s->watched != plan)
        watch(s, plan);
    return sr_plan_backward_each(plan, after_call, s);
}

static void cross(SrGradSums *s) {
    double began = sr_clock();
    for (int b = 0; b < s->n_buckets; b++)
        if (!s->buckets[b].left)
            leave(s, &s->buckets[b]);
    for (int b = 0; b < s->n_buckets; b++) {
        sr_comm_sum_end(&s->buckets[b].sum);
        move_bucket(s, &s->buckets[b], LOAD);
        s->buckets[b].left = false;
    }
    if (s->steps == PLAIN_STEP)
        s->exchange_s = sr_clock() - began;
    if (s->steps > PLAIN_STEP)
        s->waited_s += sr_clock() - began;
    s->steps++;
}

bool sr_grad_sums_seconds(const SrGradSums *s, double *exchange, double *waited) {
    int64_t steps = s->steps - PLAIN_STEP - 1;
    *exchange = s->exchange_s;
    *waited = steps > 0 ? s->waited_s / (double)steps : 0;
    return steps > 0;
}

typedef struct {
    float *grad;
    int64_t n;
    float factor;
} Scaling;

static void scale_piece(void *arg, int64_t piece, int thread) {
    const Scaling *s = arg;
    (void)thread;
    for (int64_t k = piece * PIECE_FLOATS; k < SR_MIN(s->n, (piece + 1) * PIECE_FLOATS); k++)
        s->grad[k] *= s->factor;
}

static void scale(SrGradSums *s, float factor) {
    for (int i = 0; i < sr_params_count(s->params); i++) {
        const SrParam *p = sr_params_at(s->params, i);
        Scaling scaling = {p->grad, p->grad ? sr_shape_count(p->shape) : 0, factor};
        sr_parallel_for(pieces_of(scaling.n), scale_piece, &scaling);
    }
}

void sr_grad_sums_end(SrGradSums *s, float factor) {
    if (sr_comm_size() > 1)
        cross(s);
    if (s->own)
        move_grads(s, s->own, ADD);
    if (factor != 1)
        scale(s, factor);
}
