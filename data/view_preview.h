// One training image once more, for people who look: as it was read, its views bit for bit as the loader makes them, and
// what was drawn for each.
#ifndef SR_DATA_VIEW_PREVIEW_H
#define SR_DATA_VIEW_PREVIEW_H

#include "data/data.h"

typedef struct {
    SrImage original;          // rgb
    SrViews views;             // floats, as the network gets them
    SrText told[SR_MAX_VIEWS]; // of each view; sr_view_preview_deinit
    const char *path;          // "" if it has none
    int64_t label;             // -1: none
} SrViewPreview;

// index: the image's number in the loader's subset (SrBatch.index); in_set: in the data set.  Of config the data set,
// pipeline, seed and `fast` are looked at.  Pictures are in memory of the pool.  A file that cannot be read: SR_ERR_IO.
// Also to be freed after a failure.
SrStatus sr_view_preview_make(const SrLoaderConfig *config, int64_t epoch, int64_t index,
                              int64_t in_set, SrImagePool *pool, SrViewPreview *out);
void sr_view_preview_deinit(SrViewPreview *shown);

#endif
