// Micro-kernels of the direct convolution, which are also the matrix products inside the Winograd
// design.
//
// The register tile holds 6 pixels x 64 channels (AVX-512; 6 x 16 for NEON and AVX2, 6 x 8 for
// plain).  Its 24 accumulators, or 12 where there are 16 registers, hide the latency of the fused
// multiply-add; a step loads 4 (2) weight vectors and broadcasts 6 inputs.  Narrow blocks take 8
// pixels.  Every size is one instance of the templates below.
//
// The file is compiled once more for bfloat16 (V_PAIRS).  There a broadcast brings a pair
// of channels, a lane of a weight vector holds a pair of weights, and one instruction adds both
// products to the float of the lane.  A unit has four bytes either way, so the loops are the same.
#include "kernels/conv/conv_tile_weights.h"

enum { WIDE_ROWS = 6, NARROW_ROWS = 8, SUM_LINES = 32 };

// Returns sum + a b for the one number of a = v_scalar(x); for pairs, adds both products.
V_INLINE V v_product(V a, V b, V sum) { return v_step_by(DEPTH == 2, a, b, sum); }

static int rows(int width) { return width == BLOCK ? WIDE_ROWS : NARROW_ROWS; }

V_INLINE int64_t number_bytes(SrDtype type) { return 4 / sr__conv_numbers(type); }
V_INLINE SrDtype type_of(const SrConvTile *t) { return DEPTH == 2 || t->halves ? SR_BF16 : SR_F32; }

// Applies the end to sums in registers: bias, residual, ReLU, in conv_plain.c's order.
V_INLINE void end_sums(SrDtype type, int M, int NV, const SrConvTile *t,
                       V acc[NARROW_ROWS][SR_CONV_VECTORS]) {
    const SrConvEnd *end = t->end;
    int n[SR_CONV_VECTORS]; // columns of each vector
    V_FOR (j, NV)
        n[j] = clamp(t->columns - j * V_LANES, 0, V_LANES);
    if (end->bias)
        V_FOR (j, NV) {
            V bias = v_load_n(end->bias + t->out_first + j * V_LANES, n[j]);
            V_FOR (m, M)
                acc[m][j] = acc[m][j] + bias;
        }
    if (end->residual)
        V_FOR (m, M) {
            int64_t at = (t->out[m] - t->out_base) * sr__conv_numbers(type) + t->out_first;
            V_FOR (j, NV)
                acc[m][j] = acc[m][j] + v_get(type, end->residual, at + j * V_LANES, n[j]);
        }
    if (end->relu)
        V_FOR (m, M)
            V_FOR (j, NV)
                acc[m][j] = v_max(v_zero(), acc[m][j]);
}

// Adds up the outputs' channel sums (channel_sums.h) while the outputs are in registers.
V_INLINE void sum_channels(SrDtype type, int M, int NV, const SrConvTile *t,
                           V acc[NARROW_ROWS][SR_CONV_VECTORS]) {
    V_FOR (j, NV) {
        int n = clamp(t->columns - j * V_LANES, 0, V_LANES);
        float *at = t->sums + j * V_LANES;
        V shift = v_rounded(type, acc[0][j]), sum = v_zero(), square = v_zero();
        if (!t->sums_begin) {
            shift = v_load_n(at, n);
            sum = v_load_n(at + t->sums_stride, n);
            square = v_load_n(at + 2 * t->sums_stride, n);
        }
        V_FOR (m, M) {
            V d = v_rounded(type, acc[m][j]) - shift;
            sum = sum + d;
            square = v_fma(d, d, square);
        }
        v_store_n(at, shift, n);
        v_store_n(at + t->sums_stride, sum, n);
        v_store_n(at + 2 * t->sums_stride, square, n);
    }
}

