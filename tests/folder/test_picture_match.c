// Tests that a picture matches its parts, its mirror image and other brightness, and no other one.
#include "folder/picture_match.h"

#include "base/compiler.h"
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

SR_TESTS(picture_match, unit(test_parts), unit(test_mirrored), unit(test_others))
