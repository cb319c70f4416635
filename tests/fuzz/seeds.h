// What the fuzzers once found, as regression tests.  Each target's inputs are one archive, tests/fuzz/corpus/TARGET.tar.gz,
// which the Makefile unpacks into seeds/TARGET beside the test binary; tests/fuzz/keep.sh adds to it.
#ifndef SR_TESTS_FUZZ_SEEDS_H
#define SR_TESTS_FUZZ_SEEDS_H

#include <stddef.h>
#include <stdint.h>

// Calls run once for each input of the target, by name; it must return 0 and leave no memory behind.  Fewer than
// at_least inputs fail the test, so that an archive that was not unpacked is not taken for one without findings.
void seeds_run(const char *target, int at_least, int (*run)(const uint8_t *data, size_t bytes));

#endif
