// Finds, for each row of one index, the rows of another one with the largest products: candidates
// for copies and neighbours.  Exact unless cells are given; memory is bounded whatever the number
// of rows.
#ifndef SR_FOLDER_NEAR_ROWS_H
#define SR_FOLDER_NEAR_ROWS_H

#include "folder/index/cells.h"

typedef struct {
    uint32_t row;     // of the other index; UINT32_MAX: none
    float similarity; // product of the rows, which have length 1: the cosine
} SrNear;

typedef struct {
    const SrIndex *from, *to; // of one length of rows; may be the same index
    bool self;                // row i of `from` is the image of row i of `to`: never its neighbour
    int k;                    // neighbours per row, 1 or more
    const uint8_t *skip_from; // (rows) rows that get no neighbours; NULL: none
    const uint8_t *skip_to;   // (rows) rows that are nobody's neighbours; NULL: none
    const SrCells *cells;     // of `to`: only the nearest `probes` of them are searched; NULL: all
    int probes;
    size_t memory;    // bytes that may be used next to `out`; at least a few MB are used
    const char *what; // label of the bar
} SrNearOptions;

// Empties a list of k.
void sr_near_clear(SrNear *list, int64_t k);
// Puts a row at its place of a list of k, the nearest first; the last one leaves the list.  Of
// equal similarities the smaller row is the nearer.  A similarity that is no number is left out.
void sr_near_insert(SrNear *list, int k, uint32_t row, float similarity);

// Fills out (rows of from, k), the nearest first; ties go to the smaller row.  The result has the
// same bits for any number of threads and any memory.  SR_ERR_INTERRUPT: base/stop.h asked to stop.
SrStatus sr_near_rows(const SrNearOptions *options, SrNear *out);

#endif
