// Winograd's transforms, a vector of channels at a time.
//
// Lavin & Gray, "Fast Algorithms for Convolutional Neural Networks" (2015), eq. 8-13:
//     Y = A^T [ (G w G^T) . (B^T d B) ] A
// and its derivative by w:  dw = G^T [ (B^T d B) . (A dy A^T) ] G.  Interpolation points 0, 1, -1
// (m = 2), 0, 1, -1, -2 (m = 3) and 0, 1, -1, 2, -2 (m = 4), always infinity.  Each matrix is a
// function on one column or row; common terms are shared by hand.
#include "kernels/conv/conv_winograd_kernels.h"
#include "kernels/core/simd.h"

// For m = 4:
//        4  0 -5  0  1  0                                            1/4     0     0
//        0 -4 -4  1  1  0              1  1  1  1  1  0             -1/6  -1/6  -1/6
// B^T =  0  4 -4 -1  1  0      A^T =   0  1 -1  2 -2  0      G =    -1/6   1/6  -1/6
//        0 -2 -1  2  1  0              0  1  1  4  4  0              1/24  1/12   1/6
//        0  2 -1 -2  1  0              0  1 -1  8 -8  1              1/24 -1/12   1/6
//        0  4  0 -5  0  1                                               0     0     1
//
// For m = 3:
//        2  1 -2 -1  0                                            1/2     0     0
//        0  2  3  1  0               1  1  1  1  0                1/6   1/6   1/6
// B^T =  0 -2  1  1  0       A^T =   0  1 -1 -2  0      G =       1/2  -1/2   1/2
//        0 -1  0  1  0               0  1  1  4  1               -1/6   1/3  -2/3
//        0 -2 -1  2  1                                              0     0     1
//
// The 1-D transforms read in[0], in[s], in[2s] ... and write out[0], out[t], out[2t] ...

V_INLINE void apply_bt(int m, const V *in, int s, V *out, int t) { // m + 2 -> m + 2
    if (m == 2) {
        out[0] = in[0] - in[2 * s];
        out[t] = in[s] + in[2 * s];
        out[2 * t] = in[2 * s] - in[s];
        out[3 * t] = in[s] - in[3 * s];
        return;
    }
    if (m == 3) {
        V far = in[3 * s] - in[s];
        out[0] = v_fma(v_set1(2), in[0] - in[2 * s], v_zero() - far);
        out[t] = v_fma(v_set1(2), in[s] + in[2 * s], in[2 * s] + in[3 * s]);
        out[2 * t] = far + (in[2 * s] - in[s]);
        out[3 * t] = far;
        out[4 * t] = v_fma(v_set1(2), far, in[4 * s] - in[2 * s]);
        return;
    }
    V four = v_set1(4), minus5 = v_set1(-5);
    V even = v_fma(v_set1(-4), in[2 * s], in[4 * s]), odd = v_fma(v_set1(-4), in[s], in[3 * s]);
    V even2 = in[4 * s] - in[2 * s], odd2 = v_set1(2) * (in[3 * s] - in[s]);
    out[0] = v_fma(four, in[0], v_fma(minus5, in[2 * s], in[4 * s]));
    out[t] = even + odd;
    out[2 * t] = even - odd;
    out[3 * t] = even2 + odd2;
    out[4 * t] = even2 - odd2;
    out[5 * t] = v_fma(four, in[s], v_fma(minus5, in[3 * s], in[5 * s]));
}

V_INLINE void apply_at(int m, const V *in, int s, V *out, int t) { // m + 2 -> m
    if (m == 2) {
        out[0] = in[0] + in[s] + in[2 * s];
        out[t] = in[s] - in[2 * s] - in[3 * s];
        return;
    }
    V sum = in[s] + in[2 * s], difference = in[s] - in[2 * s];
    if (m == 3) {
        out[0] = in[0] + sum + in[3 * s];
        out[t] = v_fma(v_set1(-2), in[3 * s], difference);
        out[2 * t] = v_fma(v_set1(4), in[3 * s], sum) + in[4 * s];
        return;
    }
    V sum2 = in[3 * s] + in[4 * s], difference2 = in[3 * s] - in[4 * s];
    out[0] = in[0] + sum + sum2;
    out[t] = v_fma(v_set1(2), difference2, difference);
    out[2 * t] = v_fma(v_set1(4), sum2, sum);
    out[3 * t] = v_fma(v_set1(8), difference2, difference) + in[5 * s];
}

