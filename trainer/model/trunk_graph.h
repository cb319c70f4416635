// Builds a trunk as one graph, from a model's name (torchvision's "resnet50") or a configuration.
#ifndef SR_TRAINER_MODEL_TRUNK_GRAPH_H
#define SR_TRAINER_MODEL_TRUNK_GRAPH_H

#include "graph/ir/graph.h"
#include "trainer/config/config.h"
#include "trainer/model/model.h"
#include "trainer/model/trunk_weights.h"
#include "trunks/presets.h"

// True if `what` is no model's name and looks like a file.
bool sr_trunk_is_config(const char *what);

typedef struct {
    const SrPreset *preset; // NULL: made from a configuration
    SrConfig *config;       // NULL: made from a model's name
    SrModel *model;         // owns graph and table.  NULL: made from a model's name
    SrParams *params;
    SrGraph *graph;
    SrNodeId input; // "x", (batch, height, width, C): 3, or DATA.CHANNELS of a configuration
} SrTrunkGraph;

// Builds the trunk of a model's name ("resnet50": parameters have torchvision's names, with the
// classifier) or of a YAML file (VISSL's names, without heads).  Parameters are not allocated.
// SR_ERR_CONFIG for an unknown name: the message names the closest model.
SrStatus sr_trunk_graph_open(const char *what, const char *const *overrides, int n_overrides,
                             int batch, int height, int width, SrTrunkGraph *out);
// Builds the trunk of a configuration's text; `name` stands for the file in messages.
SrStatus sr_trunk_graph_parse(const char *config_text, const char *name, int batch, int height,
                              int width, SrTrunkGraph *out);
// Copies a trunk with its values, where it has any, and with its configuration.  The copy has a
// table of its own without gradients, no model, and is not changed by what happens to `from`.
SrStatus sr_trunk_graph_copy(const SrTrunkGraph *from, SrTrunkGraph *out);
// Describes a file of weights for this trunk: its classifier and the channels of its images.
SrTrunkWeights sr_trunk_graph_weights(const SrTrunkGraph *trunk, const char *path);
void sr_trunk_graph_close(SrTrunkGraph *trunk); // legal for a zeroed struct

#endif
