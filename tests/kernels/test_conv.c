// Tests convolution by every design and instruction set against double-precision loops over
// random shapes: channel tails, strides, dilation, groups, rectangular kernels, padding larger
// than the image. Bits must not depend on the number of threads, nothing may be written past a
// buffer, and scratch may start as garbage.
#include "kernels/conv/conv.h"

#include <stdlib.h>

#include "base/bf16.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "kernels/basic/cast.h"
#include "kernels/conv/conv_kernels.h"
#include "kernels/conv/conv_peak.h"
#include "tests/check.h"
#include "tests/kernels/conv_case.h"
#include "tests/machine.h"

// Returns the highest level at which designs without tile registers differ.
static int top_level(SrDtype type, SrCpuLevel best) {
    return SR_MIN(best, type == SR_BF16 ? SR_CPU_PAIRS : SR_CPU_PAIRS - 1);
}

static void sweep(SrDtype type, unsigned mask, int count, double tolerance,
                  SrConvShape (*shape)(SrRng *)) {
    SrCpuLevel best = test_machine()->level;
    int threads = sr_parallel_threads();
    sr_parallel_set_threads(1); // thousands of small calls; threads have their own test
    test_machine()->conv_designs = mask;
    SrRng rng = sr_rng(3, SR_RNG_TEST, 0, mask, 0, 0);
    for (int i = 0; i < count; i++) {
        SrConvShape s = shape(&rng);
        s.type = type;
        if (conv_shape_empty(s))
            continue;
        ConvCase t = conv_case_new(s, &rng);
        // The plain design does not depend on the level.
        for (int level = SR_CPU_PLAIN; level <= (mask ? top_level(type, best) : SR_CPU_PLAIN);
             level++) {
            test_machine_level((SrCpuLevel)level);
            conv_case_check(&t, tolerance);
        }
        test_machine_level(best);
        conv_case_free(&t);
    }
    test_machine()->conv_designs = SR_CONV_ALL;
    sr_parallel_set_threads(threads);
}

TEST(test_plain) { sweep(SR_F32, 0, 100, 1e-6, conv_random_shape); }

TEST(test_direct) { sweep(SR_F32, SR_CONV_DIRECT, 1000, 1e-6, conv_random_shape); }

// Draws depthwise and grouped kernels that have their own design, with rows of several runs.
static SrConvShape grouped_shape(SrRng *rng) {
    static const int widths[] = {3, 5, 7};
    int own = 1 << conv_pick(rng, 0, 2), groups = conv_pick(rng, 2, 40 / own + 2);
    return (SrConvShape){.N = conv_pick(rng, 1, 2),
                         .H = conv_pick(rng, 1, 8),
                         .W = conv_pick(rng, 1, 24),
                         .C = own * groups,
                         .K = own * groups,
                         .R = conv_pick(rng, 1, 5),
                         .S = own > 1 ? 3 : widths[conv_pick(rng, 0, 2)],
                         .stride_h = conv_pick(rng, 1, 3),
                         .stride_w = conv_pick(rng, 1, 2),
                         .pad_h = conv_pick(rng, 0, 3),
                         .pad_w = conv_pick(rng, 0, 3),
                         .dilation_h = conv_pick(rng, 1, 2),
                         .dilation_w = 1,
                         .groups = groups};
}

// Checks that a shape takes the grouped design. Its weight gradient may take another where most
// taps lie in the padding.
static SrConvShape surely_grouped(SrRng *rng) {
    SrConvShape s = grouped_shape(rng);
    if (conv_shape_empty(s))
        return s;
    sr_conv_shape(&s);
    s.type = SR_F32;
    SrConv c = test_conv(&s);
    for (int pass = SR_CONV_FORWARD; pass <= SR_CONV_BACKWARD_DATA; pass++)
        CHECK_STR(sr_conv_design(&c, (SrConvPass)pass), "grouped");
    return s;
}

TEST(test_grouped) { sweep(SR_F32, SR_CONV_DIRECT, 150, 1e-6, surely_grouped); }

