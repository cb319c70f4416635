// Holds the meters of METERS.names over a model's outputs: a phase reports a number per meter,
// value and layer.
#ifndef SR_TRAINER_RUN_METERS_METER_LIST_H
#define SR_TRAINER_RUN_METERS_METER_LIST_H

#include "base/text/text.h"
#include "measure/meter.h"
#include "trainer/config/config.h"

typedef struct SrMeterList SrMeterList;

// Makes the meters.  classes: (n_outputs) scores of each output.  rows: most rows of a phase.
// With an empty METERS.names the list measures nothing.  SR_ERR_CONFIG: n_outputs is not
// num_meters.
SrStatus sr_meter_list_new(const SrConfig *config, int n_outputs, const int *classes, int64_t rows,
                           SrMeterList **out);
void sr_meter_list_free(SrMeterList *list);
int sr_meter_list_count(const SrMeterList *list); // number of meters
void sr_meter_list_reset(SrMeterList *list);
void sr_meter_list_update(SrMeterList *list, int output, const SrMeterRows *rows);

// Returns the name of an output: its layer, or "0", "1", ... without one.
const char *sr_meter_list_output(const SrMeterList *list, int output, char buf[16]);
// Gets the values of meter i for an output; returns their number.
int sr_meter_list_values(SrMeterList *list, int i, int output,
                         SrMeterValue out[SR_METER_MAX_VALUES]);
// Gets the first value of the first meter, of the best output: it decides which checkpoint is the
// best. False: there is no meter.
bool sr_meter_list_best(SrMeterList *list, double *value);

// Logs VISSL's line per meter: "name: test_accuracy_list_meter, value: {'top_1': {'res5': 71.4}}".
void sr_meter_list_say(SrMeterList *list, const char *phase);
// Adds the values as fields to an open JSON object: "test_accuracy_list_meter": {...}.
void sr_meter_list_json(SrMeterList *list, const char *phase, SrText *out);

#endif