// Stores a whole vector of sums to an aligned address, bypassing the caches.
V_INLINE void stream(SrDtype type, void *out, int64_t i, V sum) {
    if (type == SR_BF16)
        v_stream_bf16((SrBf16 *)out + i, sum);
    else
        v_stream((float *)out + i, sum);
}

V_INLINE void put_sums(SrDtype type, int M, int NV, const SrConvTile *t,
                       V acc[NARROW_ROWS][SR_CONV_VECTORS]) {
    if (t->columns == NV * V_LANES) {
        V_FOR (m, M)
            V_FOR (j, NV)
                v_put(type, t->out[m], t->out_first + j * V_LANES, acc[m][j], V_LANES);
        return;
    }
    V_FOR (m, M)
        V_FOR (j, NV)
            v_put(type, t->out[m], t->out_first + j * V_LANES, acc[m][j],
                  clamp(t->columns - j * V_LANES, 0, V_LANES));
}

// Writes the sums, or adds them to what is there.  The addition comes last, although starting from
// the old values would save it: loads before the loop make gcc 12 keep one weight vector on the
// stack.  An activation works on what has just been written.
V_INLINE void end_tile(SrDtype type, int M, int NV, const SrConvTile *t,
                       V acc[NARROW_ROWS][SR_CONV_VECTORS]) {
    if (t->add)
        V_FOR (m, M)
            V_FOR (j, NV)
                acc[m][j] = acc[m][j] + v_get(type, t->out[m], t->out_first + j * V_LANES,
                                              clamp(t->columns - j * V_LANES, 0, V_LANES));
    if (t->end)
        end_sums(type, M, NV, t, acc);
    if (t->sums)
        sum_channels(type, M, NV, t, acc);
    if (t->stream) {
        V_FOR (m, M)
            V_FOR (j, NV)
                stream(type, t->out[m], t->out_first + j * V_LANES, acc[m][j]);
        return;
    }
    put_sums(type, M, NV, t, acc);
    for (int m = 0; m < M && t->end && t->end->activate; m++) {
        void *out = (char *)t->out[m] + t->out_first * number_bytes(type);
        t->end->activate(type, out, out, t->columns);
    }
}

#if DEPTH_IS_ONE
// Ends a tile of halves pixel by pixel.  Only full tiles of halves have an end of their own: one
// for each size would double the code of this file.
#define END_PIXELS(NV)                                                                           \
    static __attribute__((noinline)) void end_pixels_##NV(const SrConvTile *t,                   \
                                                          V acc[NARROW_ROWS][SR_CONV_VECTORS]) { \
        SrConvTile one = *t;                                                                     \
        for (int m = 0; m < t->pixels; m++, one.out++) {                                         \
            one.sums_begin = t->sums_begin && m == 0;                                            \
            end_tile(SR_BF16, 1, NV, &one, acc + m);                                             \
        }                                                                                        \
    }
END_PIXELS(1)
END_PIXELS(2)
#if SR_CONV_VECTORS == 4
END_PIXELS(3)
END_PIXELS(4)
#endif

V_INLINE void end_pixels(int M, int NV, const SrConvTile *t, V acc[NARROW_ROWS][SR_CONV_VECTORS]) {
    static void (*const of[])(const SrConvTile *, V[NARROW_ROWS][SR_CONV_VECTORS]) = {
        end_pixels_1,
        end_pixels_2,
#if SR_CONV_VECTORS == 4
        end_pixels_3,
        end_pixels_4,
#endif
    };
    V sums[NARROW_ROWS][SR_CONV_VECTORS]; // a copy: the address of acc would put it into memory
    V_FOR (m, M)
        V_FOR (j, NV)
            sums[m][j] = acc[m][j];
    of[NV - 1](t, sums);
}

