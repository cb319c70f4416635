// Answers one query over an index: the images most like an image, or like a part of it.
#ifndef SR_FOLDER_NEAREST_H
#define SR_FOLDER_NEAREST_H

#include "folder/near_rows.h"

typedef struct {
    int x, y, w, h; // pixels of the image as it is stored; w, h at least 1
} SrRect;

// Parses "x,y,w,h".  SR_ERR_CONFIG: no such rectangle.
SrStatus sr_rect_parse(const char *text, SrRect *out);

// SR_ERR_CONFIG: the index was made by another model, layer or preprocessing.
SrStatus sr_nearest_check(const SrEmbedder *embedder, const SrIndex *index);

typedef struct {
    const SrIndex *index;
    int k;                // rows to find, 1 or more
    const SrCells *cells; // only the nearest `probes` of them are searched; NULL: exact
    int probes;
} SrNearestOptions;

// Finds the k rows with the largest products with q (d), nearest first; ties go to the smaller row.
// out: (k); row UINT32_MAX: there are no more.  SR_ERR_MEMORY: out of memory.
SrStatus sr_nearest(const SrNearestOptions *options, const float *q, SrNear *out);

// Does so for an image file, or for the part `crop` of it.  NULL: the whole.
// SR_ERR_CONFIG: no image, or the part lies outside of it.
SrStatus sr_nearest_to_file(SrEmbedder *embedder, const SrNearestOptions *options, const char *file,
                            const SrRect *crop, SrNear *out);

#endif
