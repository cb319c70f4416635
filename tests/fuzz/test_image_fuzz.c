// Tests every input of the image fuzzer's corpus as a regression test: files of each format and
// shape under lists that do not fix the size, and inputs that once failed.
#include "tests/check.h"
#include "tests/fuzz/image_fuzz.h"
#include "tests/fuzz/seeds.h"

// The first input makes the lists of transforms, which stay allocated.
TEST(test_images) {
    CHECK_INT(fuzz_image((const uint8_t[]){0, 0, 0}, 3), 0);
    seeds_run("image", 250, fuzz_image);
}

SR_TESTS(image_fuzz, unit(test_images))
