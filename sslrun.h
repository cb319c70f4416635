/* sslrun's C interface: features of named layers of a vision trunk and their nearest neighbours, edited graphs, files of
 * weights, and training.
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

/* image: an image file in memory; x: (C, height, width), as the configuration's transforms of evaluation make it;
 * for a model's name resized, cropped and normalised as torchvision's weights expect.  C is 3, or DATA.CHANNELS of the
 * configuration; node 0, the images, has the shape (batch, C, height, width). */
int sr_feature_model_preprocess(SrFeatureModel *model, const void *image, size_t bytes, float *x);

/* x: (n, C, height, width) for any n; out[i] has room for n rows of layer i in the order asked for.  Calls of several
 * threads take turns; open one model per thread to compute at the same time.  Do not call sr_feature_model_tap from
 * another thread between asking for the layers' shapes and this call: it would change how much is written. */
int sr_feature_model_features(SrFeatureModel *model, const float *x, int64_t n, float *const *out);

/* ---- features, of one batch in the model's own memory, by one thread ---- */

/* x: (batch, C, height, width) floats, normalised as the weights expect. */
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

/* ---- files of weights ---- */

/* A tensor by its name.  dtype is safetensors' ("F32", "F16", "I64"); count is the product of the shape. */
typedef struct {
    const char *name;
    const char *dtype;
    int rank; /* 0: a scalar */
    int shape[6];
    int64_t count;
} SrTensorInfo;

typedef struct SrWeightsFile SrWeightsFile;

/* Opens safetensors, PyTorch's .pth (both formats), .npz or .npy, recognised by content.  Reads names and shapes only:
 * numbers are read when they are asked for.  The checksums of a checkpoint are verified. */
int sr_weights_file_open(const char *path, SrWeightsFile **out);
void sr_weights_file_close(SrWeightsFile *file);

/* Tensor i in the file's order.  The strings are valid as long as the file; out may be NULL. */
int sr_weights_file_tensor(const SrWeightsFile *file, int i, SrTensorInfo *out);

/* Reads a tensor of any type as floats, in C order: x has room for n = count numbers.  From any number of threads. */
int sr_weights_file_read(SrWeightsFile *file, const char *name, float *x, int64_t n);

/* Writes n tensors of floats; x[i] has the numbers of tensors[i], of which name, rank and shape are read.  The ending
 * of the path chooses the format: .safetensors, .pth or .npz.  A file of this name is replaced by a whole one, or stays
 * as it is. */
int sr_weights_file_write(const char *path, const SrTensorInfo *tensors, const float *const *x,
                          int n);

/* ---- a graph, to be edited ---- */

/* A trunk's nodes with its weights.  Each edit makes a new graph from the old one and succeeds as a whole, or changes
 * nothing.  Strings and pointers that describe the graph are valid until its next edit.  One thread uses a graph at a
 * time.
 *
 * Nodes are named as in sr_feature_model_tap: a node ("layer4.0.relu"), a module, which means its last node ("layer4"),
 * or a stage ("res5"). */
typedef struct SrModelGraph SrModelGraph;

/* trunk, batch, height, width: as for sr_feature_model_open.  weights: a file that holds all weights of the trunk.
 * NULL: the checkpoint's own; random ones, the same in each call, where there is no checkpoint. */
int sr_model_graph_open(const char *trunk, const char *weights, int batch, int height, int width,
                        SrModelGraph **out);
void sr_model_graph_close(SrModelGraph *graph);

typedef struct {
    const char *name;
    const char *op; /* "conv2d"; "input" for the images */
    int rank;
    int shape[6];      /* torch's: (N, C, H, W), or what the node gives */
    int n_inputs;      /* 0 for the images */
    const int *inputs; /* (n_inputs) numbers of the nodes that it reads; each is below its own */
    unsigned tags;     /* bits of sr_model_graph_tag */
} SrGraphNode;

/* Node i in execution order.  out may be NULL. */
int sr_model_graph_node(const SrModelGraph *graph, int i, SrGraphNode *out);
/* Number of the node that a name means; -1: there is none, and sr_status_message names the nearest. */
int sr_model_graph_find(const SrModelGraph *graph, const char *name);

/* Keeps the nodes that these nodes need ("layer3" or "layer2,layer3") and removes the others with their weights. */
int sr_model_graph_cut(SrModelGraph *graph, const char *nodes);

/* op: an operation of `sslrun list op`, such as "identity", "relu" or "linear"; `sslrun describe OP` lists its options.
 * options: as in "{out_features: 10}"; NULL: the defaults.  The shapes of later nodes follow, and an edit fails if they
 * do not fit.  A node that is inserted after the last node of a module becomes what the module's name means.
 *
 * insert adds a node called `name` in the module of node `after`, which it reads; all readers of `after` read the new
 * node.  replace puts the op in the node's place, with its name and inputs.  remove lets its readers read its first input.
 * New weights are called <node>.weight and so on; they are drawn at random, except those of `replace` whose name and
 * shape stay, which keep their values. */
int sr_model_graph_insert(SrModelGraph *graph, const char *after, const char *name, const char *op,
                          const char *options);
