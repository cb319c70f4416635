// Tests that a picture matches its parts, its mirror image and other brightness, and no other one.
#include "folder/picture_match.h"

#include "base/compiler.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tests/check.h"

enum { SIDE = SR_PICTURE_SIDE };

// Smooth waves at a place and scale of a scene.
static void draw(int scene, double top, double left, double scale, float *x) {
    for (int i = 0; i < SIDE * SIDE; i++) {
        double h = top + (i / SIDE + 0.5) * scale, w = left + (i % SIDE + 0.5) * scale;
        x[i] = (float)(sin(h * (0.31 + 0.07 * scene)) + cos(w * (0.23 + 0.05 * scene) + scene) +
                       sin((h + 2 * w) * 0.17 + scene * scene));
    }
}

TEST(test_parts) {
    float a[SIDE * SIDE], b[SIDE * SIDE];
    draw(1, 0, 0, 1, a);
    for (double scale = 0.7; scale <= 1; scale += 0.05)
        for (double place = 0; place <= 1; place += 0.25) {
            draw(1, place * SIDE * (1 - scale), (1 - place) * SIDE * (1 - scale), scale, b);
            for (int i = 0; i < SIDE * SIDE; i++)
                b[i] = 0.3f * b[i] + 5;
            CHECK(sr_picture_match(a, b, false) > 0.99f);
            CHECK(sr_picture_match(b, a, false) > 0.99f);
        }
}

// Averages the part of a large picture (LARGE, LARGE) that begins at (top, left) and has `side`
// pixels.
enum { LARGE = 256 };
static void thumbnail(const float *large, int top, int left, int side, float *x) {
    for (int i = 0; i < SIDE * SIDE; i++) {
        double from_h = top + (double)(i / SIDE) * side / SIDE, sum = 0;
        double from_w = left + (double)(i % SIDE) * side / SIDE, per = (double)side / SIDE;
        int n = 0;
        for (int h = (int)from_h; h < (int)(from_h + per); h++)
            for (int w = (int)from_w; w < (int)(from_w + per); w++, n++)
                sum += (double)large[h * LARGE + w];
        x[i] = (float)(sum / n);
    }
}

// Small pictures of a coarse texture and of a part of it differ in their finest details.
TEST(test_part_of_a_texture) {
    enum { GRAIN = 8 };
    float *large = sr_alloc(LARGE * LARGE * sizeof *large), a[SIDE * SIDE], b[SIDE * SIDE];
    CHECK(large != NULL);
    for (uint64_t seed = 0; seed < 10; seed++) {
        SrRng rng = sr_rng(seed, SR_RNG_TEST, 0, 0, 0, 0);
        float grain[(LARGE / GRAIN) * (LARGE / GRAIN)];
        for (int i = 0; i < SR_COUNT(grain); i++)
            grain[i] = (float)sr_rng_normal(&rng);
        for (int i = 0; i < LARGE * LARGE; i++)
            large[i] = 2 * (float)sin(i / LARGE * 0.03) + 2 * (float)cos(i % LARGE * 0.04) +
                       grain[i / LARGE / GRAIN * (LARGE / GRAIN) + i % LARGE / GRAIN];
        int side = 205, top = (int)sr_rng_below(&rng, LARGE - side);
        int left = (int)sr_rng_below(&rng, LARGE - side);
        thumbnail(large, 0, 0, LARGE, a);
        thumbnail(large, top, left, side, b);
        CHECK(sr_picture_match(a, b, false) > 0.975f);
    }
    sr_free(large);
}

TEST(test_mirrored) {
    float a[SIDE * SIDE], b[SIDE * SIDE];
    draw(2, 0, 0, 1, a);
    for (int i = 0; i < SIDE * SIDE; i++)
        b[i] = a[i / SIDE * SIDE + SIDE - 1 - i % SIDE];
    CHECK(sr_picture_match(a, b, true) > 0.9999f);
    CHECK(sr_picture_match(a, b, false) < 0.9f);
}

TEST(test_others) {
    float a[SIDE * SIDE], b[SIDE * SIDE];
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < i; j++) {
            draw(i, 0, 0, 1, a);
            draw(j, 0, 0, 1, b);
            CHECK(sr_picture_match(a, b, false) < 0.9f);
        }
    for (int i = 0; i < SIDE * SIDE; i++)
        b[i] = 1;
    CHECK_NEAR(sr_picture_match(a, b, false), 0, 0);
    CHECK_NEAR(sr_picture_match(b, b, false), 0, 0);
}

SR_TESTS(picture_match, unit(test_parts), unit(test_part_of_a_texture), unit(test_mirrored),
         unit(test_others))
