// The kernel contract: what an operation is.  Each file kernels/<shelf>/<stem>.c holds one op:
// params, shape rule, double-precision reference, forward, backward, what backward reads, example
// cases.
//
// Invariants
//  * Kernels are void, cannot fail, allocate nothing and keep no state; all memory comes in
//    SrOpCall.  They know no other ranks: the plan exchanges what ranks share (SrOp.exchange).
//  * A node has one output.  Activations are NHWC (N, H, W, C) or (N, D); base/tensor.h defines the
//    letters.
//  * The bits of a result do not depend on the number of threads (rule in base/parallel.h).
//  * Weight gradients are ADDED to dw, because a parameter may serve several passes.  dx is
//    overwritten, or added to when its dx_add bit is set; only ops with SR_OP_ADDS_DX ever see such
//    a bit.
//  * The build registers every descriptor `const SrOp sr_op_<stem>` that it finds in <stem>.c.
//  * The params struct stands in <stem>.h; code that builds such nodes includes it.  The op's
//    option table fills the struct from text.
//  * Params are copied byte by byte into the graph, so they hold numbers, not pointers (exceptions
//    say so).  A zeroed struct is valid wherever "0:" says what 0 means.
#ifndef SR_KERNELS_OP_H
#define SR_KERNELS_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/plugin/option.h"
#include "base/status.h"
#include "base/tensor.h"
#include "kernels/machine.h"
#include "kernels/norm/channel_sums.h"

#define SR_OP_MAX_IN 64
#define SR_OP_MAX_SLOTS 10

// Kind of the table entry that a slot of a node is bound to.
typedef enum {
    SR_SLOT_PARAM, // learned: has a gradient
    SR_SLOT_STATE, // carried from step to step, never learned: running statistics, queues
} SrSlotKind;

// Role of a parameter in the module that owns it; the parameter-group rules read it.
typedef enum {
    SR_ROLE_WEIGHT,      // weight of a linear or convolution layer
    SR_ROLE_BIAS,        // bias of such a layer
    SR_ROLE_NORM_WEIGHT, // gamma of batch or layer norm
    SR_ROLE_NORM_BIAS,   // beta
    SR_ROLE_OTHER,       // anything else: group norm, tokens, embeddings
} SrRole;

// Initial distribution of a parameter.  `value` is the constant, the bound's factor or the
// deviation.  Saved graphs hold the numbers of this enum: append only.
typedef enum {
    SR_INIT_CONSTANT,         // value
    SR_INIT_UNIFORM_FAN_IN,   // U(-v/sqrt(fan_in), v/sqrt(fan_in)); PyTorch's default has v = 1
    SR_INIT_UNIFORM,          // U(-value, value)
    SR_INIT_NORMAL,           // N(0, value^2)
    SR_INIT_TRUNCATED_NORMAL, // N(0, value^2) cut at 2 deviations
    SR_INIT_NORM_OF,          // row norms of the next slot (weight norm's g)
    SR_INIT_SOBEL,            // (2, 1, 3, 3): Sobel's filters, right to left and bottom to top
    SR_INIT_IDENTITY,         // (n, n): 1 on the diagonal
    // (E, 3 D): heads look at the patches around one (graph/ir/init.c); value: how strongly.
    SR_INIT_LOCALITY,
    // (1, value + side^2, D): sines of places, after `value` tokens of 0.
    SR_INIT_SINE_POSITIONS,
    SR_INIT_KINDS,
} SrInitKind;
typedef struct {
    SrInitKind kind;
    double value;
} SrInit;

typedef struct {
    const char *name; // PyTorch's name: "weight", "bias", "running_mean", "num_batches_tracked"
    SrShape shape;
    SrDtype dtype; // F32, or I64 for counters
    SrSlotKind kind;
    SrRole role;
    SrInit init;
} SrSlot;

