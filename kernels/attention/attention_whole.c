// Decides which calls of attention are computed with whole heads (attention_whole.h), and runs
// their heads as units of work.
//
// Where products of bfloat16 pairs are not faster than those of floats, a head's rows are widened,
// computed as floats, and rounded.
#include "kernels/attention/attention_whole.h"

#include "base/parallel.h"
#include "kernels/core/rows.h"

// Limit on keys: probabilities and their gradient then take 0.6 MB in floats.
enum { MOST_KEYS = 272 };

static int vectors(int n) { return (n + 15) / 16 * 16; }

static size_t take(size_t *at, size_t n) {
    size_t from = *at;
    *at += (n + 15) / 16 * 16;
    return from;
}

SrWholeLayout sr__attention_whole_layout(SrDtype type, int L, int Q, int d) {
    bool pairs = type == SR_BF16;
    SrWholeLayout l = {.q_row = vectors(Q), .d_row = vectors(d), .words = pairs ? (d + 1) / 2 : d};
    size_t q_row = (size_t)l.q_row, d_row = (size_t)l.d_row, words = (size_t)l.words, at = 0;
    size_t keys = (size_t)L, key_words = pairs ? (keys + 1) / 2 : keys;
    size_t query_words = pairs ? ((size_t)Q + 1) / 2 : (size_t)Q;
    l.qt = take(&at, words * q_row);
    l.dyt = take(&at, words * q_row);
    l.qr = take(&at, query_words * d_row);
    l.dyr = take(&at, query_words * d_row);
    l.kr = take(&at, key_words * d_row);
    l.s = take(&at, keys * 32);
    l.ds = take(&at, keys * 32);
    l.p = take(&at, keys * (pairs ? q_row / 2 : q_row));
    l.dst = take(&at, keys * (pairs ? q_row / 2 : q_row));
    l.dsp = take(&at, pairs ? key_words * q_row : 0);
    l.sum = take(&at, keys * d_row);
    l.along = take(&at, q_row);
    l.floats = at;
    return l;
}

static const SrWholeKernels *kernels(const SrMachine *machine) {
    return SR_CPU_PICK_BF16(machine, sr__attention_whole);
}

static SrDtype computed_as(const SrMachine *machine, SrDtype type) {
    return sr_machine_has_pairs(machine) ? type : SR_F32;
}

// Rows of bfloat16 numbers are read as pairs, so d must be even.  Machines with tile registers keep
// to attention_tiles.c; whole heads are not measured there.
bool sr__attention_is_whole(const SrMachine *machine, const SrAttentionParams *p,
                            const SrAttentionSizes *s, SrDtype type, bool bias) {
    if (!kernels(machine)->forward || bias || sr__attention_is_masked(p) || p->dropout > 0 ||
        s->L > MOST_KEYS)
        return false;
    bool tiles = sr_machine_has_tiles(machine) || machine->emulates_tiles;
    return type == SR_F32 || (!tiles && (s->d % 2 == 0 || computed_as(machine, type) == SR_F32));
}

// A widened head: rows of queries, keys and values side by side (L, 3 d), y (Q, d) and their
// gradients.
typedef struct {
    float *x, *y, *dx, *dy;
    size_t floats; // total
} Wide;

static Wide wide_at(const SrAttentionSizes *s, float *space) {
    size_t x = 3 * (size_t)s->L * (size_t)s->d, y = (size_t)s->Q * (size_t)s->d;
    return (Wide){space, space + x, space + x + y, space + 2 * x + y, 2 * x + 2 * y};
}

size_t sr__attention_whole_floats(const SrMachine *machine, const SrAttentionSizes *s,
                                  SrDtype type) {
    SrDtype as = computed_as(machine, type);
    size_t head = sr__attention_whole_layout(as, s->L, s->Q, s->d).floats;
    return as == type ? head : head + (wide_at(s, NULL).floats + 15) / 16 * 16;
}

typedef struct {
    const SrOpCall *call;
    SrAttentionSizes s;
    SrDtype type, as; // of the tensors, and of the computation
    int64_t size;     // bytes of a number
    float scale;
    SrWholeLayout at;
    size_t floats; // of a thread's space
} Job;

static Job job_of(const SrOpCall *call) {
    SrAttentionSizes s = sr__attention_sizes(call->params, call->x[0].shape);
    SrDtype type = call->y.dtype, as = computed_as(call->machine, type);
    return (Job){.call = call,
                 .s = s,
                 .type = type,
                 .as = as,
                 .size = (int64_t)sr_dtype_bytes(type),
                 .scale = (float)sr__attention_scale(call->params, s.d),
                 .at = sr__attention_whole_layout(as, s.L, s.Q, s.d),
                 .floats = sr__attention_whole_floats(call->machine, &s, type)};
}

