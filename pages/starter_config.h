// A first configuration for a folder of photos.  Method, trunk, crops, batch and epochs fit the
// folder and the given time on this machine.  The recipe comes from configs/photos.yaml.
#ifndef SR_PAGES_STARTER_CONFIG_H
#define SR_PAGES_STARTER_CONFIG_H

#include "pages/photos/photo_survey.h"

#define SR_STARTER_LEAST_IMAGES 8

typedef struct {
    const char *method;      // "DCL"
    const char *trunk;       // "ResNet-18"
    int crop, batch, epochs; // side of a crop in pixels, images per step, epochs
    double seconds;          // forecast of the training time
    double memory_bytes;     // forecast of memory
    const char *expect;      // what the features can be expected to see
    const char *why_not;     // reason against it; "": only that it needs more time
} SrStarter;

enum { SR_STARTER_SIZES = 3 };
typedef struct {
    // From small to large.  The chosen one is in the middle if there are smaller and larger ones.
    SrStarter size[SR_STARTER_SIZES];
    int n, chosen;
} SrStarters;

// Appends the text of a configuration that loads.  SR_ERR_CONFIG: fewer than
// SR_STARTER_LEAST_IMAGES readable images.
// survey: survey of the folder.  data: its path for DATA_PATHS.  run: CHECKPOINT.DIR.
// name: file name.  minutes: training time on this machine; the smallest trunk may take longer.
SrStatus sr_starter_config(const SrPhotoSurvey *survey, const char *data, const char *run,
                           const char *name, int minutes, SrText *text, SrStarters *out);
// Writes a line about the chosen size, and a table of all.
void sr_starters_text(const SrStarters *starters, SrText *out);

#endif
