// report.html of a run: curves, figures next to their baselines, findings, the gallery
// (image_gallery.h), configuration, versions, and the command that continues the run.  The page
// is written from files of the run folder, so that it can be written once more at any time.
#ifndef SR_PAGES_RUNS_RUN_REPORT_H
#define SR_PAGES_RUNS_RUN_REPORT_H

#include "base/status.h"
#include "base/text/text.h"

#define SR_REPORT_FILE "report.html"

// Writes <run>/report.html.  SR_ERR_CONFIG: the folder holds no run.
SrStatus sr_run_report_write(const char *run);

// Appends the part of the page that changes while a run trains: state, figures, findings, curves.
// finished: receives whether all epochs are trained.
SrStatus sr_run_report_live(const char *run, SrText *out, bool *finished);

#endif
