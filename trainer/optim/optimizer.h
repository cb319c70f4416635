// The contract of optimisers, the rules by which a parameter follows its gradient.  Each is a
// descriptor `const SrOptimizer sr_optimizer_<stem>` in trainer/optim/<stem>.c.
#ifndef SR_TRAINER_OPTIM_OPTIMIZER_H
#define SR_TRAINER_OPTIM_OPTIMIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/plugin/option.h"
#include "base/status.h"

#define SR_OPTIM_MAX_STATES 4

// Norms that an update rule reads.
typedef enum {
    SR_NORMS_NONE,
    SR_NORMS_GRAD,    // ||p|| and ||g||
    SR_NORMS_DECAYED, // ||p|| and ||g + weight_decay * p||
} SrOptimNorms;

// Input of the update of one parameter, next to its numbers.
typedef struct {
    const void *params; // the optimiser's options
    double lr, weight_decay;
    int rank; // rank of the parameter's shape: 1 for biases and norms
    // The parameter as a matrix with a row for each output; a vector is one row.
    int rows, columns;
    int64_t steps; // earlier updates of this parameter; 0: this is the first one
    // Norms of the whole parameter, if the optimiser's `norms` asks for them; else 0.
    double value_norm, grad_norm;
} SrOptimUpdate;

// Cost of updating a parameter as a whole: floats of work space, and operations of its products.
typedef struct {
    int64_t floats, flops;
} SrOptimWork;

typedef struct SrOptimizer {
    const char *name; // OPTIMIZER.name
    const char *help;
    // Keys of OPTIMIZER that fill the params struct; other optimisers may have the same keys.
    const SrOption *options;
    size_t params_bytes;
    // Name of a bool option that must not be ignored: True is refused with an optimiser that does
    // not have it.  NULL: none.
    const char *claims;
    // Options as flow YAML for the contract tests; NULL ends the list.
    const char *const *examples;
    const char *state_names[SR_OPTIM_MAX_STATES]; // "momentum_buffer", "exp_avg", ...
    // Number of states that a run with these options keeps, each as large as its parameter.
    int (*n_states)(const void *params);
    SrStatus (*check)(const void *params);     // NULL: nothing to check
    SrOptimNorms (*norms)(const void *params); // NULL: SR_NORMS_NONE
    // Updates a piece of one parameter.  value, grad, state[k]: (n) numbers of the piece.  It
    // works element by element, so that the bits do not depend on how parameters are cut.  May
    // write grad.
    void (*update)(const SrOptimUpdate *u, int64_t n, float *value, float *grad,
                   float *const *state);
    // For rules that need a parameter as a whole, in the place of `update`: updates one parameter,
    // with threads of its own.  value, grad, state[k]: (rows, columns); space: work space.
    void (*update_whole)(const SrOptimUpdate *u, float *value, const float *grad,
                         float *const *state, float *space);
    SrOptimWork (*work)(const void *params, int rows, int columns); // NULL without update_whole
} SrOptimizer;

// Returns optimiser i in name order; NULL past the end.
const SrOptimizer *sr_optimizer_at(int i);
SrStatus sr_optimizer_find(const char *name, const SrOptimizer **out);

#endif
