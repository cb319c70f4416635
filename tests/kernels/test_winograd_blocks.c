// The Winograd design takes more tiles at a time on a larger cache. Outputs, gradients and the
// channel sums of every unit keep their bits.
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/conv/conv.h"
#include "tests/check.h"
#include "tests/kernels/conv_case.h"
#include "tests/machine.h"

// Returns 23 x 19 pixels, so that units end in the middle of rows and the last block has fewer
// tiles than the others.
static SrConvShape shape_of(int N, int C, int K) {
    SrConvShape s = {N, 23, 19, C, K, 3, 3, 1, 1, 1, 1, 1, 1, 1, 0, 0, SR_F32, NULL};
    sr_conv_shape(&s);
    return s;
}

typedef struct {
    float *y, *dx;
    SrChannelSums sums;
    void *sums_block;
    size_t sums_bytes, scratch;
} Results;

static Results results_with(const ConvCase *t, size_t cache) {
    const SrConvShape *s = &t->s;
    test_machine()->second_cache = cache;
    SrConv c = test_conv(s);
    Results r = {.dx = conv_case_run(t, SR_CONV_BACKWARD_DATA, conv_x_len(s), 0, false, NULL),
                 .y = sr_calloc(conv_y_len(s), sizeof(float)),
                 .scratch = sr_conv_scratch_bytes(&c, SR_CONV_FORWARD)};
    int64_t units = sr_conv_sum_units(&c);
    r.sums_bytes = sr__sums_bytes(units, s->K);
    r.sums_block = sr_calloc(1, r.sums_bytes);
    r.sums = sr__sums_in(r.sums_block, units);
    void *scratch = aligned_alloc(SR_ALIGN, (r.scratch / SR_ALIGN + 1) * SR_ALIGN);
    float *prepared = sr_alloc(sr_conv_prepared(&c, SR_CONV_FORWARD).bytes);
    sr_conv_prepare(&c, SR_CONV_FORWARD, t->w, prepared);
    sr_conv_forward_end(&c, t->x, prepared, &(SrConvEnd){.sums = r.sums}, r.y, scratch);
    free(scratch), sr_free(prepared);
    return r;
}

static void free_results(Results r) { sr_free(r.y), sr_free(r.dx), sr_free(r.sums_block); }

static void check_caches(SrConvShape s, unsigned design) {
    SrRng rng = sr_rng(5, SR_RNG_TEST, 0, design, 0, 0);
    ConvCase t = conv_case_new(s, &rng);
    test_machine()->conv_designs = design;
    Results least = results_with(&t, 1 << 12);
    for (int shift = 19; shift <= 23; shift++) {
        Results r = results_with(&t, (size_t)1 << shift);
        CHECK_INT(r.sums.units, least.sums.units);
        CHECK(memcmp(r.y, least.y, conv_y_len(&s) * sizeof(float)) == 0);
        CHECK(memcmp(r.dx, least.dx, conv_x_len(&s) * sizeof(float)) == 0);
        CHECK(memcmp(r.sums_block, least.sums_block, r.sums_bytes) == 0);
        CHECK(shift < 22 || r.scratch > least.scratch); // it took more tiles at a time
        free_results(r);
    }
    conv_case_check(&t, 3e-6);
    free_results(least);
    conv_case_free(&t);
}

TEST(test_blocks_keep_bits) {
    static const unsigned designs[] = {SR_CONV_WINOGRAD4, SR_CONV_WINOGRAD3, SR_CONV_WINOGRAD2};
    for (int threads = 1; threads <= 3; threads += 2)
        for (int i = 0; i < SR_COUNT(designs); i++) {
            sr_parallel_set_threads(threads);
            check_caches(shape_of(41, 16, 20), designs[i]);
            check_caches(shape_of(44, 40, 64), designs[i]);
        }
}

// A small map is not cut into fewer pieces on a larger cache, or some threads would have no work.
TEST(test_small_maps_stay_cut) {
    test_machine()->conv_designs = SR_CONV_WINOGRAD4;
    SrConvShape s = shape_of(3, 32, 32);
    sr_parallel_set_threads(2);
    test_machine()->second_cache = 1 << 12;
    SrConv c = test_conv(&s);
    size_t least = sr_conv_scratch_bytes(&c, SR_CONV_FORWARD);
    test_machine()->second_cache = 1 << 23;
    c = test_conv(&s);
    CHECK_INT(sr_conv_scratch_bytes(&c, SR_CONV_FORWARD), least);
}

SR_TESTS(winograd_blocks, unit(test_blocks_keep_bits), unit(test_small_maps_stay_cut))
