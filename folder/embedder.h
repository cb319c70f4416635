// Turns single images into rows of length 1 by one model, layer and preprocessing: what an index
// holds (folder/index/index.h).  Features come from trainer/features.
#ifndef SR_FOLDER_EMBEDDER_H
#define SR_FOLDER_EMBEDDER_H

#include "data/dataset.h"

// Changes of an image before the preprocessing, by which copies are searched for.
typedef enum { SR_LOOK_PLAIN, SR_LOOK_MIRRORED, SR_LOOK_CROPPED, SR_LOOKS } SrLook;
// SR_LOOK_CROPPED keeps the middle, with this share of each side.
#define SR_LOOK_CROP 0.8

typedef struct {
    // A run folder, a checkpoint, the name of a model ("resnet50"), a configuration, or "pixels":
    // the image itself, 32 x 32.  "thumbnail": the whole image squeezed to 32 x 32 grey values with
    // mean 0, for folder/picture_match.h.  "random": a resnet18 whose weights are drawn
    const char *model;
    const char *weights; // of a model's name or a configuration.  NULL: drawn from a fixed seed
    const char *layer;   // such as "res4".  NULL: the vector before the classifier
    int size;            // pixels of the crop, for the name of a model.  0: 224
    int batch;           // images per call.  0: as many as cost least each
} SrEmbedOptions;

typedef struct SrEmbedder SrEmbedder;

SrStatus sr_embedder_open(const SrEmbedOptions *options, SrEmbedder **out);
void sr_embedder_close(SrEmbedder *embedder); // NULL is legal

int sr_embedder_dim(const SrEmbedder *embedder);
int sr_embedder_batch(const SrEmbedder *embedder); // most images per call
// Returns the hash of everything that a row depends on: weights, layer, pooling, preprocessing.
uint64_t sr_embedder_key(const SrEmbedder *embedder);
// Returns the options and these properties as JSON on one line.
const char *sr_embedder_description(const SrEmbedder *embedder);
// Returns the folder of the run or of the checkpoint, where an index is kept.  "": there is none.
const char *sr_embedder_folder(const SrEmbedder *embedder);

// An image for the embedder: an item of a data set.
typedef struct {
    SrSample sample; // given: what the data set read
    SrLook look;     // given
    bool good;       // given false: leave it out.  Set to false if it cannot be decoded
    float length;    // receives the length of its row before normalisation
} SrEmbedImage;

// Computes rows (n, dim) of images, n <= batch.  Rows of images that are not good are zeros.
SrStatus sr_embedder_run(SrEmbedder *embedder, SrEmbedImage *images, int n, float *rows);

#endif
