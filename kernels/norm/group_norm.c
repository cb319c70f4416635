// group_norm: torch.nn.GroupNorm on (N, ..., C): normalises each image's channels in groups over
// all its pixels (Wu and He 2018).  One group is the LayerNorm of VISSL's ResNets.
//
// The loops are batch_norm's, run on one image at a time with per-channel coefficients made from
// its groups.
#include <math.h>
#include <stddef.h>

#include "base/bf16.h"
#include "kernels/core/op_onnx.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"
#include "kernels/norm/batch_norm_rows.h"
#include "kernels/norm/group_norm.h"

static const SrOption options[] = {
    {"num_groups", SR_OPT_INT, offsetof(SrGroupNormParams, num_groups), "32", 1, 1 << 20,
     .help = "Groups."},
    {"eps", SR_OPT_FLOAT, offsetof(SrGroupNormParams, eps), "1e-5", 0, 1,
     .help = "Number added to the variance."},
    SR_OPTION_END,
};

enum { WEIGHT, BIAS, N_SLOTS };

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrGroupNormParams *p = params;
    SR_TRY(sr__expect_rank("group_norm", x, n_in, 2, SR_MAX_RANK));
    if (p->num_groups < 1 || sr_shape_last(x[0]) % p->num_groups)
        return sr__shape_fail("group_norm", x, n_in,
                              "%d channels to be a multiple of num_groups %d", sr_shape_last(x[0]),
                              p->num_groups);
    *y = x[0];
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    (void)params, (void)n_in;
    SrShape c = SR_SHAPE(sr_shape_last(x[0]));
    out[WEIGHT] = sr__param_slot("weight", c, SR_ROLE_OTHER, SR_INIT_CONSTANT, 1);
    out[BIAS] = sr__param_slot("bias", c, SR_ROLE_OTHER, SR_INIT_CONSTANT, 0);
    return N_SLOTS;
}

// dx may lie on dy, as in batch_norm.
static int inplace(const void *params) {
    (void)params;
    return 0;
}

// Saved: mean and invstd of each image and group, float (2, N, G).
static size_t saved_bytes(const void *params, const SrShape *x, int n_in) {
    (void)n_in;
    const SrGroupNormParams *p = params;
    return 2 * (size_t)x[0].d[0] * (size_t)p->num_groups * sizeof(float);
}

// Scratch per image: sums, double (2, C); coefficients mean, a, k1, k0, float (4, C).
static size_t scratch_bytes(const SrOpSite *site) {
    size_t C = (size_t)sr_shape_last(site->x[0]);
    return (size_t)site->x[0].d[0] * C * (2 * sizeof(double) + 4 * sizeof(float));
}

// One image of a call.
typedef struct {
    int64_t at, rows;                  // offset of its first number; pixels
    int C, groups, width;              // width: channels in a group
    double *first, *second;            // sums per channel, each (C)
    float *mean, *invstd;              // saved, each (G)
    float *channel_mean, *a, *k1, *k0; // each (C)
    SrBatchNormCoefs k;
} Image;

static Image image_of(const SrOpCall *call, int n) {
    const SrGroupNormParams *p = call->params;
    SrShape s = call->x[0].shape;
    int N = s.d[0], C = sr_shape_last(s), G = p->num_groups;
    Image i = {.rows = sr_shape_count(s) / N / C, .C = C, .groups = G, .width = C / G};
    i.at = n * i.rows * C;
    i.first = (double *)call->scratch + 2 * (int64_t)n * C;
    i.second = i.first + C;
    i.mean = (float *)call->saved + (int64_t)n * G;
    i.invstd = i.mean + (int64_t)N * G;
    i.channel_mean = (float *)((double *)call->scratch + 2 * (int64_t)N * C) + 4 * (int64_t)n * C;
    i.a = i.channel_mean + C;
    i.k1 = i.a + C;
    i.k0 = i.k1 + C;
    i.k = (SrBatchNormCoefs){i.channel_mean, i.a, call->w[BIAS].data, i.k1, i.k0};
    for (int c = 0; c < 2 * C; c++)
        i.first[c] = 0;
    return i;
}

static double number(SrDtype type, const void *x, int c) {
    return type == SR_BF16 ? (double)sr_bf16_float(((const SrBf16 *)x)[c])
                           : (double)((const float *)x)[c];
}

