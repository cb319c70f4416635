// A contact sheet: the first images of an epoch, each with all its views as the network sees
// them, and with the random choices that made each view.  Equal configurations and seeds give equal
// bytes.
#ifndef SR_PAGES_PHOTOS_CONTACT_SHEET_H
#define SR_PAGES_PHOTOS_CONTACT_SHEET_H

#include "base/text/text.h"
#include "data/image_pool.h"
#include "trainer/config/config.h"

enum { SR_SHEET_MAX_IMAGES = 64 };

typedef struct {
    int images;    // number of rows, one per image
    int64_t epoch; // epoch whose order and random choices are shown
} SrSheetOptions;

typedef struct {
    int images, views, unreadable; // rows, views per row, files that could not be read
    int h, w;                      // size of the sheet, pixels
} SrSheetReport;

// Appends a PNG to out.
SrStatus sr_contact_sheet(const SrConfig *config, const SrSheetOptions *options, SrText *out,
                          SrSheetReport *report);

// Inverse of the transform Normalize, to show a view of the network, floats (h, w, 3), as bytes.
// If the transforms do not end in Normalize, mean is 0 and std is 1.
typedef struct {
    double mean[3], std[3];
} SrUnnormalize;
void sr_unnormalize_of(const SrYaml *transforms, SrUnnormalize *out);
void sr_unnormalize(const SrUnnormalize *u, const float *x, int h, int w, uint8_t *rgb);
// Makes a view visible: x (h, w, channels), as the network sees it.  channels 0: by sr_unnormalize.
// Others are stretched (sr_image_to_rgb).
SrStatus sr_show_view(const SrUnnormalize *u, const float *x, int h, int w, int channels,
                      SrImagePool *pool, SrImage *out);

#endif
