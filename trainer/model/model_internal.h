// The model's insides, shared by model.c (graphs) and model_forward.c (one forward).
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

struct SrModel {
    SrArena arena; // options of the plugins
    const SrConfig *config;
    SrParams *params;
    const SrTrunk *trunk;
    const void *trunk_params;
    SrHeadModules heads;
    SrFeatures features;    // LINEAR_EVAL_FEAT_POOL_OPS_MAP; n 0: the last block
    SrInputMapping mapping; // n 0: one input
    int n_targets;          // several labels an image: how many classes
    int rows[SR_MAX_VIEWS]; // an image, of each view's input; 0: 1
    SrBuilder *images;      // of the training graph being built
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
// block) goes to out.  x: (rows, H, W, 3)
SrStatus sr__model_trunk_pass(SrModel *model, SrBuilder *b, const char *prefix, bool trainable,
                              int pass, const SrFeatures *features, SrNodeId x,
                              SrNodeId out[SR_MAX_FEATURES], int *n_out);

// The services of a loss that is being built (loss_services.c), and the crossing of a node of the
// images' graph to the loss's: itself where both are one.
extern const SrLossServices sr__loss_services;
SrNodeId sr__model_cross(SrModel *model, SrBuilder *loss, SrNodeId node, bool learns);
void sr__model_cross_all(SrModel *model, SrBuilder *loss, SrOutputs *outputs, bool learns);

// All heads over given features, as sr_model_forward has them after the trunk.
SrStatus sr__model_heads(SrModel *model, SrBuilder *b, const SrNodeId *features, int n,
                         SrOutputs *out);
// A head of the loss's own, under "heads.<name>" behind the builder's prefixes.
SrStatus sr__model_loss_head(SrModel *model, SrBuilder *b, const SrLossHead *head, SrNodeId x,
                             SrOutputs *out);

#endif