// Computes mean and invstd of each group from its channels' sums about their first pixel (Chan's
// combination).
static void group_statistics(const Image *i, SrDtype type, const void *x, double eps) {
    for (int g = 0; g < i->groups; g++) {
        int begin = g * i->width, end = begin + i->width;
        double rows = (double)i->rows, mean = 0, square = 0;
        for (int c = begin; c < end; c++)
            mean += (number(type, x, c) + i->first[c] / rows) / i->width;
        for (int c = begin; c < end; c++) {
            double off = i->first[c] / rows, away = number(type, x, c) + off - mean;
            square += fmax(i->second[c] - rows * off * off, 0) + rows * away * away;
        }
        i->mean[g] = (float)mean;
        i->invstd[g] = (float)(1 / sqrt(square / (rows * i->width) + eps));
    }
}

// Fills batch_norm's per-channel coefficients from the channel's group.
static void coefficients(const Image *i, const float *weight) {
    for (int c = 0; c < i->C; c++) {
        i->channel_mean[c] = i->mean[c / i->width];
        i->a[c] = weight[c] * i->invstd[c / i->width];
    }
}

// Each image is one task, because its statistics need no other image.
static void forward(const SrOpCall *call) {
    const SrGroupNormParams *p = call->params;
    SrDtype type = call->y.dtype;
    const SrBatchNormKernels *kernels = sr__batch_norm(call->machine, type);
#pragma omp parallel for schedule(static)
    for (int n = 0; n < call->x[0].shape.d[0]; n++) {
        Image i = image_of(call, n);
        const void *x = sr__at(type, call->x[0].data, i.at);
        if (!call->again) {
            kernels->stats(x, i.rows, i.C, i.C, x, i.first, i.second);
            group_statistics(&i, type, x, p->eps);
        }
        coefficients(&i, call->w[WEIGHT].data);
        kernels->apply(sr__at(type, call->y.data, i.at), x, NULL, i.rows, i.C, i.k, SR_BN_LINEAR,
                       false);
    }
}

// Computes dx = a dy - k1 (x - mean) - k0 with, over the group, k0 = invstd mean(w dy) and k1 =
// invstd^2 mean(w dy xhat).
static void sum_coefficients(const Image *i, const float *weight) {
    for (int g = 0; g < i->groups; g++) {
        int begin = g * i->width, end = begin + i->width;
        double invstd = (double)i->invstd[g], count = (double)i->rows * i->width, s1 = 0, s2 = 0;
        for (int c = begin; c < end; c++) {
            s1 += (double)weight[c] * i->first[c];
            s2 += (double)weight[c] * i->second[c];
        }
        for (int c = begin; c < end; c++) {
            i->k0[c] = (float)(invstd * s1 / count);
            i->k1[c] = (float)(invstd * invstd * invstd * s2 / count);
        }
    }
}

// Adds the gradients of weight and bias over the images in order.
static void parameter_gradients(const SrOpCall *call) {
    const SrGroupNormParams *p = call->params;
    int N = call->x[0].shape.d[0], C = sr_shape_last(call->x[0].shape), width = C / p->num_groups;
    const float *invstd = (const float *)call->saved + (int64_t)N * p->num_groups; // (N, G)
    for (int c = 0; c < C; c++) {
        double dweight = 0, dbias = 0;
        for (int n = 0; n < N; n++) {
            const double *sums = (const double *)call->scratch + 2 * (int64_t)n * C;
            dbias += sums[c];
            dweight += sums[C + c] * (double)invstd[(int64_t)n * p->num_groups + c / width];
        }
        if (call->dw[WEIGHT])
            call->dw[WEIGHT][c] += (float)dweight;
        if (call->dw[BIAS])
            call->dw[BIAS][c] += (float)dbias;
    }
}

// Computes sums per channel, then per group, then dx; parameter sums follow when all images are
// done.
static void backward(const SrOpCall *call) {
    SrDtype type = call->y.dtype;
    const SrBatchNormKernels *kernels = sr__batch_norm(call->machine, type);
    const float *weight = call->w[WEIGHT].data;
#pragma omp parallel for schedule(static)
    for (int n = 0; n < call->x[0].shape.d[0]; n++) {
        Image i = image_of(call, n);
        const void *x = sr__at(type, call->x[0].data, i.at), *dy = sr__at(type, call->dy, i.at);
        coefficients(&i, weight);
        kernels->reduce(x, NULL, dy, NULL, i.rows, i.C, i.C, i.k, SR_BN_LINEAR, false, i.first,
                        i.second);
        sum_coefficients(&i, weight);
        if (call->dx[0])
            kernels->input_grad(sr__at(type, call->dx[0], i.at), x, NULL, dy, i.rows, i.C, i.k,
                                SR_BN_LINEAR, false);
    }
    parameter_gradients(call);
}

