// Tests the tile-register design of convolution, emulated on every machine and on the registers
// where the processor has them: close to double precision over random shapes, the same bits from
// both and from any number of threads.
#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/tiles/conv_tile_kernels.h"
#include "tests/check.h"
#include "tests/kernels/conv_case.h"
#include "tests/machine.h"

static uint64_t mix(uint64_t hash, const void *p, size_t bytes) { // FNV-1a
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const uint8_t *)p)[i]) * 1099511628211u;
    return hash;
}

// Adds the results of all passes of a case to the hash.
static uint64_t hash_case(const ConvCase *t, uint64_t hash) {
    const size_t len[] = {conv_y_len(&t->s), conv_x_len(&t->s), conv_w_len(&t->s)};
    for (int pass = 0; pass < 3; pass++)
        for (int add = 0; add < 2; add++) {
            float *out = conv_case_run(t, (SrConvPass)pass, len[pass], 1, add, NULL);
            hash = mix(hash, out, len[pass] * sizeof *out);
            sr_free(out);
        }
    return hash;
}

// Checks a case on the processor's tile registers and requires the same bits of the emulation.
// Without registers it checks the emulation. Adds the results to the hash.
static void check_both(const ConvCase *t, double tolerance, uint64_t *hash) {
    test_machine()->emulates_tiles = true;
    uint64_t emulated = hash_case(t, *hash);
    test_machine()->emulates_tiles = !sr_machine_has_tiles(test_machine());
    conv_case_check(t, tolerance);
    if (sr_machine_has_tiles(test_machine()) && hash_case(t, *hash) != emulated)
        fail_msg("tiles and their emulation differ: N%d %dx%d C%d -> K%d, %dx%d stride %d", t->s.N,
                 t->s.H, t->s.W, t->s.C, t->s.K, t->s.R, t->s.S, t->s.stride_h);
    test_machine()->emulates_tiles = false;
    *hash = emulated;
}

// Draws channel counts around the limits of chunks, groups that a tile can hold, and sometimes 16
// or more small maps.
static SrConvShape tile_shape(SrRng *rng) {
    static const int widths[] = {16, 20, 31, 32, 33, 64, 65, 96};
    SrConvShape s = conv_random_shape(rng);
    s.C = widths[conv_pick(rng, 0, SR_COUNT(widths) - 1)];
    s.K = widths[conv_pick(rng, 0, SR_COUNT(widths) - 1)];
    s.groups = 1;
    if (conv_pick(rng, 0, 4) == 0) {
        s.groups = conv_pick(rng, 2, 3);
        s.C = s.groups * conv_pick(rng, 16, 40);
        s.K = s.groups * conv_pick(rng, 16, 40);
    }
    if (conv_pick(rng, 0, 3) == 0) {
        s.N = conv_pick(rng, 0, 1) ? 16 : conv_pick(rng, 28, 34);
        s.H = conv_pick(rng, 1, 4);
        s.W = conv_pick(rng, 1, 4);
        s.C = s.K = 32;
        s.groups = 1;
    }
    s.H = SR_MIN(s.H, 7);
    return s;
}

// Checks `count` random shapes with the tile design alone; returns the hash of all results.
static uint64_t sweep(SrDtype type, int count, double tolerance, uint64_t hash) {
    int threads = sr_parallel_threads(), tiles = 0;
    SrRng rng = sr_rng(5, SR_RNG_TEST, 0, (uint64_t)type, 0, 0);
    sr_parallel_set_threads(1);
    test_machine()->conv_designs = SR_CONV_TILES;
    for (int i = 0; i < count; i++) {
        SrConvShape s = tile_shape(&rng);
        s.type = type;
        if (conv_shape_empty(s))
            continue;
        ConvCase t = conv_case_new(s, &rng);
        test_machine()->emulates_tiles = true;
        SrConv conv = test_conv(&t.s);
        tiles += strcmp(sr_conv_design(&conv, SR_CONV_FORWARD), "tiles") == 0;
        check_both(&t, tolerance, &hash);
        conv_case_free(&t);
    }
    test_machine()->conv_designs = SR_CONV_ALL;
    sr_parallel_set_threads(threads);
    CHECK(2 * tiles > count);
    return hash;
}

