// Runs below a folder, for the live page.  The search follows no link, and each run is named by
// its path below the folder.  A name from a reader of the page never becomes a path: it is only
// compared with the names that were found.
#ifndef SR_PAGES_RUNS_RUN_REGISTRY_H
#define SR_PAGES_RUNS_RUN_REGISTRY_H

#include "base/text/text.h"
#include "data/sets/class_names.h"

#define SR_REGISTRY_MOST 500 // most runs
#define SR_REGISTRY_DEPTH 6  // most levels of folders

typedef struct {
    char root[4096]; // path of the folder, links resolved
    SrStringList names;
} SrRegistry;

// Finds the runs below the folder `dir`; leaves out runs whose files are links.
SrStatus sr_registry_scan(const char *dir, SrRegistry *out);
void sr_registry_deinit(SrRegistry *registry);
// Writes the path of the run with this exact name to out (4096 bytes).  SR_ERR_CONFIG: there is
// none.
SrStatus sr_registry_find(const SrRegistry *registry, const char *name, char *out);

// Asks the process that trains in a run folder to save and stop.  SR_ERR_CONFIG: no process trains.
SrStatus sr_run_ask_stop(const char *run);
// Continues a run: starts this program with the run's own command, in this folder.
// SR_ERR_CONFIG: a process trains there already, or the command is unknown.
SrStatus sr_run_start_again(const char *run);

#endif
