// Finds what the `trunk` of sslrun.h means: a model's name, a configuration, a checkpoint or a run
// folder, and the size of its images.
#ifndef SR_LIBRARY_TRUNK_SOURCE_H
#define SR_LIBRARY_TRUNK_SOURCE_H

#include "base/status.h"

typedef struct {
    char *trunk;       // name, configuration or checkpoint; owned
    char *config_text; // configuration that the checkpoint holds; owned.  NULL: no checkpoint
    int height, width; // pixels of the images
} SrTrunkSource;

// Looks `trunk` up and prepares the library: it logs warnings and errors only.  height and width 0:
// the size at which the configuration evaluates, 224 for a model's name.
// SR_ERR_CONFIG: a folder or a file of weights without a configuration.
SrStatus sr__trunk_source_open(const char *trunk, int height, int width, SrTrunkSource *out);
void sr__trunk_source_close(SrTrunkSource *source); // legal for a zeroed struct

// Prepares the library alone, for functions without a trunk.
void sr__library_start(void);

#endif
