// The runs below a folder, for the live page: found by looking, without following any link, named
// by their paths below it. Nothing that comes from a reader of the page is ever made a path: a name
// is compared with those found.
#ifndef SR_PAGES_RUN_REGISTRY_H
#define SR_PAGES_RUN_REGISTRY_H

#include "base/text.h"
#include "data/sets/class_names.h"

#define SR_REGISTRY_MOST 500 // runs
#define SR_REGISTRY_DEPTH 6  // folders below each other

typedef struct {
    char root[4096]; // without links
    SrStringList names;
} SrRegistry;

// dir: a folder.  A run whose files are links is left out.
SrStatus sr_registry_scan(const char *dir, SrRegistry *out);
void sr_registry_deinit(SrRegistry *registry);
// The path of a run of that very name into out (4096 bytes); SR_ERR_CONFIG where there is none.
SrStatus sr_registry_find(const SrRegistry *registry, const char *name, char *out);

// Asks the process that trains in a run folder to save and stop.  Not training: SR_ERR_CONFIG.
SrStatus sr_run_ask_stop(const char *run);
// Starts this program again with the run's own command, into this very folder. Training already, or
// no command is known: SR_ERR_CONFIG.
SrStatus sr_run_start_again(const char *run);

#endif
