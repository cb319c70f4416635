// Pooling over windows of a map (pool2d_windows.h).  Forward runs over rows of the output, backward
// over rows of the input, so that each number is written by one thread in one order.
#include "kernels/pool/pool2d_windows.h"

#include <string.h>

#include "base/compiler.h"
#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

typedef struct {
    int low, high; // cut at the borders
    int start;     // before the cut
} Span;

static Span span(SrPoolAxis a, int i) {
    SR_ASSERT(i >= 0 && i < a.out);
    if (!a.kernel) {
        int low = (int)((int64_t)i * a.in / a.out),
            high = (int)(((int64_t)(i + 1) * a.in + a.out - 1) / a.out);
        return (Span){low, high, low};
    }
    int start = i * a.stride - a.pad;
    return (Span){SR_MAX(start, 0), SR_MIN(start + a.kernel, a.in), start};
}

// Returns the cells in a row of the uncut window, which number the places.
static int place_step(SrPoolAxis w, Span s) { return w.kernel ? w.kernel : s.high - s.low; }

SrPoolAxis sr__pool_axis(int in, int kernel, int stride, int pad, bool ceil_mode) {
    SrPoolAxis a = {.in = in, .kernel = kernel, .stride = stride, .pad = pad};
    int room = in + 2 * pad - kernel;
    a.out = room < 0 ? 0 : (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (ceil_mode && (a.out - 1) * stride >= in + pad) // PyTorch: the last window starts inside
        a.out--;
    return a;
}

static bool parallel_pays(const SrPool *p) {
    return (int64_t)p->N * p->h.in * p->w.in * p->C > SR_CHUNK;
}

// A row of outputs is one task; each window is walked with its channels contiguous.
void sr__pool_max(const SrMachine *machine, const SrPool *pool, SrDtype type, const void *x,
                  void *y, uint16_t *where) {
    const SrPoolKernels *k = SR_CPU_PICK_BF16(machine, sr__pool_kernels);
    SrPool p = *pool;
    int64_t stride = (int64_t)p.w.in * p.C; // from row to row of x
#pragma omp parallel for schedule(static) if (parallel_pays(pool))
    for (int row = 0; row < p.N * p.h.out; row++) {
        Span h = span(p.h, row % p.h.out);
        int64_t image = row / p.h.out * p.h.in * stride;
        for (int q = 0; q < p.w.out; q++) {
            Span w = span(p.w, q);
            int step = place_step(p.w, w);
            int64_t at = ((int64_t)row * p.w.out + q) * p.C;
            k->max_window(type, sr__at(type, y, at), where + at,
                          sr__at(type, x, image + h.low * stride + (int64_t)w.low * p.C),
                          h.high - h.low, w.high - w.low, stride, p.C,
                          (h.low - h.start) * step + w.low - w.start, step);
        }
    }
}

// Moves [low, high), the outputs whose window holds an input before `at`, on to those of `at`.
static void move_owners(SrPoolAxis a, int at, Span *s) {
    while (s->low < a.out && span(a, s->low).high <= at)
        s->low++;
    s->high = SR_MAX(s->high, s->low);
    while (s->high < a.out && span(a, s->high).low <= at)
        s->high++;
}

// Returns the outputs whose window holds input `at`, as [low, high); the windows' ends grow with
// their index.
static Span owners(SrPoolAxis a, int at) {
    Span s = {0, 0, 0};
    move_owners(a, at, &s);
    return s;
}

enum { WINDOWS = 16 }; // windows taken at a time

// Computes dx (C) of the input (at_h, at_w) of image n, from the outputs up x across.
static void take_pixel(const SrPool *p, const SrPoolKernels *k, SrDtype type, const void *dy,
                       const uint16_t *where, int n, int at_h, Span up, int at_w, Span across,
                       void *dx) {
    SrPoolWindow windows[WINDOWS];
    int count = 0;
    bool add = false;
    for (int i = up.low; i < up.high; i++)
        for (int q = across.low; q < across.high; q++) {
            Span h = span(p->h, i), w = span(p->w, q);
            int64_t from = (((int64_t)n * p->h.out + i) * p->w.out + q) * p->C;
            int place = (at_h - h.start) * place_step(p->w, w) + at_w - w.start;
            SR_ASSERT(place >= 0 && count <= WINDOWS);
            if (count == WINDOWS) {
                k->max_take(type, dx, windows, count, add, p->C);
                count = 0, add = true;
            }
            windows[count++] = (SrPoolWindow){sr__at(type, dy, from), where + from, place};
        }
    k->max_take(type, dx, windows, count, add, p->C);
}

// A row of inputs is one task, and each input asks the windows that hold it.  Overlapping windows
// then add up in one order without atomics, and dx is written once.
void sr__pool_max_grad(const SrMachine *machine, const SrPool *pool, SrDtype type, const void *dy,
                       const uint16_t *where, void *dx) {
    const SrPoolKernels *k = SR_CPU_PICK_BF16(machine, sr__pool_kernels);
    SrPool p = *pool;
#pragma omp parallel for schedule(static) if (parallel_pays(pool))
    for (int row = 0; row < p.N * p.h.in; row++) {
        int at_h = row % p.h.in, n = row / p.h.in;
        Span up = owners(p.h, at_h), across = {0, 0, 0};
        for (int v = 0; v < p.w.in; v++) {
            move_owners(p.w, v, &across);
            take_pixel(&p, k, type, dy, where, n, at_h, up, v, across,
                       sr__at(type, dx, ((int64_t)row * p.w.in + v) * p.C));
        }
    }
}

// Returns the weight of a pixel in a window's mean.
static float weight(const SrPool *p, Span h, Span w) {
    int cells = p->exclude_pad ? (h.high - h.low) * (w.high - w.low) : p->h.kernel * p->w.kernel;
    return 1.0f / (float)cells;
}

void sr__pool_mean(const SrMachine *machine, const SrPool *pool, SrDtype map, const void *x,
                   SrDtype means, void *y) {
    const SrPoolKernels *k = SR_CPU_PICK_BF16(machine, sr__pool_kernels);
    SrPool p = *pool;
    int64_t stride = (int64_t)p.w.in * p.C;
#pragma omp parallel for schedule(static) if (parallel_pays(pool))
    for (int row = 0; row < p.N * p.h.out; row++) {
        Span h = span(p.h, row % p.h.out);
        int64_t first = ((int64_t)row / p.h.out * p.h.in + h.low) * stride;
        for (int q = 0; q < p.w.out; q++) {
            Span w = span(p.w, q);
            k->mean_window(means, sr__at(means, y, ((int64_t)row * p.w.out + q) * p.C), map,
                           sr__at(map, x, first + (int64_t)w.low * p.C), h.high - h.low,
                           w.high - w.low, stride, p.C, weight(&p, h, w));
        }
    }
}

// Computes dx (C) of one pixel of image n, from the outputs up x across.
static void share_pixel(const SrPool *p, const SrPoolKernels *k, SrDtype means, const void *dy,
                        int n, Span up, Span across, SrDtype map, void *dx) {
    SrPoolShare windows[WINDOWS];
    int count = 0;
    bool add = false;
    for (int i = up.low; i < up.high; i++)
        for (int q = across.low; q < across.high; q++) {
            int64_t from = (((int64_t)n * p->h.out + i) * p->w.out + q) * p->C;
            if (count == WINDOWS) {
                k->mean_take(map, dx, means, windows, count, add, p->C);
                count = 0, add = true;
            }
            windows[count++] =
                (SrPoolShare){sr__at(means, dy, from), weight(p, span(p->h, i), span(p->w, q))};
        }
    k->mean_take(map, dx, means, windows, count, add, p->C);
}

void sr__pool_mean_grad(const SrMachine *machine, const SrPool *pool, SrDtype means, const void *dy,
                        SrDtype map, void *dx) {
    const SrPoolKernels *k = SR_CPU_PICK_BF16(machine, sr__pool_kernels);
    SrPool p = *pool;
#pragma omp parallel for schedule(static) if (parallel_pays(pool))
    for (int row = 0; row < p.N * p.h.in; row++) {
        Span up = owners(p.h, row % p.h.in), across = {0, 0, 0};
        for (int v = 0; v < p.w.in; v++) {
            move_owners(p.w, v, &across);
            share_pixel(&p, k, means, dy, row / p.h.in, up, across, map,
                        sr__at(map, dx, ((int64_t)row * p.w.in + v) * p.C));
        }
    }
}

// Computes one output by the plainest loop.  image (H, W, C).
static double window_reference(const SrPool *p, bool max, const double *image, Span h, Span w,
                               int c) {
    double best = -1.0 / 0.0, sum = 0;
    for (int i = h.low; i < h.high; i++)
        for (int j = w.low; j < w.high; j++) {
            double v = image[((int64_t)i * p->w.in + j) * p->C + c];
            best = v > best ? v : best;
            sum += v;
        }
    int cells = p->exclude_pad ? (h.high - h.low) * (w.high - w.low) : p->h.kernel * p->w.kernel;
    return max ? best : sum / cells;
}

void sr__pool_reference(const SrPool *p, bool max, const double *x, double *y) {
    for (int n = 0; n < p->N; n++)
        for (int i = 0; i < p->h.out; i++)
            for (int j = 0; j < p->w.out; j++)
                for (int c = 0; c < p->C; c++)
                    *y++ = window_reference(p, max, x + (int64_t)n * p->h.in * p->w.in * p->C,
                                            span(p->h, i), span(p->w, j), c);
}
