/* sslrun's C interface: features of named layers of a vision trunk.
 *
 * Needs nothing but this header and libsslrun.a (`pkg-config --libs sslrun`).  Functions of type int return 0
 * when all went well, otherwise sr_status_message says in one line what did not.  A model is used by one thread at a
 * time; the work inside runs on all cores (OMP_NUM_THREADS). */
#ifndef SSLRUN_H
#define SSLRUN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default) /* all that the shared library shows */
#endif

typedef struct SrFeatureModel SrFeatureModel;

/* A trunk by torchvision's model name ("resnet50") or a YAML configuration, for batches of that many images. */
int sr_feature_model_open(const char *trunk, int batch, int height, int width,
                          SrFeatureModel **out);
void sr_feature_model_close(SrFeatureModel *model); /* NULL is fine */

/* Shapes are torch's: (N, C, H, W), or what the node gives. */
typedef struct {
    const char *name; /* valid as long as the model */
    int rank;
    int shape[6];
} SrFeatureShape;

/* The nodes in execution order, by torchvision's names; 0 past the end, else 1. */
int sr_feature_model_node(const SrFeatureModel *model, int i, SrFeatureShape *out);

/* Chooses the layers, as in "layer1,layer4:deep", loads weights (safetensors with torchvision's or VISSL's names;
 * NULL: random ones) and makes everything ready.  train: statistics of the batch instead of the running ones.
 * May be called again, with other layers. */
int sr_feature_model_tap(SrFeatureModel *model, const char *nodes, const char *weights, int train);

/* x: (batch, 3, height, width) floats, normalised as the weights expect. */
int sr_feature_model_run(SrFeatureModel *model, const float *x);

/* Feature i in the order asked for: its data, valid until the next run; NULL past the end. */
const float *sr_feature_model_output(SrFeatureModel *model, int i, SrFeatureShape *out);

/* Why the last call of this thread failed. */
const char *sr_status_message(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
