// Every seed of the weights' fuzzers as a regression test; inputs that broke something stay here for good.
#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/fuzz/features_fuzz.h"
#include "tests/fuzz/weights_fuzz.h"

static void run_corpus(const char *folder, int (*target)(const uint8_t *, size_t)) {
    char **names, path[512], *data;
    size_t bytes;
    int n;
    int64_t live = sr_mem_live();
    CHECK_OK(sr_file_list(folder, &names, &n));
    CHECK(n >= 3);
    for (int i = 0; i < n; i++) {
        CHECK_OK(sr_file_join(path, sizeof path, folder, names[i]));
        CHECK_OK(sr_file_read(path, 1 << 20, &data, &bytes));
        CHECK_INT(target((const uint8_t *)data, bytes), 0);
        sr_free(data);
    }
    sr_file_list_free(names, n);
    CHECK_INT(sr_mem_live(), live);
}

static void test_safetensors(void **state) {
    (void)state;
    run_corpus("tests/fuzz/corpus/safetensors", fuzz_safetensors);
}

static void test_pth(void **state) {
    (void)state;
    run_corpus("tests/fuzz/corpus/pth", fuzz_pth);
}

static void test_npz(void **state) {
    (void)state;
    run_corpus("tests/fuzz/corpus/npz", fuzz_npz);
}

static void test_npy(void **state) {
    (void)state;
    run_corpus("tests/fuzz/corpus/npy", fuzz_npy);
}

static void test_features(void **state) {
    (void)state;
    run_corpus("tests/fuzz/corpus/features", fuzz_features);
}

SR_TESTS(weights_fuzz, unit(test_safetensors), unit(test_pth), unit(test_npz), unit(test_npy),
         unit(test_features))
