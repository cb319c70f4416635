// Pooling over windows of a map: code shared by max_pool2d, avg_pool2d and their adaptive forms.
#ifndef SR_KERNELS_POOL_POOL2D_WINDOWS_H
#define SR_KERNELS_POOL_POOL2D_WINDOWS_H

#include "kernels/core/op_onnx.h"
#include "kernels/machine.h"

// Windows along one axis.  Output i reads input [low, high), cut at the borders.
typedef struct {
    int in, out;
    int kernel, stride, pad; // kernel 0: adaptive, [floor(i in / out), ceil((i + 1) in / out))
} SrPoolAxis;

// ceil_mode: a last window may reach beyond the border.
SrPoolAxis sr__pool_axis(int in, int kernel, int stride, int pad, bool ceil_mode);

typedef struct {
    int N, C;
    SrPoolAxis h, w;
    bool ceil_mode;   // true: the last window may reach beyond the border
    bool exclude_pad; // a mean divides by the pixels inside the map
} SrPool;

// Shapes: x (N, H, W, C), y (N, P, Q, C), floats or bfloat16.  where (N, P, Q, C) receives the
// place of the maximum in its window, counted from the window's first cell before the cut.  Among
// equals the first wins, and NaN wins over all, as in PyTorch.
void sr__pool_max(const SrMachine *machine, const SrPool *pool, SrDtype type, const void *x,
                  void *y, uint16_t *where);
void sr__pool_max_grad(const SrMachine *machine, const SrPool *pool, SrDtype type, const void *dy,
                       const uint16_t *where, void *dx);
// x and dx have the type of `map`, y and dy that of `means`.
void sr__pool_mean(const SrMachine *machine, const SrPool *pool, SrDtype map, const void *x,
                   SrDtype means, void *y);
void sr__pool_mean_grad(const SrMachine *machine, const SrPool *pool, SrDtype means, const void *dy,
                        SrDtype map, void *dx);
void sr__pool_reference(const SrPool *pool, bool max, const double *x, double *y);

// A window that holds a pixel, at place `place` of the window.
typedef struct {
    const void *dy;        // (C)
    const uint16_t *where; // (C)
    int place;
} SrPoolWindow;

// A window that holds a pixel: its dy, of which the pixel gets a share.
typedef struct {
    const void *dy;
    float factor;
} SrPoolShare;

typedef struct {
    // y (C) = the maximum over rows x cols pixels of x, where (C) = its place first + r * step +
    // s.  Pixels of a row lie C apart, rows `stride` apart.
    void (*max_window)(SrDtype type, void *y, uint16_t *where, const void *x, int rows, int cols,
                       int64_t stride, int C, int first, int step);
    // dx (C) = or, with `add`, += the sum over n windows of dy where the maximum was at `place`.
    void (*max_take)(SrDtype type, void *dx, const SrPoolWindow *windows, int n, bool add, int C);
    // y (C) = factor times the sum over rows x cols pixels of x, laid out as in max_window.
    void (*mean_window)(SrDtype to, void *y, SrDtype type, const void *x, int rows, int cols,
                        int64_t stride, int C, float factor);
    // dx (C) = or += the sum of factor dy over the windows.
    void (*mean_take)(SrDtype to, void *dx, SrDtype type, const SrPoolShare *windows, int n,
                      bool add, int C);
} SrPoolKernels;
SR_CPU_TABLES_BF16(SrPoolKernels, sr__pool_kernels);

#endif
