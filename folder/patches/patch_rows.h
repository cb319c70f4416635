// Patches of all images of a set as rows of one matrix.  Where memory is short, each image gives a
// random draw of its patches, which depends on the image's number alone, and passes over all
// patches compute them again.
#ifndef SR_FOLDER_PATCHES_PATCH_ROWS_H
#define SR_FOLDER_PATCHES_PATCH_ROWS_H

#include "folder/patches/patch_source.h"
#include "measure/matrix.h"

typedef struct {
    SrPatchSource *source;    // borrowed
    const SrImageSet *images; // borrowed
    bool unit;                // patches have length 1; a patch of zeros stays so
    SrMatrix rows;            // (n, dim)
    int *position;            // (n) place of each row in its image, row-major
    int64_t *first;           // (images->n) first row of each image; -1: it cannot be read
    int64_t per_image;        // rows of an image that can be read
    int64_t bad;              // images that cannot be read
} SrPatchRows;

// Computes the rows, which take at most `memory` bytes.  Free *out with sr_patch_rows_deinit, also
// after a failure.  SR_ERR_CONFIG: no image can be read, or there is no room for one patch of each.
SrStatus sr_patch_rows(SrPatchSource *source, const SrImageSet *images, bool unit, size_t memory,
                       SrPatchRows *out);
void sr_patch_rows_deinit(SrPatchRows *rows); // legal for a zeroed struct

// Calls `each` with all patches of every image, in the order of the set; patches of an image that
// cannot be read are NULL.  They come from the rows where those are complete.
SrStatus sr_patch_rows_each(const SrPatchRows *rows, SrEachPatches each, void *arg);

// Subtracts the mean of n rows x (n, d) from each.
void sr_patch_center(float *x, int64_t n, int d);
// Divides each of n rows x (n, d) by its length.
void sr_patch_unit(float *x, int64_t n, int d);

#endif
