// Weights of the resampling filters, as PIL computes them (ImagingResample).
#ifndef SR_DATA_PIXELS_FILTER_WEIGHTS_H
#define SR_DATA_PIXELS_FILTER_WEIGHTS_H

#include <stdbool.h>

#include "data/pixels/pixel.h"

// Part of an axis: `length` from `start` on, of `in` samples.
typedef struct {
    int in;
    double start, length;
} SrFilterSpan;

// True if resizing the span to `out` samples would change nothing.
static inline bool sr__filter_unchanged(SrFilterSpan span, int out) {
    return span.in == out && span.start == 0 && span.length == out;
}
// Most weights of one output, when the span is resized to `out` samples.  SR_FILTER_NEAREST has
// none.
int sr__filter_width(SrFilter filter, SrFilterSpan span, int out);
// Writes the weights of output i, which add up to 1, to w (sr__filter_width).  Returns their
// number; *first is the sample that the first one belongs to.
int sr__filter_weights(SrFilter filter, SrFilterSpan span, int out, int i, int *first, double *w);

#endif