static void *at(int64_t size, const void *p, int64_t i) { return p ? (char *)p + i * size : NULL; }

static SrWholeHead head_at(const Job *job, int64_t i, int thread) {
    const SrOpCall *call = job->call;
    const SrAttentionSizes *s = &job->s;
    int64_t image = i / s->E, from = i % s->E * s->d, size = job->size;
    int64_t asked = image * s->Q * s->D + from, all = image * s->L * 3 * s->D + from;
    const void *x = at(size, call->x[0].data, all);
    void *dx = call->dx ? at(size, call->dx[0], all) : NULL;
    return (SrWholeHead){.at = &job->at,
                         .L = s->L,
                         .Q = s->Q,
                         .d = s->d,
                         .far = 3 * s->D,
                         .near = s->D,
                         .scale = job->scale,
                         .q = x,
                         .k = at(size, x, s->D),
                         .v = at(size, x, 2 * s->D),
                         .y = at(size, call->y.data, asked),
                         .dy = at(size, call->dy, asked),
                         .dq = dx,
                         .dk = at(size, dx, s->D),
                         .dv = at(size, dx, 2 * s->D),
                         .lse = call->again ? NULL : (float *)call->saved + i * s->Q,
                         .space = (float *)call->scratch + (size_t)thread * job->floats};
}

// Converts `rows` rows of a head's d numbers.
static void convert(const Job *job, SrDtype to, void *y, int64_t y_row, SrDtype from, const void *x,
                    int64_t x_row, int rows) {
    for (int r = 0; r < rows; r++)
        sr__rows(job->call->machine)
            ->cast(to, at((int64_t)sr_dtype_bytes(to), y, r * y_row), from,
                   at((int64_t)sr_dtype_bytes(from), x, r * x_row), job->s.d, false);
}

static void widen(const Job *job, float *y, int64_t y_row, const void *x, int64_t x_row, int rows) {
    convert(job, SR_F32, y, y_row, SR_BF16, x, x_row, rows);
}

static void narrow(const Job *job, void *y, int64_t y_row, const float *x, int64_t x_row,
                   int rows) {
    convert(job, SR_BF16, y, y_row, SR_F32, x, x_row, rows);
}

// Copies the rows of head h as floats to the space after its own.
static SrWholeHead widened(const Job *job, const SrWholeHead *h, bool backward) {
    int d = h->d, L = h->L, Q = h->Q;
    int64_t row = 3 * d;
    Wide w = wide_at(&job->s, h->space + job->at.floats);
    SrWholeHead wide = *h;
    wide.far = row;
    wide.near = d;
    wide.q = w.x;
    wide.k = w.x + d;
    wide.v = w.x + 2 * d;
    wide.y = w.y;
    wide.dy = w.dy;
    wide.dq = w.dx;
    wide.dk = w.dx + d;
    wide.dv = w.dx + 2 * d;
    widen(job, w.x, row, h->q, h->far, Q);
    widen(job, w.x + d, row, h->k, h->far, L);
    widen(job, w.x + 2 * d, row, h->v, h->far, L);
    if (backward) {
        widen(job, w.y, d, h->y, h->near, Q);
        widen(job, w.dy, d, h->dy, h->near, Q);
    }
    return wide;
}

// Computes head i of a call and tells its kernel the next head, which the same thread mostly
// computes next.
static void run(const Job *job, int64_t i, int thread, bool backward) {
    bool last = i + 1 == job->s.images * job->s.E;
    SrWholeHead h = head_at(job, i, thread), next = head_at(job, last ? i : i + 1, thread);
    const SrWholeKernels *k = kernels(job->call->machine);
    void (*kernel)(SrDtype, const SrWholeHead *, const SrWholeHead *) =
        backward ? k->backward : k->forward;
    if (job->as == job->type) {
        kernel(job->type, &h, &next);
        return;
    }
    SrWholeHead w = widened(job, &h, backward);
    kernel(job->as, &w, &w);
    if (!backward) {
        narrow(job, h.y, h.near, w.y, w.near, h.Q);
        return;
    }
    narrow(job, h.dq, h.far, w.dq, w.far, h.L);
    narrow(job, h.dk, h.far, w.dk, w.far, h.L);
    narrow(job, h.dv, h.far, w.dv, w.far, h.L);
}

static void forward_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    run(job, i, thread, false);
}

void sr__attention_whole_forward(const SrOpCall *call) {
    Job job = job_of(call);
    sr_parallel_for(job.s.images * job.s.E, forward_unit, &job);
}

static void backward_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    run(job, i, thread, true);
}

void sr__attention_whole_backward(const SrOpCall *call) {
    Job job = job_of(call);
    if (call->dx[0])
        sr_parallel_for(job.s.images * job.s.E, backward_unit, &job);
}