// Draws 3x3 kernels of stride 1 with channel counts around the limits of vectors and blocks. Some
// have so many channels that the tiles of the weight gradient are shared between threads.
static SrConvShape winograd_shape(SrRng *rng) {
    static const int widths[] = {16, 20, 33, 48, 64, 65, 100};
    bool many = conv_pick(rng, 0, 5) == 0;
    return (SrConvShape){
        .N = conv_pick(rng, 1, 3),
        .H = conv_pick(rng, 1, many ? 5 : 10),
        .W = conv_pick(rng, 1, many ? 5 : 10),
        .C = many ? conv_pick(rng, 129, 280) : widths[conv_pick(rng, 0, SR_COUNT(widths) - 1)],
        .K = many ? conv_pick(rng, 129, 280) : widths[conv_pick(rng, 0, SR_COUNT(widths) - 1)],
        .R = 3,
        .S = 3,
        .stride_h = 1,
        .stride_w = 1,
        .pad_h = conv_pick(rng, 0, 2),
        .pad_w = conv_pick(rng, 0, 2),
        .dilation_h = 1,
        .dilation_w = 1,
        .groups = 1};
}

TEST(test_winograd2) { sweep(SR_F32, SR_CONV_WINOGRAD2, 60, 1e-6, winograd_shape); }

TEST(test_winograd3) { sweep(SR_F32, SR_CONV_WINOGRAD3, 60, 2e-6, winograd_shape); }

TEST(test_winograd4) { sweep(SR_F32, SR_CONV_WINOGRAD4, 60, 3e-6, winograd_shape); }

TEST(test_bf16_widened) { sweep(SR_BF16, 0, 100, 1e-6, conv_random_shape); }

TEST(test_bf16_direct) { sweep(SR_BF16, SR_CONV_DIRECT, 1000, 1e-6, conv_random_shape); }

TEST(test_bf16_winograd) {
    sweep(SR_BF16, SR_CONV_WINOGRAD2, 40, 1e-6, winograd_shape);
    sweep(SR_BF16, SR_CONV_WINOGRAD3, 40, 2e-6, winograd_shape);
    sweep(SR_BF16, SR_CONV_WINOGRAD4, 40, 3e-6, winograd_shape);
}

TEST(test_shape_formula) {
    SrConvShape s = {.H = 224,
                     .W = 97,
                     .R = 7,
                     .S = 3,
                     .stride_h = 2,
                     .stride_w = 3,
                     .pad_h = 3,
                     .pad_w = 0,
                     .dilation_h = 1,
                     .dilation_w = 2};
    sr_conv_shape(&s);
    CHECK_INT(s.P, 112);
    CHECK_INT(s.Q, 31);
}

