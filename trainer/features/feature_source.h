// Turns images into features: the values of named layers of a trunk.
//
//     SrFeatureOptions o = {.trunk = "resnet50", .weights = "resnet50.pth", .layers = "layer4",
//                           .batch = 32, .height = 224, .width = 224};
//     SrFeatureSource s;
//     SrStatus status = sr_feature_source_open(&o, &s);   // graph, layers, weights, plan
//     sr_feature_source_run(&s, images, n);               // n <= 32 images, (n, 224, 224, 3)
//     sr_feature_copy(&s, 0, n, false, rows);             // layer4 in torch's layout
//     sr_feature_source_close(&s);
//
// features/feature_values.h lays values out, and features/feature_rows.h makes one row per image
// of a data set, which ranks share out.
//
// Only this room compiles plans of evaluation; a plan elsewhere has gradients (tests/one_road.sh).
#ifndef SR_TRAINER_FEATURES_FEATURE_SOURCE_H
#define SR_TRAINER_FEATURES_FEATURE_SOURCE_H

#include "graph/edit/extract.h"
#include "graph/plan/plan.h"
#include "trainer/features/stages.h"
#include "trainer/model/trunk_graph.h"

// Values that a source gives.
typedef enum {
    SR_FEATURES_NAMED,  // the layers that `layers` names
    SR_FEATURES_STAGES, // the last stages that the trunk announces (features/stages.h)
    SR_FEATURES_HEADS,  // what the heads of `model` read, pooled as the configuration says
    SR_FEATURES_OUTPUTS // what the heads of `model` give
} SrFeatureKind;

// A source borrows everything that its options point to.
typedef struct {
    // The trunk: a model that exists already, or one that the source opens by `trunk`.
    SrModel *model;
    // Plans read the parameters of `model`, so that values follow its training.  False: the source
    // takes a copy when it is compiled, and folds batch norms into the convolutions of the copy
    bool live;
    // A trunk with values, often edited, that the source takes over: it is zeroed here.  NULL: none
    SrTrunkGraph *edited;
    const char *trunk; // model's name, or a configuration file
    // Text of a configuration; `trunk` is then its name in messages.  NULL: there is none
    const char *config_text;
    const char *const *overrides; // KEY=VALUE, for a configuration
    int n_overrides;
    int batch, height, width; // images, pixels; `edited` has its own height and width

    SrFeatureKind kind;
    const char *layers;   // "layer1,layer4:deep": with or without own names.  NULL: chosen later
    SrLayerNames meaning; // of a name that torchvision and VISSL both have (graph/ir/layer_name.h)
    // Layers of the other mode: names are checked, values are not computed.  NULL: none
    const char *other_layers;
    // Gives tokens (N, L, D) of a transformer as maps of their patches, (N, h, w, D)
    bool token_maps;
    // Rows of a data set hold means over windows, as those of stages do (sr_stage_size), in place
    // of whole maps.  For SR_FEATURES_NAMED
    bool pooled;

    // TRAIN: norms use the batch's statistics, and running statistics move.  0: EVAL
    SrMode mode;
    // Weights of a trunk that the source opens: a file in any format of formats/weights/weights.h.
    // NULL: drawn from `seed`, or those of `edited`
    const char *weights;
    bool lax; // SrTrunkWeights.lax
    uint64_t seed;
    // SR_CONV_ bits of the designs to choose from.  0: those of the configuration
    // (MACHINE.WINOGRAD), or all for a model's name.
    unsigned conv_designs;
    bool keep_norms; // do not fold batch norms into convolutions (evaluation only)
    // Stores and multiplies maps as bfloat16.  A model with USE_AMP does so anyway
    bool bf16;
} SrFeatureOptions;

