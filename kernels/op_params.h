// The params structs of all ops, for code that builds graphs by hand: trunks, heads, losses, graph
// passes.
//
// Each op's file holds the option table that fills its struct from text.  Structs are copied byte
// by byte into the graph, so they hold numbers, not pointers (the exceptions say so).  A zeroed
// struct is valid wherever "0:" below says what 0 means.
#ifndef SR_KERNELS_OP_PARAMS_H
#define SR_KERNELS_OP_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option.h"

typedef struct { // conv2d
    int out_channels;
    int kernel_h, kernel_w;     // kernel_w 0: as kernel_h
    int stride_h, stride_w;     // stride_h 0: 1; stride_w 0: as stride_h
    int padding_h, padding_w;   // padding_w -1: as padding_h; 0 is 0, so set both
    int dilation_h, dilation_w; // 0: as for stride
    int groups;                 // 0: 1
    bool bias;
    // Without gradients only: y = max(y, 0), after a second input of y's shape was added.
    bool relu, residual;
} SrConv2dParams;

typedef struct { // linear
    int out_features;
    bool bias;
} SrLinearParams;

typedef struct { // weight_norm_linear: no bias, as prototypes have none
    int out_features;
} SrWeightNormLinearParams;

typedef struct {          // batch_norm, on (rows, C): 1d and 2d are one op
    double eps, momentum; // PyTorch: 1e-5, 0.1
    bool relu;            // y = max(y, 0) in the same pass
    bool residual;        // a second input of x's shape is added before the relu
    bool sync;            // statistics over all ranks
} SrBatchNormParams;

typedef struct { // group_norm; one group is VISSL's LayerNorm of a ResNet
    int num_groups;
    double eps; // PyTorch: 1e-5
} SrGroupNormParams;

typedef struct {              // max_pool2d, avg_pool2d
    int kernel_h, kernel_w;   // kernel_w 0: as kernel_h
    int stride_h, stride_w;   // 0: as the kernel (PyTorch's default)
    int padding_h, padding_w; // padding_w -1: as padding_h
    bool ceil_mode;           // max_pool2d only
    bool exclude_pad; // avg_pool2d only: divide by the pixels inside (count_include_pad=False)
} SrPool2dParams;

typedef struct {      // adaptive_avg_pool2d, adaptive_max_pool2d
    int out_h, out_w; // 0: 1 (global)
} SrAdaptivePool2dParams;

typedef struct { // dropout
    double p;
} SrDropoutParams;

typedef struct { // l2_normalize
    double eps;  // 0: 1e-12
} SrL2NormalizeParams;

typedef struct { // slice: rows begin .. begin + count - 1 of the first dimension
    int begin, count;
} SrSliceParams;

typedef struct { // pad: channels of zeros
    int before, after;
} SrPadParams;

typedef struct { // merge_rows
    int count;
} SrMergeRowsParams;

typedef struct { // select_tokens: x[:, begin : begin + count]
    int begin, count;
    bool squeeze; // one token: (N, D)
} SrSelectTokensParams;

typedef struct { // attention
    int num_heads;
    double scale; // 0: 1 / sqrt(numbers of a head)
} SrAttentionParams;

typedef struct { // scale
    double factor;
} SrScaleParams;

typedef struct { // copy_state
    int count;   // numbers in the two state entries
} SrCopyStateParams;

typedef enum { SR_SINKHORN_VISSL, SR_SINKHORN_LOG } SrSinkhornForm;
typedef struct { // sinkhorn
    double epsilon;
    int num_iters;
    double powerlaw;       // prototype k gets mass proportional to (k + 1)^-powerlaw; 0: equal
    bool double_precision; // VISSL's use_double_precision
    bool no_shift;         // exp(s / epsilon) without the maximum removed: swav_momentum_loss
    int form;              // SrSinkhornForm
    int hard_iters;        // one-hot codes while the slot num_iteration is below
    int queue_length;      // rows of the slot queue
} SrSinkhornParams;

typedef struct { // swav_cross_entropy
    int num_crops;
    SrInts crops_for_assign; // points to memory that outlives the graph
    double temperature;
} SrSwavCrossEntropyParams;

typedef struct {        // cross_entropy
    double temperature; // divides the scores; 0: 1
    double label_smoothing;
    int64_t ignore_index; // rows of this label count for nothing
    SrDoubles weight;     // of each class; n 0: all 1.  Points to memory that outlives the graph
} SrCrossEntropyParams;

#endif
