// accuracy_list_meter: share of images with a right class among the k best scores.
#include "measure/meters/topk.h"

static int values(void *state, SrMeterValue out[SR_METER_MAX_VALUES]) {
    const SrTopk *t = state;
    double totals[SR_METER_MAX_VALUES];
    for (int i = 0; i < t->n; i++)
        totals[i] = (double)t->rows;
    return sr__topk_values(t, t->any, totals, out);
}

const SrMeter sr_meter_accuracy_list_meter = {
    .name = "accuracy_list_meter",
    .help = "share of images with a right class among the k best",
    .subtree = "METERS.accuracy_list_meter",
    .options = sr__topk_options,
    .params_bytes = sizeof(SrTopkParams),
    .open = sr__topk_open,
    .close = sr__topk_close,
    .reset = sr__topk_reset,
    .update = sr__topk_update,
    .values = values,
};
