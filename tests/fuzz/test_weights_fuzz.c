// Tests every input of the weight fuzzers' corpora as a regression test. Inputs that once failed
// stay in the corpus.
#include "tests/check.h"
#include "tests/fuzz/features_fuzz.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/weights_fuzz.h"

static void test_safetensors(void **state) {
    (void)state;
    seeds_run("safetensors", 135, fuzz_safetensors);
}

static void test_pth(void **state) {
    (void)state;
    seeds_run("pth", 133, fuzz_pth);
}

static void test_npz(void **state) {
    (void)state;
    seeds_run("npz", 130, fuzz_npz);
}

static void test_npy(void **state) {
    (void)state;
    seeds_run("npy", 113, fuzz_npy);
}

static void test_features(void **state) {
    (void)state;
    seeds_run("features", 14, fuzz_features);
}

SR_TESTS(weights_fuzz, unit(test_safetensors), unit(test_pth), unit(test_npz), unit(test_npy),
         unit(test_features))
