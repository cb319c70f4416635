// Measures the speed of the convolutions' own instructions on this processor, for benches to
// compare with.  Clocks drift and cores are shared, so a peak is only worth comparing with figures
// of the same run.
#include "kernels/conv/conv_peak.h"

#include <float.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/parallel.h"
#include "kernels/conv/conv_kernels.h"
#include "kernels/conv/conv_shape.h"
#include "kernels/conv/tiles/conv_tile_kernels.h"

enum { CHANNELS = 64, TAPS = 64, TILES = 400, WIDEST = 64, TRIES = 3 };

// Computes one tile `tiles` times; the operands stay in the first-level cache.
static void run_tiles(const SrConvKernels *kernels, int tiles) {
    static const float x[SR_CONV_FETCH][CHANNELS], w[CHANNELS * WIDEST];
    static const int tap[TAPS] = {0};
    float y[SR_CONV_FETCH][WIDEST], *out[SR_CONV_FETCH];
    const float *in[SR_CONV_FETCH];
    for (int m = 0; m < SR_CONV_FETCH; m++) {
        in[m] = x[m];
        out[m] = y[m];
    }
    SrConvTile t = {.tap = tap,
                    .taps = TAPS,
                    .in = in,
                    .channels = CHANNELS,
                    .w = w,
                    .out = out,
                    .pixels = kernels->rows(kernels->block),
                    .columns = kernels->block};
    for (int n = 0; n < tiles; n++)
        kernels->tile(&t);
}

static void run_tile(void *arg, int64_t i, int thread) {
    (void)i, (void)thread;
    run_tiles(*(const SrConvKernels *const *)arg, TILES);
}

enum { STEPS = 8, CALLS = 4000 };

// Computes one block on tile registers over and over.
static void run_outer(void *arg, int64_t i, int thread) {
    (void)i, (void)thread;
    const SrTileProducts *products = ((const SrTileKernels *)arg)->products;
    static const _Alignas(SR_ALIGN) char a[STEPS * SR_TILE_BYTES], b[STEPS * SR_TILE_BYTES];
    _Alignas(SR_ALIGN) float sum[SR_TILE_BLOCK * SR_TILE_BLOCK];
    products->configure();
    for (int n = 0; n < CALLS; n++)
        products->outer(&(SrTileOuter){
            .a = {a}, .b = {b}, .products = 1, .steps = STEPS, .sum = sum, .fresh = true});
    products->release();
}

static double tile_products(const SrConvKernels *kernels, int tiles) {
    return (double)tiles * TAPS * CHANNELS * kernels->depth * kernels->block *
           kernels->rows(kernels->block);
}

// Takes the best of a few tries, because other programs may use the same cores.
double sr_conv_peak_gflops(const SrMachine *machine, SrDtype type) {
    const SrConvKernels *kernels = sr__conv_kernels(machine, type);
    bool on_tiles = type == SR_BF16 && sr_machine_has_tiles(machine);
    const SrTileKernels *tiles = on_tiles ? sr__tile_kernels(machine) : NULL;
    double best = DBL_MAX;
    int threads = sr_parallel_threads();
    for (int i = 0; i < TRIES; i++) {
        double began = sr_clock();
        if (tiles)
            sr_parallel_for(threads, run_outer, (void *)tiles);
        else
            sr_parallel_for(threads, run_tile, &kernels);
        best = SR_MIN(best, sr_clock() - began);
    }
    if (tiles)
        return 2e-9 * CALLS * STEPS * SR_TILE_BLOCK * SR_TILE_BLOCK * SR_TILE_CHUNK * threads /
               best;
    return 2e-9 * tile_products(kernels, TILES) * threads / best;
}

// ---- pairs or floats

// Takes the best of pieces that are shorter than a process's turn on a busy core.  A piece that was
// interrupted does not count then, and a run gets the same answer, on which its bits depend, under
// any load.
static double clock_seconds(bool of_pairs) {
    enum { PIECES = 8, PIECE = 10 }; // tiles of a piece: some 0.2 ms
    const SrMachine *machine = sr_machine_default();
    const SrConvKernels *kernels = of_pairs ? SR_CPU_PICK_BF16(machine, sr__conv_kernels)
                                            : SR_CPU_PICK(machine, sr__conv_kernels);
    double best = DBL_MAX;
    for (int i = 0; i < PIECES; i++) {
        double began = sr_clock();
        run_tiles(kernels, PIECE);
        best = SR_MIN(best, sr_clock() - began);
    }
    return best / tile_products(kernels, PIECE);
}

// Times the two in turn, so that a busy moment meets both.
bool sr__conv_pairs_win(double (*seconds)(bool pairs)) {
    double best[] = {DBL_MAX, DBL_MAX};
    for (int i = 0; i < 2 * TRIES; i++) {
        double now = seconds(i % 2);
        best[i % 2] = SR_MIN(best[i % 2], now);
    }
    return best[1] < best[0];
}

static bool pairs_win; // constant once `once` has run
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void measure_pairs(void) {
    pairs_win = sr_machine_has_bf16(sr_machine_default()) && sr__conv_pairs_win(clock_seconds);
}

bool sr_conv_pairs_are_faster(void) {
    pthread_once(&once, measure_pairs);
    return pairs_win;
}
