// The table of input pointers: see conv_pixels.h.
#include "kernels/conv_pixels.h"

#include <string.h>

#include "base/compiler.h"

SrConvPlace sr__conv_place(const SrConvGrid *g, int64_t i) {
    int64_t area = (int64_t)g->grid_h * g->grid_w;
    int64_t n = g->images_inside ? i % g->N : i / area;
    int at = (int)(g->images_inside ? i / g->N : i % area);
    return (SrConvPlace){(int)n, at / g->grid_w, at % g->grid_w};
}

// The same for the pixel after it.
static void advance(const SrConvGrid *g, SrConvPlace *at) {
    if (g->images_inside) {
        if (++at->n < g->N)
            return;
        at->n = 0;
    }
    if (++at->b < g->grid_w)
        return;
    at->b = 0;
    if (++at->a < g->grid_h)
        return;
    at->a = 0;
    at->n++;
}

// A run that the edge of the image cuts, w < 0 or w + run > W: its inside copied, zeros around.
static const float *cut_run(const SrConvGrid *g, const float *row, int w, float *edge) {
    int from = SR_MAX(w, 0), to = SR_MIN(w + g->run, g->W);
    size_t floats = sizeof(float) * (size_t)g->C;
    memset(edge, 0, floats * (size_t)g->run);
    memcpy(edge + (from - w) * g->C, row + (int64_t)from * g->C, floats * (size_t)(to - from));
    return edge;
}

void sr__conv_pixels(const SrConvGrid *g, int64_t first, int count, const float **in, int stride, float *edge) {
    SrConvPlace at = sr__conv_place(g, first);
    for (int i = 0; i < count; i++, advance(g, &at)) {
        const float *image = g->in + (int64_t)at.n * g->H * g->W * g->C;
        for (int t = 0; t < g->taps; t++) {
            int h = at.a * g->step_h + g->tap[t].dh, w = at.b * g->step_w + g->tap[t].dw;
            const float **slot = &in[(int64_t)g->tap[t].id * stride + i];
            if (h < 0 || h >= g->H || w + g->run <= 0 || w >= g->W) {
                *slot = g->zeros;
                continue;
            }
            const float *row = image + (int64_t)h * g->W * g->C;
            if (w >= 0 && w + g->run <= g->W)
                *slot = row + (int64_t)w * g->C;
            else
                *slot = cut_run(g, row, w, edge + ((int64_t)t * stride + i) * g->run * g->C);
        }
    }
}

// With 16 channels and more a tap is long enough by itself, and skipping taps is worth more than folding.
int sr__conv_run(const SrConvShape *s) {
    return s->groups == 1 && s->C < 16 && s->dilation_w == 1 ? s->S : 1;
}

int sr__conv_taps(const SrConvShape *s, int run, SrConvTap *tap) {
    int columns = s->S / run;
    for (int t = 0; t < s->R * columns; t++)
        tap[t] = (SrConvTap){t / columns * s->dilation_h - s->pad_h, t % columns * s->dilation_w - s->pad_w, t};
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