V_INLINE void tile_end(int M, int NV, const SrConvTile *t, V acc[NARROW_ROWS][SR_CONV_VECTORS]) {
    bool full = M == (NV == SR_CONV_VECTORS ? WIDE_ROWS : NARROW_ROWS);
    if (!t->halves)
        end_tile(SR_F32, M, NV, t, acc);
    else if (full)
        end_tile(SR_BF16, M, NV, t, acc);
    else
        end_pixels(M, NV, t, acc);
}
#else
V_INLINE void tile_end(int M, int NV, const SrConvTile *t, V acc[NARROW_ROWS][SR_CONV_VECTORS]) {
    end_tile(SR_BF16, M, NV, t, acc);
}
#endif

// Sums over taps and channels for M pixels and NV vectors of columns.  M and NV are constants
// wherever this is inlined, so acc lives in registers: M * NV <= 24 of 32, or 12 of 16.
V_INLINE void tile_any(int M, int NV, const SrConvTile *t) {
    V acc[NARROW_ROWS][SR_CONV_VECTORS];
    V_FOR (m, M)
        V_FOR (j, NV)
            acc[m][j] = v_zero();
    SrDtype type = type_of(t);
    if (t->out_ahead)
        V_FOR (m, M)
            for (int j = 0; j < NV * V_LANES; j += LINE * sr__conv_numbers(type))
                __builtin_prefetch((const char *)t->out[t->out_ahead + m] +
                                       (t->out_first + j) * number_bytes(type),
                                   1);
    for (int i = 0; i < t->taps; i++) {
        const float *const *in = t->in + (int64_t)t->tap[i] * t->in_stride;
        const float *x[NARROW_ROWS], *w = t->w + t->tap[i] * t->w_tap;
        V_FOR (m, M)
            x[m] = in[m] + t->first;
        const float *const *later = t->beside ? t->beside : in + t->ahead;
        int64_t later_first = t->beside ? t->beside_first : t->first;
        for (int64_t c = 0; c < t->channels; c++, w += NV * V_LANES) {
            // One line per step never fills the queue of outstanding misses; a burst would.
            __builtin_prefetch(later[c % SR_CONV_FETCH] + later_first + c / LINE * LINE);
            V b[SR_CONV_VECTORS];
            V_FOR (j, NV)
                b[j] = v_load(w + j * V_LANES);
            V_FOR (m, M) {
                V a = v_scalar(x[m][c]);
                V_FOR (j, NV)
                    acc[m][j] = v_product(a, b[j], acc[m][j]);
            }
        }
    }
    tile_end(M, NV, t, acc);
}

#if DEPTH_IS_ONE
// Computes several narrow groups in one vector: every lane multiplies only the channels of its
// group.
V_INLINE void narrow_any(int M, const SrConvTile *t) {
    V acc[NARROW_ROWS][SR_CONV_VECTORS], x[NARROW_ROWS];
    V_FOR (m, M)
        acc[m][0] = v_zero();
    for (int i = 0; i < t->taps; i++) {
        const float *const *in = t->in + (int64_t)t->tap[i] * t->in_stride;
        const float *w = t->w + t->tap[i] * t->w_tap;
        V_FOR (m, M)
            x[m] = v_load_n(in[m] + t->first, t->together);
        for (int c = 0; c < t->channels; c++) {
            V b = v_load(w + c * V_LANES);
            V_FOR (m, M)
                acc[m][0] = v_fma(v_pick(x[m], t->lane_from, c), b, acc[m][0]);
        }
    }
    tile_end(M, 1, t, acc);
}

static void narrow(const SrConvTile *t) {
    if (t->pixels == NARROW_ROWS) {
        narrow_any(NARROW_ROWS, t);
        return;
    }
    SrConvTile one = *t; // the last pixels, one by one
    one.pixels = 1;
    for (int m = 0; m < t->pixels; m++, one.in++, one.out++) {
        one.sums_begin = t->sums_begin && m == 0;
        narrow_any(1, &one);
    }
}
#endif

