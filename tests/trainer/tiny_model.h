// A model small enough for tests, from a few lines of configuration, with a plan and steps.
#ifndef SR_TESTS_TRAINER_TINY_MODEL_H
#define SR_TESTS_TRAINER_TINY_MODEL_H

#include "data/collator.h"
#include "trainer/model/model.h"
#include "trainer/model/train_graph.h"
#include "trainer/run/step.h"

typedef struct {
    SrConfig *config;
    SrModel *model;
    SrTrainGraph graph;
    SrPlan *plan, *loss_plan;
    SrReplicas *replicas; // NULL: one replica
    SrOptim *optim;
    SrStep step;
    int64_t iteration;
    SrBatchPlan batch;
} TinyModel;

// MODEL.TRUNK is a ResNet-18 of 1/16 width with the stem for small images unless `model` says
// otherwise.
#define TINY_TRUNK "TRUNK: {RESNETS: {DEPTH: 18, WIDTH_MULTIPLIER: 0.0625, SMALL_IMAGE_STEM: true}}"
#define TINY_SWAV_HEAD \
    "HEAD: {PARAMS: [[swav_head, {dims: [32, 16, 8], use_bn: true, num_clusters: [6]}]]}"

// Builds the training graph. model, loss: the content of MODEL: {} and LOSS: {}. sizes: side of
// each square crop.
SrStatus tiny_model_open(TinyModel *t, const char *model, const char *loss, int batch, int n_views,
                         const int *sizes);
#define TINY_SAMPLES 64 // images of the training set, for losses with a memory bank
// Builds as tiny_model_open does, allocates and draws parameters, and compiles a training plan.
SrStatus tiny_model_start(TinyModel *t, const char *model, const char *loss, int batch, int n_views,
                          const int *sizes);
typedef struct {
    const char *model, *loss;
    int batch, replicas, n_views;
    const int *sizes;
    int patch;            // pixels per patch of the masks for views of the first size; 0: no masks
    int rounds;           // OPTIMIZER.gradient_accumulation_steps; 0: 1
    int seed;             // SEED_VALUE; parameters begin alike with any
    const int *widths;    // of the crops; NULL: they are square
    bool unknown_samples; // the training set has an unknown number of images, not TINY_SAMPLES
} TinyWorld;
SrStatus tiny_model_start_of(TinyModel *t, const TinyWorld *world);
// Starts an example of a loss with these options (flow style), eight images per step.
SrStatus tiny_model_start_example(TinyModel *t, const SrLoss *loss, const SrLossExample *example,
                                  const char *options, int replicas);
// Starts an example with this batch size.
SrStatus tiny_model_start_batch(TinyModel *t, const SrLoss *loss, const SrLossExample *example,
                                const char *options, int replicas, int batch);
// Starts an example with its own options and this SEED_VALUE.
SrStatus tiny_model_start_seed(TinyModel *t, const SrLoss *loss, const SrLossExample *example,
                               int seed);
// Starts an example with its own options and crops that are half as wide again as they are high.
SrStatus tiny_model_start_wide(TinyModel *t, const SrLoss *loss, const SrLossExample *example);
// Builds an example's training graph as the verb `check` does where it sees no data set: the number
// of images is unknown.
SrStatus tiny_model_open_unknown(TinyModel *t, const SrLoss *loss, const SrLossExample *example,
                                 const char *options);
// Starts several replicas of `batch` images each; image i of replica r is image r * batch + i of
// the step.
SrStatus tiny_model_start_world(TinyModel *t, int replicas, const char *model, const char *loss,
                                int batch, int n_views, const int *sizes);
void tiny_model_close(TinyModel *t);

// Fills the views with images that depend smoothly on (image, view, pixel), so that views of an
// image resemble each other.
void tiny_model_fill(TinyModel *t);
// Computes one step of the program with plain SGD on the filled images; returns the loss before
// it.
double tiny_model_step(TinyModel *t, double lr);
// Returns whether the training graph has a node of this name.
bool tiny_model_has_node(const TinyModel *t, const char *name);
const SrParam *tiny_model_param(TinyModel *t, const char *name); // NULL: missing

#endif
