// Files and images for the tests of data/: a temporary folder, encoded pictures, deterministic
// noise.
#ifndef SR_TESTS_DATA_FIXTURE_H
#define SR_TESTS_DATA_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "data/data.h"

// A fresh temporary folder, removed with everything in it by fixture_remove.
const char *fixture_folder(char path[256]);
void fixture_remove(const char *folder);
// Writes folder/name, making the folders on the way; returns the path in a static buffer.
const char *fixture_write(const char *folder, const char *name, const void *bytes, size_t n);

// An encoded picture of h x w, `channels` bytes a pixel (1 grey, 2 grey + alpha, 3 RGB, 4 RGBA).
// The caller frees it.
void *fixture_png(const uint8_t *pixels, int h, int w, int channels, size_t *n);
void *fixture_jpeg(const uint8_t *pixels, int h, int w, int channels, size_t *n);
// A PNG of these chunks' making: header fields, an optional palette and raw (filtered) scanlines.
void *fixture_raw_png(int h, int w, int depth, int color, const uint8_t *palette, int palette_bytes,
                      const uint8_t *rows, size_t row_bytes, size_t *n);

// n pictures of 20 x 20 noise in two class folders below folder/name.
void fixture_class_folder(const char *folder, const char *name, int n);

void fixture_noise(uint8_t *out, size_t n, uint64_t seed);
// h x w of noise, or of a smooth gradient, in the pool.
SrImage fixture_image(SrImagePool *pool, int h, int w, uint64_t seed);
SrImage fixture_gradient(SrImagePool *pool, int h, int w);

#endif
