// A configuration for a folder of photos nobody has trained on yet: method, trunk, crops, batch and epochs that fit the
// folder and what this machine does in a given time.  configs/photos.yaml is where its recipe comes from.
#ifndef SR_PAGES_STARTER_CONFIG_H
#define SR_PAGES_STARTER_CONFIG_H

#include "pages/photo_survey.h"

#define SR_STARTER_LEAST_IMAGES 8

typedef struct {
    const char *method;      // "DCL"
    const char *trunk;       // "ResNet-18"
    int crop, batch, epochs; // pixels, images of a step
    double seconds;          // of training, by forecast
    double memory_bytes;
    const char *larger;         // the next larger trunk, NULL: there is none
    double larger_seconds;      // that it would take
    const char *why_not_larger; // "--minutes": that flag would let it
} SrStarter;

// survey: of the folder.  data: what to call it in DATA_PATHS; run: CHECKPOINT.DIR; name: of the file.  minutes: that
// training may take on this machine; the smallest trunk is taken even if it takes longer.  Appends the file's text, which loads.
// Fewer images than SR_STARTER_LEAST_IMAGES: SR_ERR_CONFIG.
SrStatus sr_starter_config(const SrPhotoSurvey *survey, const char *data, const char *run,
                           const char *name, int minutes, SrText *text, SrStarter *out);
void sr_starter_text(const SrStarter *starter, SrText *out); // for people, two lines

#endif
