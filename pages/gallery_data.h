// What the gallery shows, before it becomes a page: features before and after training, thumbnails, classes, groups.
#ifndef SR_PAGES_GALLERY_DATA_H
#define SR_PAGES_GALLERY_DATA_H

#include "data/sets/class_names.h"
#include "measure/matrix.h"
#include "pages/attention_maps.h"
#include "trainer/model/model.h"

typedef struct {
    int images;   // of the test, at most
    int64_t bank; // training images that vote on their classes
} SrGalleryOptions;
#define SR_GALLERY_DEFAULT ((SrGalleryOptions){.images = 600, .bank = 2000})

enum { SR_THUMB = 48 }; // pixels a side

typedef struct {
    int n; // test images shown
    int classes;
    SrStringList class_names; // (classes), empty: numbers
    SrStringList files;       // (n) names without folders, "" where images have no files
    SrMatrix after, before;   // features of the trained and of the drawn trunk, rows of length 1
    uint8_t *thumbs;          // (n, SR_THUMB, SR_THUMB, 3)
    int *said;                // (n) class by kNN; NULL: no labels
    double knn;               // per cent that are right
    int k;                    // neighbours that voted
    int groups;               // prototypes, or clusters of features
    bool prototypes;
    int *group;        // (n)
    float *strength;   // (n) how much the image belongs there
    float *pca, *tsne; // (n, 2)
    SrAttentionMaps attention;
    double features_s;
} SrGalleryData;

SrStatus sr_gallery_data_fill(const SrConfig *config, SrModel *trained,
                              const SrGalleryOptions *options, SrGalleryData *out);
void sr_gallery_data_deinit(SrGalleryData *data); // also after a failure
// A class's name, or its number in the buffer.
const char *sr_gallery_class(const SrGalleryData *data, int64_t c, char buffer[24]);
// The `count` rows nearest to row i by the product of rows, i left out; returns how many there are.
int sr_gallery_nearest(const SrMatrix *f, int i, int count, int *out);

#endif
