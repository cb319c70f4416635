// Nearest-neighbour retrieval.  For each query, the database is ranked by the product of features,
// which is the cosine after normalisation.  Rows with the query's label are relevant.
#ifndef SR_MEASURE_NEIGHBOURS_RETRIEVAL_H
#define SR_MEASURE_NEIGHBOURS_RETRIEVAL_H

#include "measure/matrix.h"

#define SR_RETRIEVAL_TOP 10

typedef struct {
    int64_t queries;    // queries with at least one relevant row
    double map;         // mean average precision (SR_AP_STEPS), per cent
    double p1, p5, p10; // share of the first 1, 5, 10 rows that are relevant, per cent
} SrRetrieval;

// Ranks the database for each query.  database NULL: the queries are the database, and a query
// does not rank itself.  normalize: rows of both sides get length 1, in place.  If images have
// several labels, one label in common makes a row relevant.  Rows without a label are left out on
// both sides. SR_ERR_CONFIG: the sides do not fit together, one is empty, or the database is too
// large.
SrStatus sr_retrieval(SrMatrix *query, SrMatrix *database, bool normalize, SrRetrieval *out);

#endif
