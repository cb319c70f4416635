// toy_meter: the share of rows whose class has the best score.  tests/toy.sh adds it to a copy of
// the tree.
#include "base/mem.h"
#include "measure/meter.h"

typedef struct {
    SrMeterOutputs outputs;
} Params;

static const SrOption options[] = {SR_METER_OPTIONS(Params), SR_OPTION_END};

typedef struct {
    int64_t rows, right;
} State;

static SrStatus open(const void *params, int classes, int64_t rows, void **state) {
    (void)params, (void)classes, (void)rows;
    *state = sr_calloc(1, sizeof(State));
    if (!*state)
        return sr_out_of_memory("a meter");
    return SR_OK;
}

static void close(void *state) { sr_free(state); }
static void reset(void *state) { *(State *)state = (State){0}; }

static bool is_target(const SrMeterRows *r, int row, int c) {
    return r->multi_hot ? r->target[row * r->classes + c] == 1 : r->target[row] == c;
}

static void update(void *state, const SrMeterRows *r) {
    State *s = state;
    for (int row = 0; row < r->rows; row++) {
        const float *x = r->scores + row * r->classes; // (classes)
        int best = 0;
        for (int c = 1; c < r->classes; c++)
            best = x[c] > x[best] ? c : best;
        s->rows++;
        s->right += is_target(r, row, best);
    }
}

static int values(void *state, SrMeterValue out[SR_METER_MAX_VALUES]) {
    const State *s = state;
    out[0] =
        (SrMeterValue){"right", sr_meter_percent(s->rows ? (double)s->right / (double)s->rows : 0)};
    return 1;
}

const SrMeter sr_meter_toy_meter = {
    .name = "toy_meter",
    .help = "share of rows whose best score is right",
    .subtree = "METERS.toy_meter",
    .options = options,
    .params_bytes = sizeof(Params),
    .open = open,
    .close = close,
    .reset = reset,
    .update = update,
    .values = values,
};
