// A contact sheet: the first images of an epoch, each with all its views as the network sees them and what was drawn
// for them.  The same configuration and seed give the same bytes.
#ifndef SR_PAGES_CONTACT_SHEET_H
#define SR_PAGES_CONTACT_SHEET_H

#include "base/text.h"
#include "trainer/config/config.h"

enum { SR_SHEET_MAX_IMAGES = 64 };

typedef struct {
    int images;    // rows
    int64_t epoch; // whose order and draws are shown
} SrSheetOptions;

typedef struct {
    int images, views, unreadable; // rows, pictures beside each, files that could not be read
    int h, w;                      // of the sheet
} SrSheetReport;

// Appends a PNG to out.
SrStatus sr_contact_sheet(const SrConfig *config, const SrSheetOptions *options, SrText *out,
                          SrSheetReport *report);

// A view as the network gets it, floats (h, w, 3), as bytes for the eye: Normalize, where TRANSFORMS end in it, is undone.
typedef struct {
    double mean[3], std[3];
} SrUnnormalize;
void sr_unnormalize_of(const SrYaml *transforms, SrUnnormalize *out);
void sr_unnormalize(const SrUnnormalize *u, const float *x, int h, int w, uint8_t *rgb);

#endif
