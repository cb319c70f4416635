// Writes the numbers of a run as JSON lines, under VISSL's names: stdout.json (progress lines)
// and metrics.json (epochs and evaluations).  Lines are appended one by one, so that a killed run
// leaves whole lines.
#ifndef SR_TRAINER_RUN_METERS_METRICS_H
#define SR_TRAINER_RUN_METERS_METRICS_H

#include <stdio.h>

#include "base/status.h"
#include "base/text/json.h"

typedef struct {
    FILE *f;
    SrText line; // reused: after the first lines nothing is allocated
} SrMetrics;

SrStatus sr_metrics_open(SrMetrics *m, const char *dir, const char *name);
// Starts an object; fields follow through sr_json_*(text, ...); sr_metrics_end writes it.
SrText *sr_metrics_begin(SrMetrics *m);
void sr_metrics_end(SrMetrics *m);
void sr_metrics_write(SrMetrics *m); // appends m->line, which must be a whole line
void sr_metrics_close(SrMetrics *m);

#endif