// Computes rows [row, row + M) of the outer product.  The values in `out` are prefetched during the
// first pixels and added last: 24 loads from the second-level cache before the loop would stall
// it.  The loop is limited by the operands' way from memory, so each pixel also fetches one line of
// a later chunk.  The line goes into the second-level cache, because the first level is full of
// this chunk.
V_INLINE void outer_any(int M, int NV, const SrConvOuter *o, int row, SrConvFetch fetch) {
    V acc[NARROW_ROWS][SR_CONV_VECTORS];
    int stride =
        NV * V_LANES; // a constant: the sums are contiguous and need no addresses of their own
    float *out = o->out + (int64_t)row * stride;
    V_FOR (m, M)
        V_FOR (j, NV)
            acc[m][j] = v_zero();
    for (int i = 0; i < o->pixels; i++) {
        const float *x = o->x[i] + o->x_first + row, *y = o->y[i] + o->y_first;
        __asm__(""
                : "+r"(x),
                  "+r"(y)); // otherwise gcc 12 keeps ten sums of pointers, some of them in vectors
        V_FOR (d, DEPTH)
            __builtin_prefetch(fetch.at[DEPTH * i + d] + fetch.first, 0, 2);
        __builtin_prefetch(out + i % SUM_LINES * LINE, 1);
        V b[SR_CONV_VECTORS];
        V_FOR (j, NV)
            b[j] = v_load(y + j * V_LANES);
        V_FOR (m, M) {
            V a = v_scalar(x[m]);
            V_FOR (j, NV)
                acc[m][j] = v_product(a, b[j], acc[m][j]);
        }
    }
    if (!o->fresh)
        V_FOR (m, M)
            V_FOR (j, NV)
                acc[m][j] = acc[m][j] + v_load(out + m * stride + j * V_LANES);
    V_FOR (m, M)
        V_FOR (j, NV)
            v_store(out + m * stride + j * V_LANES, acc[m][j]);
}

// Instances tile_M_NV and outer_M_NV, and rows of tables that hold them by M.
// clang-format off
#define INSTANCE(M, NV)                                                                            \
    static __attribute__((noinline)) void tile_##M##_##NV(const SrConvTile *t) {                   \
        tile_any(M, NV, t);                                                                        \
    }                                                                                              \
    static __attribute__((noinline)) void outer_##M##_##NV(const SrConvOuter *o, int row,          \
                                                           SrConvFetch fetch) {                    \
        outer_any(M, NV, o, row, fetch);                                                           \
    }
#define INSTANCES(NV)                                                                              \
    INSTANCE(1, NV) INSTANCE(2, NV) INSTANCE(3, NV) INSTANCE(4, NV)                                \
    INSTANCE(5, NV) INSTANCE(6, NV) INSTANCE(7, NV) INSTANCE(8, NV)