// Shapes so large that the work is split into several chunks.
static const SrConvShape large[] = {
    // clang-format off
    //  N   H   W    C    K  R  S  stride pad   dil  groups
    // Three blocks of columns.
    {   5, 13, 11,  64, 130, 3, 3, 1, 1, 1, 1, 1, 1, 1,  0, 0, SR_F32, NULL},
    {   5, 17, 14,  70,  96, 3, 3, 2, 2, 1, 1, 1, 1, 1,  0, 0, SR_F32, NULL},
    {   6, 12, 12, 300,  64, 1, 1, 1, 1, 0, 0, 1, 1, 1,  0, 0, SR_F32, NULL},
    // Channels are summed in two steps.
    {   3,  6,  7, 300,  40, 3, 3, 1, 1, 1, 1, 1, 1, 1,  0, 0, SR_F32, NULL},
    // A stride of 2 with a 1x1 kernel: phases of the input that no tap reaches.
    {   6, 12, 12,  64, 256, 1, 1, 2, 2, 0, 0, 1, 1, 1,  0, 0, SR_F32, NULL},
    // Rows of the kernel are folded into the channels.
    {   3, 33, 31,   3,  64, 7, 7, 2, 2, 3, 3, 1, 1, 1,  0, 0, SR_F32, NULL},
    // Small maps, on which taps outside the map are skipped.
    {  20,  4,  4,  96,  64, 3, 3, 1, 1, 1, 1, 1, 1, 1,  0, 0, SR_F32, NULL},
    // The weight gradient is summed in ranges of pixels.
    {   8, 28, 28,  20,  24, 3, 3, 1, 1, 1, 1, 1, 1, 1,  0, 0, SR_F32, NULL},
    // Winograd by columns, in two groups.
    { 100,  3,  3,  16, 240, 3, 3, 1, 1, 1, 1, 1, 1, 1,  0, 0, SR_F32, NULL},
    // The tiles of the weight gradient are shared between threads, in chunks.
    { 260,  3,  3, 130, 136, 3, 3, 1, 1, 1, 1, 1, 1, 1,  0, 0, SR_F32, NULL},
    {   4, 14, 14,  64,  64, 3, 3, 1, 1, 1, 1, 1, 1, 16,  0, 0, SR_F32, NULL},
    // Groups of 8; half a vector is left over.
    {   3, 15, 13, 104, 104, 3, 3, 2, 2, 1, 1, 1, 1, 13,  0, 0, SR_F32, NULL},
    {   4, 14, 14,  48,  48, 3, 3, 1, 1, 1, 1, 1, 1, 3,  0, 0, SR_F32, NULL},  // groups of 16
    {   4, 15, 13,  40,  40, 5, 5, 2, 2, 2, 2, 1, 1, 40,  0, 0, SR_F32, NULL},  // depthwise
    {   4, 14, 14,  64,  64, 3, 3, 1, 1, 2, 2, 2, 2, 1,  0, 0, SR_F32, NULL},
    // clang-format on
};

// Returns whether some pass of a shape takes another design with these designs than directly.
static bool differs(const SrConvShape *shape, unsigned mask) {
    SrConvShape s = *shape;
    sr_conv_shape(&s);
    test_machine()->conv_designs = SR_CONV_DIRECT;
    SrConv direct = test_conv(&s);
    test_machine()->conv_designs = mask;
    SrConv other = test_conv(&s);
    for (int pass = SR_CONV_FORWARD; pass <= SR_CONV_BACKWARD_WEIGHT; pass++)
        if (strcmp(sr_conv_design(&direct, (SrConvPass)pass),
                   sr_conv_design(&other, (SrConvPass)pass)) != 0)
            return true;
    return false;
}

TEST(test_threads_keep_bits) {
    static const unsigned masks[] = {SR_CONV_DIRECT, SR_CONV_DIRECT | SR_CONV_WINOGRAD4,
                                     SR_CONV_DIRECT | SR_CONV_WINOGRAD3,
                                     SR_CONV_DIRECT | SR_CONV_WINOGRAD2};
    SrCpuLevel best = test_machine()->level;
    SrRng rng = sr_rng(4, SR_RNG_TEST, 0, 0, 0, 0);
    for (int i = 0; i < 2 * SR_COUNT(large); i++) {
        SrConvShape s = large[i / 2];
        s.type = i % 2 ? SR_BF16 : SR_F32;
        ConvCase t = conv_case_new(s, &rng);
        for (int m = 0; m < SR_COUNT(masks); m++)
            for (int level = SR_CPU_PLAIN; level <= top_level(s.type, best); level++) {
                test_machine_level((SrCpuLevel)level);
                if (m > 0 && !differs(&t.s, masks[m]))
                    continue;
                test_machine()->conv_designs = masks[m];
                conv_case_check(&t, 3e-6);
                if (level == top_level(s.type, best))
                    conv_case_check_threads(&t);
            }
        test_machine_level(best);
        test_machine()->conv_designs = SR_CONV_ALL;
        conv_case_free(&t);
    }
}

static const char *pass_design(SrConvPass pass, SrDtype type, int N, int side, int C, int K, int R,
                               int stride, int groups) {
    SrConvShape s = {N,     side,  side, C, K,      R, R, stride, stride,
                     R / 2, R / 2, 1,    1, groups, 0, 0, type,   NULL};
    sr_conv_shape(&s);
    SrConv c = test_conv(&s);
    return sr_conv_design(&c, pass);
}

