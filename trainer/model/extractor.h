// Computes features of a trunk: builds it, cuts it down to the tapped nodes, loads weights, folds
// batch norms into convolutions and compiles the plan.
#ifndef SR_TRAINER_MODEL_EXTRACTOR_H
#define SR_TRAINER_MODEL_EXTRACTOR_H

#include "graph/extract.h"
#include "graph/plan.h"
#include "trainer/model/trunk_graph.h"

typedef struct {
    const char *trunk; // model's name, or a configuration file
    // Text of a configuration; `trunk` is then its name in messages.  NULL: there is none
    const char *config_text;
    const char *const *overrides; // KEY=VALUE, for a configuration
    int n_overrides;
    int batch, height, width; // images, pixels
    const char *nodes;        // tapped nodes, with or without own names: "layer1,layer4:deep"
    // Nodes tapped in the other mode: names are checked, values are not computed.  NULL: none
    const char *other_nodes;
    SrMode mode;         // TRAIN: norms use the batch's statistics, and running statistics move
    const char *weights; // file, in any format of formats/weights.h.  NULL: drawn from `seed`
    bool lax;            // SrTrunkWeights.lax
    uint64_t seed;
    // Gives tokens (N, L, D) of a transformer as maps of their patches, (N, h, w, D)
    bool token_maps;
    unsigned conv_designs; // SR_CONV_ bits of the designs to choose from.  0: all
    bool keep_norms;       // do not fold batch norms into convolutions (evaluation only)
    // Stores and multiplies maps as bfloat16.  A configuration with USE_AMP does so anyway
    bool bf16;
} SrExtractorOptions;

typedef struct {
    SrTrunkGraph trunk; // the whole trunk; its parameters are not allocated
    // The part that the taps need, with norms folded; the plan is compiled from it
    SrExtraction extraction;
    SrPlan *plan;
    SrNodeId input;     // in extraction.graph
    SrTaps taps;        // nodes of extraction.graph
    int n_folded;       // batch norms that were folded
    bool bf16;          // asked for by the options or by the configuration
    int grid_h, grid_w; // patches per column and row, with token_maps.  0: without
} SrExtractor;

SrStatus sr_extractor_open(const SrExtractorOptions *options, SrExtractor *out);
void sr_extractor_close(SrExtractor *extractor); // legal for a zeroed struct

// Fill the input (batch, height, width, 3), run, and read the outputs.  Tensors belong to the plan;
// maps are NHWC, other values have the shape of their node.
SrTensor sr_extractor_input(const SrExtractor *extractor);
void sr_extractor_run(SrExtractor *extractor);
SrTensor sr_extractor_output(const SrExtractor *extractor, int tap);
// Give an output as torch does (maps NCHW), or with nhwc as it lies in memory: its shape, and a
// copy of the first `rows` images.  An output whose dimension 0 is not the batch is copied whole.
SrShape sr_extractor_shape(const SrExtractor *extractor, int tap, bool nhwc);
void sr_extractor_copy(const SrExtractor *extractor, int tap, int rows, bool nhwc, float *to);

// Convert between (N, C, H, W) and (N, H, W, C); `shape` is the NHWC one.  Tokens (N, L, D) are
// transposed likewise; other shapes are copied.
void sr_layout_to_nhwc(const float *nchw, SrShape shape, float *nhwc);
void sr_layout_to_nchw(const float *nhwc, SrShape shape, float *nchw);

#endif
