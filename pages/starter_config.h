// A first configuration for a folder of photos.  Method, trunk, crops, batch and epochs fit the
// folder and the given time on this machine.  The recipe comes from configs/photos.yaml.
#ifndef SR_PAGES_STARTER_CONFIG_H
#define SR_PAGES_STARTER_CONFIG_H

#include "pages/photo_survey.h"

#define SR_STARTER_LEAST_IMAGES 8

typedef struct {
    const char *method;         // "DCL"
    const char *trunk;          // "ResNet-18"
    int crop, batch, epochs;    // side of a crop in pixels, images per step, epochs
    double seconds;             // forecast of the training time
    double memory_bytes;        // forecast of memory
    const char *larger;         // the next larger trunk; NULL: none
    double larger_seconds;      // forecast of its training time
    const char *why_not_larger; // reason against it; "--minutes": it needs more time
} SrStarter;

// Appends the text of a configuration that loads.  SR_ERR_CONFIG: fewer than
// SR_STARTER_LEAST_IMAGES readable images.
// survey: survey of the folder.  data: its path for DATA_PATHS.  run: CHECKPOINT.DIR.
// name: file name.  minutes: training time on this machine; the smallest trunk may take longer.
SrStatus sr_starter_config(const SrPhotoSurvey *survey, const char *data, const char *run,
                           const char *name, int minutes, SrText *text, SrStarter *out);
void sr_starter_text(const SrStarter *starter, SrText *out); // two lines of text

#endif
