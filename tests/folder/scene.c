// Draws scenes of textured rectangles.
#include "tests/folder/scene.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

static int level(int class, int y, int x, SrRng *rng) {
    int at = class == SCENE_UPRIGHT ? x : y;
    int stripe = class == SCENE_GROUND ? 0 : at / 3 % 2 ? 60 : -60;
    return 128 + stripe + (int)(8 * sr_rng_normal(rng));
}

void scene_write(const char *dir, const char *image, const char *mask, int h, int w, int seed) {
    SrRng rng = sr_rng((uint64_t)seed, SR_RNG_TEST, 0, 0, 0, 0);
    uint8_t *rgb = sr_alloc((size_t)(h * w * 3)), *class = sr_calloc((size_t)(h * w), 1);
    CHECK(rgb && class);
    for (int k = SCENE_UPRIGHT; k < SCENE_CLASSES; k++) {
        int bh = h * 2 / 5 + (int)sr_rng_below(&rng, (uint32_t)(h / 6));
        int bw = w * 2 / 5 + (int)sr_rng_below(&rng, (uint32_t)(w / 6));
        int top = (int)sr_rng_below(&rng, (uint32_t)(h - bh));
        int left = (k - 1) * w / 2 + (int)sr_rng_below(&rng, (uint32_t)(w / 2 - bw / 2)) / 2;
        for (int y = top; y < top + bh; y++)
            for (int x = left; x < left + bw && x < w; x++)
                class[y * w + x] = (uint8_t)k;
    }
    for (int i = 0; i < h * w; i++) {
        int grey = level(class[i], i / w, i % w, &rng);
        for (int c = 0; c < 3; c++)
            rgb[i * 3 + c] = (uint8_t)grey;
    }
    size_t bytes;
    void *png = fixture_png(rgb, h, w, 3, &bytes);
    fixture_write(dir, image, png, bytes);
    sr_free(png);
    if (mask) {
        png = fixture_png(class, h, w, 1, &bytes);
        fixture_write(dir, mask, png, bytes);
        sr_free(png);
    }
    sr_free(rgb);
    sr_free(class);
}

void scene_write_folder(const char *dir, int n) {
    for (int i = 0; i < n; i++) {
        char image[32], mask[32];
        snprintf(image, sizeof image, "images/%d.png", i);
        snprintf(mask, sizeof mask, "masks/%d.png", i);
        scene_write(dir, image, mask, 64 + i % 3 * 7, 48 + i % 4 * 5, i);
    }
}
