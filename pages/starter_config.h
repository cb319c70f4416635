// A first configuration for a folder of photos.  Method, trunk, crops, batch and epochs fit the
// folder and the given time on this machine.  The recipe comes from configs/photos.yaml.
#ifndef SR_PAGES_STARTER_CONFIG_H
#define SR_PAGES_STARTER_CONFIG_H

#include "pages/starter_file.h"

#define SR_STARTER_LEAST_IMAGES 8

typedef struct {
    const char *method;      // "DCL"
    const char *trunk;       // "ResNet-18 at 96 pixels"
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

// Appends the text of a configuration that loads.  recipe: its batch and lengths are chosen here.
// minutes: training time on this machine; the smallest trunk may take longer.
// SR_ERR_CONFIG: fewer than SR_STARTER_LEAST_IMAGES readable images, or the trunk of recipe->from
// takes none of the crops.
SrStatus sr_starter_config(SrStarterRecipe *recipe, int minutes, SrText *text, SrStarters *out);
// Writes a line about the chosen size, and a table of all.
void sr_starters_text(const SrStarters *starters, SrText *out);

#endif
