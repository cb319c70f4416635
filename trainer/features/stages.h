// Stages of a trunk for reports that compare layers: the last ones that a trunk announces, each
// pooled to a bounded number of floats, next to each other in one row.
#ifndef SR_TRAINER_FEATURES_STAGES_H
#define SR_TRAINER_FEATURES_STAGES_H

#include "graph/ir/graph.h"
#include "measure/matrix.h"

#define SR_STAGES_MAX 5
// Floats per image and stage.  A map of more is averaged over windows down to at most so many.
#define SR_STAGE_FLOATS 1024
#define SR_STAGE_NAME_BYTES 32

typedef struct {
    char name[SR_STAGE_NAME_BYTES]; // VISSL's, "res3"
    SrNodeId node;
    SrShape shape;            // (N, H, W, C), (N, L, D) or (N, D)
    int rows, columns, depth; // what (H, W, C) or (L, 1, D) is pooled to
    int first;                // first column in the joint row
} SrStage;

typedef struct {
    int n, d; // number of stages, floats of all
    SrStage v[SR_STAGES_MAX];
} SrStages;

// Finds the stages in a trunk's graph.  The stem is left out, and so are stages that differ from
// the last layer in shape alone.
void sr_stages_find(const SrGraph *graph, SrStages *out);
// Writes the joint row of one image, (stages->d), from the values of the stages' nodes.
void sr_stages_row(const SrStages *stages, const SrTensor *value, int image, float *row);
// Copies one stage out of joint rows, as a matrix of its own: (n, rows * columns * depth).
SrStatus sr_stages_take(const SrStages *stages, int i, const SrMatrix *joint, SrMatrix *out);

// Chooses the windows that a layer (N, H, W, C), (N, L, D) or (N, D) is pooled to: the largest
// square whose means are SR_STAGE_FLOATS or fewer, of *depth channels each.
void sr_stage_size(SrShape shape, int *rows, int *columns, int *depth);
// Pools x (H, W, C) to y (rows, columns, C): means over the windows of torch's AdaptiveAvgPool2d.
void sr_stage_pool(const float *x, int H, int W, int C, int rows, int columns, float *y);

#endif
