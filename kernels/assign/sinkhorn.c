// sinkhorn: the op around Sinkhorn-Knopp.  Scores of one assign crop (n, P) become codes (n, P);
// there is no gradient.
//
// A queue of earlier samples' scores may take part in the balancing (SwAV, section 3.2).  It is
// bound as state slots so that the loss can refill it: num_iteration (if hard_iters > 0), then
// queue and use_queue (if queue_length > 0).
#include "kernels/assign/sinkhorn.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/core/op_util.h"

static const SrOption options[] = {
    {"epsilon", SR_OPT_FLOAT, offsetof(SrSinkhornParams, epsilon), "0.05", 1e-30, 1e30,
     .help = "Entropy regularisation of the codes: the smaller, the sharper."},
    {"num_iters", SR_OPT_INT, offsetof(SrSinkhornParams, num_iters), "3", 0, 1000000,
     .help = "Number of iterations."},
    {"powerlaw", SR_OPT_FLOAT, offsetof(SrSinkhornParams, powerlaw), "0", 0, 1000,
     .help = "Prototype k gets a share of the samples proportional to (k + 1)^-powerlaw; 0: equal "
             "shares."},
    {"double_precision", SR_OPT_BOOL, offsetof(SrSinkhornParams, double_precision), "false",
     .help = "Compute in double precision."},
    {"no_shift", SR_OPT_BOOL, offsetof(SrSinkhornParams, no_shift), "false",
     .help = "Do not subtract the largest score before the exponential, unless it would overflow."},
    {"form", SR_OPT_ENUM, offsetof(SrSinkhornParams, form), "vissl", .choices = "vissl|log",
     .help = "vissl: VISSL's order and precision; log: exact in the log domain."},
    {"hard_iters", SR_OPT_INT, offsetof(SrSinkhornParams, hard_iters), "0", 0, 0x7fffffff,
     .help = "Codes are one-hot in steps below this one."},
    {"queue_length", SR_OPT_INT, offsetof(SrSinkhornParams, queue_length), "0", 0, 0x7fffffff,
     .help = "Number of rows in the queue; 0: no queue."},
    {"counted", SR_OPT_BOOL, offsetof(SrSinkhornParams, counted), "False",
     .help = "The value in the slot use_queue is the number of rows of the queue to use; False: "
             "all rows unless it is 0."},
    SR_OPTION_END,
};

size_t sr_sinkhorn_scratch_bytes(const SrMachine *machine, const SrSinkhorn *s) {
    return (size_t)s->P * sizeof(double) +
           SR_CPU_PICK(machine, sr__sinkhorn_kernels)->scratch_bytes(s);
}

// Writes r (P): the mass that each prototype is to hold; the sum is 1.
static void prototype_mass(int P, double powerlaw, double *r) {
    double sum = 0;
    for (int k = 0; k < P; k++)
        sum += r[k] = powerlaw > 0 ? pow(k + 1, -powerlaw) : 1;
    for (int k = 0; k < P; k++)
        r[k] = fmax(r[k] / sum, 1e-300); // keeps the logarithm finite
}

// Turns each row (P) into 1 at its first largest number and 0 elsewhere.
static void make_hard(float *codes, int rows, int P) {
    for (int r = 0; r < rows; r++, codes += P) {
        int best = 0;
        for (int k = 1; k < P; k++)
            best = codes[k] > codes[best] ? k : best;
        memset(codes, 0, (size_t)P * sizeof(float));
        codes[best] = 1;
    }
}

void sr_sinkhorn(const SrMachine *machine, const SrSinkhorn *s, float *codes, void *scratch) {
    const SrSinkhornKernels *kernels = SR_CPU_PICK(machine, sr__sinkhorn_kernels);
    double *r = scratch;
    void *rest = r + s->P;
    prototype_mass(s->P, s->params.powerlaw, r);
    bool done = false;
    if (s->params.form == SR_SINKHORN_VISSL)
        done = (s->params.double_precision ? kernels->scale_f64 : kernels->scale_f32)(s, r, codes,
                                                                                      rest);
    if (!done)
        kernels->log_domain(s, r, codes, rest);
    if (s->hard)
        make_hard(codes, s->n, s->P);
}

// Codes have the shape of the scores.
static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrSinkhornParams *p = params;
    SR_TRY(sr__expect_rank("sinkhorn", x, n_in, 2, 2));
    if (!(p->epsilon > 0))
        SR_FAIL(SR_ERR_CONFIG, "sinkhorn: epsilon %g: expected a positive number", p->epsilon);
    *y = x[0];
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    (void)n_in;
    const SrSinkhornParams *p = params;
    int n = 0;
    if (p->hard_iters > 0)
        out[n++] = sr__state_slot("num_iteration", SR_SHAPE(1), SR_I64, SR_INIT_CONSTANT, 0);
    if (p->queue_length > 0) {
        out[n++] = sr__state_slot("queue", SR_SHAPE(p->queue_length, x[0].d[1]), SR_F32,
                                  SR_INIT_UNIFORM, 1);
        out[n++] = sr__state_slot("use_queue", SR_SHAPE(1), SR_I64, SR_INIT_CONSTANT, 0);
    }
    return n;
}

