// The model: trunk, head modules and their wiring, built into one graph from the configuration.
//
// Parameter names are VISSL's: "trunk._feature_blocks...", "heads.<i>...." (chains
// "heads.<i>.<j>....").
#ifndef SR_TRAINER_MODEL_MODEL_H
#define SR_TRAINER_MODEL_MODEL_H

#include "data/data.h"
#include "graph/plan.h"
#include "heads/head.h"
#include "losses/loss.h"
#include "trainer/config/config.h"
#include "trunks/trunk.h"

typedef struct SrModel SrModel;

// Owns the parameter table.  Reads the options of trunk and heads; builds nothing yet.
SrStatus sr_model_new(const SrConfig *config, SrModel **out);
void sr_model_free(SrModel *model);
SrParams *sr_model_params(SrModel *model);
// AMP_PARAMS.USE_AMP: every plan of the model, of evaluation too, stores maps as bfloat16.
bool sr_model_bf16(const SrModel *model);
// What all plans of the model compute with: MACHINE.WINOGRAD and MACHINE.FP32, and pairs of bfloat16 where they are
// faster.  Lives as long as the model.
const SrMachine *sr_model_machine(const SrModel *model);
SrMachine sr_machine_of_config(const SrConfig *config);

#define SR_MAX_ROWS (2 * SR_MAX_OUTPUTS)

// Rows of one replica's node that are part of an input of the loss's graph.
typedef struct {
    SrNodeId replica; // (V n, ...) in the graph of the images
    SrNodeId world;   // (V R n, ...) in the loss's graph
    bool learns;      // and gradients go back
    bool shuffled;    // of images of all replicas, in the step's permutation
} SrRowsLink;

// An input of the images' graph that holds a view of other replicas' images.
typedef struct {
    SrNodeId input;
    int view;
} SrShuffledView;

// An input of the images' graph that is an extra of the batch.
typedef struct {
    SrNodeId input; // (N, ...)
    int extra;      // index in SrBatchPlan.extras and SrBatch.extra
} SrExtraInput;

// ---- the training graph: views -> trunk passes -> concatenated features -> heads -> loss
typedef struct {
    int batch, replicas; // images a replica
    bool library_sums;   // DISTRIBUTED.REDUCE: mpi
    SrGraph *graph;      // of a replica's images; owned by the model
    // The loss over the rows of all replicas; the same as `graph` with one replica and where rows are
    // independent.  outputs and loss are its nodes.
    SrGraph *loss_graph;
    SrRowsLink rows[SR_MAX_ROWS];
    int n_rows;
    SrShuffledView shuffled[SR_MAX_VIEWS];
    int n_shuffled;
    SrNodeId views[SR_MAX_VIEWS]; // inputs, one a crop: (N, H_v, W_v, 3)
    int n_views;
    SrNodeId sample_index;
    // Input (N) of I64, or (N, classes) (sr_model_set_targets); SR_NO_NODE unless the loss needs them, and
    // where they are soft: then they are among the extras.
    SrNodeId labels;
    SrExtraInput extras[SR_MAX_EXTRAS]; // those that anything asked for
    int n_extras;
    // What a plan must keep readable after a step: the model's outputs, then what the loss's hooks
    // read.
    SrNodeId outputs[SR_MAX_OUTPUTS + SR_LOSS_MAX_KEPT];
    int n_outputs, n_model_outputs;
    const char *output_names[SR_MAX_OUTPUTS]; // of the model's (SrOutput.name); NULL: none
    SrNodeId loss;                            // scalar
    const SrLoss *loss_kind;
    void *loss_state;
} SrTrainGraph;
// h, w: size of each view; `batch` images; n_samples: size of the training set, 0 if unknown.
SrStatus sr_model_build_train(SrModel *model, int batch, int n_views, const int *h, const int *w,
                              int64_t n_samples, SrTrainGraph *out);

// ---- a trunk that never moves: its features are computed apart, and only the heads are a training graph
// FEATURE_EVAL_SETTINGS freezes the trunk in evaluation mode, below heads that learn.
bool sr_model_has_frozen_trunk(const SrModel *model);
// The pooled features of (batch, h, w, 3), inputs and outputs as in SrOutputGraph below.
typedef struct SrOutputGraph SrOutputGraph;
SrStatus sr_model_build_features(SrModel *model, int batch, int h, int w, SrOutputGraph *out);
// Heads and loss over features of these shapes; `views` are the inputs, one a feature.
SrStatus sr_model_build_train_heads(SrModel *model, int batch, const SrShape *features, int n,
                                    int64_t n_samples, SrTrainGraph *out);
// The heads alone.
SrStatus sr_model_build_head_outputs(SrModel *model, int batch, const SrShape *features, int n,
                                     SrOutputGraph *out);

// Forward of views through the model into an existing builder (rules for several resolutions:
// consecutive crops of equal width in one trunk pass, vectors of all crops concatenated in order and
// through the heads at once; maps and tokens of unlike lengths apart).  Rows are view-major.
// run->views is not looked at: `views` are the nodes.
SrStatus sr_model_forward(SrModel *model, SrBuilder *b, const SrModelRun *run,
                          const SrNodeId *views, int n_views, SrOutputs *out);

// ---- evaluation: one image size, trunk only, tapped at a layer (sr_feature_tap: VISSL's or
// torchvision's name).  The graph belongs to the model; compile it in SR_MODE_EVAL.  The same call again gives the
// same graph.
SrStatus sr_model_build_eval(SrModel *model, int batch, int h, int w, const char *layer,
                             SrGraph **graph, SrNodeId *input, SrNodeId *tap);

// The model without a loss: its outputs for views, features where EXTRACT_TRUNK_FEATURES_ONLY says
// so, else what the heads give.  For evaluation and extraction, or to seed gradients by hand.
struct SrOutputGraph {
    SrGraph *graph; // owned by the model
    SrNodeId views[SR_MAX_VIEWS];
    int n_views;
    SrNodeId outputs[SR_MAX_OUTPUTS];
    int n_outputs;
};
SrStatus sr_model_build_outputs(SrModel *model, int batch, int n_views, const int *h, const int *w,
                                SrOutputGraph *out);

// Several labels an image: the labels of training graphs are (N, classes) of 1, 0, -1.  0, as at first: (N) classes.
void sr_model_set_targets(SrModel *model, int classes);
// Where a loss runs the model of DISTILLATION.TEACHER_MODEL: the PARAMS_FILE of its WEIGHTS_INIT, "" if none is named;
// NULL where there is no such model.
const char *sr_model_teacher_file(const SrModel *model);
// Its WEIGHTS_INIT, before the first step of a run that is not resumed, from the file that is named or stands for it.
// path "": SR_ERR_CONFIG unless `random`.
SrStatus sr_model_load_teacher(SrModel *model, const char *path, bool random);
// What batches of training graphs hold: names and rows of each view's input, (N rows, H, W, 3)
// (SrBatchInput), and extras.  Borrowed; NULL, as at first: a row an image and no extras.
void sr_model_set_batch(SrModel *model, const SrBatchPlan *plan);

#endif
