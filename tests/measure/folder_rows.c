// Rows of the golden numbers: a linear congruential generator, one centre per class.
#include "tests/measure/folder_rows.h"

#include "tests/check.h"

void folder_draws(uint32_t seed, float *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = (float)(seed >> 8) / 16777216.0f - 0.5f;
    }
}

void folder_rows(SrMatrix *out) {
    CHECK_OK(sr_matrix_init(out, FOLDER_N, FOLDER_D));
    folder_draws(1, out->x, (int64_t)FOLDER_N * FOLDER_D);
    for (int64_t i = 0; i < FOLDER_N; i++) {
        out->label[i] = i % FOLDER_CLASSES;
        out->x[i * FOLDER_D + out->label[i]] += 0.75f;
    }
}
