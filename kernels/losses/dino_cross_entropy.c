// dino_cross_entropy: the loss of DINO (Caron et al., ICCV 2021, arXiv:2104.14294, eq. 2 and 3):
//
//   mean over pairs (teacher crop t, student crop v != t), mean over images, of
//   -sum_k q_k log softmax(s_v / student_temp)_k,   q = softmax((t - centre) / temp)
//
// in[0] student scores (V N, K), in[1] teacher scores (T N, K), both crop-major, in[2] the
// teacher's temperature (1).  Slot: the centre (1, K), which the loss moves.  Gradients flow to the
// student alone.
#include "kernels/losses/dino_cross_entropy.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

#define FIELD(f) offsetof(SrDinoCrossEntropyParams, f)
static const SrOption options[] = {
    {"num_crops", SR_OPT_INT, FIELD(num_crops), "2", 2, 64,
     .help = "Number of the student's crops."},
    {"teacher", SR_OPT_INTS, FIELD(teacher), "[0, 1]", 0, 63,
     .help = "Indices of the crops that the teacher saw."},
    {"student_temp", SR_OPT_FLOAT, FIELD(student_temp), "0.1", 1e-6, 1e6,
     .help = "Temperature that divides the student's scores."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrDinoCrossEntropyParams *p = params;
    bool fits = x[0].rank == 2 && x[1].rank == 2 && x[0].d[1] == x[1].d[1] && p->teacher.n > 0 &&
                x[0].d[0] % p->num_crops == 0 &&
                x[1].d[0] == x[0].d[0] / p->num_crops * p->teacher.n;
    if (!fits)
        return sr__shape_fail("dino_cross_entropy", x, n_in,
                              "(%d N, K), (%d N, K) and one temperature", p->num_crops,
                              p->teacher.n);
    *y = (SrShape){0};
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    (void)params, (void)n_in;
    out[0] = sr__state_slot("center", SR_SHAPE(1, x[0].d[1]), SR_F32, SR_INIT_CONSTANT, 0);
    return 1;
}

// Saved: q (T N, K), then the logarithm of each student row's denominator (V N).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)params, (void)n_in;
    return sizeof(float) * ((size_t)x[1].d[0] * (size_t)x[1].d[1] + (size_t)x[0].d[0]);
}

// Scratch: a term per student row, double (V N).
static size_t scratch_bytes(const SrOpSite *site) {
    return sizeof(double) * (size_t)site->x[0].d[0];
}

typedef struct {
    const SrMachine *machine;
    int V, T, N, K, pairs;
    const int *teacher;
    float *q, *lse;
} Sizes;

static int pairs_of(const SrDinoCrossEntropyParams *p) { return p->teacher.n * (p->num_crops - 1); }

static Sizes sizes_of(const SrOpCall *call) {
    const SrDinoCrossEntropyParams *p = call->params;
    Sizes s = {
        .machine = call->machine, .V = p->num_crops, .T = p->teacher.n, .K = call->x[0].shape.d[1]};
    s.N = call->x[0].shape.d[0] / s.V;
    s.pairs = pairs_of(p);
    s.teacher = p->teacher.v;
    s.q = call->saved;
    s.lse = s.q + (int64_t)s.T * s.N * s.K;
    return s;
}

static void teacher_row(const SrMachine *machine, float *q, const float *t, const float *center,
                        float temp, int K) {
    const SrRows *k = sr__rows(machine);
    for (int i = 0; i < K; i++)
        q[i] = t[i] - center[i];
    double sum = k->exp_sum(q, q, k->max(q, K), 1 / temp, K);
    k->scale(q, q, (float)(1 / sum), K);
}

static double student_row(const SrDinoCrossEntropyParams *p, const Sizes *s, const float *x, int v,
                          int n, float *lse) {
    const SrRows *k = sr__rows(s->machine);
    float factor = (float)(1 / p->student_temp), high = k->max(x, s->K);
    double sum = k->exp_sum(NULL, x, high, factor, s->K), term = 0;
    *lse = (float)(log(sum) + (double)high * (double)factor);
    for (int t = 0; t < s->T; t++)
        if (s->teacher[t] != v)
            term += (double)*lse -
                    (double)factor * k->dot(s->q + ((int64_t)t * s->N + n) * s->K, x, s->K);
    return term;
}

