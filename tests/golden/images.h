// What the golden cases of images share: tensors as images, and what a tensor's description says.
#ifndef SR_TESTS_GOLDEN_IMAGES_H
#define SR_TESTS_GOLDEN_IMAGES_H

#include "data/pixels/pixel.h"
#include "tests/golden/golden.h"

// Tensor `name`, (H, W, 3) bytes, as an image of the pool.
SrStatus golden_image(SrGoldenCase *c, const char *name, SrImagePool *pool, SrImage *out);
// The image against tensor `name`: within one grey level, and of its size.
SrStatus golden_compare_image(SrGoldenCase *c, const char *name, const SrImage *ours);
// manifest.tensors.NAME.what, "" if missing.
const char *golden_what(const SrGoldenCase *c, const char *name);
// "NAME<i>" in the case's arena.
const char *golden_numbered(SrGoldenCase *c, const char *name, int i);
// values.NAME as a number; false when there is none.
bool golden_value(const SrGoldenCase *c, const char *name, double *out);
// config.PATH as a number, or `missing`.
double golden_setting(const SrGoldenCase *c, const char *path, double missing);
// A number of step i against values.NAME[i], where the case has it.
SrStatus golden_scheduled(SrGoldenCase *c, const char *name, int i, double ours, double relative);

#endif
