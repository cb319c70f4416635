// Shared by the golden cases of images: tensors as images, and fields of the manifest.
#ifndef SR_TESTS_GOLDEN_IMAGES_H
#define SR_TESTS_GOLDEN_IMAGES_H

#include "data/image_pool.h"
#include "data/pixels/pixel.h"
#include "tests/golden/golden.h"

// Returns the tensor `name`, (H, W, 3) bytes, as an image in memory of the pool.
SrStatus golden_image(SrGoldenCase *c, const char *name, SrImagePool *pool, SrImage *out);
// Compares the image with the tensor `name`: same size, within one grey level.
SrStatus golden_compare_image(SrGoldenCase *c, const char *name, const SrImage *ours);
// Returns manifest.tensors.NAME.what, or "" if it is missing.
const char *golden_what(const SrGoldenCase *c, const char *name);
// Returns "NAME<i>" in the case's arena.
const char *golden_numbered(SrGoldenCase *c, const char *name, int i);
// Reads values.NAME as a number; returns false if it is missing.
bool golden_value(const SrGoldenCase *c, const char *name, double *out);
// Returns config.PATH as a number, or `missing`.
double golden_setting(const SrGoldenCase *c, const char *path, double missing);
// Compares a number of step i with values.NAME[i]; does nothing if the case has no such list.
SrStatus golden_scheduled(SrGoldenCase *c, const char *name, int i, double ours, double relative);

#endif
