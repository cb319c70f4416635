// Finds the node that a layer's name means.  Users name layers in two vocabularies: torchvision's
// nodes and modules ("layer3.0.bn1", "layer3"), and the stages that a trunk announces, VISSL's
// "res4" or timm's indices.  A name is looked up in both, and the answer says which one matched.
#ifndef SR_GRAPH_IR_LAYER_NAME_H
#define SR_GRAPH_IR_LAYER_NAME_H

#include "base/text/text.h"
#include "graph/ir/graph.h"

typedef enum { SR_NAMES_NODES, SR_NAMES_STAGES } SrLayerNames; // torchvision's, VISSL's

typedef struct {
    SrNodeId node;
    SrLayerNames names; // vocabulary in which the name was found
    // Node that the other vocabulary calls so, where that is another one: "conv1" is torchvision's
    // convolution and VISSL's stage after the ReLU.  SR_NO_NODE: the name has one meaning
    SrNodeId other;
} SrLayerName;

// Looks a name up.  `first` decides names of two meanings: SR_NAMES_STAGES in a configuration,
// which comes from VISSL, and SR_NAMES_NODES where torchvision's users name layers.  A module
// means the last node below it that exists in one of the modes, or else the last one.
// SR_ERR_CONFIG: unknown; the message gives the nearest names.
SrStatus sr_layer_find(const SrGraph *graph, const char *name, unsigned mode, SrLayerNames first,
                       SrLayerName *out);
// Finds the node alone, in both modes.
SrStatus sr_layer_node(const SrGraph *graph, const char *name, SrLayerNames first, SrNodeId *out);

// Appends "res5: VISSL's stage, node layer4.1.relu_1", with the other meaning if there is one.
void sr_layer_name_text(const SrGraph *graph, const char *name, const SrLayerName *layer,
                        SrText *out);

#endif
