// Figures of a run that need no labels, for folders without classes.
#ifndef SR_CLI_VIEW_FIGURES_H
#define SR_CLI_VIEW_FIGURES_H

#include "base/text/text.h"

// Adds the figures that the run's last epoch left in metrics.json: how often views of an image find
// each other, effective rank, alignment and uniformity.  A run without them adds nothing.
void sr_view_figures_text(const char *run, SrText *out);

#endif
