// Repeats the augmentation of one training image for display: the image as it was read, its views
// bit for bit as the loader makes them, and the draws for each view in words.
#ifndef SR_DATA_VIEW_PREVIEW_H
#define SR_DATA_VIEW_PREVIEW_H

#include "data/load/loader.h"

typedef struct {
    SrImage original;          // image before the transforms, as rgb
    SrViews views;             // floats, as the network gets them
    SrText told[SR_MAX_VIEWS]; // draws of each view in words; sr_view_preview_deinit frees them
    const char *path;          // file of the image; "": none
    int64_t label;             // class; -1: none
} SrViewPreview;

// Makes the preview.  index: number of the image in the loader's subset (SrBatch.index); in_set:
// its number in the data set.  Only data set, pipeline, seed and `fast` of config are used.
// Pictures are in memory of the pool.  SR_ERR_IO: the file cannot be read.  The caller calls
// sr_view_preview_deinit also after a failure.
SrStatus sr_view_preview_make(const SrLoaderConfig *config, int64_t epoch, int64_t index,
                              int64_t in_set, SrImagePool *pool, SrViewPreview *out);
void sr_view_preview_deinit(SrViewPreview *shown);

#endif
