// The kernel contract: what an operation is.  One file an op: params, shape rule, double-precision
// reference, forward, backward, what backward reads, example cases.
//
// Invariants
//  * Kernels are void, cannot fail, allocate nothing and keep no state; all memory comes in SrOpCall.
//  * One output a node.  Activations are NHWC (N, H, W, C) or (N, D); see base/tensor.h for the letters.
//  * The bits of a result do not depend on the number of threads (rule in base/parallel.h).
//  * Weight gradients are ADDED to dw (a parameter may serve several passes); dx is overwritten, or added
//    to when its dx_add bit is set, which only ops with SR_OP_ADDS_DX ever see.
//  * Registered by name: a descriptor `const SrOp sr_op_<stem>` in kernels/<stem>.c is found by the build.
//  * The params struct stands in kernels/<stem>.h, which who builds such nodes includes.  The op's option
//    table fills it from text.  It is copied byte by byte into the graph, so it holds numbers, not pointers
//    (the exceptions say so); a zeroed struct is valid wherever "0:" says what 0 means.
#ifndef SR_KERNELS_OP_H
#define SR_KERNELS_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option.h"
#include "base/status.h"
#include "base/tensor.h"
#include "kernels/channel_sums.h"
#include "kernels/machine.h"

#define SR_OP_MAX_IN 64
#define SR_OP_MAX_SLOTS 8

// What a slot of a node is bound to in the parameter table.
typedef enum {
    SR_SLOT_PARAM, // learned: has a gradient
    SR_SLOT_STATE, // carried from step to step, never learned: running statistics, queues
} SrSlotKind;

// What a parameter is to the module that owns it; the parameter-group rules read this.
typedef enum {
    SR_ROLE_WEIGHT,      // weight of a linear or convolution layer
    SR_ROLE_BIAS,        // its bias
    SR_ROLE_NORM_WEIGHT, // gamma of batch or layer norm
    SR_ROLE_NORM_BIAS,   // beta
    SR_ROLE_OTHER,       // anything else: group norm, tokens, embeddings
} SrRole;

// How a fresh parameter is drawn.  `value` is the constant, the bound factor or the deviation.  The numbers stand in
// saved graphs: append only.
typedef enum {
    SR_INIT_CONSTANT,         // value
    SR_INIT_UNIFORM_FAN_IN,   // U(-v/sqrt(fan_in), v/sqrt(fan_in)); PyTorch's default has v = 1
    SR_INIT_UNIFORM,          // U(-value, value)
    SR_INIT_NORMAL,           // N(0, value^2)
    SR_INIT_TRUNCATED_NORMAL, // N(0, value^2) cut at 2 deviations
    SR_INIT_NORM_OF,          // row norms of the next slot (weight norm's g)
    SR_INIT_SOBEL,            // (2, 1, 3, 3): Sobel's filters, right to left and bottom to top
    SR_INIT_IDENTITY,         // (n, n): 1 on the diagonal
    SR_INIT_LOCALITY, // (E, 3 D): heads look at the patches around one (graph/init.c); value: how strongly
    SR_INIT_SINE_POSITIONS, // (1, value + side^2, D): sines of places behind `value` tokens of 0
    SR_INIT_KINDS,
} SrInitKind;
typedef struct {
    SrInitKind kind;
    double value;
} SrInit;

typedef struct {
    const char *name; // PyTorch's: "weight", "bias", "running_mean", "num_batches_tracked"
    SrShape shape;
    SrDtype dtype; // F32, or I64 for counters
    SrSlotKind kind;
    SrRole role;
    SrInit init;
} SrSlot;

