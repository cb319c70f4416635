// precision_at_k_list_meter: share of right classes among the k best scores, over all rows of the
// phase together (a micro average).
#include "measure/meters/topk.h"

static int values(void *state, SrMeterValue out[SR_METER_MAX_VALUES]) {
    const SrTopk *t = state;
    double totals[SR_METER_MAX_VALUES];
    for (int i = 0; i < t->n; i++)
        totals[i] = (double)t->rows * t->k[i];
    return sr__topk_values(t, t->hits, totals, out);
}

const SrMeter sr_meter_precision_at_k_list_meter = {
    .name = "precision_at_k_list_meter",
    .help = "share of right classes among the k best",
    .subtree = "METERS.precision_at_k_list_meter",
    .options = sr__topk_options,
    .params_bytes = sizeof(SrTopkParams),
    .open = sr__topk_open,
    .close = sr__topk_close,
    .reset = sr__topk_reset,
    .update = sr__topk_update,
    .values = values,
};