int sr_model_graph_replace(SrModelGraph *graph, const char *node, const char *op,
                           const char *options);
int sr_model_graph_remove(SrModelGraph *graph, const char *node);

/* Sets bits in the tags of all nodes whose names match a pattern ("layer1.*.relu*"), to find the nodes again: edits
 * keep tags.  n: number of these nodes; NULL: not wanted.  A pattern without a match is an error. */
int sr_model_graph_tag(SrModelGraph *graph, const char *pattern, unsigned bits, int *n);

/* The weights, by the names that files of weights have.  out may be NULL. */
int sr_model_graph_tensor(const SrModelGraph *graph, int i, SrTensorInfo *out);
/* Reads or sets all numbers of a tensor: n = count.  Counters (I64) are rounded. */
int sr_model_graph_read(const SrModelGraph *graph, const char *name, float *x, int64_t n);
int sr_model_graph_set(SrModelGraph *graph, const char *name, const float *x, int64_t n);

/* Writes all weights with their types: .safetensors, .pth or .npz, as sr_weights_file_write does. */
int sr_model_graph_save(const SrModelGraph *graph, const char *path);
/* Writes the part that `nodes` ("layer4,flatten:features") need as ONNX, as `sslrun export` does: images (N, 3, height,
 * width) for any N, batch norms folded into convolutions.  An older file is replaced. */
int sr_model_graph_export(const SrModelGraph *graph, const char *nodes, const char *path);

/* Opens a model with a copy of graph and weights, so that later edits and the end of the graph do not change it.
 * sr_feature_model_tap with weights NULL takes the graph's. */
int sr_feature_model_open_graph(const SrModelGraph *graph, SrFeatureModel **out);

/* ---- training ---- */

/* An update that was just made. */
typedef struct {
    int64_t step;        /* updates of the whole run so far: 1 after the first */
    int64_t total_steps; /* updates of the whole run */
    int64_t epoch;       /* epoch of the update, from 0 */
    double loss;         /* mean over the batch */
    double lr;           /* learning rate of the trunk */
    double seconds;      /* time of this update, with waiting for its images */
} SrTrainStep;

#define SR_STOPPED 5 /* result of a training that its callback stopped */

/* Trains a configuration as `sslrun train CONFIG KEY=VALUE...` does, with the same bits, and writes the same checkpoints,
 * log and metrics to CHECKPOINT.DIR.  The evaluation after the training and the page of the run are left out.
 * config: a YAML file, or a name of VISSL's.  overrides: (n) "KEY=VALUE"; NULL if n is 0.
 *
 * A call with the arguments of an earlier one resumes from the newest checkpoint, or returns 0 if the run has finished.
 * on_step: called with arg after every update, by the calling thread; NULL: not wanted.  If it does not return 0, the
 * run is saved and sr_train returns SR_STOPPED; resumed, it ends in the bits of an uninterrupted run.  A run that has
 * made its last update ends with 0 in any case.
 * A process trains one run at a time, and a second call fails meanwhile.  Models and graphs may be used. */
int sr_train(const char *config, const char *const *overrides, int n,
             int (*on_step)(void *arg, const SrTrainStep *step), void *arg);

/* ---- a configuration from values ---- */

/* A configuration in memory, for programs that do not write YAML.  One thread uses it at a time.
 *
 * key: VISSL's path of a key, as `sslrun list keys` prints it ("OPTIMIZER.num_epochs").  A number is the index of a
 * list's item, and the length of a list appends to it: "DATA.TRAIN.TRANSFORMS.0.name" is the name of the first transform
 * and "MODEL.HEAD.PARAMS.0.0" that of the first head. */
typedef struct SrTrainConfig SrTrainConfig;

/* config: a file or a name, as for sr_train; NULL: the defaults of all keys.  Without a file, CHECKPOINT.DIR is
 * runs/configuration until it is set. */
int sr_train_config_open(const char *config, SrTrainConfig **out);
void sr_train_config_close(SrTrainConfig *config);

/* Set a key; a later value replaces an earlier one.  A list replaces the whole list, and n = 0 leaves it empty.  Text is
 * UTF-8 and copied; NULL sets null.  These functions check that the path leads to a value.  Names, types and ranges are
 * checked by sr_train_config_run, whose error names the key and what it expects. */
int sr_train_config_bool(SrTrainConfig *config, const char *key, int value);
int sr_train_config_int(SrTrainConfig *config, const char *key, int64_t value);
int sr_train_config_number(SrTrainConfig *config, const char *key, double value);
int sr_train_config_text(SrTrainConfig *config, const char *key, const char *value);
int sr_train_config_ints(SrTrainConfig *config, const char *key, const int64_t *values, int n);
int sr_train_config_numbers(SrTrainConfig *config, const char *key, const double *values, int n);
int sr_train_config_texts(SrTrainConfig *config, const char *key, const char *const *values, int n);

/* Trains the configuration as sr_train does, with the bits of a file that says the same; train_config.yaml in the run
 * folder is such a file.  The configuration stays as it is: the same call resumes a stopped run. */
int sr_train_config_run(const SrTrainConfig *config,
                        int (*on_step)(void *arg, const SrTrainStep *step), void *arg);

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
