/* sslrun's C interface: features of named layers of a vision trunk and their nearest neighbours.
 *
 * Needs nothing but this header and the library (`pkg-config --cflags --libs sslrun`).
 *
 * Errors: a function of type int returns 0 on success, unless its comment says otherwise.  Otherwise sr_status_message
 * says in one line what failed.  A pointer that must not be NULL and is NULL is such an error.  Functions that look at
 * one element of a list return 1, or 0 past the end and for a NULL list.
 * Ownership: what an _open function gives belongs to the caller, who closes it; a _close function takes NULL.  Strings
 * that are given are copied.
 * Threads: the work inside runs on all cores (OMP_NUM_THREADS).  Different handles may be used by different threads at
 * the same time; one handle only where this header says so.  After fork, the child's thread computes on one core; at
 * the fork, no other thread may be inside a call of this header.
 * The library writes warnings to stderr and nothing else, and never ends the process.  Numbers in files and messages
 * have a decimal point in any locale.
 *
 * examples/ has a program for each part, python/sslrun.py the same for Python. */
#ifndef SSLRUN_H
#define SSLRUN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default) /* all that the shared library shows */
#endif

const char *sr_version(void); /* "0.2.0" */

/* ---- a trunk ---- */

typedef struct SrFeatureModel SrFeatureModel;

/* trunk: torchvision's name of a model ("resnet50"), a YAML configuration, a checkpoint of `sslrun train`, or the folder
 * of a run, of which the newest checkpoint is taken.  batch: images worked on at once.  height and width 0: what the
 * configuration evaluates at, 224 for a model's name. */
int sr_feature_model_open(const char *trunk, int batch, int height, int width,
                          SrFeatureModel **out);
void sr_feature_model_close(SrFeatureModel *model);
/* Zeros for a NULL model; batch, height and width may be NULL. */
void sr_feature_model_size(const SrFeatureModel *model, int *batch, int *height, int *width);

/* Shapes are torch's: (N, C, H, W), or what the node gives. */
typedef struct {
    const char *name; /* valid as long as the model */
    int rank;
    int shape[6];
} SrFeatureShape;

/* The nodes in execution order, by torchvision's names.  out may be NULL. */
int sr_feature_model_node(const SrFeatureModel *model, int i, SrFeatureShape *out);

/* Chooses the layers, as in "layer1,layer4:deep", loads weights (safetensors, .pth or .npz with torchvision's or
 * VISSL's names; NULL: the checkpoint's own, random ones where there is none) and makes everything ready.  train:
 * statistics of the batch instead of the running ones.  May be called again, with other layers. */
int sr_feature_model_tap(SrFeatureModel *model, const char *nodes, const char *weights, int train);

/* ---- features, from any number of threads ---- */

/* image: an image file in memory; x: (3, height, width), as the configuration's transforms of evaluation make it;
 * for a model's name resized, cropped and normalised as torchvision's weights expect. */
int sr_feature_model_preprocess(SrFeatureModel *model, const void *image, size_t bytes, float *x);

/* x: (n, 3, height, width) for any n; out[i] has room for n rows of layer i in the order asked for.  Calls of several
 * threads take turns; open one model per thread to compute at the same time.  Do not call sr_feature_model_tap from
 * another thread between asking for the layers' shapes and this call: it would change how much is written. */
int sr_feature_model_features(SrFeatureModel *model, const float *x, int64_t n, float *const *out);

/* ---- features, of one batch in the model's own memory, by one thread ---- */

/* x: (batch, 3, height, width) floats, normalised as the weights expect. */
int sr_feature_model_run(SrFeatureModel *model, const float *x);

/* Layer i in the order asked for: its shape, and its data of the last run, valid until the next; NULL past the end.
 * out may be NULL. */
const float *sr_feature_model_output(SrFeatureModel *model, int i, SrFeatureShape *out);

/* ---- nearest neighbours ---- */

typedef struct SrKnnIndex SrKnnIndex;

/* rows: (n, d), copied.  cosine: rows and queries are brought to length 1 first; else by their product. */
int sr_knn_index_open(const float *rows, int64_t n, int d, int cosine, SrKnnIndex **out);
void sr_knn_index_close(SrKnnIndex *index);

/* The k rows most similar to each of m queries (m, d), best first, the smaller number first among equals: their numbers
 * and similarities, (m, k).  1 <= k <= n.  Exact.  From any number of threads. */
int sr_knn_index_search(const SrKnnIndex *index, const float *queries, int64_t m, int k,
                        int64_t *row, float *similarity);

/* ---- errors ---- */

/* Why the last call of this thread failed; valid until the next failure. */
const char *sr_status_message(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
