// A first look at the products of rows with other rows, where only the largest ones are wanted.
//
// The look multiplies what is left of the rows a and b without a centre c:
//     a b = (a - c)(b - c) + c b + c (a - c)
// Tile registers multiply pairs of bfloat16, which is many times as fast as floats; other machines
// multiply floats.  The error is bounded, so a caller who wants the products from a bar on computes
// exactly those alone whose look comes near the bar.  His answers do not depend on the look.
//
//     sr_glance_left(g, a, n);                      once for the rows that ask
//     sr_glance_right(g, b, m);                     for each tile of the others
//     sr_glance_multiply(g, NULL, first, rows);     for a run of the rows that ask
//     while ((j = sr_glance_next(g, i, bar, j + 1)) < m)
//         the product of row i with row j may reach the bar: sr_glance_exact tells
#ifndef SR_KERNELS_CORE_ROW_GLANCE_H
#define SR_KERNELS_CORE_ROW_GLANCE_H

#include <stdint.h>

#include "base/status.h"
#include "kernels/machine.h"

// Columns that sr_glance_next compares at once.
enum { SR_GLANCE_STEP = 32 };

// Work space of one thread.
typedef struct {
    const SrMachine *machine;
    bool pairs;                           // bfloat16 pairs, not floats
    int d, width;                         // numbers per row; floats per packed row
    int left_cap, right_cap, product_cap; // rows for which there is room
    int left_n, right_n;                  // rows that are packed
    const float *centre;                  // (d), borrowed
    const float *a, *b;                   // (left_n, d), (right_n, d) the rows, borrowed
    double centre_length, right_length;   // of c; the largest of the tile's b - c
    float *left;                          // (left_cap, width) packed a - c
    float *shift, *left_length;           // (left_cap) c (a - c) and the length of a - c
    float *right;                         // (width, right_cap) packed b - c
    float *bias;                          // (right_cap) c b
    float *rest;                          // (right_cap, width) rows on their way
    float *product;                       // (product_cap, right_cap)
    int32_t *asks;                        // (product_cap) rows of the left that were multiplied
} SrGlance;

// Takes room for `left` rows that ask and tiles of `right` others, `product` rows of which are
// multiplied at once.  centre: (d), borrowed; any vector is right, and one near the mean of the
// rows lets fewest products pass.  Free with sr_glance_deinit, also after a failure.
SrStatus sr_glance_init(SrGlance *g, const SrMachine *machine, const float *centre, int d, int left,
                        int right, int product);
void sr_glance_deinit(SrGlance *g);

void sr_glance_left(SrGlance *g, const float *a, int n);
void sr_glance_right(SrGlance *g, const float *b, int n);
// Multiplies n rows of the left with the tile: those numbered in `which`, or `first` and the next
// ones if it is NULL.
void sr_glance_multiply(SrGlance *g, const int32_t *which, int first, int n);

// Returns the first column from j on whose product with row i of the last multiplication may be at
// least `bar`, or the number of columns.  Products that are no number pass.
int sr_glance_next(const SrGlance *g, int i, float bar, int j);
// Returns the product of row i of the last multiplication with column j, summed in double.
float sr_glance_exact(const SrGlance *g, int i, int j);

#endif
