// The fuzz target of files of features, as `sslrun knn`, `svm` or `cluster` read them: shards, labels, names.
#ifndef SR_TESTS_FUZZ_FEATURES_FUZZ_H
#define SR_TESTS_FUZZ_FEATURES_FUZZ_H

#include <stddef.h>
#include <stdint.h>

// The first byte chooses the layout, the rest are its files with a line "====" between them.  Ends the process where an
// invariant does not hold: a refusal has a message and leaves nothing behind; what is read has finite rows, labels in
// range and a name for each row.
int fuzz_features(const uint8_t *data, size_t bytes);

#endif
