// Tests every input of the weight fuzzers' corpora as a regression test. Inputs that once failed
// stay in the corpus.
#include "tests/check.h"
#include "tests/fuzz/features_fuzz.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/weights_fuzz.h"

TEST(test_safetensors) { seeds_run("safetensors", 135, fuzz_safetensors); }

TEST(test_pth) { seeds_run("pth", 133, fuzz_pth); }

TEST(test_npz) { seeds_run("npz", 130, fuzz_npz); }

TEST(test_npy) { seeds_run("npy", 113, fuzz_npy); }

TEST(test_features) { seeds_run("features", 14, fuzz_features); }

SR_TESTS(weights_fuzz, unit(test_safetensors), unit(test_pth), unit(test_npz), unit(test_npy),
         unit(test_features))
