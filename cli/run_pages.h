// What a training run leaves for the eye: run.json at its start, report.html at each epoch and at the end.  Never the
// reason that a run fails, and never more than a hundredth of its time.
#ifndef SR_CLI_RUN_PAGES_H
#define SR_CLI_RUN_PAGES_H

#include "trainer/train.h"

typedef struct {
    const SrConfig *config;
    const char *const *words; // the command to go on
    int n_words;
    const char *command; // the same as a line
    double
        began; // seconds on a clock; 0: nothing was trained or evaluated, so pages stay as they are
    double spent; // seconds that pages have taken
} SrRunPages;

void sr_run_pages_told(void *pages, SrTold what); // SrTrainOptions.told
// Adds a report to metrics.json of a run's folder.
SrStatus sr_run_pages_keep(const char *run, const SrText *line);
// Takes a report that was made after the run's end into its metrics.json and its page, and names the page.  Does nothing
// while a process trains there.  Failures are warnings.
void sr_run_pages_add(const char *run, const SrText *line);
// After training and its evaluation, or what ended them early: the images too, where the configuration evaluates and
// the run was not cut short.
void sr_run_pages_end(SrRunPages *pages, SrRun *run, SrStatus ended_with);

#endif