// Everything one kernel call sees.  Pointers a call does not need are NULL (x[i].data in a backward that
// does not read it).  No two buffers overlap, except where `inplace` below allows it.
//
// All x, y, dy and dx of a call have one element type, y.dtype (integer inputs excepted): F32, or
// BF16 for ops with SR_OP_BF16, which then read dy and dx as what they are.  With SR_OP_MIXES x[i] and
// dx[i] are of x[i].dtype, whatever y and dy are.  w, dw and saved statistics are floats either way.
typedef struct {
    const SrMachine *machine; // the plan's: instruction set and choices of the kernels
    const void *params;       // the op's params struct
    const void *design;       // what SrOp.design chose for the node; NULL where the op has none
    bool train;               // mode of the pass
    bool again; // forward only: recomputing what was computed in this step already; read `saved`
                // instead of writing it and leave all state alone
    int n_in;
    const SrTensor *x; // n_in inputs
    SrTensor y;        // output: written by forward, readable in backward if declared
    int n_w;
    const SrTensor *w; // slots in order; state slots may be written by a train forward
    float *const *dw;  // backward: gradient of slot i, NULL when frozen or state
    const float *dy;   // backward: gradient of y, shape of y
    float *const *dx;  // backward: gradient of input i, NULL when nobody wants it
    uint64_t dx_add;   // bit i: add to dx[i] instead of overwriting it
    void *prepared;    // what `prepare` makes for this pass; NULL where `prepared` asks for nothing
    SrChannelSums sums;   // forward: where to leave the sums of y; none if nobody wants them
    SrChannelSums x_sums; // forward with SR_OP_TAKES_SUMS: of x[0], or none
    void *saved;          // saved_bytes, kept from forward to backward
    void *scratch;        // scratch_bytes, garbage at entry
    uint64_t seed;        // of the run; for ops that draw
    int64_t iteration;    // training steps done before this one
    uint64_t node_key;    // hash of the node's name; for ops that draw
} SrOpCall;

// The same call in double precision, forward only, by the plainest loops: the truth the fast path and the
// finite differences are held against.  Runs single-threaded, may be slow, may use sr_alloc.
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
    double *const *w; // state slots may be written, like the fast path's
    uint64_t seed;
    int64_t iteration;
    uint64_t node_key;
} SrRefCall;

enum {                 // SrOp.flags
    SR_OP_IMPURE = 1,  // updates state or draws: never merged, never dropped in train mode
    SR_OP_ADDS_DX = 2, // backward honours dx_add
    SR_OP_CHEAP = 4, // forward costs about one pass over memory: may be recomputed in the backward
    SR_OP_FUSED_NO_GRAD = 16, // no backward once a switch that others fuse into is on
    SR_OP_BF16 = 32,          // forward and backward also run on bfloat16, see SrOpCall
    SR_OP_MIXES = 256,        // inputs need not be of the output's type, see SrOpCall
    SR_OP_TAKES_SUMS = 64,    // forward in training wants the sums of x[0]
    SR_OP_NO_GRAD = 8,        // gradients stop here: no backward (sinkhorn, detach)
    // Slots weight (K, ...) and, with the option "bias" on, bias (K): a map a x + b of its K output
    // channels can be multiplied into them (graph/fold_norm.c).
    SR_OP_FOLDS_AFFINE = 128,
};

// Bits returned by `reads`: what backward needs besides params, w, saved and dy.
#define SR_READS_X(i) ((i) < 31 ? 1u << (i) : 0u) // of more inputs a backward reads none
#define SR_READS_Y (1u << 31)

// What a pass wants made of the parameters alone, before it runs: packed weights.  Nodes that share their
// parameters and ask for the same key share what is made once a step.
typedef struct {
    size_t bytes; // 0: nothing
    uint64_t key;
} SrOpPrepared;
typedef enum { SR_PASS_FORWARD, SR_PASS_BACKWARD } SrOpPass;

// A node before it runs: what sizes and forms of memory depend on.
typedef struct {
    const SrMachine *machine;
    const void *params;
    const SrShape *x; // n_in inputs
    int n_in;
    SrDtype type;       // of the call's activations: F32 or BF16
    const void *design; // what SrOp.design chose; NULL where the op has none
} SrOpSite;

// One example: params as flow YAML for the op's option table, input shapes; tests and the bench run all.
typedef struct {
    const char *params;
    int n_in;
    SrShape x[4];
    bool
        no_gradient_check; // the reference is not differentiable at random points (argmax, rounding)
} SrOpCase;