#define TABLE(name, NV)                                                                            \
    {NULL, name##_1_##NV, name##_2_##NV, name##_3_##NV, name##_4_##NV,                             \
     name##_5_##NV, name##_6_##NV, name##_7_##NV, name##_8_##NV}
INSTANCES(1)
INSTANCES(2)
#if SR_CONV_VECTORS == 4
INSTANCES(3)
INSTANCES(4)
#define TABLES(name) {NULL}, TABLE(name, 1), TABLE(name, 2), TABLE(name, 3), TABLE(name, 4)
#else
#define TABLES(name) {NULL}, TABLE(name, 1), TABLE(name, 2)
#endif
// clang-format on

static void tile(const SrConvTile *t) {
    static void (*const instances[SR_CONV_VECTORS + 1][NARROW_ROWS + 1])(const SrConvTile *) = {
        TABLES(tile)};
#if DEPTH_IS_ONE
    if (t->lane_from) {
        narrow(t);
        return;
    }
#endif
    instances[(t->columns + V_LANES - 1) / V_LANES][t->pixels](t);
}

static void outer(const SrConvOuter *o) {
    static void (*const instances[SR_CONV_VECTORS + 1][NARROW_ROWS + 1])(
        const SrConvOuter *, int, SrConvFetch) = {TABLES(outer)};
    int most = rows(o->width);
    for (int row = 0, run = 0; row < o->rows; row += most, run++) {
        SrConvFetch again = {o->x, o->x_first}; // already in the cache: costs nothing
        instances[o->width / V_LANES][clamp(o->rows - row, 0, most)](
            o, row, run < o->fetches ? o->fetch[run] : again);
    }
}

// Copies columns side by side, at the cost of one pass over the cache: pixels a power of two apart
// would share a few sets of the first-level cache and push each other out.
#if V_PAIRS
static void gather(const float *const *from, int64_t first, int n, int columns, float *to,
                   int64_t stride) {
    for (int i = 0; i < 2 * n; i += 2, to += stride) {
        int j = 0;
        for (; j + 2 * V_LANES <= columns; j += 2 * V_LANES) {
            __builtin_prefetch(to + stride + j, 1);
            __builtin_prefetch(to + stride + j + V_LANES, 1);
            v_store_zip(to + j, (const SrBf16 *)from[i] + first + j,
                        (const SrBf16 *)from[i + 1] + first + j);
        }
        for (; j < columns; j += V_LANES)
            v_store(to + j, v_zip_n((const SrBf16 *)from[i] + first + j,
                                    (const SrBf16 *)from[i + 1] + first + j,
                                    clamp(columns - j, 0, V_LANES)));
    }
}
#else
static void gather(const float *const *from, int64_t first, int n, int columns, float *to,
                   int64_t stride) {
    for (int i = 0; i < n; i++, to += stride)
        for (int j = 0; j < columns; j += V_LANES) {
            __builtin_prefetch(to + stride + j,
                               1); // otherwise stores would wait for their lines one by one
            v_store(to + j, v_load_n(from[i] + first + j, clamp(columns - j, 0, V_LANES)));
        }
}

static void widen(const float *const *from, int64_t first, int n, int columns, float *to,
                  int64_t stride) {
    for (int i = 0; i < n; i++, to += stride) {
        const SrBf16 *row = (const SrBf16 *)from[i] + first;
        int j = 0;
        for (; j + V_LANES <= columns; j += V_LANES)
            v_store(to + j, v_load_bf16(row + j));
        if (j < columns)
            v_store(to + j, v_load_bf16_n(row + j, columns - j));
    }
}
#endif

static void sum_rows(const float *const *from, int64_t first, int n, int columns, bool fresh,
                     float *sum) {
    V one = v_ones();
    for (int j = 0; j < columns; j += BLOCK) {
        V acc[SR_CONV_VECTORS];
        V_FOR (v, SR_CONV_VECTORS)
            acc[v] = v_zero();
        for (int i = 0; i < n; i++)
            V_FOR (v, SR_CONV_VECTORS) {
                int at = j + v * V_LANES;
                V x = v_load_n(from[i] + first + at, clamp(columns - at, 0, V_LANES));
                acc[v] = v_step(DEPTH == 2, x, one, acc[v]);
            }
        V_FOR (v, SR_CONV_VECTORS) {
            int at = j + v * V_LANES, here = clamp(columns - at, 0, V_LANES);
            if (!fresh)
                acc[v] = v_load_n(sum + at, here) + acc[v];
            v_store_n(sum + at, acc[v], here);
        }
    }
}

const SrConvKernels SR_ISA_SYMBOL(sr__conv_kernels) = {
    .depth = DEPTH,
    .lanes = V_LANES,
    .block = BLOCK,
    .picks = DEPTH == 1,
    .rows = rows,
    .tile = tile,
    .stream_end = v_stream_end,
    .outer = outer,
    .gather = gather,
#if DEPTH_IS_ONE
    .widen = widen,
#endif
    .sum_rows = sum_rows,
    .pack_forward = pack_forward,
    .pack_backward = pack_backward,
    .unpack = unpack,
    .join = join,
};
