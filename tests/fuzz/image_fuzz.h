// The fuzz target of images: decoding, every transform and the loader, with files of any shape under sizes that are
// open.
#ifndef SR_TESTS_FUZZ_IMAGE_FUZZ_H
#define SR_TESTS_FUZZ_IMAGE_FUZZ_H

#include <stddef.h>
#include <stdint.h>

// The first byte chooses the transforms, the second how they run, the rest is the file.  Ends the process where an
// invariant does not hold: a refusal has a reason; what old memory holds changes no pixel; a view that is not of the
// announced size is refused; the image before it in the batch stays as it is; no memory is left over.
int fuzz_image(const uint8_t *data, size_t bytes);

#endif
