// Makes feature matrices with planted classes for tests (feature_rows.h).
#include "tests/measure/feature_rows.h"

#include "base/rng.h"
#include "formats/weights/safetensors.h"
#include "tests/check.h"

void test_rows_planted(SrMatrix *f, int64_t n, int d, int classes, double spread, uint64_t seed) {
    SrRng noise = sr_rng(seed, SR_RNG_TEST, 0, 0, 0, 0);
    CHECK_OK(sr_matrix_init(f, n, d));
    for (int64_t i = 0; i < n; i++) {
        SrRng centre = sr_rng(1, SR_RNG_TEST, 1, (uint64_t)(i % classes), 0, 0);
        f->label[i] = i % classes;
        for (int j = 0; j < d; j++)
            f->x[i * d + j] = (float)(spread * sr_rng_normal(&centre) + sr_rng_normal(&noise));
    }
}

void test_rows_save(const SrMatrix *f, const char *path, const char *name) {
    SrNamedTensor t[] = {{name, {SR_SHAPE((int)f->n, f->d), SR_F32, f->x}},
                         {"labels", {SR_SHAPE((int)f->n), SR_I64, f->label}}};
    CHECK_OK(sr_safetensors_save(path, t, 2, NULL, NULL, 0));
}
