// Builds graphs of a model from the configuration: trunk, heads and loss over one parameter table.
//
// Parameters have VISSL's names: "trunk._feature_blocks.", "heads.<i>.", and in chains of heads
// "heads.<i>.<j>.".
#ifndef SR_TRAINER_MODEL_MODEL_H
#define SR_TRAINER_MODEL_MODEL_H

#include "data/collator.h"
#include "graph/plan/plan.h"
#include "heads/head.h"
#include "losses/loss.h"
#include "trainer/config/config.h"
#include "trunks/trunk.h"

typedef struct SrModel SrModel;

// Makes a model, which owns the parameter table and all its graphs.  Reads the options of trunk and
// heads; builds nothing yet.  Borrows the configuration.
SrStatus sr_model_new(const SrConfig *config, SrModel **out);
void sr_model_free(SrModel *model);
SrParams *sr_model_params(SrModel *model);
// AMP_PARAMS.USE_AMP: every plan of the model, also for evaluation, stores maps as bfloat16.
bool sr_model_bf16(const SrModel *model);
// Returns the machine of all plans of the model: MACHINE.WINOGRAD, MACHINE.FP32, and pairs of
// bfloat16 where they are faster.  Belongs to the model.
const SrMachine *sr_model_machine(const SrModel *model);
SrMachine sr_machine_of_config(const SrConfig *config);

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

// ---- the training graph: views -> trunk passes -> concatenated features -> heads -> loss
typedef struct {
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
} SrTrainGraph;
// Builds the training graph.  batch: images per replica.  h, w: (n_views) pixels of each view.
// n_samples: images of the training set, 0 if unknown.
SrStatus sr_model_build_train(SrModel *model, int batch, int n_views, const int *h, const int *w,
                              int64_t n_samples, SrTrainGraph *out);

// ---- a trunk that never learns: it has its own graph, and the training graph holds only heads
// True if FEATURE_EVAL_SETTINGS freezes the trunk in evaluation mode, below heads that learn.
bool sr_model_has_frozen_trunk(const SrModel *model);
// Builds the trunk's pooled features for images (batch, h, w, 3).
typedef struct SrOutputGraph SrOutputGraph;
SrStatus sr_model_build_features(SrModel *model, int batch, int h, int w, SrOutputGraph *out);
// Builds heads and loss over n features of these shapes; out->views are the inputs, one per
// feature.
SrStatus sr_model_build_train_heads(SrModel *model, int batch, const SrShape *features, int n,
                                    int64_t n_samples, SrTrainGraph *out);
// Builds the heads without a loss.
SrStatus sr_model_build_head_outputs(SrModel *model, int batch, const SrShape *features, int n,
                                     SrOutputGraph *out);

// Builds a forward pass of the model on `views` into an existing builder; run->views is ignored.
// Consecutive views of equal size share a trunk pass.  Vectors of all views are concatenated in
// order and go through the heads at once; maps and tokens of different lengths stay separate.
// Rows are view-major: all images of view 0 come first.
SrStatus sr_model_forward(SrModel *model, SrBuilder *b, const SrModelRun *run,
                          const SrNodeId *views, int n_views, SrOutputs *out);

// ---- evaluation

// Builds the trunk for images (batch, h, w, 3).  The graph belongs to the model, and a second call
// with the same sizes gives the same one.  trainer/features looks layers up in it and compiles it.
SrStatus sr_model_build_trunk(SrModel *model, int batch, int h, int w, SrGraph **graph,
                              SrNodeId *input);

// The model without a loss, for evaluation and extraction.  Outputs are those of the heads, or the
// trunk's features with EXTRACT_TRUNK_FEATURES_ONLY.
struct SrOutputGraph {
    SrGraph *graph; // owned by the model
    SrNodeId views[SR_MAX_VIEWS];
    int n_views;
    SrNodeId outputs[SR_MAX_OUTPUTS];
    int n_outputs;
};
SrStatus sr_model_build_outputs(SrModel *model, int batch, int n_views, const int *h, const int *w,
                                SrOutputGraph *out);

// Sets the form of labels in training graphs.  classes > 0: several labels per image, (N,
// classes) of 1, 0 and -1 (ignored).  0, the default: one class per image, (N).
void sr_model_set_targets(SrModel *model, int classes);
// Returns WEIGHTS_INIT.PARAMS_FILE of DISTILLATION.TEACHER_MODEL, "" if it is not set.  NULL: no
// loss runs such a model.
const char *sr_model_teacher_file(const SrModel *model);
// Loads the teacher's weights from `path`, before the first step of a run that is not resumed.  An
// empty path is SR_ERR_CONFIG unless `random`: then the teacher stays as drawn.
SrStatus sr_model_load_teacher(SrModel *model, const char *path, bool random);
// Sets the form of batches in training graphs: name of each view's input, its rows per image,
// (N rows, H, W, 3), and extras.  Borrowed.  NULL, the default: one row per image and no extras.
void sr_model_set_batch(SrModel *model, const SrBatchPlan *plan);

#endif
