// windows: cuts a map into windows that do not overlap, row by row of windows, and the inverse (Liu
// et al., "Swin Transformer", arXiv:2103.14030, section 3.2).  The map is first padded with zeros
// to whole windows at the right and below, and rolled by a shift.
//
//   (N, H, W, C) -> (N, ceil(H / h) ceil(W / w), h w, C); merge: the inverse, without the padding
#include "kernels/tokens/windows.h"

#include <stddef.h>
#include <string.h>

#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"

#define FIELD(f) offsetof(SrWindowsParams, f)
static const SrOption options[] = {
    {"window_h", SR_OPT_INT, FIELD(window_h), "1", 1, 0xffff, .help = "Rows of a window."},
    {"window_w", SR_OPT_INT, FIELD(window_w), "1", 1, 0xffff, .help = "Columns of a window."},
    {"shift_h", SR_OPT_INT, FIELD(shift_h), "0", 0, 0xffff,
     .help = "Number of rows by which the map is rolled upwards."},
    {"shift_w", SR_OPT_INT, FIELD(shift_w), "0", 0, 0xffff,
     .help = "Number of columns by which the map is rolled to the left."},
    {"merge", SR_OPT_BOOL, FIELD(merge), "False",
     .help = "Join windows to a map; False: cut a map into windows."},
    {"height", SR_OPT_INT, FIELD(height), "0", 0, 0xffff, .help = "Rows of the joined map."},
    {"width", SR_OPT_INT, FIELD(width), "0", 0, 0xffff, .help = "Columns of the joined map."},
    SR_OPTION_END,
};
#undef FIELD

// The two sides of a call: a map (N, H, W, C) and windows (N, rows columns, h w, C).
typedef struct {
    int N, H, W, C;
    int rows, columns; // of windows
} Sides;

static Sides sides_of(const SrWindowsParams *p, SrShape x) {
    int H = p->merge ? p->height : x.d[1], W = p->merge ? p->width : x.d[2];
    return (Sides){x.d[0],
                   H,
                   W,
                   x.d[3],
                   (H + p->window_h - 1) / p->window_h,
                   (W + p->window_w - 1) / p->window_w};
}

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrWindowsParams *p = params;
    SR_TRY(sr__expect_rank("windows", x, n_in, 4, 4));
    Sides s = sides_of(p, x[0]);
    SrShape windows = SR_SHAPE(s.N, s.rows * s.columns, p->window_h * p->window_w, s.C);
    if (p->merge && !sr_shape_equal(x[0], windows))
        return sr__shape_fail("windows", x, n_in, "windows of a map of %d x %d", s.H, s.W);
    *y = p->merge ? SR_SHAPE(s.N, s.H, s.W, s.C) : windows;
    return SR_OK;
}

// Both sides are tokens to torch.
static bool channels_last(const void *params, bool of_input) {
    (void)params, (void)of_input;
    return true;
}

// Returns the pixel of the map at token t of window g; -1: a padded zero.
static int64_t pixel_of(const SrWindowsParams *p, const Sides *s, int g, int t) {
    int H = s->rows * p->window_h, W = s->columns * p->window_w;
    int y = (g / s->columns * p->window_h + t / p->window_w + p->shift_h) % H;
    int x = (g % s->columns * p->window_w + t % p->window_w + p->shift_w) % W;
    return y < s->H && x < s->W ? (int64_t)y * s->W + x : -1;
}

static void reference(const SrRefCall *call) {
    const SrWindowsParams *p = call->params;
    Sides s = sides_of(p, call->x_shape[0]);
    int T = p->window_h * p->window_w, G = s.rows * s.columns;
    for (int64_t row = 0; row < (int64_t)s.N * G * T; row++) {
        int64_t pixel = pixel_of(p, &s, (int)(row / T % G), (int)(row % T));
        int64_t at = row / T / G * s.H * s.W + pixel;
        for (int c = 0; c < s.C; c++)
            if (!p->merge)
                call->y[row * s.C + c] = pixel < 0 ? 0 : call->x[0][at * s.C + c];
            else if (pixel >= 0)
                call->y[at * s.C + c] = call->x[0][row * s.C + c];
    }
}

