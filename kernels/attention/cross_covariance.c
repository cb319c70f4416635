// cross_covariance: attention between the channels of a head instead of between tokens (El-Nouby et
// al., "XCiT", arXiv:2106.09681, equation 3), on queries, keys and values packed as for attention:
//
//   qkv (N, L, 3 D) -> y (N, L, D)
//   y_i = sum over j of softmax_j(temperature <q_i, k_j> / (|q_i| |k_j|)) v_j
//
// q_i is channel i of a head over all tokens.  Images and heads are the units of work, each
// computed by one thread.
#include "kernels/attention/cross_covariance.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/core/gemm.h"
#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

#define SMALLEST 1e-12 // torch.nn.functional.normalize's eps

static const SrOption options[] = {
    {"num_heads", SR_OPT_INT, offsetof(SrCrossCovarianceParams, num_heads), "1", 1, 1 << 16,
     .help = "Heads."},
    SR_OPTION_END,
};

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrCrossCovarianceParams *p = params;
    SR_TRY(sr__expect_rank("cross_covariance", x, n_in, 3, 3));
    if (p->num_heads < 1 || x[0].d[2] % (3 * p->num_heads))
        return sr__shape_fail("cross_covariance", x, n_in,
                              "(N, L, 3 D) with D a multiple of num_heads %d", p->num_heads);
    *y = SR_SHAPE(x[0].d[0], x[0].d[1], x[0].d[2] / 3);
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrCrossCovarianceParams *p = params;
    (void)x, (void)n_in;
    out[0] = sr__param_slot("temperature", SR_SHAPE(p->num_heads, 1, 1), SR_ROLE_OTHER,
                            SR_INIT_CONSTANT, 1);
    return 1;
}

// Floats of a thread: cosines, probabilities and their gradient, each (d, d); 1 / |q_i|, 1 / |k_j|
// and two sums, 4 d.
static size_t thread_floats(int d) { return 3 * (size_t)d * (size_t)d + 4 * (size_t)d; }

// Scratch: the threads' floats, and the gradient of every unit's temperature.
static size_t scratch_bytes(const SrOpSite *site) {
    const SrCrossCovarianceParams *p = site->params;
    return sizeof(float) *
           (thread_floats(site->x[0].d[2] / 3 / p->num_heads) * (size_t)sr_parallel_threads() +
            (size_t)site->x[0].d[0] * (size_t)p->num_heads);
}

static int64_t flops(const void *params, const SrShape *x, int n_in, SrShape y) {
    const SrCrossCovarianceParams *p = params;
    (void)x, (void)n_in;
    return 4 * sr_shape_count(y) * (y.d[2] / p->num_heads);
}

static void reference_head(const double *q, int L, int far, int d, double temperature, double *p,
                           double *y) {
    const double *k = q + far / 3, *v = k + far / 3;
    for (int i = 0; i < d; i++) {
        double most = -INFINITY, sum = 0;
        for (int j = 0; j < d; j++) {
            double qk = 0, qq = 0, kk = 0;
            for (int64_t l = 0; l < L; l++) {
                qk += q[l * far + i] * k[l * far + j];
                qq += q[l * far + i] * q[l * far + i];
                kk += k[l * far + j] * k[l * far + j];
            }
            p[j] = temperature * qk / fmax(sqrt(qq), SMALLEST) / fmax(sqrt(kk), SMALLEST);
            most = fmax(most, p[j]);
        }
        for (int j = 0; j < d; j++)
            sum += p[j] = exp(p[j] - most);
        for (int64_t l = 0; l < L; l++) {
            double value = 0;
            for (int j = 0; j < d; j++)
                value += p[j] / sum * v[l * far + j];
            y[l * far / 3 + i] = value;
        }
    }
}

static void reference(const SrRefCall *call) {
    const SrCrossCovarianceParams *params = call->params;
    int N = call->y_shape.d[0], L = call->y_shape.d[1], D = call->y_shape.d[2];
    int E = params->num_heads, d = D / E;
    double *p = sr_alloc(sizeof *p * (size_t)d);
    for (int64_t i = 0; p && i < (int64_t)N * E; i++)
        reference_head(call->x[0] + i / E * L * 3 * D + i % E * d, L, 3 * D, d, call->w[0][i % E],
                       p, call->y + i / E * L * D + i % E * d);
    sr_free(p);
}

// Values that the units of a call share.
typedef struct {
    const SrOpCall *call;
    int L, D, E, d;
} Job;

static Job job_of(const SrOpCall *call) {
    const SrCrossCovarianceParams *p = call->params;
    SrShape y = call->y.shape;
    return (Job){call, y.d[1], y.d[2], p->num_heads, y.d[2] / p->num_heads};
}

