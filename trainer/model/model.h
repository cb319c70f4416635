// A model of the configuration: trunk, heads and loss over one parameter table.  Builds its graphs
// without a loss; train_graph.h builds those with one.
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
typedef struct SrTrainGraph SrTrainGraph; // trainer/model/train_graph.h

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
// True if FEATURE_EVAL_SETTINGS freezes the trunk in evaluation mode, below heads that learn.
bool sr_model_has_frozen_trunk(const SrModel *model);
// Sets the form of labels in training graphs.  classes > 0: several labels per image, (N,
// classes) of 1, 0 and -1 (ignored).  0, the default: one class per image, (N).
void sr_model_set_targets(SrModel *model, int classes);
// Sets the form of batches in training graphs: name of each view's input, its rows per image,
// (N rows, H, W, 3), and extras.  Borrowed.  NULL, the default: one row per image and no extras.
void sr_model_set_batch(SrModel *model, const SrBatchPlan *plan);

// ---- graphs without a loss

// Builds the trunk for images (batch, h, w, 3).  The graph belongs to the model, and a second call
// with the same sizes gives the same one.  trainer/features looks layers up in it and compiles it.
SrStatus sr_model_build_trunk(SrModel *model, int batch, int h, int w, SrGraph **graph,
                              SrNodeId *input);

// The model without a loss, for evaluation and extraction.  Outputs are those of the heads, or the
// trunk's features with EXTRACT_TRUNK_FEATURES_ONLY.
typedef struct {
    SrGraph *graph; // owned by the model
    SrNodeId views[SR_MAX_VIEWS];
    int n_views;
    SrNodeId outputs[SR_MAX_OUTPUTS];
    int n_outputs;
} SrOutputGraph;
SrStatus sr_model_build_outputs(SrModel *model, int batch, int n_views, const int *h, const int *w,
                                SrOutputGraph *out);
// Builds the pooled features of a trunk that never learns, for images (batch, h, w, 3).  The
// training graph then holds only heads.
SrStatus sr_model_build_features(SrModel *model, int batch, int h, int w, SrOutputGraph *out);
// Builds the heads over n features of these shapes.
SrStatus sr_model_build_head_outputs(SrModel *model, int batch, const SrShape *features, int n,
                                     SrOutputGraph *out);

#endif
