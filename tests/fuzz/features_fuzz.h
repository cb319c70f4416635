// Fuzz target of feature files, as `sslrun knn`, `svm` or `cluster` read them: shards, labels,
// names.
#ifndef SR_TESTS_FUZZ_FEATURES_FUZZ_H
#define SR_TESTS_FUZZ_FEATURES_FUZZ_H

#include <stddef.h>
#include <stdint.h>

// Runs one input: the first byte chooses the layout, the rest are its files with a line "===="
// between them. Aborts if an invariant does not hold: a refusal has a message and leaks nothing;
// features that were read have finite rows, labels in range and one name per row. Returns 0.
int fuzz_features(const uint8_t *data, size_t bytes);

#endif
