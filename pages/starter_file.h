// Text of a first configuration for a folder of photos (pages/starter_config.h).
#ifndef SR_PAGES_STARTER_FILE_H
#define SR_PAGES_STARTER_FILE_H

#include "pages/photos/photo_survey.h"
#include "pages/starter_weights.h"

// A rung of the ladder: a trunk with a size of crops that suits it.
typedef struct {
    const char *name;          // name in texts: "ResNet-18 at 96 pixels"
    const char *trunk;         // MODEL.TRUNK.NAME
    const char *map, *options; // the trunk's map and its contents; NULL: the name says all
    int width, crop;           // floats of a feature; pixels per side of a crop
    const char *why;           // what a comment of the file says about it, after "it"
    const char *expect;        // what the table of `sslrun init` says about it
} SrStarterRung;

// The part of the configuration that is the same for every rung.
typedef struct {
    const SrPhotoSurvey *survey;
    const SrStarterWeights *from;  // NULL: training starts from drawn weights
    const char *data, *run, *name; // DATA_PATHS, CHECKPOINT.DIR, name of the file
    int batch, epochs;
    int probe_every; // epochs between two probes; 0: no probe
} SrStarterRecipe;

void sr_starter_file(const SrStarterRecipe *recipe, const SrStarterRung *rung, SrText *out);

#endif
