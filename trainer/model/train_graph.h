// The training graph: views -> trunk passes -> concatenated features -> heads -> loss, in one graph
// or in two (trainer/run/ranks/replicas.h).
#ifndef SR_TRAINER_MODEL_TRAIN_GRAPH_H
#define SR_TRAINER_MODEL_TRAIN_GRAPH_H

#include "data/extras.h"
#include "trainer/model/model.h"

#define SR_MAX_ROWS (2 * SR_MAX_OUTPUTS)

// Links a node of one replica to the input of the loss's graph that gathers its rows from all
// replicas.  V views, n images per replica, R replicas.
typedef struct {
    SrNodeId replica; // (V n, ...) in the graph of the images
    SrNodeId world;   // (V R n, ...) in the loss's graph
    bool learns;      // gradients go back
    bool shuffled;    // rows are images of all replicas, in the step's permutation
} SrRowsLink;

// Input of the images' graph that holds a view of other replicas' images.
typedef struct {
    SrNodeId input;
    int view;
} SrShuffledView;

// Input of the images' graph that is an extra tensor of the batch.
typedef struct {
    SrNodeId input; // (N, ...)
    int extra;      // index in SrBatchPlan.extras and SrBatch.extra
} SrExtraInput;

// Teacher of DISTILLATION.CACHED_VIEWS in a graph of its own.  Its outputs, rounded to half
// precision, are inputs of the images' graph.  The teacher computes them, or a file holds them.
typedef struct {
    SrGraph *graph;               // owned by the model.  NULL: there is none
    SrNodeId views[SR_MAX_VIEWS]; // inputs, one per view of the batch
    int n_views;
    SrNodeId outputs[SR_MAX_OUTPUTS]; // (n_outputs) nodes of `graph`
    SrNodeId inputs[SR_MAX_OUTPUTS];  // (n_outputs) the inputs of the images' graph for them
    int n_outputs;
} SrTeacherGraph;

struct SrTrainGraph {
    int batch, replicas; // images per replica, replicas of a step
    bool library_sums;   // DISTRIBUTED.REDUCE is mpi
    SrGraph *graph;      // graph of a replica's images; owned by the model
    // Graph of the loss over the rows of all replicas.  It is `graph` itself with one replica, and
    // where rows are independent.  `outputs` and `loss` are nodes of it.
    SrGraph *loss_graph;
    SrRowsLink rows[SR_MAX_ROWS];
    int n_rows;
    SrShuffledView shuffled[SR_MAX_VIEWS];
    int n_shuffled;
    SrNodeId views[SR_MAX_VIEWS]; // inputs, one per view: (N, H_v, W_v, C)
    int n_views;
    SrNodeId sample_index;
    // Input (N) of I64, or (N, classes) after sr_model_set_targets.  SR_NO_NODE: the loss needs no
    // labels, or they are soft and so one of the extras.
    SrNodeId labels;
    SrExtraInput extras[SR_MAX_EXTRAS]; // those that a part of the model asked for
    int n_extras;
    SrTeacherGraph teacher;
    // Nodes that a plan must keep readable after a step: the model's outputs, then those that the
    // loss's hooks read.
    SrNodeId outputs[SR_MAX_OUTPUTS + SR_LOSS_MAX_KEPT];
    int n_outputs, n_model_outputs;
    const char *output_names[SR_MAX_OUTPUTS]; // SrOutput.name of the model's outputs.  NULL: none
    SrNodeId loss;                            // scalar
    const SrLoss *loss_kind;
    void *loss_state;
};
// Builds the training graph.  batch: images per replica.  h, w: (n_views) pixels of each view.
// n_samples: images of the training set, 0 if unknown.
SrStatus sr_model_build_train(SrModel *model, int batch, int n_views, const int *h, const int *w,
                              int64_t n_samples, SrTrainGraph *out);

// Builds heads and loss over n features of these shapes; out->views are the inputs, one per
// feature.
SrStatus sr_model_build_train_heads(SrModel *model, int batch, const SrShape *features, int n,
                                    int64_t n_samples, SrTrainGraph *out);

#endif