// Everything that one kernel call sees.  Pointers that a call does not need are NULL, such as
// x[i].data in a backward that does not read it.  No two buffers overlap, except where `inplace`
// below allows it.
//
// All x, y, dy and dx of a call have one element type, y.dtype (except integer inputs): F32, or
// BF16 for ops with SR_OP_BF16.  dy and dx are then pointers to BF16 numbers in spite of their C
// type.  With SR_OP_MIXES, x[i] and dx[i] have the type x[i].dtype, whatever y and dy have.  w, dw
// and saved statistics are always floats.
typedef struct {
    const SrMachine *machine; // of the plan: instruction set and choices of the kernels
    const void *params;       // params struct of the op
    const void *design;       // result of SrOp.design for the node; NULL: the op has none
    bool train;               // true: a training pass, false: evaluation
    // Forward only.  true: recomputes what was computed in this step before; reads `saved` instead
    // of writing it, and changes no state.
    bool again;
    int n_in;
    const SrTensor *x; // (n_in)
    SrTensor y;        // written by forward; readable in backward if `reads` says so
    int n_w;
    const SrTensor *w;    // (n_w): slots in order; a training forward may write state slots
    float *const *dw;     // backward: gradient of slot i; NULL: frozen or state
    const float *dy;      // backward: gradient of y, shape of y
    float *const *dx;     // backward: gradient of input i; NULL: not needed
    uint64_t dx_add;      // bit i: add to dx[i] instead of overwriting it
    void *prepared;       // filled by `prepare` for this pass; NULL: nothing was asked for
    SrChannelSums sums;   // forward: where to write the channel sums of y, or none
    SrChannelSums x_sums; // forward with SR_OP_TAKES_SUMS: sums of x[0], or none
    void *saved;          // saved_bytes, kept from forward to backward
    void *scratch;        // scratch_bytes, garbage at entry; see SrOp.exchange
    // Ranks whose partial sums stand at the beginning of scratch (SrOp.exchange).  0: none do, and
    // the call takes the sums over its own rows
    int exchanged;
    uint64_t seed;     // seed of the run; for ops that draw
    int64_t iteration; // training steps done before this one
    uint64_t node_key; // hash of the node's name; for ops that draw
} SrOpCall;

// A call in double precision, forward only, by the plainest loops.  The fast path and finite
// differences are compared with it.  A reference runs single-threaded, may be slow and may use
// sr_alloc.
typedef struct {
    const void *params;
    bool train;
    int n_in;
    const SrShape *x_shape;
    const double *const *x;
    SrShape y_shape;
    double *y;
    int n_w;
    const SrSlot *slots;
    double *const *w; // state slots may be written, as in SrOpCall
    uint64_t seed;
    int64_t iteration;
    uint64_t node_key;
} SrRefCall;

enum {                 // SrOp.flags
    SR_OP_IMPURE = 1,  // updates state or draws: never merged, never dropped in training
    SR_OP_ADDS_DX = 2, // backward honours dx_add
    SR_OP_CHEAP = 4,   // forward costs about one pass over memory: the backward may recompute it
    SR_OP_FUSED_NO_GRAD = 16, // no backward once a switch is on that a plan fuses another op into
    SR_OP_BF16 = 32,          // forward and backward also run on bfloat16; see SrOpCall
    SR_OP_MIXES = 256,        // inputs may have another type than the output; see SrOpCall
    SR_OP_TAKES_SUMS = 64,    // a training forward can use the channel sums of x[0]
    SR_OP_NO_GRAD = 8,        // gradients stop here: no backward (sinkhorn, detach)
    // The op has slots weight (K, ...) and, with the option "bias" on, bias (K).  A map a x + b of
    // its K output channels can be multiplied into them (graph/edit/fold_norm.c).
    SR_OP_FOLDS_AFFINE = 128,
};

// Bits returned by `reads`: what backward needs in addition to params, w, saved and dy.
#define SR_READS_X(i) ((i) < 31 ? 1u << (i) : 0u) // a backward reads no x[i], i >= 31
#define SR_READS_Y (1u << 31)

// Form of the parameters that a pass needs before it runs: packed weights.  Nodes that share their
// parameters and return the same key share one prepared copy, made once per step.
typedef struct {
    size_t bytes; // 0: nothing
    uint64_t key;
} SrOpPrepared;
typedef enum { SR_PASS_FORWARD, SR_PASS_BACKWARD } SrOpPass;

// Numbers that neighbouring ranks sum in the middle of a training pass.
typedef struct {
    int64_t n; // doubles at the beginning of scratch
    int ranks; // consecutive ranks that share the sums.  0 or 1: there is nothing to exchange
} SrOpExchange;

// A node before it runs: everything that sizes and forms of memory depend on.
typedef struct {
    const SrMachine *machine;
    const void *params;
    const SrShape *x; // (n_in)
    int n_in;
    SrDtype type;       // type of the call's activations: F32 or BF16
    const void *design; // result of SrOp.design; NULL: the op has none
} SrOpSite;

// One example: params as flow YAML for the op's option table, and input shapes.  The tests and the
// bench run all of them.
typedef struct {
    const char *params;
    int n_in;
    SrShape x[4];
    // true: the reference is not differentiable at random points (argmax, rounding).
    bool no_gradient_check;
} SrOpCase;

typedef struct SrOnnxCall SrOnnxCall;

