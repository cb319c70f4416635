// Two emulations of a tile-register product, in plain C and in vectors, give the same bits for
// any numbers and any state of the MXCSR register.
#include <stdint.h>
#include <string.h>

#define SR_ISA emulated
#include "base/rng.h"
#include "kernels/core/tiles.h"
#include "tests/check.h"

#if defined(__x86_64__)
// Draws by kind: numbers of ordinary size, of any exponent, or any bits (subnormal numbers,
// infinities, NaNs).
static uint32_t draw(SrRng *rng, int kind) {
    uint32_t bits = sr_rng_u32(rng);
    if (kind == 0)
        bits = (bits & 0x80ffffff) | (120u + bits % 8) << 23;
    if (kind == 1)
        bits = (bits & 0x807fffff) | (1 + sr_rng_below(rng, 190)) << 23;
    return bits;
}

// Fills tile 0 with sums and tiles 1 and 2 with factors.
static void fill(SrRng *rng, int kind) {
    for (int i = 0; i < 256; i++) {
        uint32_t sum = draw(rng, kind), halves[2];
        memcpy(emulated_tile[0][i / 16] + 4 * (i % 16), &sum, 4);
        for (int t = 0; t < 2; t++) {
            for (int h = 0; h < 2; h++)
                halves[h] = draw(rng, kind) >> 16;
            uint32_t pair = halves[0] | halves[1] << 16;
            memcpy(emulated_tile[1 + t][i / 16] + 4 * (i % 16), &pair, 4);
        }
    }
}

static bool same(const uint8_t *a, const uint8_t *b) {
    float x, y;
    memcpy(&x, a, 4);
    memcpy(&y, b, 4);
    return memcmp(a, b, 4) == 0 || (isnan(x) && isnan(y));
}

static void compare(SrRng *rng, int kind) {
    uint8_t before[16][64], plain[16][64];
    fill(rng, kind);
    memcpy(before, emulated_tile[0], sizeof before);
    product_plain(0, 1, 2);
    memcpy(plain, emulated_tile[0], sizeof plain);
    memcpy(emulated_tile[0], before, sizeof before);
    emulated_product(0, 1, 2);
    for (int i = 0; i < 1024; i += 4)
        CHECK(same(&plain[0][0] + i, &emulated_tile[0][0][0] + i));
}

TEST(test_products) {
    SrRng rng = sr_rng(9, SR_RNG_TEST, 0, 0, 0, 0);
    unsigned before = _mm_getcsr();
    for (int i = 0; i < 300; i++) {
        _mm_setcsr(i % 2 ? before : 0x1f80); // with and without flushing of subnormal numbers
        compare(&rng, i % 3);
    }
    CHECK_INT(_mm_getcsr() & 0xffc0, before & 0xffc0); // the product restored MXCSR
    _mm_setcsr(before);
}
#else
static void test_products(void **state) { (void)state; } // without vectors there is one emulation
#endif

SR_TESTS(tiles, unit(test_products))
