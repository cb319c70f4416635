// A trunk by the name a person gives it, built as one graph: torchvision's model names, or a configuration.
#ifndef SR_TRAINER_MODEL_TRUNK_GRAPH_H
#define SR_TRAINER_MODEL_TRUNK_GRAPH_H

#include "graph/graph.h"
#include "trainer/config/config.h"
#include "trainer/model/model.h"
#include "trunks/presets.h"

bool sr_trunk_is_config(const char *what); // no model's name, and looks like a file

typedef struct {
    const SrPreset *preset; // NULL: of a configuration
    SrConfig *config;       // NULL: of a preset
    SrModel *model;         // of a configuration: owns graph and table
    SrParams *params;
    SrGraph *graph;
    SrNodeId input; // "x", (batch, height, width, 3)
} SrTrunkGraph;

// what: "resnet50" (parameters have torchvision's names, classifier included) or a YAML file (VISSL's names, no
// heads).  Nothing is allocated yet.  Unknown: SR_ERR_CONFIG with the nearest model.
SrStatus sr_trunk_graph_open(const char *what, const char *const *overrides, int n_overrides,
                             int batch, int height, int width, SrTrunkGraph *out);
// The same of a configuration that is no file; name: for messages.
SrStatus sr_trunk_graph_parse(const char *config_text, const char *name, int batch, int height,
                              int width, SrTrunkGraph *out);
void sr_trunk_graph_close(SrTrunkGraph *trunk); // a zeroed one is fine

#endif
