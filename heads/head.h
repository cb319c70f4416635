// The head contract: a head maps features to outputs.  Each head is a descriptor
// `const SrHead sr_head_<stem>` in heads/<stem>.c.
#ifndef SR_HEADS_HEAD_H
#define SR_HEADS_HEAD_H

#include "base/plugin/option.h"
#include "graph/ir/builder.h"

#define SR_HEAD_MAX_OUT 16

typedef struct { // MODEL.HEAD, shared by all heads
    double bn_eps, bn_momentum;
    double params_multiplier; // factor on the initial weights of every mlp Linear
} SrHeadSettings;

// An example for the contract tests: arguments as flow YAML that fit features of 8 numbers.
typedef struct {
    const char *arguments;
    bool tokens; // true: features are (N, L, 8); false: (N, 8)
} SrHeadExample;

typedef struct SrHead {
    const char *name; // first element of an entry of MODEL.HEAD.PARAMS
    const char *help;
    const SrOption *options; // the entry's argument map
    size_t params_bytes;
    // Adds nodes under the builder's scope (the model has pushed "heads.0" or "heads.0.1").  in:
    // the features, or the outputs of the previous module of a chain.  Writes at most
    // SR_HEAD_MAX_OUT outputs.
    SrStatus (*build)(SrBuilder *b, const void *params, const SrHeadSettings *settings,
                      const SrNodeId *in, int n_in, SrNodeId out[SR_HEAD_MAX_OUT], int *n_out);
    // Name of output i for the losses: "embedding", "scores0".  NULL: the head has one output,
    // and the loss names it.
    const char *(*output)(const void *params, int i);
    const SrHeadExample *examples; // at least one
    int n_examples;
} SrHead;

// Parses the arguments of an entry (NULL: none) into the head's params, which live in the arena.  A
// null value counts as not given, like Python's None.  where: place of the map, for messages.
// problems: as in sr_options_parse_all.
SrStatus sr_head_parse(const SrHead *head, const SrYaml *arguments, const char *where,
                       SrArena *arena, SrProblems *problems, const void **params);

// Returns "scores<set>", the name of the output of prototypes<set>; set < SR_HEAD_MAX_OUT.
const char *sr_head_scores(int set);

const SrHead *sr_head_at(int i);
SrStatus sr_head_find(const char *name, const SrHead **out);

#endif
