// Fuzz targets of weight files, one per format. Each passes the bytes to the reader as they are,
// and once more after a well-formed beginning, so that most inputs reach the inner parser.
#ifndef SR_TESTS_FUZZ_WEIGHTS_FUZZ_H
#define SR_TESTS_FUZZ_WEIGHTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

// Run one input and return 0. They abort if an invariant does not hold: a refusal has a message
// and leaks nothing, an opened file can be read to its last number, and neither needs more than
// the file's size and 64 MiB.
int fuzz_safetensors(const uint8_t *data, size_t bytes);
int fuzz_pth(const uint8_t *data, size_t bytes); // both formats of torch.save
int fuzz_npz(const uint8_t *data, size_t bytes);
int fuzz_npy(const uint8_t *data, size_t bytes);

#endif
