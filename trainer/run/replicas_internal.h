// What replicas.c and replica_rows.c share.
#ifndef SR_TRAINER_RUN_REPLICAS_INTERNAL_H
#define SR_TRAINER_RUN_REPLICAS_INTERNAL_H

#include "trainer/run/grad_sums.h"
#include "trainer/run/graph_state.h"
#include "trainer/run/replicas.h"

struct SrReplicas {
    const SrTrainGraph *graph;
    SrParams *params;
    SrPlan *plan, *loss_plan;   // plan: of the replica at hand, between steps `last`
    SrPlan *last, **kept_plans; // of the last replica of this rank; of those before it, or NULL
    int n, first, mine;         // of all ranks; those of this one
    SrNodeId inputs[SR_MAX_VIEWS + SR_MAX_EXTRAS + 2]; // that the feed fills
    int n_inputs;
    size_t input_bytes; // of all inputs of a replica
    char *images;       // (kept, input_bytes)
    int kept;           // replicas whose images are here: mine, or all where images are shuffled
    SrGraphState state;
    char *begin, *after; // (state.bytes): before the step, and after replica 0's forward
    SrGradSums *sums;
    double *losses;   // (n) of each, where rows are independent
    char *crossing;   // (n, row_bytes) rows on their way between ranks; NULL with one
    size_t row_bytes; // of a replica's rows
    SrLossValue values[SR_LOSS_MAX_KEPT];
    int n_values;
    int64_t *labels; // (mine, label_length) as they were taken
    uint32_t *order; // (n * batch) image at each place of the shuffled views
    uint64_t seed;
};

size_t sr__replicas_bytes_of(const SrGraph *graph, SrNodeId id); // of a node's value
// Numbers of a replica's labels: soft ones are counted by their heaviest classes.
size_t sr__replicas_label_length(const SrTrainGraph *g);

// Between the kept images of a replica and the inputs of the plan at hand.
void sr__replicas_move_inputs(SrReplicas *r, int replica, bool take);
// The places of shuffled images, the same for every run of the step, whoever runs it.
void sr__replicas_draw_order(SrReplicas *r, int64_t iteration);
void sr__replicas_gather_images(SrReplicas *r); // of the shuffled views, from all ranks
void sr__replicas_fill_shuffled(SrReplicas *r, int replica);

// Rows of the replica in the plan to the loss's graph, or, with other ranks, to where they cross; then those of all.
void sr__replicas_take_rows(SrReplicas *r, int replica);
void sr__replicas_gather_rows(SrReplicas *r);
// Gradients of its rows out of the loss's graph, as seeds of the plan at hand.
void sr__replicas_seed_rows(const SrReplicas *r, int replica);
void sr__replicas_keep_values(
    SrReplicas *r, int replica); // nodes the loss keeps, where it runs replica by replica

#endif
