// Gives the functions of sslrun.h that open a model the trunk of an edited graph.
#ifndef SR_LIBRARY_MODEL_GRAPH_H
#define SR_LIBRARY_MODEL_GRAPH_H

#include "sslrun.h"
#include "trainer/model/trunk_graph.h"

// Returns the trunk, which belongs to the graph and has values.
const SrTrunkGraph *sr__model_graph_trunk(const SrModelGraph *graph);
// Returns the shape of its images: (batch, height, width, 3).
SrShape sr__model_graph_images(const SrModelGraph *graph);

#endif
