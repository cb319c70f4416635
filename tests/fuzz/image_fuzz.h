// Fuzz target of images: decoding, every transform and the loader, with files of any shape under
// lists that do not fix the size.
#ifndef SR_TESTS_FUZZ_IMAGE_FUZZ_H
#define SR_TESTS_FUZZ_IMAGE_FUZZ_H

#include <stddef.h>
#include <stdint.h>

// Runs one input: the first byte chooses the transforms, the second the way to run them, the rest
// is the file. Aborts if an invariant does not hold: a refusal has a reason, content of old
// memory changes no pixel, a view of another size than announced is refused, the image before it
// in the batch does not change, and nothing leaks. Returns 0.
int fuzz_image(const uint8_t *data, size_t bytes);

#endif
