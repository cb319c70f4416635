// Which images to label first.
#ifndef SR_FOLDER_SELECTION_H
#define SR_FOLDER_SELECTION_H

#include "measure/row_view.h"

typedef enum {
    SR_SELECT_TYPICAL, // measure/clusters/typicality.h: for few labels
    SR_SELECT_CENTRES, // measure/clusters/k_centre.h: for many labels
    SR_SELECT_BOTH,    // k-centre among the more typical half, so that outliers are not chosen
} SrSelectMethod;

typedef struct {
    SrSelectMethod method;
    const int64_t *have; // (n_have) rows that have labels already; NULL: none
    int64_t n_have;
    uint64_t seed; // of the clusters
} SrSelectOptions;

// Chooses k rows of length 1, the most useful first, so that each prefix is a choice.  chosen: (k).
// SR_ERR_CONFIG: fewer than k rows are free.
SrStatus sr_select_rows(const SrSelectOptions *options, const SrRowView *rows, int64_t k,
                        int64_t *chosen);

#endif