V_INLINE void apply_a(int m, const V *in, int s, V *out, int t) { // m -> m + 2
    if (m == 2) {
        out[0] = in[0];
        out[t] = in[0] + in[s];
        out[2 * t] = in[0] - in[s];
        out[3 * t] = v_zero() - in[s];
        return;
    }
    if (m == 3) {
        V ends = in[0] + in[2 * s];
        out[0] = in[0];
        out[t] = ends + in[s];
        out[2 * t] = ends - in[s];
        out[3 * t] = v_fma(v_set1(4), in[2 * s], v_fma(v_set1(-2), in[s], in[0]));
        out[4 * t] = in[2 * s];
        return;
    }
    V even = in[0] + in[2 * s], odd = in[s] + in[3 * s];
    V even2 = v_fma(v_set1(4), in[2 * s], in[0]);
    V odd2 = v_fma(v_set1(8), in[3 * s], v_set1(2) * in[s]);
    out[0] = in[0];
    out[t] = even + odd;
    out[2 * t] = even - odd;
    out[3 * t] = even2 + odd2;
    out[4 * t] = even2 - odd2;
    out[5 * t] = in[3 * s];
}

V_INLINE void apply_g(int m, const V *in, int s, V *out, int t) { // 3 -> m + 2
    if (m == 2) {
        V even = v_set1(0.5f) * (in[0] + in[2 * s]), odd = v_set1(0.5f) * in[s];
        out[0] = in[0];
        out[t] = even + odd;
        out[2 * t] = even - odd;
        out[3 * t] = in[2 * s];
        return;
    }
    V sixth = v_set1(1.0f / 6);
    if (m == 3) {
        V ends = in[0] + in[2 * s];
        out[0] = v_set1(0.5f) * in[0];
        out[t] = sixth * (ends + in[s]);
        out[2 * t] = v_set1(0.5f) * (ends - in[s]);
        out[3 * t] = v_fma(v_set1(-2.0f / 3), in[2 * s],
                           v_fma(v_set1(1.0f / 3), in[s], v_zero() - sixth * in[0]));
        out[4 * t] = in[2 * s];
        return;
    }
    V even = v_set1(-1.0f / 6) * (in[0] + in[2 * s]), odd = v_set1(-1.0f / 6) * in[s];
    V even2 = v_fma(v_set1(1.0f / 24), in[0], sixth * in[2 * s]), odd2 = v_set1(1.0f / 12) * in[s];
    out[0] = v_set1(0.25f) * in[0];
    out[t] = even + odd;
    out[2 * t] = even - odd;
    out[3 * t] = even2 + odd2;
    out[4 * t] = even2 - odd2;
    out[5 * t] = in[2 * s];
}

V_INLINE void apply_gt(int m, const V *in, int s, V *out, int t) { // m + 2 -> 3
    if (m == 2) {
        V sum = v_set1(0.5f) * (in[s] + in[2 * s]), difference = v_set1(0.5f) * (in[s] - in[2 * s]);
        out[0] = in[0] + sum;
        out[t] = difference;
        out[2 * t] = sum + in[3 * s];
        return;
    }
    if (m == 3) {
        V sixth = v_set1(1.0f / 6) * in[s], half = v_set1(0.5f) * in[2 * s];
        out[0] = v_fma(v_set1(0.5f), in[0], v_fma(v_set1(-1.0f / 6), in[3 * s], sixth + half));
        out[t] = v_fma(v_set1(1.0f / 3), in[3 * s], sixth - half);
        out[2 * t] = v_fma(v_set1(-2.0f / 3), in[3 * s], sixth + half) + in[4 * s];
        return;
    }
    V sum = v_set1(-1.0f / 6) * (in[s] + in[2 * s]),
      difference = v_set1(-1.0f / 6) * (in[s] - in[2 * s]);
    V sum2 = in[3 * s] + in[4 * s], difference2 = in[3 * s] - in[4 * s];
    out[0] = v_fma(v_set1(0.25f), in[0], v_fma(v_set1(1.0f / 24), sum2, sum));
    out[t] = v_fma(v_set1(1.0f / 12), difference2, difference);
    out[2 * t] = v_fma(v_set1(1.0f / 6), sum2, sum) + in[5 * s];
}

enum { MOST = 6, GROUP = 3 }; // m + 2 at most

static inline int least(int a, int b) { return a < b ? a : b; }

V_INLINE int64_t number_bytes(SrDtype type) {
    return type == SR_BF16 ? sizeof(SrBf16) : sizeof(float);
}

