// A run folder that is opened for a page: the report, the comparison or the live page.
#ifndef SR_PAGES_RUNS_RUN_PAGE_H
#define SR_PAGES_RUNS_RUN_PAGE_H

#include "pages/runs/run_history.h"
#include "pages/runs/run_record.h"

typedef struct {
    const char *run; // path of the folder, the caller's
    SrArena arena;
    SrHistory history;
    SrRunRecord record;
    const SrYaml *config;        // train_config.yaml; NULL: none
    int64_t epochs, done, batch; // epochs of the recipe, finished epochs, images per update
    bool live;                   // a process trains in the folder now
    const char *state;           // "training", "stopped", "finished"
} SrRunPage;

// True: a run folder, which holds train_config.yaml, stdout.json or metrics.json.
bool sr_run_is_folder(const char *path);
// Opens a run folder; SR_ERR_CONFIG: it is none.  Close it after a failure too.
SrStatus sr_run_page_open(const char *run, SrRunPage *out);
void sr_run_page_close(SrRunPage *page);
// Returns the name of the folder without its path; that of a sweep's run has its sweep before it:
// "short/seed0".
const char *sr_run_page_name(const SrRunPage *page);
// Returns the length of the sweep's path in the path of one of its runs; -1: it is no such run.
// The runs of a sweep stand in its folders seed0, seed1 and so on (cli/sweep.h).
int sr_run_sweep_length(const char *run);
// Returns the first number in a flat report whose key begins with `prefix`; NaN: none.
double sr_run_report_figure(const SrYaml *report, const char *prefix);
// Returns kNN of the last probe, else of the evaluation, per cent; NaN: neither.
double sr_run_last_probe(const SrHistory *history);

#endif
