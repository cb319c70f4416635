// Decides which calls of attention are computed with whole heads (attention_whole.h), and runs
// their heads as units of work.
#include "kernels/attention/attention_whole.h"

#include "base/parallel.h"

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

// Rows of bfloat16 numbers are read as pairs, so d must be even.  Machines with tile registers keep
// to attention_tiles.c; whole heads are not measured there.
bool sr__attention_is_whole(const SrMachine *machine, const SrAttentionParams *p,
                            const SrAttentionSizes *s, SrDtype type, bool bias) {
    if (!kernels(machine)->forward || bias || sr__attention_is_masked(p) || p->dropout > 0 ||
        s->L > MOST_KEYS)
        return false;
    return type == SR_F32 ||
           (s->d % 2 == 0 && !sr_machine_has_tiles(machine) && !machine->emulates_tiles);
}

size_t sr__attention_whole_floats(const SrAttentionSizes *s, SrDtype type) {
    return sr__attention_whole_layout(type, s->L, s->Q, s->d).floats;
}

typedef struct {
    const SrOpCall *call;
    SrAttentionSizes s;
    SrDtype type;
    int64_t size; // bytes of a number
    float scale;
    SrWholeLayout at;
} Job;

static Job job_of(const SrOpCall *call) {
    SrAttentionSizes s = sr__attention_sizes(call->params, call->x[0].shape);
    SrDtype type = call->y.dtype;
    return (Job){.call = call,
                 .s = s,
                 .type = type,
                 .size = (int64_t)sr_dtype_bytes(type),
                 .scale = (float)sr__attention_scale(call->params, s.d),
                 .at = sr__attention_whole_layout(type, s.L, s.Q, s.d)};
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
                         .space = (float *)call->scratch + (size_t)thread * job->at.floats};
}

// Calls `kernel` for head i of a call and tells it the next head, which the same thread mostly
// computes next.
static void run(const Job *job, int64_t i, int thread,
                void (*kernel)(SrDtype, const SrWholeHead *, const SrWholeHead *)) {
    bool last = i + 1 == job->s.images * job->s.E;
    SrWholeHead h = head_at(job, i, thread), next = head_at(job, last ? i : i + 1, thread);
    kernel(job->type, &h, &next);
}

static void forward_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    run(job, i, thread, kernels(job->call->machine)->forward);
}

void sr__attention_whole_forward(const SrOpCall *call) {
    Job job = job_of(call);
    sr_parallel_for(job.s.images * job.s.E, forward_unit, &job);
}

static void backward_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    run(job, i, thread, kernels(job->call->machine)->backward);
}

void sr__attention_whole_backward(const SrOpCall *call) {
    Job job = job_of(call);
    if (call->dx[0])
        sr_parallel_for(job.s.images * job.s.E, backward_unit, &job);
}
