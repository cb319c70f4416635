// Patches: 3 x 3 averages, bilinear resizing, and the way back from patches to pixels.
#include "measure/patches/patch_maps.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"

// Averages 3 x 3 positions; the divisor is 9 at the borders too.  out: (h, w, c).
static void average(const SrPatchLayer *l, float *out) {
    int64_t row = (int64_t)l->w * l->c;
    memset(out, 0, (size_t)l->h * (size_t)row * sizeof *out);
    for (int y = 0; y < l->h; y++)
        for (int v = SR_MAX(y - 1, 0); v <= SR_MIN(y + 1, l->h - 1); v++)
            for (int x = 0; x < l->w; x++)
                for (int u = SR_MAX(x - 1, 0); u <= SR_MIN(x + 1, l->w - 1); u++) {
                    const float *from = l->x + v * row + (int64_t)u * l->c; // (c)
                    float *to = out + y * row + (int64_t)x * l->c;          // (c)
                    for (int c = 0; c < l->c; c++)
                        to[c] += from[c] / 9;
                }
}

SrPatchPlace sr_patch_place(int at, int from, int to) {
    double p = SR_MAX(((double)at + 0.5) * (double)from / (double)to - 0.5, 0.0);
    int low = SR_MIN((int)p, from - 1);
    return (SrPatchPlace){low, SR_MIN(low + 1, from - 1), (float)(p - low)};
}

// Resizes `from` (h, w, c) to (height, width) rows of `stride` floats, of which c are written.
static void resize(const float *from, int h, int w, int c, int height, int width, int stride,
                   float *out) {
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            SrPatchPlace v = sr_patch_place(y, h, height), u = sr_patch_place(x, w, width);
            const float *a = from + ((int64_t)v.low * w + u.low) * c;
            const float *b = from + ((int64_t)v.low * w + u.high) * c;
            const float *e = from + ((int64_t)v.high * w + u.low) * c;
            const float *f = from + ((int64_t)v.high * w + u.high) * c;
            float *to = out + ((int64_t)y * width + x) * stride;
            for (int k = 0; k < c; k++) {
                float top = a[k] + (b[k] - a[k]) * u.part, low = e[k] + (f[k] - e[k]) * u.part;
                to[k] = top + (low - top) * v.part;
            }
        }
}

SrStatus sr_patch_embed(const SrPatchLayer *layer, int n_layers, bool pool, float *out) {
    int64_t most = 0;
    int d = 0;
    for (int i = 0; i < n_layers; i++) {
        most = SR_MAX(most, (int64_t)layer[i].h * layer[i].w * layer[i].c);
        d += layer[i].c;
    }
    float *map = sr_alloc((size_t)most * sizeof *map);
    SR_TRY_MEMORY(map, "the patches of an image");
    for (int i = 0, first = 0; i < n_layers; first += layer[i++].c) {
        const SrPatchLayer *l = &layer[i];
        if (pool)
            average(l, map);
        resize(pool ? map : l->x, l->h, l->w, l->c, layer[0].h, layer[0].w, d, out + first);
    }
    sr_free(map);
    return SR_OK;
}

void sr_patch_resize(const float *map, int h, int w, int c, int height, int width, float *out) {
    resize(map, h, w, c, height, width, c, out);
}

typedef struct {
    const float *score;
    int h, w, c, height, width;
    uint8_t *label;
} Argmax;

// Labels one row of pixels.
static void argmax_row(void *arg, int64_t y, int thread) {
    (void)thread;
    const Argmax *a = arg;
    SrPatchPlace v = sr_patch_place((int)y, a->h, a->height);
    const float *high = a->score + (int64_t)v.low * a->w * a->c; // (w, c), the row above
    const float *low = a->score + (int64_t)v.high * a->w * a->c;
    for (int x = 0; x < a->width; x++) {
        SrPatchPlace u = sr_patch_place(x, a->w, a->width);
        int64_t left = (int64_t)u.low * a->c, right = (int64_t)u.high * a->c;
        float best = 0;
        int label = -1;
        for (int k = 0; k < a->c; k++) {
            float above = high[left + k] + (high[right + k] - high[left + k]) * u.part;
            float below = low[left + k] + (low[right + k] - low[left + k]) * u.part;
            float value = above + (below - above) * v.part;
            if (label < 0 || value > best) {
                best = value;
                label = k;
            }
        }
        a->label[y * a->width + x] = (uint8_t)label;
    }
}

void sr_patch_argmax(const float *score, int h, int w, int c, int height, int width,
                     uint8_t *label) {
    Argmax a = {score, h, w, c, height, width, label};
    sr_parallel_for(height, argmax_row, &a);
}

// ---- heat maps ----------------------------------------------------------------------------------

// Returns index i mirrored into 0 .. n - 1, the border itself repeated (scipy's "reflect").
static int mirror(int i, int n) {
    int period = 2 * n, at = ((i % period) + period) % period;
    return at < n ? at : period - 1 - at;
}

// Smooths n values that lie `step` apart.  weight: (2 * radius + 1).  line: (n) work space.
static void smooth(float *x, int n, int64_t step, const double *weight, int radius, float *line) {
    for (int i = 0; i < n; i++)
        line[i] = x[i * step];
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = -radius; j <= radius; j++)
            sum += weight[j + radius] * (double)line[mirror(i + j, n)];
        x[i * step] = (float)sum;
    }
}

SrStatus sr_patch_heat(const float *score, int h, int w, int height, int width, double sigma,
                       float *heat) {
    int radius = (int)(4 * sigma + 0.5);
    double *weight = sr_alloc((size_t)(2 * radius + 1) * sizeof *weight), sum = 0;
    float *line = sr_alloc((size_t)SR_MAX(height, width) * sizeof *line);
    bool enough = weight && line;
    if (enough) {
        resize(score, h, w, 1, height, width, 1, heat);
        for (int j = -radius; j <= radius; j++)
            sum += weight[j + radius] =
                sigma > 0 ? exp(-0.5 * (double)j * (double)j / (sigma * sigma)) : 1;
        for (int j = 0; j <= 2 * radius; j++)
            weight[j] /= sum;
        for (int y = 0; y < height; y++)
            smooth(heat + (int64_t)y * width, width, 1, weight, radius, line);
        for (int x = 0; x < width; x++)
            smooth(heat + x, height, width, weight, radius, line);
    }
    sr_free(weight);
    sr_free(line);
    return enough ? SR_OK : sr_out_of_memory("a heat map");
}