// Returns the rows of the queue that take part, by the slot use_queue.
static int queue_rows(const SrSinkhornParams *p, int64_t use_queue) {
    if (p->counted)
        return (int)SR_MIN(use_queue, p->queue_length);
    return use_queue ? p->queue_length : 0;
}

// Returns the call's problem, with every row of the queue.
static SrSinkhorn problem(const SrSinkhornParams *p, SrShape x) {
    return (SrSinkhorn){.n = x.d[0], .n_queue = p->queue_length, .P = x.d[1], .params = *p};
}

// Scratch for a full queue, whether or not it takes part yet.
static size_t scratch_bytes(const SrOpSite *site) {
    SrSinkhorn s = problem(site->params, site->x[0]);
    return sr_sinkhorn_scratch_bytes(site->machine, &s);
}

// State is read through the slots at run time, so that one plan serves before and after the queue
// starts and the hard codes end.
static void forward(const SrOpCall *call) {
    const SrSinkhornParams *p = call->params;
    SrSinkhorn s = problem(p, call->x[0].shape);
    const SrTensor *slot = call->w;
    s.scores = call->x[0].data;
    if (p->hard_iters > 0)
        s.hard = *(const int64_t *)(slot++)->data < p->hard_iters;
    if (p->queue_length > 0) {
        s.queue = slot[0].data;
        s.n_queue = queue_rows(p, *(const int64_t *)slot[1].data);
    }
    sr_sinkhorn(call->machine, &s, call->y.data, call->scratch);
}

// Makes one round on q (rows, P): prototypes to the masses r, samples to 1 / rows.
static void reference_round(double *q, const double *r, int rows, int P) {
    for (int k = 0; k < P; k++) {
        double sum = 0;
        for (int j = 0; j < rows; j++)
            sum += q[(int64_t)j * P + k];
        for (int j = 0; j < rows; j++)
            q[(int64_t)j * P + k] *= r[k] / sum;
    }
    for (int j = 0; j < rows; j++) {
        double sum = 0;
        for (int k = 0; k < P; k++)
            sum += q[(int64_t)j * P + k];
        for (int k = 0; k < P; k++)
            q[(int64_t)j * P + k] /= sum * rows;
    }
}

static void reference_codes(const double *q, double *y, int n, int P, bool hard) {
    for (int j = 0; j < n; j++, q += P, y += P) {
        double sum = 0;
        int best = 0;
        for (int k = 0; k < P; k++) {
            sum += q[k];
            best = q[k] > q[best] ? k : best;
        }
        for (int k = 0; k < P; k++)
            y[k] = hard ? k == best : q[k] / sum;
    }
}

static void reference(const SrRefCall *call) {
    const SrSinkhornParams *p = call->params;
    int n = call->x_shape[0].d[0], P = call->x_shape[0].d[1], slot = p->hard_iters > 0;
    int rows = n + (p->queue_length > 0 ? queue_rows(p, (int64_t)call->w[slot + 1][0]) : 0);
    double *q = sr_alloc((size_t)(rows + 1) * (size_t)P * sizeof(double));
    if (!q)
        return;
    double *r = q + (int64_t)rows * P, largest = -INFINITY;
    for (int64_t i = 0; i < (int64_t)rows * P; i++) {
        q[i] = i < (int64_t)n * P ? call->x[0][i] : call->w[slot][i - (int64_t)n * P];
        largest = fmax(largest, q[i]);
    }
    for (int64_t i = 0; i < (int64_t)rows * P; i++)
        q[i] = exp((q[i] - largest) / p->epsilon);
    prototype_mass(P, p->powerlaw, r);
    for (int i = 0; i < p->num_iters; i++)
        reference_round(q, r, rows, P);
    reference_codes(q, call->y, n, P, p->hard_iters > 0 && call->w[0][0] < p->hard_iters);
    sr_free(q);
}

static const SrOpCase cases[] = {
    {"{epsilon: 0.5}", 1, {SR_SHAPE(6, 9)}, true},
    {"{epsilon: 0.5, num_iters: 10, form: log}", 1, {SR_SHAPE(5, 33)}, true},
    {"{epsilon: 0.4, num_iters: 2, powerlaw: 0.7, queue_length: 7}", 1, {SR_SHAPE(4, 20)}, true},
    {"{epsilon: 0.5, double_precision: true, no_shift: true}", 1, {SR_SHAPE(8, 5)}, true},
    {"{epsilon: 0.4, num_iters: 2, queue_length: 5, counted: true}", 1, {SR_SHAPE(4, 6)}, true},
    {"{epsilon: 0.5, hard_iters: 3, queue_length: 2, form: log}", 1, {SR_SHAPE(4, 6)}, true},
    {"{epsilon: 1, num_iters: 0}", 1, {SR_SHAPE(3, 4)}, true},
};

const SrOp sr_op_sinkhorn = {
    .name = "sinkhorn",
    .help = "Balanced soft assignment of samples to prototypes.",
    .options = options,
    .params_bytes = sizeof(SrSinkhornParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_NO_GRAD,
    .infer = infer,
    .slots = slots,
    .scratch_bytes = scratch_bytes,
    .reference = reference,
    .forward = forward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
