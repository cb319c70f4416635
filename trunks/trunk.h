// The trunk contract: a backbone builds its nodes with torchvision's names and announces VISSL's
// stages.  The build finds every descriptor `const SrTrunk sr_trunk_<name>` in trunks/<shelf>/;
// nothing outside this folder knows a trunk by name.  A family whose trunks are one net under
// several names is one file.
#ifndef SR_TRUNKS_TRUNK_H
#define SR_TRUNKS_TRUNK_H

#include "base/plugin/option.h"
#include "graph/ir/builder.h"

// Input of a trunk.
typedef struct {
    SrNodeId image; // (N, H, W, C)
    SrNodeId mask;  // (N, P), one number per patch in row order, 1: hidden; SR_NO_NODE: none
    // (N, K) of I64: patches that pass through the blocks, in that order, after positions were
    // added; NULL: all patches
    const SrNodeId *visible;
} SrTrunkInput;

enum { SR_TRUNK_MAX_EXTRA = 4, SR_TRUNK_MAX_BLOCKS = 16 };

// Outputs of a trunk; kinds that it does not have stay SR_NO_NODE.
typedef struct {
    SrNodeId pooled; // (N, D), VISSL's default feature, also named `flatten`; every trunk has it
    SrNodeId map;    // (N, h, w, D), the input of the pooling
    SrNodeId tokens; // (N, L, D): class token and registers, then the patches
    int n_prefix;    // number of tokens that are no patches
    int grid_h,
        grid_w; // patches of the image, also when some are not among the tokens; 0: unknown
    SrNodeId block
        [SR_TRUNK_MAX_BLOCKS]; // tokens after each of the last blocks, before the norm, last first
    SrNodeId normed[SR_TRUNK_MAX_BLOCKS]; // the same tokens through the trunk's last norm
    int n_blocks;
    // Further outputs by name.  They may exist in one mode only, like googlenet's auxiliary
    // classifiers in training.
    struct {
        const char *name; // "aux1"
        SrNodeId node;
    } extra[SR_TRUNK_MAX_EXTRA];
    int n_extra;
} SrTrunkOutput;

// A model by name: a trunk with options and its publisher's classifier.
typedef struct {
    const char *name;       // "wide_resnet50_2"
    const char *options;    // the trunk's map in flow YAML
    const char *classifier; // path of the last linear layer: "fc"
    int classes;
} SrPreset;
typedef struct {
    int n;
    const SrPreset *v; // (n)
} SrPresets;

// Statistics of the pixels, scaled to [0, 1], of presets that were not trained with ImageNet's, and
// how their publisher makes images of one size.
typedef enum {
    SR_FIT_MARGIN,  // resizes the shorter side to 8/7 of the size, bilinearly, and cuts the centre
    SR_FIT_SHORTER, // resizes the shorter side to the size by cubics and cuts the centre
    SR_FIT_BOTH,    // resizes both sides to the size by cubics
} SrPresetFit;
typedef struct {
    const char *preset; // its name; NULL: every preset of the trunk
    double mean[3], std[3];
    int side; // pixels per side
    SrPresetFit fit;
} SrPresetPixels;
typedef struct {
    int n;
    const SrPresetPixels *v; // (n)
} SrPresetPixelsList;

// Options and image sizes for the contract tests, small enough for a training step in a fraction
// of a second.
typedef struct {
    const char *options; // flow YAML
    int side;            // side of the images in pixels
    int other_side;      // side of the crops of a second pass; 0: the trunk takes one size
} SrTrunkExample;
typedef struct {
    int n;
    const SrTrunkExample *v; // (n)
} SrTrunkExamples;

enum { // SrTrunk.flags
    SR_TRUNK_TAKES_MASK = 1,
    SR_TRUNK_TAKES_LAB = 2, // MODEL.INPUT_TYPE must be lab
    SR_TRUNK_TAKES_VISIBLE = 4,
};

typedef struct SrTrunk {
    const char *name; // MODEL.TRUNK.NAME
    const char *help;
    const char *subtree; // the VISSL map it owns: "MODEL.TRUNK.RESNETS"
    // Map of a base trunk whose keys this trunk accepts too; values there are its defaults.
    // NULL: none.
    const char *base;
    const SrOption *options;
    size_t params_bytes;
    // Beginning of the parameter names inside "trunk.": "_feature_blocks." for VISSL's resnet.
    // NULL: none.  Callers use sr_trunk_param_prefix.
    const char *param_prefix;
    unsigned flags;
    // Adds nodes under the builder's scope.  Stages are announced with sr_build_alias: conv1,
    // res1 to res5, res5avg, flatten.  Errors stick to the builder.  Callers use sr_trunk_build.
    SrStatus (*build)(SrBuilder *b, const void *params, const SrTrunkInput *in, SrTrunkOutput *out);

    // Layer-wise rates (OPTIMIZER.param_group_constructor: lr_decay).  The trunk has layers 0 to
    // n, with the stem at 0.  Heads, and parameters for which depth returns n + 1, have the whole
    // rate.  `name` is the parameter's full name.  NULL: lr_decay is refused for this trunk.
    int (*layers)(const void *params); // n
    int (*depth)(const char *name, int layers);
    // True: under lr_decay a weight decays unless its name ends in .bias or contains "norm",
    // VISSL's rule for transformers.  False: REGULARIZE_BIAS and REGULARIZE_BN decide.
    bool decays_by_name;

    SrPresets presets;
    SrPresetPixelsList pixels; // of presets without ImageNet's statistics
    // Adds the classifier of a preset on the outputs of build.  NULL: one linear layer on `pooled`.
    SrStatus (*classify)(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits);
    SrTrunkExamples examples; // at least one
} SrTrunk;

const SrTrunk *sr_trunk_at(int i); // NULL past the end
// SR_ERR_CONFIG: unknown name; the message names the nearest one.
SrStatus sr_trunk_find(const char *name, const SrTrunk **out);

const char *sr_trunk_param_prefix(const SrTrunk *trunk); // "": none

// Calls build with cleared outputs and checks them.  A mask is refused if the trunk would ignore
// it.
SrStatus sr_trunk_build(const SrTrunk *trunk, SrBuilder *b, const void *params,
                        const SrTrunkInput *in, SrTrunkOutput *out);

#endif
