// report.html of a run: curves, figures beside their baselines, findings, the images (image_gallery.h), configuration,
// versions, the command to go on.  Written from the run folder's own files, so that it can be made again at any time.
#ifndef SR_PAGES_RUN_REPORT_H
#define SR_PAGES_RUN_REPORT_H

#include <stdbool.h>

#include "base/status.h"
#include "base/text.h"

#define SR_REPORT_FILE "report.html"

// Writes the page of a run's folder to <run>/report.html.  SR_ERR_CONFIG for a folder that holds none.
SrStatus sr_run_report_write(const char *run);
// One page of several runs: curves over steps, images and time, a table of results, where configurations differ.
SrStatus sr_run_compare(const char *const *runs, int n, SrText *out);

// Is this a folder of a run: does it hold train_config.yaml, stdout.json or metrics.json?
bool sr_run_is_folder(const char *path);
// What changes of the page while a run trains, without its head: state, figures, findings, curves.
SrStatus sr_run_report_live(const char *run, SrText *out);

#endif