// One head of one image; rows of q, k and v lie 3 D apart, those of y D apart.
typedef struct {
    const float *q, *k, *v;       // (L, d)
    float *cosine, *p, *dp;       // (d, d)
    float *q_inverse, *k_inverse; // (d)
    float *row, *column;          // (d): sums of gradient times cosine
    float temperature;
} Head;

static Head head_at(const Job *job, int64_t i, int thread) {
    const SrOpCall *call = job->call;
    size_t dd = (size_t)job->d * (size_t)job->d;
    const float *x =
        (const float *)call->x[0].data + i / job->E * job->L * 3 * job->D + i % job->E * job->d;
    float *own = (float *)call->scratch + (size_t)thread * thread_floats(job->d);
    return (Head){x,
                  x + job->D,
                  x + 2 * job->D,
                  own,
                  own + dd,
                  own + 2 * dd,
                  own + 3 * dd,
                  own + 3 * dd + job->d,
                  own + 3 * dd + 2 * job->d,
                  own + 3 * dd + 3 * job->d,
                  ((const float *)call->w[0].data)[i % job->E]};
}

static void inverse_lengths(const float *x, int L, int far, int d, float *out) {
    for (int i = 0; i < d; i++)
        out[i] = 0;
    for (int64_t l = 0; l < L; l++)
        for (int i = 0; i < d; i++)
            out[i] += x[l * far + i] * x[l * far + i];
    for (int i = 0; i < d; i++)
        out[i] = 1 / fmaxf(sqrtf(out[i]), (float)SMALLEST);
}

// Computes the cosines of all pairs of channels, and the probabilities.
static void make_probabilities(const Job *job, const Head *h) {
    int d = job->d, far = 3 * job->D;
    inverse_lengths(h->q, job->L, far, d, h->q_inverse);
    inverse_lengths(h->k, job->L, far, d, h->k_inverse);
    sr_gemm_here(true, false, d, d, job->L, 1, h->q, far, h->k, far, 0, h->cosine, d);
    for (int i = 0; i < d; i++) {
        float *c = h->cosine + (int64_t)i * d, *p = h->p + (int64_t)i * d, most = -INFINITY;
        for (int j = 0; j < d; j++) {
            c[j] *= h->q_inverse[i] * h->k_inverse[j];
            most = fmaxf(most, h->temperature * c[j]);
        }
        for (int j = 0; j < d; j++)
            p[j] = h->temperature * c[j];
        double sum = sr__rows(job->call->machine)->exp_sum(p, p, most, 1, d);
        sr__rows(job->call->machine)->scale(p, p, (float)(1 / sum), d);
    }
}

static void forward_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    Head h = head_at(job, i, thread);
    float *y = (float *)job->call->y.data + i / job->E * job->L * job->D + i % job->E * job->d;
    make_probabilities(job, &h);
    sr_gemm_here(false, true, job->L, job->d, job->d, 1, h.v, 3 * job->D, h.p, job->d, 0, y,
                 job->D);
}

static void forward(const SrOpCall *call) {
    Job job = job_of(call);
    sr_parallel_for((int64_t)call->y.shape.d[0] * job.E, forward_unit, &job);
}

// Turns dp into the gradient of <q_i, k_j> and returns the temperature's.  row and column get the
// sums of gradient times cosine over j and i, which the lengths' gradients need.
static float score_gradients(const Job *job, const Head *h) {
    float *row = h->row, *column = h->column;
    int d = job->d;
    double temperature = 0;
    for (int i = 0; i < d; i++) {
        float *dp = h->dp + (int64_t)i * d;
        const float *p = h->p + (int64_t)i * d, *c = h->cosine + (int64_t)i * d;
        float along = (float)sr__rows(job->call->machine)->dot(p, dp, d);
        row[i] = 0;
        for (int j = 0; j < d; j++) {
            float ds = p[j] * (dp[j] - along), dc = ds * h->temperature;
            temperature += (double)(ds * c[j]);
            row[i] += dc * c[j];
            column[j] = (i ? column[j] : 0) + dc * c[j];
            dp[j] = dc * h->q_inverse[i] * h->k_inverse[j];
        }
    }
    return (float)temperature;
}

// Subtracts x along inverse^2 from dx (L, d), per channel.
static void take_lengths(float *dx, const float *x, const float *along, const float *inverse, int L,
                         int far, int d) {
    for (int64_t l = 0; l < L; l++)
        for (int i = 0; i < d; i++)
            dx[l * far + i] -= x[l * far + i] * along[i] * inverse[i] * inverse[i];
}

