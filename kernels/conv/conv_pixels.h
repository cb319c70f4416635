// Where the inputs of a run of output pixels lie: the table of pointers that makes a convolution a
// matrix product without copying its input (implicit GEMM).  Only kernels/conv/*.c include this.
//
// A grid is the set of outputs (image, a, b), a < grid_h, b < grid_w.  Output (a, b) reads, under
// tap t, `run` neighbouring pixels of a row that begin at (a * step_h + dh, b * step_w + dw).  A
// run of one is the usual case.  With few channels (an image's three) a whole kernel row is one
// run: S * C floats side by side.
#ifndef SR_KERNELS_CONV_CONV_PIXELS_H
#define SR_KERNELS_CONV_CONV_PIXELS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/conv/conv_shape.h"

typedef struct {
    int dh, dw;
    int id; // of the tap among all of the kernel: its row in the table and its place in packed
            // weights
} SrConvTap;

typedef struct {
    const float *in; // (N, H, W, C)
    int N, H, W, C;
    int grid_h, grid_w, step_h, step_w;
    int run;
    const SrConvTap *tap; // (taps)
    int taps;
    // Pixels in the order (a, b, image) instead of (image, a, b): neighbours in a tile then share
    // their place in the image, and a tap that is outside for one is outside for all and can be
    // skipped.
    bool images_inside;
    const float *zeros; // (run * C): what is read outside the image
} SrConvGrid;

// Place of pixel i in the grid's order: image, row and column.  The return value says how many of
// the next `most` pixels, pixel i included, are its neighbours in a row (or, with images inside,
// lie at the same place of the next images).
typedef struct {
    int n, a, b, together;
} SrConvPlace;
SrConvPlace sr__conv_place(const SrConvGrid *g, int64_t i, int most);

// Fills in[id * stride + i] for the pixels first + i, i < count.  Runs that the image's edge cuts
// are copied to `edge`, (stride * taps, run * C) floats; `edge` is unused when run is 1.
void sr__conv_pixels(const SrConvGrid *g, int64_t first, int count, const float **in, int stride,
                     float *edge);

// Returns the same convolution over one long row of pixels where it is 1x1 and reads each pixel
// once.  Tables are then filled a run at a time.
SrConvShape sr__conv_flat(const SrConvShape *s);

// Returns the number of kernel columns that make one run: S where a row is worth folding, else 1.
int sr__conv_run(const SrConvShape *s);
// Writes the taps of the forward pass, (R * S / run), to `tap` and returns their number.
int sr__conv_taps(const SrConvShape *s, int run, SrConvTap *tap);

// Returns the share of taps inside the image, over all outputs; 1 without padding.
double sr__conv_inside(const SrConvShape *s);

#endif
