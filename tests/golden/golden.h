// The golden runner's contract: a kind of case is one file with a descriptor `const SrGolden sr_golden_<kind>`.
#ifndef SR_TESTS_GOLDEN_GOLDEN_H
#define SR_TESTS_GOLDEN_GOLDEN_H

#include "base/yaml.h"
#include "formats/safetensors.h"

// One case: CASE.json (manifest) and CASE.safetensors (tensors is empty where the case has none).
typedef struct {
    const char *folder, *name; // "swav_queue_multihead"
    const SrYaml *manifest;
    const SrYaml *config; // manifest.config
    const SrYaml *values; // manifest.values
    const SrSafetensors *tensors;
    SrArena *arena; // freed after the case
    double worst;   // largest error / tolerance over all comparisons so far
    double error;   // the error at that place
    double tolerance;
    char where[128];         // the tensor it was found in
    int compared;            // numbers compared; a case that compared nothing fails, unless
    const char *not_offered; // it says what we leave out: then it counts as skipped
} SrGoldenCase;

typedef struct {
    const char *prefixes
        [8]; // a case belongs to the kind with the longest matching prefix: "swav_", "head_mlp"
    SrStatus (*run)(SrGoldenCase *c);
} SrGolden;

// Compares ours with the case's tensor `name`: error = max |a - b| / max |reference| against the tolerance.
// A missing tensor or another number of elements: SR_ERR_RUN.
SrStatus golden_compare(SrGoldenCase *c, const char *name, const float *ours, int64_t n,
                        double relative);
SrStatus golden_compare_f64(SrGoldenCase *c, const char *name, const double *ours, int64_t n,
                            double relative);
// Absolute differences of bytes (images): at most `levels`.
SrStatus golden_compare_u8(SrGoldenCase *c, const char *name, const uint8_t *ours, int64_t n,
                           double levels);
// One number against a reference number.
SrStatus golden_number(SrGoldenCase *c, const char *name, double ours, double reference,
                       double relative);
// The file of a recipe the reference ran: VISSL's own below tests/vissl, else one of ours by that name.
const char *golden_recipe(SrGoldenCase *c, const char *name);
// Whether values.gradients_zero_up_to_rounding names the tensor: what it holds is rounding noise.
bool golden_is_noise(const SrGoldenCase *c, const char *name);
// The tensor as floats (from F32, F64, I64, U8), or NULL; n gets the element count.  In the case's arena.
float *golden_floats(SrGoldenCase *c, const char *name, int64_t *n);
const SrTensor *golden_tensor(SrGoldenCase *c, const char *name); // NULL if absent
// (N, C, H, W) <-> (N, H, W, C); copies in the arena; rank 2 and lower are copied as they are.
float *golden_to_nhwc(SrGoldenCase *c, const float *nchw, SrShape nchw_shape);
float *golden_to_nchw(SrGoldenCase *c, const float *nhwc, SrShape nhwc_shape);

#endif
