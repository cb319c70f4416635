// Sinkhorn-Knopp: turns scores of samples against prototypes into soft codes that use all
// prototypes alike (Cuturi, NIPS 2013; Caron et al., SwAV, NeurIPS 2020, section 3.1).
//
// The plan Q (samples, P) = exp(scores / epsilon) is scaled in turn so that prototype k holds the
// mass r_k and every sample the mass 1 / samples.  At the end each sample's row is divided by its
// sum.  Sums run over all ranks.  Whatever the scores are, codes are finite and rows sum to one.
#ifndef SR_KERNELS_ASSIGN_SINKHORN_H
#define SR_KERNELS_ASSIGN_SINKHORN_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/machine.h"

// SR_SINKHORN_VISSL computes in the precision and order of VISSL's distributed_sinkhornknopp,
// underflows included.  Where that would give NaN it falls back to the other form.  SR_SINKHORN_LOG
// keeps logarithms of the scalings in double.
typedef enum { SR_SINKHORN_VISSL, SR_SINKHORN_LOG } SrSinkhornForm;
typedef struct {    // sinkhorn
    double epsilon; // above 0
    int num_iters;
    double powerlaw;       // prototype k gets mass proportional to (k + 1)^-powerlaw; 0: equal
    bool double_precision; // VISSL's use_double_precision
    bool no_shift;         // exp(s / epsilon) without removing the maximum: swav_momentum_loss
    int form;              // SrSinkhornForm
    int hard_iters;        // codes are one-hot while the slot num_iteration is below this
    int queue_length;      // rows of the slot `queue`; 0: no queue
    bool counted;          // the first use_queue rows take part; false: all or none
} SrSinkhornParams;

typedef struct {
    int n;                   // samples of the batch
    int n_queue;             // samples of the queue, which only help to balance the prototypes
    int P;                   // prototypes
    const float *scores;     // (n, P)
    const float *queue;      // (n_queue, P); not read if n_queue is 0
    SrSinkhornParams params; // of the op; hard_iters, queue_length and counted are not read
    bool hard;               // one-hot rows: the largest code
} SrSinkhorn;

size_t sr_sinkhorn_scratch_bytes(const SrMachine *machine, const SrSinkhorn *s);
void sr_sinkhorn(const SrMachine *machine, const SrSinkhorn *s, float *codes,
                 void *scratch); // codes: (n, P)

// Forms of the iteration, compiled once per instruction set from sinkhorn_simd.c.  r (P) is the
// mass of each prototype.  The scaling forms return false when they meet a number that they cannot
// scale; codes are then unset.
typedef struct {
    size_t (*scratch_bytes)(const SrSinkhorn *s);
    bool (*scale_f32)(const SrSinkhorn *s, const double *r, float *codes, void *scratch);
    bool (*scale_f64)(const SrSinkhorn *s, const double *r, float *codes, void *scratch);
    void (*log_domain)(const SrSinkhorn *s, const double *r, float *codes, void *scratch);
} SrSinkhornKernels;
SR_CPU_TABLES(SrSinkhornKernels, sr__sinkhorn_kernels);

#endif
