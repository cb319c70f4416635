// Slots, scratch, statistics and gradients shared by ops that normalise by a batch's statistics.
// Params of these ops begin with SrBatchNormParams, and `saved` with mean and invstd.  Only files
// of kernels/norm/ and kernels/conv/normed_depthwise.c include this one.
#ifndef SR_KERNELS_NORM_BATCH_STATISTICS_H
#define SR_KERNELS_NORM_BATCH_STATISTICS_H

#include <stddef.h>

#include "kernels/core/op_util.h"
#include "kernels/norm/batch_norm_params.h"
#include "kernels/norm/batch_norm_rows.h"

// Slots of the norm, the first ones of such an op.
enum { SR_BN_WEIGHT, SR_BN_BIAS, SR_BN_RUNNING_MEAN, SR_BN_RUNNING_VAR, SR_BN_COUNT, SR_BN_SLOTS };

// Rows of SrBatchNormParams at the beginning of an op's params, but for `residual`; the first ones
// are those of the statistics.
// clang-format off
#define SR_BATCH_STATISTICS_OPTIONS \
    {"eps", SR_OPT_FLOAT, offsetof(SrBatchNormParams, eps), "1e-5", 0, 1, \
     .help = "Number added to the variance."}, \
    {"momentum", SR_OPT_FLOAT, offsetof(SrBatchNormParams, momentum), "0.1", 0, 1, \
     .help = "Momentum: share of the batch in the running statistics."}, \
    {"sync", SR_OPT_INT, offsetof(SrBatchNormParams, sync), "0", 0, 1e6, \
     .help = "Number of consecutive ranks whose rows share one mean and variance; 0: each rank has " \
             "its own."}
#define SR_BATCH_NORM_OPTIONS \
    SR_BATCH_STATISTICS_OPTIONS, \
    {"relu", SR_OPT_BOOL, offsetof(SrBatchNormParams, relu), "false", \
     .help = "Rectify the output."}, \
    {"relu6", SR_OPT_BOOL, offsetof(SrBatchNormParams, relu6), "false", \
     .help = "Apply a ReLU6 to the output."}, \
    {"silu", SR_OPT_BOOL, offsetof(SrBatchNormParams, silu), "false", \
     .help = "Apply a SiLU to the output."}, \
    {"hardswish", SR_OPT_BOOL, offsetof(SrBatchNormParams, hardswish), "false", \
     .help = "Apply a hard-swish to the output."}, \
    {"gelu", SR_OPT_BOOL, offsetof(SrBatchNormParams, gelu), "false", \
     .help = "Apply a GELU to the output."}
// clang-format on

// Numbers of a tensor from which stores bypass the caches: it would hardly stay there until it is
// read again.
enum { SR_BN_STREAMED = 1 << 20 };

typedef struct {
    int64_t rows;
    int C, chunks, strip;     // channels; runs of rows; channels of a piece of work
    float *mean, *invstd;     // saved, each (C)
    double *totals, *partial; // (2, C), (chunks, 2, C)
    float *a, *k1, *k0;       // each (C)
    SrBatchNormCoefs k;
    SrDtype type; // type of x, y and their gradients
    const SrBatchNormKernels *kernels;
} SrBatchWork;

// A piece of a loop over chunks x strips: first row, rows, first channel, and the piece's partial
// sums.
typedef struct {
    int64_t at, rows; // offset of the strip's first number; rows of the chunk
    int c, width;
    double *first, *second; // zeroed, each (width)
} SrBatchPiece;

// Hook SrOp.exchange of ops whose params begin with SrBatchNormParams.
SrOpExchange sr__batch_exchange(const void *params, const SrShape *x);
// Applies the reference of the op that does an activation's work alone to call->y, in place.
void sr__batch_reference_activation(const SrRefCall *call, SrBatchNormActivation f);
// Writes the norm's slots and returns their number, SR_BN_SLOTS.
int sr__batch_slots(SrShape x, SrSlot out[SR_OP_MAX_SLOTS]);
size_t sr__batch_scratch_bytes(SrShape x);
SrBatchNormActivation sr__batch_activation(const SrBatchNormParams *p);
// Describes a call, whose scratch and `saved` begin with the norm's.
SrBatchWork sr__batch_work(const SrOpCall *call);
// Computes a = weight * invstd.  Every call does so, because weight lives in the table, not in
// `saved`.
void sr__batch_scale(const SrBatchWork *w, const float *weight);
bool sr__batch_parallel(const SrBatchWork *w); // whether threads pay

// Pieces of a sum over the rows, chunks x strips; piece i belongs to one strip.
int sr__batch_strips(const SrBatchWork *w);
SrBatchPiece sr__batch_piece(const SrBatchWork *w, int task);
// Adds the partial sums to totals (2, C) in the order of the chunks.
void sr__batch_add_partials(const SrBatchWork *w);

// SrOp.partial of a forward: fills totals with this rank's sums about zero.
void sr__batch_forward_partial(const SrOpCall *call);
// Fills mean and invstd, in training from the batch, whose running statistics move, else from the
// running ones; a recomputation finds them in `saved`.  Computes a.
void sr__batch_normaliser(const SrOpCall *call, const SrBatchWork *w);
// Adds the gradients of weight and bias from totals: sum g and sum g (x - mean) over this rank;
// other ranks' parts arrive with all gradients.
void sr__batch_parameter_gradients(const SrOpCall *call, const SrBatchWork *w);
// Computes k0 and k1 from totals over all ranks.  In training the batch's mean and variance depend
// on x, and these terms account for that.
void sr__batch_sum_coefficients(const SrOpCall *call, const SrBatchWork *w);
// Computes dx (rows, C), perhaps where dy is, from k0 and k1.  aux: what the activation's slope is
// computed from (batch_norm_rows.h), or NULL.
void sr__batch_input_grad(const SrBatchWork *w, void *dx, const void *x, const void *aux,
                          const void *dy, SrBatchNormActivation f);

#endif
