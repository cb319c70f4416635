// Declares the struct and the calls that replicas.c and replica_rows.c share.
#ifndef SR_TRAINER_RUN_RANKS_REPLICAS_INTERNAL_H
#define SR_TRAINER_RUN_RANKS_REPLICAS_INTERNAL_H

#include "trainer/run/graph_state.h"
#include "trainer/run/ranks/grad_sums.h"
#include "trainer/run/ranks/replicas.h"

struct SrReplicas {
    const SrTrainGraph *graph;
    SrParams *params;
    SrPlan *plan, *loss_plan; // plan: that of the current replica; between steps it is `last`
    // Plan of this rank's last replica; plans of those before it.  kept_plans is NULL: all share
    // one
    SrPlan *last, **kept_plans;
    int n, first, mine; // replicas of all ranks; this rank's first replica and their number
    // Inputs that are filled for each replica: by the feed, and outputs of a teacher.
    SrNodeId inputs[SR_MAX_VIEWS + SR_MAX_EXTRAS + SR_MAX_OUTPUTS + 2];
    int n_inputs;
    size_t input_bytes; // bytes of all inputs of a replica
    char *images;       // (kept, input_bytes)
    int kept;           // replicas whose images are in `images`: mine, or all if shuffled
    SrGraphState state;
    char *begin, *after; // (state.bytes) state before the step, and after replica 0's forward
    SrGradSums *sums;
    double *losses;   // (n) loss of each replica, if rows are independent
    char *crossing;   // (n, row_bytes) rows that cross between ranks.  NULL: one rank
    size_t row_bytes; // bytes of a replica's rows
    SrLossValue values[SR_LOSS_MAX_KEPT];
    int n_values;
    int64_t *labels; // (mine, label_length) labels as they were taken
    uint32_t *order; // (n * batch) image at each place of the shuffled views
    uint64_t seed;
};

size_t sr__replicas_bytes_of(const SrGraph *graph, SrNodeId id); // bytes of a node's value
// Returns the number of a replica's labels.  Meters count a soft label as its heaviest class.
size_t sr__replicas_label_length(const SrTrainGraph *g);

// Copies the current plan's inputs to the images of a replica (take), or back.
void sr__replicas_move_inputs(SrReplicas *r, int replica, bool take);
// Draws the places of shuffled images: the same on every rank, and if a step is run again.
void sr__replicas_draw_order(SrReplicas *r, int64_t iteration);
void sr__replicas_gather_images(SrReplicas *r); // gets the shuffled views' images of all ranks
void sr__replicas_fill_shuffled(SrReplicas *r, int replica);

// Gathers indices and other batch values of all ranks' replicas for the loss's graph.  Collective.
void sr__replicas_begin_rows(SrReplicas *r);
// Copies the current replica's rows to the loss's graph, or with several ranks to `crossing`;
// gather_rows then gets those of all ranks.
void sr__replicas_take_rows(SrReplicas *r, int replica);
void sr__replicas_gather_rows(SrReplicas *r);
// Copies the gradients of a replica's rows from the loss's graph to the current plan, as its seeds.
void sr__replicas_seed_rows(const SrReplicas *r, int replica);
// Copies the nodes that the loss keeps, if the loss runs replica by replica.
void sr__replicas_keep_values(SrReplicas *r, int replica);

#endif
