// Cells of an index, for searches that look at a part of it: an inverted file (Sivic and Zisserman,
// "Video Google", ICCV 2003; Jegou et al., "Product Quantization for Nearest Neighbor Search",
// TPAMI 2011, section IV).  k-means on a sample of the rows gives about sqrt(rows) centres; each
// row belongs to the cell of its nearest centre.  A search reads the rows of the few cells that are
// nearest to its query.
//
//     SrCells *cells;   sr_cells_open(index, &cells);      // read from FILE.cells, or made
//     sr_cells_recall(cells, 8);                           // share of neighbours in 8 cells
//     sr_near_rows(&(SrNearOptions){.cells = cells, .probes = 8, ...}, out);
//     sr_cells_close(cells);
//
// Cells depend on the rows alone, not on the number of threads.  They lie in a file next to the
// index and are made once more when its rows have changed.
#ifndef SR_FOLDER_INDEX_CELLS_H
#define SR_FOLDER_INDEX_CELLS_H

#include "folder/index/index.h"

enum { SR_CELLS_NEAR = 10 }; // neighbours of each sampled row by which recall is measured

typedef struct {
    int k, d;         // cells, numbers per centre
    int64_t n;        // rows of the index
    float *centre;    // (k, d) of length 1
    int32_t *start;   // (k + 1) the rows of cell c are row[start[c]] to row[start[c + 1] - 1]
    int32_t *row;     // (n) rows of the index, rising within a cell
    int32_t *rank;    // (k) sampled neighbours by the rank of their cell for the query, 0: nearest
    int32_t sampled;  // rows whose neighbours were searched for exactly
    int64_t expected; // sum of `rank`
} SrCells;

// Reads the cells of an index, or makes and saves them.  A file that cannot be written is warned
// of.  SR_ERR_MEMORY: out of memory.  SR_ERR_CONFIG: the index has no rows.
SrStatus sr_cells_open(const SrIndex *index, SrCells **out);
void sr_cells_close(SrCells *cells); // NULL is legal

// Returns the share of the SR_CELLS_NEAR nearest other rows of the sampled rows that lie in the
// `probes` cells nearest to them.  1: there are no other rows.
double sr_cells_recall(const SrCells *cells, int probes);
// Prints that a search of `probes` cells is approximate, with the recall.
void sr_cells_say(const SrCells *cells, int probes);

// Finds the `probes` cells whose centres have the largest products, best first; ties go to the
// smaller cell.  product: (k) with the query.  out: (probes), 1 <= probes <= k.
void sr_cells_choose(const SrCells *cells, const float *product, int probes, int32_t *out);

#endif
