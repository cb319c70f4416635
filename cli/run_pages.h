// Pages of a training run: run.json at its start, report.html after epochs and at the end.  Pages
// never make a run fail.  During training they take at most a hundredth of its time.
#ifndef SR_CLI_RUN_PAGES_H
#define SR_CLI_RUN_PAGES_H

#include "trainer/run/run_parts.h"
#include "trainer/train.h"

typedef struct {
    const SrConfig *config;
    const char *const *words; // (n_words) command that continues the run
    int n_words;
    const char *command; // that command as one line
    // sr_clock() at the start; 0: nothing was trained or evaluated, so that pages stay as they are.
    double began;
    double spent; // seconds that pages have taken so far
} SrRunPages;

void sr_run_pages_told(void *pages, SrTold what); // for SrTrainOptions.told
// Appends a report, one line of JSON, to metrics.json of a run folder.
SrStatus sr_run_pages_keep(const char *run, const SrText *line);
// Adds a report that was made after the run's end to its metrics.json and its page, and prints
// the name of the page and the next commands.  Does nothing while a process trains there.
// Failures are warnings.
void sr_run_pages_add(const char *run, const SrText *line);
// Writes the last pages, after training and evaluation or after the failure `ended_with`.  The
// gallery of images is written only after success, if the configuration evaluates.
void sr_run_pages_end(SrRunPages *pages, SrRun *run, SrStatus ended_with);

#endif
