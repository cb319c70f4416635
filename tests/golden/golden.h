// Interface of golden cases. A kind of case is one file with a descriptor `const SrGolden
// sr_golden_<kind>`.
#ifndef SR_TESTS_GOLDEN_GOLDEN_H
#define SR_TESTS_GOLDEN_GOLDEN_H

#include "base/text/yaml.h"
#include "formats/weights/safetensors.h"

// One case: CASE.json is the manifest, CASE.safetensors holds the tensors (none if the file is
// missing).
typedef struct {
    const char *folder, *name; // name: such as "swav_queue_multihead"
    const SrYaml *manifest;
    const SrYaml *config; // config of the manifest
    const SrYaml *values; // values of the manifest
    const SrSafetensors *tensors;
    SrArena *arena; // freed after the case
    double worst;   // largest error / tolerance over all comparisons so far
    double error;   // the error of that comparison
    double tolerance;
    char where[128];         // name of the tensor with that error
    int compared;            // numbers compared; 0 fails the case unless not_offered is set
    const char *not_offered; // what sslrun leaves out: the case is skipped; NULL: nothing
} SrGoldenCase;

typedef struct {
    const char *prefixes
        // A case belongs to the kind with the longest matching prefix, such as "swav_" or
        // "head_mlp".
        [8];
    SrStatus (*run)(SrGoldenCase *c);
} SrGolden;

// Compares n floats with the case's tensor `name`: max |a - b| / max |reference| must not exceed
// `relative`. A missing tensor or another number of elements: SR_ERR_RUN.
SrStatus golden_compare(SrGoldenCase *c, const char *name, const float *ours, int64_t n,
                        double relative);
SrStatus golden_compare_f64(SrGoldenCase *c, const char *name, const double *ours, int64_t n,
                            double relative);
// Compares the bytes of an image with the tensor: each may differ by at most `levels`.
SrStatus golden_compare_u8(SrGoldenCase *c, const char *name, const uint8_t *ours, int64_t n,
                           double levels);
// Compares one number with a reference number.
SrStatus golden_number(SrGoldenCase *c, const char *name, double ours, double reference,
                       double relative);
// Returns the path of a recipe that the reference ran: VISSL's below tests/vissl, otherwise one
// of configs/ by that name. NULL: none.
const char *golden_recipe(SrGoldenCase *c, const char *name);
// Returns whether values.gradients_zero_up_to_rounding lists the tensor: its values are rounding
// noise.
bool golden_is_noise(const SrGoldenCase *c, const char *name);
// Returns the tensor (F32, F64, I64 or U8) as floats in the case's arena, and the number of
// elements in *n. NULL: missing.
float *golden_floats(SrGoldenCase *c, const char *name, int64_t *n);
const SrTensor *golden_tensor(SrGoldenCase *c, const char *name); // NULL: missing
// Convert between (N, C, H, W) and (N, H, W, C); tensors of rank 2 and lower are copied. The
// result is in the case's arena.
float *golden_to_nhwc(SrGoldenCase *c, const float *nchw, SrShape nchw_shape);
float *golden_to_nchw(SrGoldenCase *c, const float *nhwc, SrShape nhwc_shape);

#endif