static const char *design(int N, int side, int C, int K, int R, int stride, int groups) {
    return pass_design(SR_CONV_FORWARD, SR_F32, N, side, C, K, R, stride, groups);
}

static const char *weight_design(SrDtype type, int N, int side, int C, int K) {
    return pass_design(SR_CONV_BACKWARD_WEIGHT, type, N, side, C, K, 3, 1, 1);
}

// On a machine whose bfloat16 pairs are slower than floats, layers multiply floats.
TEST(test_bf16_without_pairs) {
    test_machine()->pairs = false;
    CHECK(!sr_machine_has_pairs(test_machine()));
    sweep(SR_BF16, SR_CONV_DIRECT | SR_CONV_TILES, 500, 1e-6, conv_random_shape);
    test_machine_level(SR_CPU_PAIRS);
    CHECK_INT(sr__conv_kernels(test_machine(), SR_BF16)->depth, 1);
}

static int measurings;
static double fast_pairs(bool of_pairs) { return measurings++, of_pairs ? 1 : 2; }
static double slow_pairs(bool of_pairs) { return measurings++, of_pairs ? 3 : 2; }

// The measurement compares pairs with floats; the answer of a process never changes afterwards.
TEST(test_pairs_measured) {
    CHECK(!sr__conv_pairs_win(slow_pairs));
    CHECK_INT(measurings, 6);
    CHECK(sr__conv_pairs_win(fast_pairs));
    bool first = sr_conv_pairs_are_faster();
    CHECK(!first || sr_machine_has_bf16(sr_machine_default()));
    CHECK(sr_conv_pairs_are_faster() == first);
}

TEST(test_choice) {
    test_machine()->fp32 = SR_CONV_FP32_IEEE;
    CHECK_STR(design(16, 56, 64, 64, 3, 1, 1), "winograd4");
    CHECK_STR(design(16, 7, 512, 512, 3, 1, 1), "winograd4");
    CHECK_STR(design(16, 14, 256, 256, 3, 1, 1), "winograd3"); // 5 x 5 tiles against 4 x 4
    CHECK_STR(design(48, 6, 256, 256, 3, 1, 1), "winograd3");
    CHECK_STR(design(48, 3, 512, 512, 3, 1, 1), "winograd3");
    // Padding costs more than Winograd saves.
    CHECK_STR(design(48, 2, 512, 512, 3, 1, 1), "direct");
    // One image has too few tiles to pay for the transformed weights.
    CHECK_STR(design(1, 7, 512, 512, 3, 1, 1), "direct");
    CHECK_STR(design(16, 56, 64, 256, 1, 1, 1), "direct");  // Winograd needs 3x3 kernels,
    CHECK_STR(design(16, 56, 128, 128, 3, 2, 1), "direct"); // stride 1
    CHECK_STR(design(16, 56, 128, 128, 3, 1, 4), "direct"); // and one group
    // This choice follows measurements, as in every row here.
    CHECK_STR(weight_design(SR_F32, 16, 14, 256, 256), "winograd4");
    CHECK_STR(weight_design(SR_F32, 48, 6, 256, 256), "winograd3");
    CHECK_STR(weight_design(SR_F32, 48, 3, 512, 512), "winograd3");
    CHECK_STR(weight_design(SR_F32, 2, 3, 512, 512), "direct");
    SrCpuLevel best = test_machine()->level;
    if (sr_machine_has_tiles(test_machine()))
        CHECK_STR(weight_design(SR_BF16, 16, 7, 512, 512), "tiles");
    if (test_machine_level(SR_CPU_PAIRS) == SR_CPU_PAIRS) {
        CHECK_STR(weight_design(SR_BF16, 16, 7, 512, 512), "winograd4");
        CHECK_STR(pass_design(SR_CONV_FORWARD, SR_BF16, 16, 224, 3, 64, 7, 2, 1), "padded");
        CHECK_STR(pass_design(SR_CONV_BACKWARD_WEIGHT, SR_BF16, 16, 224, 3, 64, 7, 2, 1), "padded");
        CHECK_STR(weight_design(SR_BF16, 48, 3, 512, 512),
                  "direct"); // products of bfloat16 pairs take half the time
    }
    test_machine_level(best);
    test_machine()->conv_designs = 0;
    CHECK_STR(design(16, 56, 64, 64, 3, 1, 1), "plain");
    test_machine()->conv_designs = SR_CONV_ALL;
    test_machine()->fp32 = SR_CONV_FP32_AUTO;
    if (sr_machine_has_tiles(
            // Six products are faster than fused multiply-adds and slower than Winograd.
            test_machine())) {
        CHECK_STR(design(16, 14, 1024, 256, 1, 1, 1), "tiles");
        CHECK_STR(design(16, 28, 256, 256, 3, 2, 1), "tiles");
        CHECK_STR(design(16, 56, 64, 64, 1, 1, 1), "direct");
        CHECK_STR(design(16, 28, 128, 128, 3, 1, 1), "winograd4");
        test_machine()->fp32 = SR_CONV_FP32_X3;
        CHECK_STR(design(16, 28, 128, 128, 3, 1, 1), "tiles");
        test_machine()->fp32 = SR_CONV_FP32_AUTO;
    }
}

