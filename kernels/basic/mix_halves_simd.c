// Vector loops of mix_halves over pixels, compiled once per instruction set.
#include "kernels/basic/mix_halves_rows.h"

#include "kernels/core/simd.h"

V_INLINE void mix_any(SrDtype type, void *y, const void *ab, const float *p, int64_t pixels,
                      int C) {
    for (int64_t i = 0; i < pixels; i++)
        for (int c = 0; c < C; c += V_LANES) {
            int m = C - c < V_LANES ? C - c : V_LANES;
            V a = v_get(type, ab, 2 * i * C + c, m), b = v_get(type, ab, (2 * i + 1) * C + c, m);
            v_put(type, y, i * C + c, b + v_load_n(p + c, m) * (a - b), m);
        }
}

static void mix(SrDtype type, void *y, const void *ab, const float *p, int64_t pixels, int C) {
    type == SR_BF16 ? mix_any(SR_BF16, y, ab, p, pixels, C) : mix_any(SR_F32, y, ab, p, pixels, C);
}

V_INLINE void divide_any(SrDtype type, void *dab, const void *dy, const float *p, int64_t pixels,
                         int C) {
    for (int64_t i = 0; i < pixels; i++)
        for (int c = 0; c < C; c += V_LANES) {
            int m = C - c < V_LANES ? C - c : V_LANES;
            V g = v_get(type, dy, i * C + c, m), da = v_load_n(p + c, m) * g;
            v_put(type, dab, 2 * i * C + c, da, m);
            v_put(type, dab, (2 * i + 1) * C + c, g - da, m);
        }
}

static void divide(SrDtype type, void *dab, const void *dy, const float *p, int64_t pixels, int C) {
    type == SR_BF16 ? divide_any(SR_BF16, dab, dy, p, pixels, C)
                    : divide_any(SR_F32, dab, dy, p, pixels, C);
}

V_INLINE void differences_any(SrDtype type, float *sum, const void *dy, const void *ab,
                              int64_t pixels, int C) {
    for (int c = 0; c < C; c += V_LANES)
        v_store_n(sum + c, v_zero(), C - c < V_LANES ? C - c : V_LANES);
    for (int64_t i = 0; i < pixels; i++)
        for (int c = 0; c < C; c += V_LANES) {
            int m = C - c < V_LANES ? C - c : V_LANES;
            V a = v_get(type, ab, 2 * i * C + c, m), b = v_get(type, ab, (2 * i + 1) * C + c, m);
            v_store_n(sum + c, v_load_n(sum + c, m) + v_get(type, dy, i * C + c, m) * (a - b), m);
        }
}

static void differences(SrDtype type, float *sum, const void *dy, const void *ab, int64_t pixels,
                        int C) {
    type == SR_BF16 ? differences_any(SR_BF16, sum, dy, ab, pixels, C)
                    : differences_any(SR_F32, sum, dy, ab, pixels, C);
}

const SrMixHalvesKernels SR_ISA_SYMBOL(sr__mix_halves_kernels) = {mix, divide, differences};
