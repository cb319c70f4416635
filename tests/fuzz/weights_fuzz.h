// The fuzz targets of weights files, one a format.  Each gives the bytes to the door as they are, and
// again behind a well-formed beginning, so that most inputs reach the parser within.
#ifndef SR_TESTS_FUZZ_WEIGHTS_FUZZ_H
#define SR_TESTS_FUZZ_WEIGHTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

// End the process where an invariant does not hold: a refusal has a message and leaves nothing
// behind, an open file can be read to its last number, and neither takes more than the file's size
// and 64 MiB.
int fuzz_safetensors(const uint8_t *data, size_t bytes);
int fuzz_pth(const uint8_t *data, size_t bytes); // both formats of torch.save
int fuzz_npz(const uint8_t *data, size_t bytes);
int fuzz_npy(const uint8_t *data, size_t bytes);

#endif