// Returns rows of `side` x `side` pixels from the corner; `zeros` for those outside the image.
V_INLINE void locate(SrDtype type, int side, const SrConvPatch *p, const void *at[MOST * MOST]) {
    int64_t pixel = p->C * number_bytes(type), first = p->first * number_bytes(type);
    V_FOR (a, side) {
        int h = p->h + a;
        int64_t row = ((int64_t)h * p->W + p->w) * pixel + first;
        V_FOR (b, side) {
            int w = p->w + b;
            bool inside = h >= 0 && h < p->H && w >= 0 && w < p->W;
            at[a * side + b] = inside ? (const char *)p->image + row + b * pixel : p->zeros;
        }
    }
}

// Transforms one vector of n channels of a patch of inputs (B^T d B) or a tile of gradients (A g
// A^T).  Columns come first, then rows, GROUP of these at a time: the values in between then fit
// the registers, and loading the patch again for the next group is cheaper than storing it.  The
// next patch of the row, `ahead` numbers on, is fetched meanwhile, except for the two columns that
// an input patch shares with it.
V_INLINE void patch_vector(SrDtype type, int m, bool inputs, const void *const *at, int c, int n,
                           int64_t ahead, float *v, int64_t point) {
    int from = inputs ? m + 2 : m, to = m + 2, group = m == 4 ? GROUP : to;
    V_FOR (g, to / group) {
        V half[MOST * MOST], in[MOST], out[MOST];
        V_FOR (b, from) {
            V_FOR (a, from) {
                const void *x = at[a * from + b];
                if (g == 0 && (!inputs || b >= 2))
                    __builtin_prefetch((const char *)x + (c + ahead) * number_bytes(type), 0, 2);
                in[a] = v_get(type, x, c, n);
            }
            inputs ? apply_bt(m, in, 1, half + b, from) : apply_a(m, in, 1, half + b, from);
        }
        V_FOR (i, group) {
            int a = g * group + i;
            V *row = half + a * from;
            inputs ? apply_bt(m, row, 1, out, 1) : apply_a(m, row, 1, out, 1);
            V_FOR (b, to)
                v_store(v + (a * to + b) * point + c, out[b]);
        }
    }
}

V_INLINE void patch_any(SrDtype type, int m, bool inputs, const SrConvPatch *p, float *v,
                        int64_t point) {
    const void *at[MOST * MOST];
    locate(type, inputs ? m + 2 : m, p, at);
    int64_t ahead = m * (int64_t)p->C;
    int c = 0;
    for (; c + V_LANES <= p->channels; c += V_LANES)
        patch_vector(type, m, inputs, at, c, V_LANES, ahead, v, point);
    if (c < p->channels)
        patch_vector(type, m, inputs, at, c, p->channels - c, ahead, v, point);
}

// Adds up the channel sums of a vector of channels of outputs.
typedef struct {
    V shift, sum, square;
} Sums;

V_INLINE void sums_add(SrDtype type, Sums *s, V y, bool first) {
    y = v_rounded(type, y);
    if (first)
        s->shift = y;
    V d = y - s->shift;
    s->sum = s->sum + d;
    s->square = v_fma(d, d, s->square);
}

V_INLINE Sums sums_load(const SrConvPatch *p, int c, int n) {
    if (p->sums_begin)
        return (Sums){v_zero(), v_zero(), v_zero()};
    const float *at = p->sums + c;
    return (Sums){v_load_n(at, n), v_load_n(at + p->sums_stride, n),
                  v_load_n(at + 2 * p->sums_stride, n)};
}

V_INLINE void sums_store(const SrConvPatch *p, int c, int n, Sums s) {
    float *at = p->sums + c;
    v_store_n(at, s.shift, n);
    v_store_n(at + p->sums_stride, s.sum, n);
    v_store_n(at + 2 * p->sums_stride, s.square, n);
}

