// The model's insides, shared by model.c (the model itself, graphs without a loss), model_inputs.c, train_graph.c and
// model_forward.c (one forward).
#ifndef SR_TRAINER_MODEL_MODEL_INTERNAL_H
#define SR_TRAINER_MODEL_MODEL_INTERNAL_H

#include "trainer/model/head_modules.h"
#include "trainer/model/input_mapping.h"
#include "trainer/model/model.h"
#include "trunks/feature_extractor.h"

enum { SR__MAX_PREFIXES = 16, SR__PREFIX_BYTES = 256 };

// How often the model was built under a parameter prefix in the present graph; numbers the passes
// of names.
typedef struct {
    char prefix[SR__PREFIX_BYTES];
    int trunk, heads[SR_HEAD_MAX_OUT];
} SrModelPasses;

// SyncBN (norm_group.c): refuses a loss that replicas cannot be joined for; batch norms over ranks add their sums.
SrStatus sr__norm_group_check_loss(const SrConfig *config, const SrLoss *loss);
void sr__norm_group_set(const SrConfig *config, SrGraph *graph);

struct SrModel {
    SrArena arena; // options of the plugins
    const SrConfig *config;
    SrMachine machine; // of all plans; see sr_model_machine
    SrParams *params;
    bool borrows_params; // of another model
    SrModel *teacher;    // of DISTILLATION.TEACHER_MODEL, once a loss runs it
    SrConfig *teacher_config;
    const char *teacher_prefix;
    const SrTrunk *trunk;
    const void *trunk_params;
    SrHeadModules heads;
    SrFeatures features;      // LINEAR_EVAL_FEAT_POOL_OPS_MAP; n 0: the last block
    SrInputMapping mapping;   // n 0: the batch has one input, which goes through all heads
    int n_targets;            // several labels an image: how many classes
    const SrBatchPlan *batch; // NULL: a row an image, no extras
    SrBuilder *images;        // of the training graph being built
    SrTrainGraph *train;
    const SrLoss *loss;
    const void *loss_params;
    SrGraph **graphs; // every graph handed out
    int n_graphs;
    struct { // the last graph of sr_model_build_eval
        SrGraph *graph;
        int batch, h, w;
        char layer[128];
        SrNodeId input, tap;
    } eval;
    SrModelPasses passes[SR__MAX_PREFIXES]; // of the graph being built
    int n_passes;
    bool learn_statistics; // batch norms of a frozen trunk follow the plan's mode after all
    SrNodeId view_node[SR_MAX_VIEWS]; // of the graph being built, and the mapping's entry of each
    int view_entry[SR_MAX_VIEWS], n_view_nodes;
};

// One trunk pass with all its nodes and parameters; what it gives for `features` (n 0: the last
// block) goes to out.
typedef struct {
    SrBuilder *b;
    const char *prefix;
    bool trainable;
    int pass;
    const SrFeatures *features;
    SrTrunkInput in;
} SrTrunkPass;
typedef struct {
    SrNodeId feature[SR_MAX_FEATURES];
    int n;
    SrTrunkOutput given; // the trunk's own
} SrTrunkPassed;
SrStatus sr__model_trunk_pass(SrModel *model, const SrTrunkPass *pass, SrTrunkPassed *out);

// What the graph begins with: images of each view, or features of a trunk that stands apart.
typedef struct {
    int batch, n;
    const int *h, *w;        // of each view; its rows an image are sr__model_rows
    const SrShape *features; // NULL: images
    bool masked;             // by the batch's masks, where it has any
} SrModelInputs;
// A graph of the model's over its parameters; passes are counted anew.
SrStatus sr__model_new_graph(SrModel *model, SrGraph **out);
int sr__model_rows(const SrModel *model, int view); // an image has in that input
// Input nodes, one a view or feature.
SrStatus sr__model_inputs(SrModel *model, SrBuilder *b, const SrModelInputs *in, SrNodeId *nodes);
// These, and the first `n_run` views through the model; 0: all; SR_NO_STUDENT: none.
SrStatus sr__model_outputs(SrModel *model, SrBuilder *b, const SrModelInputs *in, int n_run,
                           SrNodeId *nodes, SrOutputs *out);
void sr__model_copy_nodes(const SrOutputs *outputs, SrNodeId *nodes, int *n);
// LOSS.name and its options, once a graph needs them.
SrStatus sr__model_read_loss(SrModel *model);
// What NON_TRAINABLE_PARAMS names learns nothing.
SrStatus sr__model_freeze_named(SrModel *model);

// The services of a loss that is being built (loss_services.c), and the crossing of a node of the
// images' graph to the loss's: itself where both are one.
extern const SrLossServices sr__loss_services;
// The batch's extra of that name and view on the images' graph; SR_NO_NODE where there is none.
SrNodeId sr__model_extra(SrModel *model, const char *name, int view);
SrNodeId sr__model_cross(SrModel *model, SrBuilder *loss, SrNodeId node, bool learns);
void sr__model_cross_all(SrModel *model, SrBuilder *loss, SrOutputs *outputs, bool learns);

// The model of DISTILLATION.TEACHER_MODEL over the same table and views; built once (teacher_model.c).
SrStatus sr__model_teacher(SrModel *model, const char *prefix, SrModel **out);
// Over another model's parameters.
SrStatus sr__model_new_over(const SrConfig *config, SrParams *params, SrModel **out);
// Which entry of the mapping input `v` of a batch of n belongs to.
SrStatus sr__model_map_view(SrModel *model, int v, int n, SrNodeId node);

// All heads over given features, as sr_model_forward has them after the trunk.
SrStatus sr__model_heads(SrModel *model, SrBuilder *b, const SrNodeId *features, int n,
                         SrOutputs *out);
// A head of the loss's own, under "heads.<name>" behind the builder's prefixes.
SrStatus sr__model_loss_head(SrModel *model, SrBuilder *b, const SrLossHead *head, SrNodeId x,
                             SrOutputs *out);

#endif
