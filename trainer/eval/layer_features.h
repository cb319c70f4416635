// Features of several layers of a frozen trunk in one pass over the images: the stages that the trunk announces.  Maps of
// many numbers are averaged over windows, which bounds memory and what is computed on them.
#ifndef SR_TRAINER_EVAL_LAYER_FEATURES_H
#define SR_TRAINER_EVAL_LAYER_FEATURES_H

#include "trainer/eval/trunk_features.h"

#define SR_LAYERS_MAX 5       // the last ones that a trunk announces
#define SR_LAYER_NUMBERS 1024 // an image; more are pooled down to at most so many, if it is a map
#define SR_LAYER_NAME_BYTES 32

typedef struct {
    char name[SR_LAYER_NAME_BYTES]; // VISSL's, "res3"
    SrNodeId node;
    SrShape shape;            // (N, H, W, C), (N, L, D) or (N, D)
    int rows, columns, depth; // what is left of (H, W, C) or (L, 1, D)
    int first;                // column of the joint matrix where its numbers begin
} SrLayer;

typedef struct {
    int n, d; // layers, numbers of all together
    SrLayer v[SR_LAYERS_MAX];
} SrLayers;

// Numbers of all layers for each image, side by side (n, layers->d).  Fills `layers` from the model's trunk, whose graph
// `layer` names as for sr_trunk_features_extract.  Free with sr_matrix_deinit.
SrStatus sr_layer_features_extract(SrModel *model, const char *layer, SrSplit *split, int batch,
                                   SrLayers *layers, SrMatrix *out);
// One layer of it, (n, rows * columns * depth), as a matrix of its own.
SrStatus sr_layer_features_take(const SrLayers *layers, int i, const SrMatrix *joint,
                                SrMatrix *out);

// x (H, W, C) to y (rows, columns, C): means over torch's windows of AdaptiveAvgPool2d.
void sr_layer_pool(const float *x, int H, int W, int C, int rows, int columns, float *y);

#endif
