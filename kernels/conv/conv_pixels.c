// Fills the table of pointers to input pixels that makes a convolution a matrix product
// (conv_pixels.h).
#include "kernels/conv/conv_pixels.h"

#include <string.h>

#include "base/compiler.h"

SrConvPlace sr__conv_place(const SrConvGrid *g, int64_t i, int most) {
    int64_t area = (int64_t)g->grid_h * g->grid_w;
    int64_t n = g->images_inside ? i % g->N : i / area;
    int at = (int)(g->images_inside ? i / g->N : i % area);
    SrConvPlace place = {(int)n, at / g->grid_w, at % g->grid_w, 0};
    place.together = SR_MIN(most, g->images_inside ? g->N - place.n : g->grid_w - place.b);
    SR_ASSERT(place.n < g->N && place.a < g->grid_h && place.together > 0);
    return place;
}

// Copies a run that the edge of the image cuts, w < 0 or w + run > W: the part inside, with zeros
// around.
static const float *cut_run(const SrConvGrid *g, const float *row, int w, float *edge) {
    int from = SR_MAX(w, 0), to = SR_MIN(w + g->run, g->W);
    SR_ASSERT(from < to); // a run outside of the image is a run of zeros
    size_t floats = sizeof(float) * (size_t)g->C;
    memset(edge, 0, floats * (size_t)g->run);
    memcpy(edge + (from - w) * g->C, row + (int64_t)from * g->C, floats * (size_t)(to - from));
    return edge;
}

// Returns the first i, 0 to n, for which w + i * step is at least `least`.
static int first_from(int w, int step, int least, int n) {
    if (w >= least)
        return 0;
    return SR_MIN(n, step == 1 ? least - w : (least - w + step - 1) / step);
}

// Lists n pixels that lie `step` floats apart, in vectors.
static void fill_even(const float **in, const float *first, int64_t step, int n) {
    for (int i = 0; i < n; i++)
        in[i] = first + i * step;
}

// Returns pixel i of a run of pixels whose first lies at column w of `row`, at or past the edge.
static const float *edge_pixel(const SrConvGrid *g, const float *row, int w, int i, float *edge) {
    w += i * g->step_w;
    if (w + g->run <= 0 || w >= g->W)
        return g->zeros;
    return cut_run(g, row, w, edge + (int64_t)i * g->run * g->C);
}

// Lists pixels (n, a, b) to (n, a, b + together - 1) under one tap: left of the image, within it
// and right of it.
static void fill_row(const SrConvGrid *g, const SrConvTap *tap, SrConvPlace at, const float **in,
                     float *edge) {
    int h = at.a * g->step_h + tap->dh, w = at.b * g->step_w + tap->dw, n = at.together;
    bool outside = h < 0 || h >= g->H;
    const float *row = outside ? NULL : g->in + ((int64_t)at.n * g->H + h) * g->W * g->C;
    int64_t step = (int64_t)g->step_w * g->C;
    if (outside) {
        fill_even(in, g->zeros, 0, n);
    } else if (w >= 0 && w + (n - 1) * g->step_w + g->run <= g->W) {
        fill_even(in, row + (int64_t)w * g->C, step, n);
    } else {
        int from = first_from(w, g->step_w, 0, n),
            to = first_from(w, g->step_w, g->W - g->run + 1, n);
        for (int i = 0; i < from; i++)
            in[i] = edge_pixel(g, row, w, i, edge);
        if (from < to)
            fill_even(in + from, row + (int64_t)(w + from * g->step_w) * g->C, step, to - from);
        for (int i = SR_MAX(from, to); i < n; i++)
            in[i] = edge_pixel(g, row, w, i, edge);
    }
}

// Lists pixel (n, a, b) of images n to n + together - 1 under one tap.
static void fill_images(const SrConvGrid *g, const SrConvTap *tap, SrConvPlace at, const float **in,
                        float *edge) {
    int count = at.together;
    at.together = 1;
    fill_row(g, tap, at, in, edge);
    bool direct = in[0] != g->zeros && in[0] != edge;
    for (int i = 1; i < count; i++) {
        at.n++;
        if (direct)
            in[i] = in[i - 1] + (int64_t)g->H * g->W * g->C;
        else
            fill_row(g, tap, at, in + i, edge + (int64_t)i * g->run * g->C);
    }
}

void sr__conv_pixels(const SrConvGrid *g, int64_t first, int count, const float **in, int stride,
                     float *edge) {
    SrConvPlace at;
    SR_ASSERT(count <= stride);
    for (int i = 0; i < count; i += at.together) {
        at = sr__conv_place(g, first + i, count - i);
        for (int t = 0; t < g->taps; t++) {
            const float **to = in + (int64_t)g->tap[t].id * stride + i;
            float *cut = edge + ((int64_t)t * stride + i) * g->run * g->C;
            if (g->images_inside)
                fill_images(g, &g->tap[t], at, to, cut);
            else
                fill_row(g, &g->tap[t], at, to, cut);
        }
    }
}

SrConvShape sr__conv_flat(const SrConvShape *s) {
    SrConvShape flat = *s;
    int64_t pixels = (int64_t)s->N * s->H * s->W;
    bool alike = s->R * s->S == 1 && s->stride_h * s->stride_w == 1 && s->pad_h + s->pad_w == 0;
    if (alike && pixels <= INT32_MAX / 2) {
        flat.N = flat.H = flat.P = 1;
        flat.W = flat.Q = (int)pixels;
    }
    return flat;
}

// With 16 channels or more a tap is long enough by itself, and skipping taps outside the image
// saves more than folding.
int sr__conv_run(const SrConvShape *s) {
    return s->groups == 1 && s->C < 16 && s->dilation_w == 1 ? s->S : 1;
}

int sr__conv_taps(const SrConvShape *s, int run, SrConvTap *tap) {
    int columns = s->S / run;
    SR_ASSERT(columns * run == s->S);
    for (int t = 0; t < s->R * columns; t++)
        tap[t] = (SrConvTap){t / columns * s->dilation_h - s->pad_h,
                             t % columns * s->dilation_w - s->pad_w, t};
    return s->R * columns;
}

static double inside_axis(int outputs, int taps, int stride, int pad, int dilation, int size) {
    int inside = 0;
    for (int p = 0; p < outputs; p++)
        for (int t = 0; t < taps; t++) {
            int h = p * stride - pad + t * dilation;
            inside += h >= 0 && h < size;
        }
    return (double)inside / ((double)outputs * taps);
}

double sr__conv_inside(const SrConvShape *s) {
    return inside_axis(s->P, s->R, s->stride_h, s->pad_h, s->dilation_h, s->H) *
           inside_axis(s->Q, s->S, s->stride_w, s->pad_w, s->dilation_w, s->W);
}
