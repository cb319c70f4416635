// Counting of right classes among the k best scores.  Among equal scores the smaller class is
// better, so the result depends on the scores alone.  A k above the number of classes counts all
// classes; torch fails there.
#include "measure/meters/topk.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"

const SrOption sr__topk_options[] = {
    SR_METER_OPTIONS(SrTopkParams),
    {"topk_values", SR_OPT_INTS, offsetof(SrTopkParams, topk_values), "[1]", 1, 1 << 20,
     .help = "Numbers k of best scores to look at; the meter gives one value for each."},
    SR_OPTION_END,
};

SrStatus sr__topk_open(const void *params, int classes, int64_t rows, void **state) {
    const SrTopkParams *p = params;
    (void)rows;
    if (p->topk_values.n < 1 || p->topk_values.n > SR_METER_MAX_VALUES)
        SR_FAIL(SR_ERR_CONFIG, "topk_values holds %d numbers; expected 1 to %d", p->topk_values.n,
                SR_METER_MAX_VALUES);
    SrTopk *t = sr_calloc(1, sizeof *t);
    SR_TRY_MEMORY(t, "a meter");
    t->n = p->topk_values.n;
    for (int i = 0; i < t->n; i++) {
        t->k[i] = p->topk_values.v[i];
        t->most = SR_MAX(t->most, SR_MIN(t->k[i], classes));
    }
    t->best = sr_calloc((size_t)t->most + 1, sizeof *t->best);
    if (!t->best) {
        sr_free(t);
        return sr_out_of_memory("a meter");
    }
    *state = t;
    return SR_OK;
}

void sr__topk_close(void *state) {
    SrTopk *t = state;
    if (t)
        sr_free(t->best);
    sr_free(t);
}

void sr__topk_reset(void *state) {
    SrTopk *t = state;
    memset(t->hits, 0, sizeof t->hits);
    memset(t->any, 0, sizeof t->any);
    t->rows = t->positives = 0;
}

// Fills best (most) with the classes of the highest scores, best first.  It is an insertion sort,
// because k is small.
static void find_best(SrTopk *t, const float *scores, int classes) {
    int n = 0;
    for (int c = 0; c < classes; c++) {
        if (n == t->most && !(scores[c] > scores[t->best[n - 1]]))
            continue;
        int i = n < t->most ? n++ : n - 1;
        for (; i > 0 && scores[c] > scores[t->best[i - 1]]; i--)
            t->best[i] = t->best[i - 1];
        t->best[i] = c;
    }
}

static void count_row(SrTopk *t, const SrMeterRows *rows, int row) {
    const int64_t *target = rows->target + (int64_t)row * (rows->multi_hot ? rows->classes : 1);
    SR_ASSERT(row >= 0 && row < rows->rows && rows->classes > 0);
    if (!rows->multi_hot && *target < 0)
        return;
    find_best(t, rows->scores + (int64_t)row * rows->classes, rows->classes);
    t->rows++;
    for (int c = 0; rows->multi_hot && c < rows->classes; c++)
        t->positives += target[c] > 0;
    t->positives += !rows->multi_hot;
    for (int i = 0; i < t->n; i++) {
        int hits = 0;
        for (int j = 0; j < SR_MIN(t->k[i], t->most); j++)
            hits += rows->multi_hot ? target[t->best[j]] > 0 : t->best[j] == *target;
        t->hits[i] += hits;
        t->any[i] += hits > 0;
    }
}

void sr__topk_update(void *state, const SrMeterRows *rows) {
    for (int row = 0; row < rows->rows; row++)
        count_row(state, rows, row);
}

int sr__topk_values(const SrTopk *t, const int64_t *counts, const double *totals,
                    SrMeterValue out[SR_METER_MAX_VALUES]) {
    for (int i = 0; i < t->n; i++) {
        snprintf(out[i].key, sizeof out[i].key, "top_%d", t->k[i]);
        // VISSL divides in float32, which changes the last digit: 27 / 29 gives 93.1035.
        float share = totals[i] > 0 ? (float)counts[i] / (float)totals[i] : 0;
        out[i].value = sr_meter_percent((double)share);
    }
    return t->n;
}
