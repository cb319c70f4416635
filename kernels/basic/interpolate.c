// interpolate: bilinear resizing of maps and images, torch.nn.functional.interpolate with
// mode="bilinear", align_corners=False and antialias=False.
//
//   y[n, i, j] = (1 - a) ((1 - b) x[n, p, q] + b x[n, p, q']) + a ((1 - b) x[n, p', q] + ...)
//
// Row i of the result lies at (i + 1/2) H / h - 1/2 among the rows of x, at least 0; p is its whole
// part, a the rest, and p' = min(p + 1, H - 1).  Columns are treated alike.  A result of less than
// half the size leaves pixels out.
#include "kernels/basic/interpolate.h"

#include <stddef.h>

#include "kernels/core/op_util.h"

#define FIELD(f) offsetof(SrInterpolateParams, f)
static const SrOption options[] = {
    {"h", SR_OPT_INT, FIELD(h), "1", 1, 65535, .help = "Rows of the result."},
    {"w", SR_OPT_INT, FIELD(w), "1", 1, 65535, .help = "Columns of the result."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrInterpolateParams *p = params;
    SR_TRY(sr__expect_rank("interpolate", x, n_in, 4, 4));
    if (p->h < 1 || p->w < 1 || x[0].d[1] < 1 || x[0].d[2] < 1)
        return sr__shape_fail("interpolate", x, n_in, "at least one row and one column");
    *y = SR_SHAPE(x[0].d[0], p->h, p->w, x[0].d[3]);
    return SR_OK;
}

// Two neighbours among `n` rows or columns, and the weight of the second.
typedef struct {
    int first, second;
    double weight;
} Place;

static Place place_of(int i, int to, int n) {
    double at = (i + 0.5) * n / to - 0.5;
    if (at < 0)
        at = 0;
    int first = SR_MIN((int)at, n - 1);
    return (Place){first, SR_MIN(first + 1, n - 1), at - first};
}

// The four pixels that one pixel of the result is made of: offsets into an image (H, W, C), and
// their weights.
typedef struct {
    int64_t at[4];
    double weight[4];
} Corners;

static Corners corners_of(Place row, Place column, int W, int C) {
    Corners c;
    for (int k = 0; k < 4; k++) {
        int r = k < 2 ? row.first : row.second, q = k % 2 ? column.second : column.first;
        c.at[k] = ((int64_t)r * W + q) * C;
        c.weight[k] =
            (k < 2 ? 1 - row.weight : row.weight) * (k % 2 ? column.weight : 1 - column.weight);
    }
    return c;
}

static void reference(const SrRefCall *call) {
    SrShape x = call->x_shape[0], y = call->y_shape;
    for (int64_t i = 0; i < sr_shape_count(y); i++) {
        int64_t c = i % y.d[3], j = i / y.d[3] % y.d[2], r = i / y.d[3] / y.d[2] % y.d[1];
        int64_t n = i / y.d[3] / y.d[2] / y.d[1];
        Corners k = corners_of(place_of((int)r, y.d[1], x.d[1]), place_of((int)j, y.d[2], x.d[2]),
                               x.d[2], x.d[3]);
        const double *image = call->x[0] + n * x.d[1] * x.d[2] * x.d[3];
        call->y[i] = 0;
        for (int m = 0; m < 4; m++)
            call->y[i] += k.weight[m] * image[k.at[m] + c];
    }
}

static void pixel(const float *image, const Corners *k, int C, float *y) {
    const float *a = image + k->at[0], *b = image + k->at[1], *c = image + k->at[2],
                *d = image + k->at[3];
    float wa = (float)k->weight[0], wb = (float)k->weight[1], wc = (float)k->weight[2],
          wd = (float)k->weight[3];
    for (int i = 0; i < C; i++)
        y[i] = wa * a[i] + wb * b[i] + (wc * c[i] + wd * d[i]);
}

static void forward(const SrOpCall *call) {
    SrShape x = call->x[0].shape, y = call->y.shape;
    int64_t row = (int64_t)y.d[2] * y.d[3], rows = (int64_t)y.d[0] * y.d[1];
#pragma omp parallel for schedule(static) if (rows * row > SR_CHUNK)
    for (int64_t i = 0; i < rows; i++) {
        const float *image = (const float *)call->x[0].data + i / y.d[1] * x.d[1] * x.d[2] * x.d[3];
        Place at = place_of((int)(i % y.d[1]), y.d[1], x.d[1]);
        for (int j = 0; j < y.d[2]; j++) {
            Corners k = corners_of(at, place_of(j, y.d[2], x.d[2]), x.d[2], x.d[3]);
            pixel(image, &k, y.d[3], (float *)call->y.data + i * row + (int64_t)j * y.d[3]);
        }
    }
}

// Adds the gradient of one pixel to those of its four pixels, which may be the same one.
static void spread(const float *dy, const Corners *k, int C, float *dx) {
    for (int m = 0; m < 4; m++) {
        float weight = (float)k->weight[m], *to = dx + k->at[m];
        for (int i = 0; i < C; i++)
            to[i] += weight * dy[i];
    }
}

// One thread adds up an image, in the order of the result's pixels.
static void backward(const SrOpCall *call) {
    SrShape x = call->x[0].shape, y = call->y.shape;
    int64_t in = (int64_t)x.d[1] * x.d[2] * x.d[3], out = (int64_t)y.d[1] * y.d[2] * y.d[3];
    if (!call->dx[0])
        return;
    sr__zero(call->dx[0], x.d[0] * in);
#pragma omp parallel for schedule(static) if (x.d[0] * out > SR_CHUNK)
    for (int n = 0; n < x.d[0]; n++)
        for (int i = 0; i < y.d[1]; i++) {
            Place at = place_of(i, y.d[1], x.d[1]);
            const float *dy = call->dy + n * out + (int64_t)i * y.d[2] * y.d[3];
            for (int j = 0; j < y.d[2]; j++, dy += y.d[3]) {
                Corners k = corners_of(at, place_of(j, y.d[2], x.d[2]), x.d[2], x.d[3]);
                spread(dy, &k, y.d[3], call->dx[0] + n * in);
            }
        }
}

static const SrOpCase cases[] = {
    {"{h: 7, w: 5}", 1, {SR_SHAPE(2, 3, 4, 3)}, false},
    {"{h: 2, w: 3}", 1, {SR_SHAPE(3, 5, 7, 6)}, false},
    {"{h: 4, w: 1}", 1, {SR_SHAPE(1, 4, 1, 9)}, false},
    {"{h: 33, w: 40}", 1, {SR_SHAPE(1, 3, 12, 17)}, false},
};

const SrOp sr_op_interpolate = {
    .name = "interpolate",
    .help = "Bilinear resizing of maps and images.",
    .options = options,
    .params_bytes = sizeof(SrInterpolateParams),
    .min_in = 1,
    .max_in = 1,
    .infer = infer,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
