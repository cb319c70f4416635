// Nearest-neighbour retrieval: for each query the database is ranked by the product of features (cosine after
// normalisation), and what shares its label is what should come first.
#ifndef SR_MEASURE_RETRIEVAL_H
#define SR_MEASURE_RETRIEVAL_H

#include "measure/matrix.h"

#define SR_RETRIEVAL_TOP 10

typedef struct {
    int64_t queries;    // with something to find
    double map;         // mean average precision (sklearn's steps), per cent
    double p1, p5, p10; // share of the first 1, 5, 10 that are relevant, per cent
} SrRetrieval;

// database NULL: the queries themselves, each without itself.  Both sides are normalised in place when asked.  With
// several labels an image, one in common is enough.  Rows without a label are neither asked nor ranked.
SrStatus sr_retrieval(SrMatrix *query, SrMatrix *database, bool normalize, SrRetrieval *out);

#endif