static void backward_unit(void *arg, int64_t i, int thread) {
    const Job *job = arg;
    const SrOpCall *call = job->call;
    Head h = head_at(job, i, thread);
    int L = job->L, D = job->D, d = job->d, far = 3 * D;
    int64_t image = i / job->E * L * D, from = i % job->E * d;
    const float *dy = call->dy + image + from;
    float *dtemperature =
        (float *)call->scratch + thread_floats(d) * (size_t)sr_parallel_threads() + i;
    float *dq = call->dx[0] ? call->dx[0] + 3 * image + from : NULL;
    make_probabilities(job, &h);
    sr_gemm_here(true, false, d, d, L, 1, dy, D, h.v, far, 0, h.dp, d);
    *dtemperature = score_gradients(job, &h);
    if (!dq)
        return;
    sr_gemm_here(false, false, L, d, d, 1, dy, D, h.p, d, 0, dq + 2 * D, far);
    sr_gemm_here(false, true, L, d, d, 1, h.k, far, h.dp, d, 0, dq, far);
    sr_gemm_here(false, false, L, d, d, 1, h.q, far, h.dp, d, 0, dq + D, far);
    take_lengths(dq, h.q, h.row, h.q_inverse, L, far, d);
    take_lengths(dq + D, h.k, h.column, h.k_inverse, L, far, d);
}

// Adds the images' gradients to each temperature in their order.
static void backward(const SrOpCall *call) {
    Job job = job_of(call);
    int64_t units = (int64_t)call->y.shape.d[0] * job.E;
    const float *each =
        (float *)call->scratch + thread_floats(job.d) * (size_t)sr_parallel_threads();
    sr_parallel_for(units, backward_unit, &job);
    for (int64_t i = 0; call->dw[0] && i < units; i++)
        call->dw[0][i % job.E] += each[i];
}

// Writes part `part` as (N, E, d, L), with rows of length 1 if asked.
static const char *onnx_part(SrOnnxCall *call, const char *what, int part, bool unit) {
    const SrCrossCovarianceParams *p = call->params;
    char name[32];
    int D = call->y.d[2];
    const char *length = NULL;
    const char *y =
        sr__onnx_slice(call, what, call->in[0], 2, (int64_t)part * D, (int64_t)(part + 1) * D);
    snprintf(name, sizeof name, "%s.heads", what);
    y = sr__onnx_reshape(call, name, y, (const int64_t[]){0, 0, p->num_heads, D / p->num_heads}, 4);
    snprintf(name, sizeof name, "%s.turned", what);
    y = sr__onnx_transpose(call, name, y, (const int64_t[]){0, 2, 3, 1}, 4);
    if (!unit)
        return y;
    snprintf(name, sizeof name, "%s.length", what);
    length = sr__onnx_inner(call, name);
    sr_onnx_node(call->file, "ReduceL2", &y, 1, length);
    sr_onnx_ints(call->file, "axes", &(int64_t){-1}, 1);
    sr_onnx_int(call->file, "keepdims", 1);
    sr_onnx_end(call->file);
    snprintf(name, sizeof name, "%s.least", what);
    const char *least = sr__onnx_number(call, name, SMALLEST);
    snprintf(name, sizeof name, "%s.floor", what);
    length = sr__onnx_two(call, name, "Max", length, least);
    snprintf(name, sizeof name, "%s.unit", what);
    return sr__onnx_two(call, name, "Div", y, length);
}

static SrStatus onnx(SrOnnxCall *call) {
    const char *q = onnx_part(call, "q", 0, true), *k = onnx_part(call, "k", 1, true);
    const char *v = onnx_part(call, "v", 2, false);
    k = sr__onnx_transpose(call, "columns", k, (const int64_t[]){0, 1, 3, 2}, 4);
    const char *scores = sr__onnx_two(call, "scores", "MatMul", q, k);
    scores = sr__onnx_two(call, "scaled", "Mul", scores, sr__onnx_weight(call, 0));
    const char *y =
        sr__onnx_two(call, "mixed", "MatMul", sr__onnx_softmax(call, "probabilities", scores), v);
    y = sr__onnx_transpose(call, "tokens", y, (const int64_t[]){0, 3, 1, 2}, 4);
    return sr__onnx_finish(
        call, sr__onnx_reshape(call, "joined", y, (const int64_t[]){0, 0, call->y.d[2]}, 3));
}

static const SrOpCase cases[] = {
    {"{num_heads: 2}", 1, {SR_SHAPE(2, 5, 18)}, false},
    {"{num_heads: 1}", 1, {SR_SHAPE(1, 7, 12)}, false},
};

const SrOp sr_op_cross_covariance = {
    .name = "cross_covariance",
    .help = "Attention between the channels of a head.",
    .options = options,
    .params_bytes = sizeof(SrCrossCovarianceParams),
    .min_in = 1,
    .max_in = 1,
    .infer = infer,
    .slots = slots,
    .reads = sr__reads_x,
    .scratch_bytes = scratch_bytes,
    .flops = flops,
    .dx_forwards = 2,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