// One thread moves each window; pixels belong to one window, so either side may be the one that is
// written.
static void move(const SrWindowsParams *p, const Sides *s, SrDtype type, void *windows, void *map,
                 bool merge) {
    int T = p->window_h * p->window_w, G = s->rows * s->columns;
    size_t bytes = (size_t)s->C * sr_dtype_bytes(type);
#pragma omp parallel for schedule(static) if ((int64_t)s->N * s->H * s->W * s->C > SR_CHUNK)
    for (int i = 0; i < s->N * G; i++)
        for (int t = 0; t < T; t++) {
            int64_t pixel = pixel_of(p, s, i % G, t);
            void *to = sr__at(type, windows, ((int64_t)i * T + t) * s->C);
            void *at = sr__at(type, map, ((int64_t)(i / G) * s->H * s->W + pixel) * s->C);
            if (!merge && pixel < 0)
                memset(to, 0, bytes);
            else if (pixel >= 0)
                memcpy(merge ? at : to, merge ? to : at, bytes);
        }
}

static void forward(const SrOpCall *call) {
    const SrWindowsParams *p = call->params;
    Sides s = sides_of(p, call->x[0].shape);
    move(p, &s, call->y.dtype, p->merge ? call->x[0].data : call->y.data,
         p->merge ? call->y.data : call->x[0].data, p->merge);
}

// The gradient is the opposite move.
static void backward(const SrOpCall *call) {
    const SrWindowsParams *p = call->params;
    Sides s = sides_of(p, call->x[0].shape);
    if (call->dx[0])
        move(p, &s, call->y.dtype, p->merge ? call->dx[0] : (float *)call->dy,
             p->merge ? (float *)call->dy : call->dx[0], !p->merge);
}

// Writes a gather of one side's rows by their places on the other; a row of zeros follows the map's
// last.
static SrStatus onnx(SrOnnxCall *call) {
    const SrWindowsParams *p = call->params;
    Sides s = sides_of(p, call->x[0]);
    int T = p->window_h * p->window_w, places = s.rows * s.columns * T, pixels = s.H * s.W;
    int64_t *at = sr_arena_alloc(&call->file->arena, (size_t)SR_MAX(places, pixels) * sizeof *at);
    SR_TRY_MEMORY(at, "an ONNX graph");
    bool holes = false;
    for (int i = 0; i < places; i++) {
        int64_t pixel = pixel_of(p, &s, i / T, i % T);
        holes |= pixel < 0;
        if (!p->merge)
            at[i] = pixel < 0 ? pixels : pixel;
        else if (pixel >= 0)
            at[pixel] = i;
    }
    const char *rows =
        sr__onnx_reshape(call, "flat", sr__onnx_rows(call, 0), (const int64_t[]){0, -1, s.C}, 3);
    if (holes && !p->merge)
        rows = sr__onnx_zero_row(call, "filled", rows);
    rows = sr__onnx_gather(call, "moved", rows, 1, at, p->merge ? pixels : places);
    const int64_t dims[] = {0, call->y.d[1], call->y.d[2], s.C};
    return sr__onnx_finish(call, sr__onnx_reshape(call, "cut", rows, dims, 4));
}

static const SrOpCase cases[] = {
    {"{window_h: 2, window_w: 2}", 1, {SR_SHAPE(2, 4, 4, 3)}, false},
    {"{window_h: 2, window_w: 3, shift_h: 1, shift_w: 1}", 1, {SR_SHAPE(2, 5, 4, 2)}, false},
    {"{window_h: 2, window_w: 3, shift_h: 1, shift_w: 1, merge: True, height: 5, width: 4}",
     1,
     {SR_SHAPE(2, 6, 6, 2)},
     false},
};

const SrOp sr_op_windows = {
    .name = "windows",
    .help = "Cuts a map into shifted windows, or joins windows to a map.",
    .options = options,
    .params_bytes = sizeof(SrWindowsParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP | SR_OP_BF16,
    .infer = infer,
    .channels_last = channels_last,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
