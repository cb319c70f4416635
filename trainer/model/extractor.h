// A trunk ready to give features: built, cut down to its taps, weights loaded, norms folded, compiled.
#ifndef SR_TRAINER_MODEL_EXTRACTOR_H
#define SR_TRAINER_MODEL_EXTRACTOR_H

#include "graph/extract.h"
#include "graph/plan.h"
#include "trainer/model/trunk_graph.h"

typedef struct {
    const char *trunk;            // model or configuration, with
    const char *config_text;      // a configuration that is no file; `trunk` names it in messages
    const char *const *overrides; // KEY=VALUE of the configuration
    int n_overrides;
    int batch, height, width;
    const char *nodes;       // "layer1,layer4:deep"
    const char *other_nodes; // list of the other mode, looked up and not computed; NULL: none
    SrMode mode;             // TRAIN: statistics of the batch, and running statistics move
    const char *weights;     // safetensors; NULL: drawn from `seed`
    bool lax;                // SrTrunkWeights
    uint64_t seed;
    bool
        token_maps; // tokens (N, L, D) of a transformer come as maps of their patches, (N, h, w, D)
    unsigned conv_designs; // SR_CONV_ bits of the designs to choose from; 0: all
    bool keep_norms;       // do not fold batch norms into convolutions (evaluation only)
    bool
        bf16; // maps and their products in bfloat16; a configuration with USE_AMP has it without being asked
} SrExtractorOptions;

typedef struct {
    SrTrunkGraph trunk; // whole, not allocated
    SrExtraction
        extraction; // the part of it that the taps need, norms folded: what the plan is compiled of
    SrPlan *plan;
    SrNodeId input;
    SrTaps taps; // of the mode; nodes of extraction.graph
    int n_folded;
    bool bf16;          // asked for, here or by the configuration
    int grid_h, grid_w; // of the patches, with token_maps; else 0
} SrExtractor;

SrStatus sr_extractor_open(const SrExtractorOptions *options, SrExtractor *out);
void sr_extractor_close(SrExtractor *extractor); // a zeroed one is fine

// Fill the input, (batch, height, width, 3); run; read the outputs, NHWC or as the node has it.
SrTensor sr_extractor_input(const SrExtractor *extractor);
void sr_extractor_run(SrExtractor *extractor);
SrTensor sr_extractor_output(const SrExtractor *extractor, int tap);
// The output as torch would give it, or as it stands in memory (nhwc): its shape, and a copy of the first `rows` of the
// batch (of everything where dimension 0 is not the batch).
SrShape sr_extractor_shape(const SrExtractor *extractor, int tap, bool nhwc);
void sr_extractor_copy(const SrExtractor *extractor, int tap, int rows, bool nhwc, float *to);

// (N, C, H, W) <-> (N, H, W, C) of n images; shape is the NHWC one.  Tokens (N, L, D) likewise; other shapes are copied.
void sr_layout_to_nhwc(const float *nchw, SrShape shape, float *nhwc);
void sr_layout_to_nchw(const float *nhwc, SrShape shape, float *nchw);

#endif