TEST(test_random_shapes) {
    uint64_t hash = sweep(SR_BF16, 80, 1e-6, 14695981039346656037u);
    print_message("tiles: hash of all bfloat16 results %016llx\n", (unsigned long long)hash);
}

// A product of six bfloat16 parts keeps the tolerance of fused multiply-adds; one of three keeps
// that of Winograd F(4x4).
TEST(test_split_floats) {
    test_machine()->fp32 = SR_CONV_FP32_X6;
    uint64_t hash = sweep(SR_F32, 24, 5e-7, 14695981039346656037u);
    test_machine()->fp32 = SR_CONV_FP32_X3;
    hash = sweep(SR_F32, 24, 1e-5, hash);
    test_machine()->fp32 = SR_CONV_FP32_AUTO;
    print_message("tiles: hash of all float results %016llx\n", (unsigned long long)hash);
}

// Shapes so large that the work is split into several units, ranges and chunks.
static const SrConvShape large[] = {
    // clang-format off
    //  N   H   W    C    K  R  S  stride pad   dil  groups
    {   5, 13, 11,  64, 130, 3, 3, 1, 1, 1, 1, 1, 1, 1,  0, 0, SR_BF16, NULL},
    // The weight gradient is summed in ranges of positions.
    {   2, 34, 33,  32,  32, 3, 3, 1, 1, 1, 1, 1, 1, 1,  0, 0, SR_BF16, NULL},
    // Stride 2 splits the input into planes and the gradient into phases.
    {   4, 17, 14,  70,  96, 3, 3, 2, 2, 1, 1, 1, 1, 1,  0, 0, SR_BF16, NULL},
    // A 1x1 kernel reads its input in place.
    {  16, 12, 12,  64,  96, 1, 1, 1, 1, 0, 0, 1, 1, 1,  0, 0, SR_BF16, NULL},
    // A stride of 2 with a 1x1 kernel: phases of the input that no tap reaches.
    {   6, 12, 12,  64, 128, 1, 1, 2, 2, 0, 0, 1, 1, 1,  0, 0, SR_BF16, NULL},
    // Small maps: several images share a tile.
    {  31,  4,  4,  96,  64, 3, 3, 1, 1, 1, 1, 1, 1, 1,  0, 0, SR_BF16, NULL},
    {  16,  7,  7,  64,  64, 3, 3, 2, 2, 1, 1, 1, 1, 1,  0, 0, SR_BF16, NULL},
    {   4, 14, 14,  64,  64, 3, 3, 1, 1, 1, 1, 1, 1, 4,  0, 0, SR_BF16, NULL},
    {   4, 14, 14,  64,  64, 3, 3, 1, 1, 2, 2, 2, 2, 1,  0, 0, SR_BF16, NULL},
    // First layers, whose input has few channels.
    {   2, 45, 41,   3,  64, 7, 7, 2, 2, 3, 3, 1, 1, 1,  0, 0, SR_BF16, NULL},
    {   3, 18, 17,   1,  40, 5, 5, 1, 2, 2, 2, 2, 1, 1,  0, 0, SR_BF16, NULL},
    {   2, 16, 16,   4,  33, 3, 3, 1, 1, 1, 1, 1, 1, 1,  0, 0, SR_BF16, NULL},
    // clang-format on
};

TEST(test_large_shapes) {
    SrRng rng = sr_rng(6, SR_RNG_TEST, 0, 0, 0, 0);
    uint64_t hash = 0;
    test_machine()->conv_designs = SR_CONV_TILES;
    for (int i = 0; i < SR_COUNT(large); i++) {
        ConvCase t = conv_case_new(large[i], &rng);
        check_both(&t, 3e-6, &hash);
        test_machine()->emulates_tiles = !sr_machine_has_tiles(test_machine());
        conv_case_check_threads(&t);
        test_machine()->emulates_tiles = false;
        conv_case_free(&t);
    }
    test_machine()->conv_designs = SR_CONV_ALL;
}

SR_TESTS(conv_tiles, unit(test_random_shapes), unit(test_split_floats), unit(test_large_shapes))
