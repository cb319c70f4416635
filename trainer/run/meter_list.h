// METERS.names over the outputs of a model: what a phase reports, a number a meter, value and layer.
#ifndef SR_TRAINER_RUN_METER_LIST_H
#define SR_TRAINER_RUN_METER_LIST_H

#include "base/text.h"
#include "measure/meter.h"
#include "trainer/config/config.h"

typedef struct SrMeterList SrMeterList;

// classes: scores of each output; rows: the most a phase shows.  A number of outputs other than
// num_meters: SR_ERR_CONFIG.  METERS.names empty: a list that measures nothing.
SrStatus sr_meter_list_new(const SrConfig *config, int n_outputs, const int *classes, int64_t rows,
                           SrMeterList **out);
void sr_meter_list_free(SrMeterList *list);
int sr_meter_list_count(const SrMeterList *list); // meters
void sr_meter_list_reset(SrMeterList *list);
void sr_meter_list_update(SrMeterList *list, int output, const SrMeterRows *rows);

// Name of an output: its layer, or "0", "1", ... where there is none.
const char *sr_meter_list_output(const SrMeterList *list, int output, char buf[16]);
// Values of meter `i` for an output; returns their number.
int sr_meter_list_values(SrMeterList *list, int i, int output,
                         SrMeterValue out[SR_METER_MAX_VALUES]);
// The best output's first value of the first meter: what "best checkpoint" means.  False: no meter.
bool sr_meter_list_best(SrMeterList *list, double *value);

// VISSL's line for each meter: "name: test_accuracy_list_meter, value: {'top_1': {'res5': 71.4}}".
void sr_meter_list_say(SrMeterList *list, const char *phase);
// The same as JSON fields of an object already begun: "test_accuracy_list_meter": {...}.
void sr_meter_list_json(SrMeterList *list, const char *phase, SrText *out);

#endif
