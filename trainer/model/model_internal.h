// Declares the model's struct and what the files of this folder share: model.c (graphs without a
// loss), model_inputs.c, model_forward.c, train_graph.c, loss_services.c and teacher_model.c.
#ifndef SR_TRAINER_MODEL_MODEL_INTERNAL_H
#define SR_TRAINER_MODEL_MODEL_INTERNAL_H

#include "trainer/model/head_modules.h"
#include "trainer/model/input_mapping.h"
#include "trainer/model/model.h"
#include "trunks/shared/feature_extractor.h"

enum { SR__MAX_PREFIXES = 16, SR__PREFIX_BYTES = 256 };

// Counts how often trunk and heads were built under a parameter prefix in the current graph.  The
// counts number the passes in nodes' names.
typedef struct {
    char prefix[SR__PREFIX_BYTES];
    int trunk, heads[SR_HEAD_MAX_OUT];
} SrModelPasses;

// norm_group.c: refuses a loss whose replicas cannot be one batch, and tells the batch norms of a
// graph how many ranks add their sums.
SrStatus sr__norm_group_check_loss(const SrConfig *config, const SrLoss *loss);
void sr__norm_group_set(const SrConfig *config, SrGraph *graph);

struct SrModel {
    SrArena arena; // options of the plugins
    const SrConfig *config;
    SrMachine machine; // for all plans
    SrParams *params;
    bool borrows_params; // the table belongs to another model
    SrModel *teacher;    // model of DISTILLATION.TEACHER_MODEL.  NULL: no loss runs it
    SrConfig *teacher_config;
    const char *teacher_prefix;
    const SrTrunk *trunk;
    const void *trunk_params;
    SrHeadModules heads;
    SrFeatures features;      // LINEAR_EVAL_FEAT_POOL_OPS_MAP.  n is 0: the last block
    SrInputMapping mapping;   // n is 0: the batch has one input, which goes through all heads
    int n_targets;            // classes, with several labels per image.  0: one label
    const SrBatchPlan *batch; // borrowed.  NULL: one row per image, no extras
    SrBuilder *images;        // builder of the images' part of the current training graph
    SrTrainGraph *train;
    const SrLoss *loss;
    const void *loss_params;
    SrGraph **graphs; // all graphs that were built
    int n_graphs;
    struct { // the last graph of sr_model_build_trunk
        SrGraph *graph;
        int batch, h, w;
        SrNodeId input;
    } eval;
    SrModelPasses passes[SR__MAX_PREFIXES]; // in the current graph
    int n_passes;
    bool learn_statistics; // batch norms of a frozen trunk follow the plan's mode all the same
    // View nodes of the current graph, and the entry of `mapping` of each
    SrNodeId view_node[SR_MAX_VIEWS];
    int view_entry[SR_MAX_VIEWS], n_view_nodes;
};

// One trunk pass.  features: those wanted; n is 0: the last block.
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
    SrTrunkOutput given; // all that the trunk returned
} SrTrunkPassed;
SrStatus sr__model_trunk_pass(SrModel *model, const SrTrunkPass *pass, SrTrunkPassed *out);

// Inputs of a graph: images of each view, or features of a trunk that has its own graph.
typedef struct {
    int batch, n;
    const int *h, *w;        // (n) pixels of each view
    const SrShape *features; // (n).  NULL: the inputs are images
    bool masked;             // the batch's masks, if it has any, hide patches
} SrModelInputs;
// Makes an empty graph over the model's parameters, and resets the counts of passes.
SrStatus sr__model_new_graph(SrModel *model, SrGraph **out);
// Does so in the middle of another graph, whose counts go on.
SrStatus sr__model_add_graph(SrModel *model, SrGraph **out);
int sr__model_rows(const SrModel *model, int view); // rows per image in that input
// Builds input nodes, one per view or feature.
SrStatus sr__model_inputs(SrModel *model, SrBuilder *b, const SrModelInputs *in, SrNodeId *nodes);
// Builds the inputs, and the model on the first n_run views.  0: all.  SR_NO_STUDENT: none.
SrStatus sr__model_outputs(SrModel *model, SrBuilder *b, const SrModelInputs *in, int n_run,
                           SrNodeId *nodes, SrOutputs *out);
void sr__model_copy_nodes(const SrOutputs *outputs, SrNodeId *nodes, int *n);
// Reads LOSS.name and its options; the first graph with a loss calls it.
SrStatus sr__model_read_loss(SrModel *model);
// Freezes the parameters that NON_TRAINABLE_PARAMS names.
SrStatus sr__model_freeze_named(SrModel *model);

// loss_services.c: what a loss may ask of the model while it is built.
extern const SrLossServices sr__loss_services;
// Returns the input for the batch's extra of that name and view, in the images' graph.  SR_NO_NODE:
// the batch has none.
SrNodeId sr__model_extra(SrModel *model, const char *name, int view);
// Return the input of the loss's graph for a node of the images' graph, or the node itself where
// both are one graph.  `learns`: gradients go back.
SrNodeId sr__model_cross(SrModel *model, SrBuilder *loss, SrNodeId node, bool learns);
void sr__model_cross_all(SrModel *model, SrBuilder *loss, SrOutputs *outputs, bool learns);

// teacher_model.c: builds a forward of the model of DISTILLATION.TEACHER_MODEL on n views, over the
// same table; the first call makes that model.  *out: nodes of the images' graph.  With
// DISTILLATION.CACHED_VIEWS they are inputs, and the forward is in the training graph's teacher
// graph.
SrStatus sr__model_teacher(SrModel *model, const SrModelRun *run, int n, SrOutputs *out);
// Makes a model over another model's parameter table.
SrStatus sr__model_new_over(const SrConfig *config, SrParams *params, SrModel **out);
// Records `node` as input `v` of a batch of n, with its entry of the mapping.
SrStatus sr__model_map_view(SrModel *model, int v, int n, SrNodeId node);

// Builds all heads over given features, as sr_model_forward does after the trunk.
SrStatus sr__model_heads(SrModel *model, SrBuilder *b, const SrNodeId *features, int n,
                         SrOutputs *out);
// Builds a head that belongs to the loss, under the builder's prefixes and "heads.<name>".
SrStatus sr__model_loss_head(SrModel *model, SrBuilder *b, const SrLossHead *head, SrNodeId x,
                             SrOutputs *out);

#endif
