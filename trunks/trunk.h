// The trunk contract: a backbone builds its nodes with torchvision's names and announces VISSL's
// stages. A descriptor `const SrTrunk sr_trunk_<stem>` in trunks/<stem>.c is found by the build; nothing
// outside this folder knows a trunk by name.
#ifndef SR_TRUNKS_TRUNK_H
#define SR_TRUNKS_TRUNK_H

#include "base/option.h"
#include "graph/builder.h"

// What a trunk is given.
typedef struct {
    SrNodeId image; // (N, H, W, C)
    SrNodeId mask;  // (N, P), a number a patch in rows of the grid, 1: hidden; SR_NO_NODE: none
    // (N, K) of I64: the patches that go through the blocks, in that order, after positions are added; NULL: all
    const SrNodeId *visible;
} SrTrunkInput;

enum { SR_TRUNK_MAX_EXTRA = 4, SR_TRUNK_MAX_BLOCKS = 16 };

// What it gives; kinds that it does not have stay SR_NO_NODE.
typedef struct {
    SrNodeId
        pooled; // (N, D), VISSL's default feature: every trunk has it, `flatten` to those who name layers
    SrNodeId map;    // (N, h, w, D): what the pooling saw
    SrNodeId tokens; // (N, L, D): class token and registers, then the patches
    int n_prefix;    // how many of the L tokens are no patches
    int grid_h,
        grid_w; // patches of the image, whether or not all of them are among the tokens; 0: unknown
    SrNodeId block
        [SR_TRUNK_MAX_BLOCKS]; // tokens as the last blocks leave them, before the norm: the last one first
    int n_blocks;
    // Others, by name; they may live in one mode alone, as googlenet's auxiliary classifiers do in training.
    struct {
        const char *name; // "aux1"
        SrNodeId node;
    } extra[SR_TRUNK_MAX_EXTRA];
    int n_extra;
} SrTrunkOutput;

// A model by name: a trunk with options and the classifier its publisher put on top.
typedef struct {
    const char *name;       // "wide_resnet50_2"
    const char *options;    // the trunk's map in flow YAML
    const char *classifier; // path of the last linear layer: "fc"
    int classes;
} SrPreset;

// Options and images for the contract tests, small enough for a training step in a fraction of a second.
typedef struct {
    const char *options; // flow YAML
    int side;            // of the images
    int other_side;      // of a second pass over crops of another size; 0: the trunk takes one size
} SrTrunkExample;

enum { // SrTrunk.flags
    SR_TRUNK_TAKES_MASK = 1,
    SR_TRUNK_TAKES_LAB = 2, // MODEL.INPUT_TYPE must be lab
    SR_TRUNK_TAKES_VISIBLE = 4,
};

typedef struct SrTrunk {
    const char *name; // MODEL.TRUNK.NAME
    const char *help;
    const char *subtree; // the VISSL map it owns: "MODEL.TRUNK.RESNETS"
    // Another trunk's map, of which it has the keys too: what stands there goes for its own.  NULL: none.
    const char *base;
    const SrOption *options;
    size_t params_bytes;
    // What the parameter names start with inside "trunk.": "_feature_blocks." for VISSL's resnet.
    const char *param_prefix;
    unsigned flags;
    // Nodes under the builder's present scope.  Stages are announced with sr_build_alias: conv1, res1 ..
    // res5, res5avg, flatten.  Errors stick to the builder.  Called through sr_trunk_build.
    SrStatus (*build)(SrBuilder *b, const void *params, const SrTrunkInput *in, SrTrunkOutput *out);

    // Layer-wise rates (OPTIMIZER.param_group_constructor: lr_decay).  The trunk has layers 0 .. n, the stem
    // at 0; heads, and parameters for which depth says n + 1, have the whole rate.  `name` is the parameter's
    // full name.  NULL: refused for this trunk.
    int (*layers)(const void *params); // n
    int (*depth)(const char *name, int layers);
    // There a weight decays unless its name ends in .bias or holds "norm", as VISSL has it for transformers;
    // false: REGULARIZE_BIAS and REGULARIZE_BN decide.
    bool decays_by_name;

    const SrPreset *presets;
    int n_presets;
    // The classifier of a preset over what build gave.  NULL: one linear layer over `pooled`.
    SrStatus (*classify)(SrBuilder *b, const void *params, const SrPreset *preset,
                         const SrTrunkOutput *features, SrNodeId *logits);
    const SrTrunkExample *examples; // at least one
    int n_examples;
} SrTrunk;

const SrTrunk *sr_trunk_at(int i); // NULL past the end
// Unknown name: SR_ERR_CONFIG with the nearest.
SrStatus sr_trunk_find(const char *name, const SrTrunk **out);

// build, with outputs cleared before and checked after; a mask is refused where it would be ignored.
SrStatus sr_trunk_build(const SrTrunk *trunk, SrBuilder *b, const void *params,
                        const SrTrunkInput *in, SrTrunkOutput *out);

#endif