typedef struct {
    SrFeatureOptions options;
    SrTrunkGraph trunk; // opened by the source; zeroed for a borrowed model
    SrGraph *whole;     // graph that the layers were looked up in
    // Part that the layers need, with norms folded, and its own parameters.  Zeroed while a source
    // is not compiled, and for a live model
    SrExtraction extraction;
    SrGraph *graph;  // graph of `taps` and `input`: `whole`, or that of the extraction
    SrNodeId input;  // images, (batch, height, width, C)
    SrTaps taps;     // the layers in the order asked for
    SrStages stages; // of SR_FEATURES_STAGES: what they are pooled to
    SrPlan *plan;    // NULL until the source is compiled
    int n_folded;    // batch norms that were folded
    bool bf16;
    int grid_h, grid_w; // patches per column and row, with token_maps.  0: without
    int64_t passes;     // runs so far, which a train mode draws by
    SrArena arena;
} SrFeatureSource;

// Builds the graph, looks the layers up, loads weights and compiles the plan: the two calls below.
SrStatus sr_feature_source_open(const SrFeatureOptions *options, SrFeatureSource *out);
// Builds the graph and looks the layers up.  Names and shapes are known afterwards, a model's
// table has its parameters, and nothing needs their values.
SrStatus sr_feature_source_build(const SrFeatureOptions *options, SrFeatureSource *out);
// Loads weights and compiles the plan.  Parameters of a borrowed model have their values; those of
// a live one get memory if they have none.
SrStatus sr_feature_source_compile(SrFeatureSource *source);
void sr_feature_source_close(SrFeatureSource *source); // legal for a zeroed struct

// Looks up other layers.  The source is no longer compiled; options.weights and options.mode may
// be changed before it is again.
SrStatus sr_feature_source_choose(SrFeatureSource *source, const char *layers);
// Keeps layer i alone.  Before the source is compiled.
void sr_feature_source_keep(SrFeatureSource *source, int i);
// Compiles a plan without memory, for its cost.  Before the source is compiled.
SrStatus sr_feature_source_dry(const SrFeatureSource *source, SrPlan **out);
// Builds the trunk of a model and looks one layer up as a configuration means it: a wrong name
// must not wait until an epoch is over.
SrStatus sr_feature_source_check(SrModel *model, const char *layer, int batch, int h, int w);

// Builds a frozen trunk for the heads that read it: SR_FEATURES_HEADS with folded norms.  Compile
// it when the parameters have their final values.
SrStatus sr_feature_source_of_heads(SrModel *model, int batch, int h, int w, SrFeatureSource *out);

// Compiles the outputs of a model over its own parameters, so that values follow its training: for
// the test phases of a run.  The caller owns the plan.
SrStatus sr_feature_source_of_outputs(const SrModel *model, const SrOutputGraph *graph,
                                      SrPlan **out);

// Appends a line per layer that was asked for by name: the node it means, and in whose vocabulary.
void sr_feature_source_say_layers(const SrFeatureSource *source, SrText *out);

// Computes the layers of images (n, height, width, 3), n <= batch; other images count as zeros.
void sr_feature_source_run(SrFeatureSource *source, const float *images, int n);
// Do so in two steps: the caller fills the input, then the source computes.
SrTensor sr_feature_source_input(const SrFeatureSource *source);
void sr_feature_source_forward(SrFeatureSource *source);
// Returns the value of a layer, which belongs to the plan: maps are NHWC.  Rows from n on are
// undefined.
SrTensor sr_feature_source_value(const SrFeatureSource *source, int layer);
// Returns the shape of a layer, also before the source is compiled, and its floats per image.
SrShape sr_feature_source_shape(const SrFeatureSource *source, int layer);
int64_t sr_feature_source_floats(const SrFeatureSource *source, int layer);
// Gets the shapes of all layers for a batch of `batch` images; returns their number.
int sr_feature_source_shapes(const SrFeatureSource *source, int batch, SrShape *out);
// Returns the tokens in front of the patches of a layer that is given as a map: class token,
// registers.  -1: the layer is given as it is.
int sr_feature_source_prefix(const SrFeatureSource *source, int layer);

#endif
