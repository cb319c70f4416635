// Data of the gallery: features before and after training, thumbnails, predicted classes, groups,
// maps.
#ifndef SR_PAGES_PHOTOS_GALLERY_DATA_H
#define SR_PAGES_PHOTOS_GALLERY_DATA_H

#include "data/sets/class_names.h"
#include "measure/matrix.h"
#include "pages/photos/attention_maps.h"
#include "pages/photos/thumbnails.h"
#include "trainer/model/model.h"

typedef struct {
    int images;   // most test images
    int64_t bank; // most training images in the kNN vote
} SrGalleryOptions;
#define SR_GALLERY_DEFAULT ((SrGalleryOptions){.images = 600, .bank = 2000})

typedef struct {
    int n; // number of test images
    // Layer of the features: the best one of the run's evaluation, pooled as there; without an
    // evaluation the configuration's.
    char layer[64];
    bool best;                // true: the evaluation chose the layer
    int classes;              // number of classes; 0: no labels, or several per image
    SrStringList class_names; // (classes) names; empty: numbers are shown
    SrStringList files;       // (n) names without folders; "": the image has no file
    SrMatrix after, before;   // (n, D) features after and before training, rows of length 1
    bool lost_start;          // the starting weights could not be read: `before` is the drawn trunk
    SrThumb *thumbs;          // (n) made from the source images
    int *said;                // (n) class predicted by kNN; NULL: no labels
    double knn;               // accuracy of these classes, per cent
    int k;                    // neighbours that vote
    int groups;               // number of groups
    bool prototypes;          // groups are prototypes; false: clusters of features
    int *group;               // (n) group of the image
    float *strength;          // (n) score of the image in its group
    float *pca, *tsne;        // (n, 2) positions on maps
    SrAttentionMaps attention;
    double features_s; // seconds that computing features took
} SrGalleryData;

SrStatus sr_gallery_data_fill(const SrConfig *config, SrModel *trained,
                              const SrGalleryOptions *options, SrGalleryData *out);
void sr_gallery_data_deinit(SrGalleryData *data); // also after a failure
// Returns a class's name, or its number, written into the buffer.
const char *sr_gallery_class(const SrGalleryData *data, int64_t c, char buffer[24]);
// Finds the `count` rows with the largest product with row i, without i; returns their number.
int sr_gallery_nearest(const SrMatrix *f, int i, int count, int *out);

#endif
