// Choice of images to label: the methods of measure/, alone or together.
#include "folder/selection.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "measure/clusters/k_centre.h"
#include "measure/clusters/typicality.h"

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

// Allows the more typical half of the rows, or more if the choice needs more.  sorted: (n).
static void allow_typical(const float *typicality, int64_t n, int64_t wanted, float *sorted,
                          int8_t *allowed) {
    int64_t kept = SR_MIN(SR_MAX(n / 2, wanted), n);
    for (int64_t i = 0; i < n; i++)
        sorted[i] = typicality[i];
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    for (int64_t i = 0; i < n; i++)
        allowed[i] = typicality[i] >= sorted[n - kept];
}

static SrStatus choose_both(const SrSelectOptions *o, const SrRowView *rows, int64_t k,
                            int64_t *chosen) {
    size_t n = (size_t)rows->n;
    float *typicality = sr_alloc(2 * n * sizeof *typicality);
    int8_t *allowed = sr_alloc(n);
    SrKCentreOptions centre = {
        .have = o->have, .n_have = o->n_have, .allowed = allowed, .first = -1};
    SrStatus status =
        typicality && allowed ? sr_typicality(rows, typicality) : sr_out_of_memory("a choice");
    if (status == SR_OK) {
        allow_typical(typicality, rows->n, k + o->n_have, typicality + n, allowed);
        status = sr_k_centre(&centre, rows, k, chosen, NULL);
    }
    sr_free(typicality);
    sr_free(allowed);
    return status;
}

SrStatus sr_select_rows(const SrSelectOptions *o, const SrRowView *rows, int64_t k,
                        int64_t *chosen) {
    if (k < 1 || k > rows->n - o->n_have)
        SR_FAIL(SR_ERR_CONFIG,
                "%lld images are to be chosen of %lld, of which %lld have labels: expected 1 to "
                "%lld",
                (long long)k, (long long)rows->n, (long long)o->n_have,
                (long long)(rows->n - o->n_have));
    SrTypicalityOptions typical = {o->have, o->n_have, o->seed};
    SrKCentreOptions centre = {.have = o->have, .n_have = o->n_have, .first = -1};
    if (o->method == SR_SELECT_BOTH)
        return choose_both(o, rows, k, chosen);
    return o->method == SR_SELECT_TYPICAL ? sr_typical_rows(&typical, rows, k, chosen, NULL)
                                          : sr_k_centre(&centre, rows, k, chosen, NULL);
}
