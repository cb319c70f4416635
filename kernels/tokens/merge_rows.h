// Params of merge_rows.
#ifndef SR_KERNELS_TOKENS_MERGE_ROWS_H
#define SR_KERNELS_TOKENS_MERGE_ROWS_H

typedef struct { // merge_rows
    int count;
} SrMergeRowsParams;

#endif