// An output larger than the caches is written by streaming stores; it has the bits of its halves,
// which are cached.
static void streamed_case(int side, int channels) {
    SrRng rng = sr_rng(11, SR_RNG_TEST, 0, 0, 0, 0);
    SrConvShape s = {.N = 4,
                     .H = side,
                     .W = side,
                     .C = 8,
                     .K = channels,
                     .R = 1,
                     .S = 1,
                     .stride_h = 1,
                     .stride_w = 1,
                     .dilation_h = 1,
                     .dilation_w = 1,
                     .groups = 1};
    sr_conv_shape(&s);
    SrConv c = test_conv(&s);
    size_t nx = conv_x_len(&s), ny = conv_y_len(&s), bytes = ny * sizeof(float);
    CHECK(ny >= 3 << 20 && ny / 2 < 3 << 20);
    float *x = conv_draw(&rng, nx), *w = conv_draw(&rng, conv_w_len(&s)),
          *bias = conv_draw(&rng, (size_t)channels), *residual = conv_draw(&rng, ny);
    float *y = aligned_alloc(SR_ALIGN, bytes), *halves = aligned_alloc(SR_ALIGN, bytes);
    void *scratch = aligned_alloc(
        SR_ALIGN, (sr_conv_scratch_bytes(&c, SR_CONV_FORWARD) / SR_ALIGN + 1) * SR_ALIGN);
    float *packed = aligned_alloc(SR_ALIGN, sr_conv_prepared(&c, SR_CONV_FORWARD).bytes);
    sr_conv_prepare(&c, SR_CONV_FORWARD, w, packed);
    sr_conv_forward_end(&c, x, packed,
                        &(SrConvEnd){.bias = bias, .residual = residual, .relu = true}, y, scratch);
    c.shape.N /= 2;
    for (size_t half = 0; half < 2; half++)
        sr_conv_forward_end(
            &c, x + half * nx / 2, packed,
            &(SrConvEnd){.bias = bias, .residual = residual + half * ny / 2, .relu = true},
            halves + half * ny / 2, scratch);
    CHECK(memcmp(y, halves, bytes) == 0);
    free(y), free(halves), free(scratch), free(packed);
    sr_free(x), sr_free(w), sr_free(bias), sr_free(residual);
}

// Whole blocks of columns, and a narrow one at the end.
TEST(test_streamed_output) {
    streamed_case(128, 64);
    streamed_case(112, 80);
}

SR_TESTS(conv, unit(test_streamed_output), unit(test_shape_formula), unit(test_pairs_measured),
         unit(test_choice), unit(test_plain), unit(test_direct), unit(test_grouped),
         unit(test_winograd2), unit(test_winograd3), unit(test_winograd4), unit(test_bf16_widened),
         unit(test_bf16_direct), unit(test_bf16_without_pairs), unit(test_bf16_winograd),
         unit(test_threads_keep_bits))
