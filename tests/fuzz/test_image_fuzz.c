// Every seed of the image fuzzer as a regression test: files of each format and shape under open sizes, and what broke
// something once.
#include "tests/check.h"
#include "tests/fuzz/image_fuzz.h"
#include "tests/fuzz/seeds.h"

// The lists of transforms are made by the first input and stay.
static void test_images(void **state) {
    (void)state;
    CHECK_INT(fuzz_image((const uint8_t[]){0, 0, 0}, 3), 0);
    seeds_run("image", 40, fuzz_image);
}

SR_TESTS(image_fuzz, unit(test_images))
