// A run folder opened for the pages that show it: the report, the comparison, the live page.
#ifndef SR_PAGES_RUN_PAGE_H
#define SR_PAGES_RUN_PAGE_H

#include "pages/run_history.h"
#include "pages/run_record.h"

typedef struct {
    const char *run; // the folder, borrowed
    SrArena arena;
    SrHistory history;
    SrRunRecord record;
    const SrYaml *config;        // train_config.yaml; NULL: none
    int64_t epochs, done, batch; // asked for, completed; images of an update
    bool live;                   // a process has the folder now
    const char *state;           // "training", "stopped", "finished"
} SrRunPage;

// SR_ERR_CONFIG where the folder is none of a run.  Also to be closed after a failure.
SrStatus sr_run_page_open(const char *run, SrRunPage *out);
void sr_run_page_close(SrRunPage *page);
const char *sr_run_page_name(const SrRunPage *page); // the folder's own name
// The first number of a flat report whose key begins so; NaN: none.
double sr_run_report_figure(const SrYaml *report, const char *prefix);

#endif
