// mean_ap_list_meter: average precision of each class over the whole phase, averaged over the
// classes that have a positive.  Entries with target -1 are left out.
//
// VISSL ranks sigmoid(score), where rounding makes large scores equal.  The scores themselves
// have the same order without these ties.
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "measure/meter.h"
#include "measure/neighbours/average_precision.h"

typedef struct {
    SrMeterOutputs outputs;
} Params;

static const SrOption options[] = {
    SR_METER_OPTIONS(Params),
    {"num_classes", SR_OPT_IGNORED, 0, "9605", .help = "the number of scores is used"},
    {"max_cpu_capacity", SR_OPT_IGNORED, 0, "-1",
     .help = "the scores of the whole set are always kept"},
    SR_OPTION_END,
};

typedef struct {
    int classes;
    int64_t n, room; // rows so far, at most `room`
    float *scores;   // (classes, room)
    int8_t *target;  // (classes, room): 1, 0, -1
} MeanAp;

static void close(void *state) {
    MeanAp *m = state;
    if (!m)
        return;
    sr_free(m->scores);
    sr_free(m->target);
    sr_free(m);
}

static SrStatus open(const void *params, int classes, int64_t rows, void **state) {
    (void)params;
    MeanAp *m = sr_calloc(1, sizeof *m);
    SR_TRY_MEMORY(m, "a meter");
    *m = (MeanAp){.classes = classes, .room = rows};
    size_t cells = (size_t)rows * (size_t)classes;
    m->scores = sr_alloc((cells + 1) * sizeof *m->scores);
    m->target = sr_alloc(cells + 1);
    if (!m->scores || !m->target) {
        close(m);
        return sr_out_of_memory("the scores of %lld images and %d classes", (long long)rows,
                                classes);
    }
    *state = m;
    return SR_OK;
}

static void reset(void *state) { ((MeanAp *)state)->n = 0; }

static int8_t target_at(const SrMeterRows *rows, int64_t row, int c) {
    if (rows->multi_hot)
        return (int8_t)SR_MAX(SR_MIN(rows->target[row * rows->classes + c], 1), -1);
    return rows->target[row] < 0 ? -1 : rows->target[row] == c;
}

static void update(void *state, const SrMeterRows *rows) {
    MeanAp *m = state;
    for (int64_t row = 0; row < rows->rows && m->n < m->room; row++, m->n++)
        for (int c = 0; c < m->classes; c++) {
            m->scores[c * m->room + m->n] = rows->scores[row * m->classes + c];
            m->target[c * m->room + m->n] = target_at(rows, row, c);
        }
}

// Returns the average precision of class c; -1: it has no positive, or memory is short.
static double class_ap(const MeanAp *m, int c) {
    double ap = -1;
    if (sr_average_precision(m->scores + c * m->room, m->target + c * m->room, m->n, SR_AP_ENVELOPE,
                             &ap) != SR_OK)
        sr_warn("%s", sr_status_message());
    return ap;
}

static int values(void *state, SrMeterValue out[SR_METER_MAX_VALUES]) {
    MeanAp *m = state;
    double sum = 0;
    int n = 0;
    for (int c = 0; c < m->classes; c++) {
        double ap = class_ap(m, c);
        sum += ap >= 0 ? ap : 0;
        n += ap >= 0;
    }
    snprintf(out[0].key, sizeof out[0].key, "mAP");
    out[0].value = sr_meter_percent(n > 0 ? sum / n : 0);
    return 1;
}

const SrMeter sr_meter_mean_ap_list_meter = {
    .name = "mean_ap_list_meter",
    .help = "average precision, averaged over classes",
    .subtree = "METERS.mean_ap_list_meter",
    .options = options,
    .params_bytes = sizeof(Params),
    .open = open,
    .close = close,
    .reset = reset,
    .update = update,
    .values = values,
};
