// Findings of the fuzzers as regression tests. The inputs of each target are one archive,
// tests/fuzz/corpus/TARGET.tar.gz, which the Makefile unpacks into seeds/TARGET next to the test
// binary. tests/fuzz/keep.sh adds to it.
#ifndef SR_TESTS_FUZZ_SEEDS_H
#define SR_TESTS_FUZZ_SEEDS_H

#include <stddef.h>
#include <stdint.h>

// Calls `run` for each input of the target, in the order of names; it must return 0 and leak
// nothing. Fewer than at_least inputs fail the test, so that an archive that was not unpacked is
// noticed.
void seeds_run(const char *target, int at_least, int (*run)(const uint8_t *data, size_t bytes));

#endif