typedef struct SrOp {
    const char *name; // PyTorch's functional name: conv2d, batch_norm, relu, ...
    const char *help;
    const SrOption *options; // options of the params struct; NULL: none
    size_t params_bytes;
    int min_in, max_in;
    unsigned flags;
    // Switch in another op's option table that does what this op does ("relu", "residual").  The
    // planner turns it on there and drops this node where no other node reads the value in between
    // (graph/plan/pass_fuse.c).  An op of one input is a function of each number; one of two inputs
    // is their sum.  NULL: never fused.
    const char *fuses_as;

    // Computes the output shape, or returns SR_ERR_CONFIG with the shapes in the message.
    SrStatus (*infer)(const void *params, const SrShape *x, int n_in, SrShape *y);
    // Writes the parameters and state that the node owns; returns their number.  NULL: none.
    int (*slots)(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]);
    unsigned (*reads)(const void *params); // SR_READS_ bits.  NULL: backward reads none
    // Decides how the node computes, once, when its plan is compiled: fills design_bytes with
    // numbers and pointers to constants.  Scratch, prepared parameters and every call read the same
    // decision.  site->design is NULL here.  NULL: the op has nothing to decide.
    void (*design)(const SrOpSite *site, void *out);
    size_t design_bytes;
    // Bytes that the forward leaves for the backward.  NULL: 0.
    size_t (*saved_bytes)(const void *params, const SrShape *x, int n_in);
    // Bytes that each pass needs while it runs.  NULL: 0.
    size_t (*scratch_bytes)(const SrOpSite *site);
    // Returns the sums that a training pass shares with other ranks.  The plan then runs each pass
    // in three steps: `partial` writes this rank's sums to the beginning of scratch, the plan
    // exchanges them, and `forward` or `backward` goes on from there, with call->exchanged set.  A
    // backward without a dx does not exchange.  NULL: the op shares nothing.
    SrOpExchange (*exchange)(const void *params, const SrShape *x);
    void (*partial[2])(const SrOpCall *call); // one for each SrOpPass
    // Number of row blocks whose channel sums the forward can write (channel_sums.h).  0: none.
    // NULL: none.
    int64_t (*sum_units)(const SrOpSite *site);
    // Size and key of the parameters in the form that a pass reads.  For the backward it is called
    // only if some dx is needed.  NULL: the pass reads the parameters themselves.
    SrOpPrepared (*prepared)(const SrOpSite *site, SrOpPass pass);
    // Fills call->prepared from the parameters, one function per pass.  x and y have shapes and
    // types, but no data.
    void (*prepare[2])(const SrOpCall *call);
    // Returns whether y is x[0] under another shape: no kernel runs and no memory is planned then.
    // NULL: never.
    bool (*is_view)(const void *params, const SrShape *x, int n_in);
    // Returns whether torch's tensor has its channels in the last dimension, given whether x[0] has
    // (SrNode.channels_last).  NULL: as x[0].
    bool (*channels_last)(const void *params, bool of_input);
    // Returns the index of the input whose dx may be the same memory as dy; -1: none.  NULL: none.
    int (*inplace)(const void *params);
    // floating-point operations of the forward; NULL: 0
    int64_t (*flops)(const void *params, const SrShape *x, int n_in, SrShape y);
    // Cost of the gradient of an input, in forwards: 2 where one input holds both operands of a
    // product.  0: 1.
    int dx_forwards;
    // Returns whether the arithmetic goes over windows of pixels instead of being one matrix
    // product; the two have different speeds (graph/plan/plan_time.c).  NULL: never.
    bool (*over_windows)(const void *params);
    // Returns whether the output is much larger than the input and cheap to compute, so that a plan
    // that is short of memory rather computes it again (graph/plan/pass_recompute.c).  NULL: never.
    bool (*expands)(const void *params, SrShape x, SrShape y);

    // Returns whether the op in evaluation is y = a x + b per channel, and writes a and b (C),
    // computed from the slots' values.  a NULL: only the answer is wanted.  NULL: it is not.
    bool (*affine)(const void *params, const float *const *w, int C, double *a, double *b);
    // Writes params of the same op that undo this one.  false or NULL: there are none.
    bool (*inverse)(const void *params, void *inverted);
    // Writes the op as nodes in evaluation (op_onnx.h).  NULL: ONNX has no counterpart.
    SrStatus (*onnx)(SrOnnxCall *call);

    void (*reference)(const SrRefCall *call);
    void (*forward)(const SrOpCall *call);
    void (*backward)(const SrOpCall *call); // NULL with SR_OP_NO_GRAD
    const SrOpCase *cases;
    int n_cases;
} SrOp;

const SrOp *sr_op_at(int i); // returns NULL past the end
// Finds an op by name.  SR_ERR_CONFIG for an unknown name; the message names the closest one.
SrStatus sr_op_find(const char *name, const SrOp **out);
// Returns the place of the bool option `name` in the op's params.  NULL: the op has no such option.
bool *sr_op_switch(const SrOp *op, const void *params, const char *name);

#endif