// Computes one group of one image, x and y at its first channel.
static void reference_group(const SrRefCall *call, const double *x, double *y, int64_t rows, int C,
                            int width, int first) {
    const SrGroupNormParams *p = call->params;
    double mean = 0, var = 0, count = (double)rows * width;
    for (int64_t r = 0; r < rows; r++)
        for (int c = 0; c < width; c++)
            mean += x[r * C + c] / count;
    for (int64_t r = 0; r < rows; r++)
        for (int c = 0; c < width; c++)
            var += (x[r * C + c] - mean) * (x[r * C + c] - mean) / count;
    for (int64_t r = 0; r < rows; r++)
        for (int c = 0; c < width; c++)
            y[r * C + c] = (x[r * C + c] - mean) / sqrt(var + p->eps) * call->w[WEIGHT][first + c] +
                           call->w[BIAS][first + c];
}

static void reference(const SrRefCall *call) {
    const SrGroupNormParams *p = call->params;
    SrShape s = call->x_shape[0];
    int C = sr_shape_last(s), width = C / p->num_groups;
    int64_t image = sr_shape_count(s) / s.d[0];
    for (int n = 0; n < s.d[0]; n++)
        for (int c = 0; c < C; c += width)
            reference_group(call, call->x[0] + n * image + c, call->y + n * image + c, image / C, C,
                            width, c);
}

// Constants of sr_onnx below: neutral weight and bias of the instance norm per group, ours per
// channel.
static SrStatus onnx_constants(SrOnnxCall *call, const char *const name[4]) {
    const SrGroupNormParams *p = call->params;
    int G = p->num_groups, C = sr_shape_last(call->y);
    float *ones = sr_arena_alloc(&call->file->arena, 2 * (size_t)G * sizeof *ones); // zeros follow
    SR_TRY_MEMORY(ones, "an ONNX graph");
    for (int i = 0; i < G; i++)
        ones[i] = 1;
    sr_onnx_weight(call->file, name[0], (SrTensor){SR_SHAPE(G), SR_F32, ones});
    sr_onnx_weight(call->file, name[1], (SrTensor){SR_SHAPE(G), SR_F32, ones + G});
    for (int i = 0; i < 2; i++)
        sr_onnx_weight(call->file, name[2 + i],
                       (SrTensor){SR_SHAPE(C, 1, 1), SR_F32, call->w[i].data});
    return SR_OK;
}

// Writes an instance norm of (N, G, everything else), then weight and bias per channel.
static SrStatus onnx(SrOnnxCall *call) {
    const SrGroupNormParams *p = call->params;
    SrShape s = sr__onnx_shape(call->y);
    SrOnnx *file = call->file;
    if (s.rank != 4)
        return sr__onnx_unsupported(call, "of vectors");
    const char *const constants[4] = {sr__onnx_inner(call, "ones"), sr__onnx_inner(call, "zeros"),
                                      sr__onnx_inner(call, "weight"), sr__onnx_inner(call, "bias")};
    SR_TRY(onnx_constants(call, constants));
    const char *groups = sr__onnx_inner(call, "groups"), *back = sr__onnx_inner(call, "shape");
    sr_onnx_numbers(file, groups, (int64_t[]){0, p->num_groups, -1}, 3); // 0: the size stays
    sr_onnx_numbers(file, back, (int64_t[]){0, s.d[1], s.d[2], s.d[3]}, 4);
    const char *split = sr__onnx_inner(call, "split"), *normal = sr__onnx_inner(call, "normal"),
               *joined = sr__onnx_inner(call, "joined"), *scaled = sr__onnx_inner(call, "scaled");
    sr_onnx_node(file, "Reshape", (const char *[]){call->in[0], groups}, 2, split);
    sr_onnx_end(file);
    sr_onnx_node(file, "InstanceNormalization", (const char *[]){split, constants[0], constants[1]},
                 3, normal);
    sr_onnx_float(file, "epsilon", (float)p->eps);
    sr_onnx_end(file);
    sr_onnx_node(file, "Reshape", (const char *[]){normal, back}, 2, joined);
    sr_onnx_end(file);
    sr_onnx_node(file, "Mul", (const char *[]){joined, constants[2]}, 2, scaled);
    sr_onnx_end(file);
    sr__onnx_begin(call, "Add", (const char *[]){scaled, constants[3]}, 2);
    sr_onnx_end(file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{num_groups: 1}", 1, {SR_SHAPE(2, 3, 4, 6)}, false},
    {"{num_groups: 4, eps: 1e-3}", 1, {SR_SHAPE(2, 2, 3, 20)}, false},
    {"{num_groups: 2}", 1, {SR_SHAPE(3, 8)}, false},
};

const SrOp sr_op_group_norm = {
    .name = "group_norm",
    .help = "Normalisation of groups of channels within each image.",
    .options = options,
    .params_bytes = sizeof(SrGroupNormParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP | SR_OP_BF16,
    .infer = infer,
    .slots = slots,
    .reads = sr__reads_x,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .inplace = inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