// Computes A^T M A for all channels of one tile and writes the part inside the image.  `sum`:
// p->sums are wanted.
V_INLINE void output_any(SrDtype type, int m, const float *from, int64_t point,
                         const SrConvPatch *p, bool add, bool sum) {
    int side = m + 2, rows = least(m, p->H - p->h), columns = least(m, p->W - p->w);
    for (int c = 0; c < p->channels; c += V_LANES) {
        V half[MOST * MOST], in[MOST], out[MOST];
        int n = least(p->channels - c, V_LANES);
        Sums sums;
        if (sum)
            sums = sums_load(p, c, n);
        V_FOR (b, side) {
            V_FOR (a, side)
                in[a] = v_load(from + (a * side + b) * point + c);
            apply_at(m, in, 1, half + b, side);
        }
        V_FOR (a, m) {
            apply_at(m, half + a * side, 1, out, 1);
            int64_t row = ((int64_t)(p->h + a) * p->W + p->w) * p->C + p->first + c;
            V_FOR (b, m) {
                int64_t to = row + (int64_t)b * p->C;
                if (a >= rows || b >= columns)
                    continue;
                if (add)
                    out[b] = out[b] + v_get(type, p->image, to, n);
                v_put(type, p->image, to, out[b], n);
                if (sum)
                    sums_add(type, &sums, out[b], p->sums_begin && a == 0 && b == 0);
            }
        }
        if (sum)
            sums_store(p, c, n, sums);
    }
}

// Computes G w G^T for every (row, column) of a packed block, whose rows and columns are treated
// alike.  `packed` may be the last 9 points of u: all taps of a vector are read before its points
// are written.
V_INLINE void weights_any(int m, const float *packed, int rows, int width, bool rotate, float *u) {
    int side = m + 2;
    int64_t tap = (int64_t)rows * width;
    for (int64_t i = 0; i < tap; i += V_LANES) {
        V w[9], half[3 * MOST], out[MOST];
        V_FOR (t, 9)
            w[t] = v_load(packed + (rotate ? 8 - t : t) * tap + i);
        V_FOR (s, 3)
            apply_g(m, w + s, 3, half + s, 3);
        V_FOR (a, side) {
            apply_g(m, half + 3 * a, 1, out, 1);
            V_FOR (b, side)
                v_store(u + (a * side + b) * tap + i, out[b]);
        }
    }
}

// Computes G^T du G for every (row, column), each tap to a plane of its own.
V_INLINE void weight_gradient_any(int m, const float *du, int rows, int width, float *to,
                                  int64_t tap, int64_t stride) {
    int side = m + 2;
    int64_t point = (int64_t)rows * width;
    for (int c = 0; c < rows; c++)
        for (int j = 0; j < width; j += V_LANES) {
            V half[3 * MOST], in[MOST], out[3];
            const float *from = du + (int64_t)c * width + j;
            V_FOR (b, side) {
                V_FOR (a, side)
                    in[a] = v_load(from + (a * side + b) * point);
                apply_gt(m, in, 1, half + b, side);
            }
            V_FOR (r, 3) {
                apply_gt(m, half + r * side, 1, out, 1);
                V_FOR (s, 3)
                    v_store(to + (3 * r + s) * tap + c * stride + j, out[s]);
            }
        }
}

#define TYPED(m, name, type)                                                                \
    static void input_##m##_##name(const SrConvPatch *d, float *v, int64_t point) {         \
        patch_any(type, m, true, d, v, point);                                              \
    }                                                                                       \
    static void gradient_##m##_##name(const SrConvPatch *g, float *z, int64_t point) {      \
        patch_any(type, m, false, g, z, point);                                             \
    }                                                                                       \
    static void output_##m##_##name(const float *from, int64_t point, const SrConvPatch *y, \
                                    bool add) {                                             \
        if (y->sums)                                                                        \
            output_any(type, m, from, point, y, false, true);                               \
        else                                                                                \
            output_any(type, m, from, point, y, add, false);                                \
    }
#define INSTANCE(m)                                                                               \
    TYPED(m, f32, SR_F32)                                                                         \
    TYPED(m, bf16, SR_BF16)                                                                       \
    static void weights_##m(const float *packed, int rows, int width, bool rotate, float *u) {    \
        weights_any(m, packed, rows, width, rotate, u);                                           \
    }                                                                                             \
    static void weight_gradient_##m(const float *du, int rows, int width, float *to, int64_t tap, \
                                    int64_t stride) {                                             \
        weight_gradient_any(m, du, rows, width, to, tap, stride);                                 \
    }
#define ROW(m, name)                                                                 \
    {                                                                                \
        input_##m##_##name, gradient_##m##_##name, output_##m##_##name, weights_##m, \
            weight_gradient_##m                                                      \
    }

INSTANCE(2)
INSTANCE(3)
INSTANCE(4)

const SrWinogradTables SR_ISA_SYMBOL(sr__winograd_kernels) = {
    .f32 = {ROW(2, f32), ROW(3, f32), ROW(4, f32)},
    .bf16 = {ROW(2, bf16), ROW(3, bf16), ROW(4, bf16)},
};