typedef struct SrOnnxCall SrOnnxCall;

typedef struct SrOp {
    const char *name; // PyTorch's functional name: conv2d, batch_norm, relu, ...
    const char *help;
    const SrOption *options; // of the params struct; NULL if there are none
    size_t params_bytes;
    int min_in, max_in;
    unsigned flags;
    // The switch of another op's option table that does what this op does ("relu", "residual"): the planner
    // turns it on there and drops this node where nobody else reads what lies between (graph/pass_fuse.c).
    // One input: a function of each number; two: their sum.  NULL: stays what it is.
    const char *fuses_as;

    // Output shape, or SR_ERR_CONFIG with the shapes in the message.
    SrStatus (*infer)(const void *params, const SrShape *x, int n_in, SrShape *y);
    // Parameters and state the node owns; returns their number.  NULL: none.
    int (*slots)(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]);
    unsigned (*reads)(const void *params); // NULL: nothing
    // Decides how the node computes, once, when its plan is compiled: fills design_bytes of numbers and pointers to
    // constants.  Scratch, prepared parameters and every call read the same decision.  site->design is NULL here.
    // NULL: the op has nothing to decide.
    void (*design)(const SrOpSite *site, void *out);
    size_t design_bytes;
    // Bytes that the forward leaves for the backward.  NULL: 0.
    size_t (*saved_bytes)(const void *params, const SrShape *x, int n_in);
    // Bytes that each pass needs while it runs.  NULL: 0.
    size_t (*scratch_bytes)(const SrOpSite *site);
    // Number of row blocks whose channel sums the forward can write (channel_sums.h).  0 or NULL: none.
    int64_t (*sum_units)(const SrOpSite *site);
    // Parameters in the form that a pass reads.  Asked for a backward that makes some dx.  NULL: as they are.
    SrOpPrepared (*prepared)(const SrOpSite *site, SrOpPass pass);
    // By pass: fills call->prepared from the parameters; x and y have shapes and types, no data.
    void (*prepare[2])(const SrOpCall *call);
    // True when y is x[0] under another shape: no kernel runs and no memory is planned.  NULL: never.
    bool (*is_view)(const void *params, const SrShape *x, int n_in);
    // Whether torch's tensor has its channels in the last dimension, given where x[0] has them (SrNode.channels_last).
    // NULL: as x[0].
    bool (*channels_last)(const void *params, bool of_input);
    // Index of the input whose dx may be the same memory as dy, -1 for none.  NULL: none.
    int (*inplace)(const void *params);
    int64_t (*flops)(const void *params, const SrShape *x, int n_in, SrShape y); // forward; NULL: 0
    // What the gradient of an input costs in forwards: 2 where one input holds what two products multiply; 0: 1.
    int dx_forwards;
    // The arithmetic goes over windows of pixels and is not one matrix product, which has another speed
    // (graph/plan_time.c).  NULL: never.
    bool (*over_windows)(const void *params);

    // In evaluation y = a x + b a channel: a, b (C) from the slots' values, or only the answer if a is NULL.
    // False, or NULL: it is not.
    bool (*affine)(const void *params, const float *const *w, int C, double *a, double *b);
    // Params of the same op that undoes this one; false, or NULL: there are none.
    bool (*inverse)(const void *params, void *inverted);
    SrStatus (*onnx)(
        SrOnnxCall *call); // writes one node in evaluation (op_onnx.h); NULL: ONNX has none

    void (*reference)(const SrRefCall *call);
    void (*forward)(const SrOpCall *call);
    void (*backward)(const SrOpCall *call); // NULL with SR_OP_NO_GRAD
    const SrOpCase *cases;
    int n_cases;
} SrOp;

const SrOp *sr_op_at(int i); // NULL past the end
// Unknown name: SR_ERR_CONFIG with the nearest.
SrStatus sr_op_find(const char *name, const SrOp **out);
// Where params of the op keep the bool option of that name; NULL if there is none.
bool *sr_op_switch(const SrOp *op, const void *params, const char *name);

#endif
