// Rows of features: who owns their memory.
#include "base/mem.h"
#include "measure/matrix.h"
#include "tests/check.h"

// A set whose fields point to the caller's memory frees nothing.
TEST(test_callers_memory) {
    float *x = sr_map(4096);
    int64_t *label = sr_calloc(4, sizeof *label);
    CHECK(x && label);
    SrMatrix f = {.n = 4, .d = 2, .x = x, .label = label};
    int64_t live = sr_mem_live();
    sr_matrix_deinit(&f);
    CHECK_INT(sr_mem_live(), live);
    CHECK(!f.x && !f.label && f.n == 0);
    x[0] = 1;
    label[3] = 1;
    sr_unmap(x, 4096);
    sr_free(label);
}

TEST(test_own_memory) {
    SrMatrix f;
    int64_t live = sr_mem_live();
    CHECK_OK(sr_matrix_init(&f, 3, 2));
    CHECK(sr_mem_live() > live);
    f.n = 1;
    sr_matrix_deinit(&f);
    CHECK_INT(sr_mem_live(), live);
    CHECK_FAILS(sr_matrix_init(&f, 0, 2), SR_ERR_CONFIG, "no images");
    CHECK_FAILS(sr_matrix_init(&f, 3, 0), SR_ERR_CONFIG, "features of 0 numbers");
    CHECK_INT(sr_mem_live(), live);
}

SR_TESTS(matrix, unit(test_callers_memory), unit(test_own_memory))