static void forward(const SrOpCall *call) {
    const SrDinoCrossEntropyParams *p = call->params;
    Sizes s = sizes_of(call);
    const float *student = call->x[0].data, *teacher = call->x[1].data; // (V N, K), (T N, K)
    float temp = *(const float *)call->x[2].data;
    double *term = call->scratch, loss = 0;
#pragma omp parallel for schedule(static)
    for (int r = 0; r < s.T * s.N; r++)
        teacher_row(s.machine, s.q + (int64_t)r * s.K, teacher + (int64_t)r * s.K, call->w[0].data,
                    temp, s.K);
#pragma omp parallel for schedule(static)
    for (int r = 0; r < s.V * s.N; r++)
        term[r] = student_row(p, &s, student + (int64_t)r * s.K, r / s.N, r % s.N, s.lse + r);
    for (int r = 0; r < s.V * s.N; r++)
        loss += term[r];
    *(float *)call->y.data = (float)(loss / s.N / s.pairs);
}

// Computes (number of teacher crops other than v) softmax(s_v) - their q, over N, pairs and the
// temperature.
static void gradient_row(const SrDinoCrossEntropyParams *p, const Sizes *s, const float *x, int v,
                         int n, float lse, float scale, float *dx) {
    const SrRows *k = sr__rows(s->machine);
    int others = 0;
    for (int t = 0; t < s->T; t++)
        others += s->teacher[t] != v;
    k->exp(dx, x, lse * (float)p->student_temp, (float)(1 / p->student_temp), s->K);
    k->scale(dx, dx, scale * (float)others, s->K);
    for (int t = 0; t < s->T; t++)
        if (s->teacher[t] != v)
            k->axpy(dx, s->q + ((int64_t)t * s->N + n) * s->K, -scale, s->K);
}

static void backward(const SrOpCall *call) {
    const SrDinoCrossEntropyParams *p = call->params;
    Sizes s = sizes_of(call);
    const float *student = call->x[0].data; // (V N, K)
    float scale = (float)((double)*call->dy / s.N / s.pairs / p->student_temp);
    if (call->dx[0]) {
#pragma omp parallel for schedule(static)
        for (int r = 0; r < s.V * s.N; r++)
            gradient_row(p, &s, student + (int64_t)r * s.K, r / s.N, r % s.N, s.lse[r], scale,
                         call->dx[0] + (int64_t)r * s.K);
    }
    for (int i = 1; i < 3; i++)
        if (call->dx[i])
            sr__zero(call->dx[i], sr_shape_count(call->x[i].shape));
}

static double pair_loss(const double *student, const double *teacher, const double *center,
                        double temp, double student_temp, int K) {
    double q_sum = 0, s_sum = 0, loss = 0;
    for (int k = 0; k < K; k++) {
        q_sum += exp((teacher[k] - center[k]) / temp);
        s_sum += exp(student[k] / student_temp);
    }
    for (int k = 0; k < K; k++)
        loss -=
            exp((teacher[k] - center[k]) / temp) / q_sum * (student[k] / student_temp - log(s_sum));
    return loss;
}

static void reference(const SrRefCall *call) {
    const SrDinoCrossEntropyParams *p = call->params;
    int N = call->x_shape[0].d[0] / p->num_crops, K = call->x_shape[0].d[1];
    double loss = 0;
    for (int t = 0; t < p->teacher.n; t++)
        for (int v = 0; v < p->num_crops; v++)
            for (int n = 0; v != p->teacher.v[t] && n < N; n++)
                loss += pair_loss(call->x[0] + ((int64_t)v * N + n) * K,
                                  call->x[1] + ((int64_t)t * N + n) * K, call->w[0], call->x[2][0],
                                  p->student_temp, K);
    call->y[0] = loss / N / pairs_of(p);
}

// Not checked by differences: the teacher's side has a derivative but, by design, no gradient.  The
// student's side is checked in DINO itself (tests/losses/test_loss_gradient.c).
static const SrOpCase cases[] = {
    {"{student_temp: 0.7}", 3, {SR_SHAPE(6, 9), SR_SHAPE(6, 9), SR_SHAPE(1)}, true},
    {"{num_crops: 4, teacher: [0, 2]}", 3, {SR_SHAPE(8, 40), SR_SHAPE(4, 40), SR_SHAPE(1)}, true},
};

const SrOp sr_op_dino_cross_entropy = {
    .name = "dino_cross_entropy",
    .help = "Cross entropy of student crops against the centred, sharpened teacher.",
    .options = options,
    .params_bytes = sizeof(SrDinoCrossEntropyParams),
    .min_in = 3,
    .max_in = 3,
    .infer = infer,
    .slots = slots,
    .reads = sr__reads_x,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
