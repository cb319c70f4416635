// Files and images for the tests of data/: a temporary folder, encoded pictures, deterministic
// noise.
#ifndef SR_TESTS_DATA_FIXTURE_H
#define SR_TESTS_DATA_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "data/image_pool.h"

// Makes a fresh temporary folder and returns its path, which is `path`. fixture_remove removes it
// with its content.
const char *fixture_folder(char path[256]);
void fixture_remove(const char *folder);
// Writes folder/name and makes missing folders. Returns the path in a static buffer, valid until
// the next call.
const char *fixture_write(const char *folder, const char *name, const void *bytes, size_t n);

// Returns an encoded picture of h x w pixels with `channels` bytes each (1 grey, 2 grey + alpha,
// 3 RGB, 4 RGBA); *n is its size in bytes. The caller frees it.
void *fixture_png(const uint8_t *pixels, int h, int w, int channels, size_t *n);
void *fixture_jpeg(const uint8_t *pixels, int h, int w, int channels, size_t *n);
// Returns a PNG with these header fields, a palette (palette_bytes 0: none) and raw scanlines,
// each with its filter byte. The caller frees it.
void *fixture_raw_png(int h, int w, int depth, int color, const uint8_t *palette, int palette_bytes,
                      const uint8_t *rows, size_t row_bytes, size_t *n);

// Writes n pictures of 20 x 20 pixels of noise into two class folders below folder/name.
void fixture_class_folder(const char *folder, const char *name, int n);

void fixture_noise(uint8_t *out, size_t n, uint64_t seed);
// Returns an image of h x w pixels in memory of the pool: noise, or a smooth gradient.
SrImage fixture_image(SrImagePool *pool, int h, int w, uint64_t seed);
SrImage fixture_gradient(SrImagePool *pool, int h, int w);

// Lets tests/data/<script> write pictures into the folder by Pillow. Returns 0; without Pillow it
// does nothing, and fixture_need_pillow skips the test.
int fixture_pillow(const char *script, const char *folder);
void fixture_need_pillow(void);

// Reads a file of at most 1 MiB; the caller frees it with sr_free.
char *fixture_read(const char *folder, const char *name, size_t *n);
// Decodes copies of a file (n) in which up to `most` bytes from `from` on are damaged, `rounds`
// times. Each decodes to the same pixels twice, whatever the memory held before, or is a bad image
// twice.
void fixture_check_damaged(const char *file, size_t n, size_t from, int most, int rounds,
                           uint64_t seed);
// Does the same for floats of `channels` channels; 0: RGB.
void fixture_check_damaged_floats(const char *file, size_t n, int channels, size_t from, int most,
                                  int rounds, uint64_t seed);
// Compares an image with the PPM <folder>/<stem>.ppm; levels: the largest difference allowed.
void fixture_check_pixels(const SrImage *image, const char *folder, const char *stem, int levels);

#endif
