// Results of a command as numbers, so that two runs are compared without keeping their files.
#ifndef SR_TESTS_HISTORIES_RESULTS_H
#define SR_TESTS_HISTORIES_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RESULTS_FIGURES = 64 };

typedef struct {
    uint64_t hash; // of the final tensors of a training, or of all files of an extraction
    uint64_t figure[RESULTS_FIGURES]; // of each different line of metrics.json, without times
    int n;
    double loss; // sum over the steps of the last epoch
} Results;

// Reads the results in a folder.  false: there is no whole result, and `why` says what is missing.
bool results_read(const char *folder, bool trained, Results *results, char why[256]);
// Compares results with right ones.  all: every figure of `right` must be there; otherwise a phase
// may have been left out, but no figure may differ.
bool results_equal(const Results *some, const Results *right, bool all);
// Compares results whose last bits may differ: the losses agree up to rounding.
bool results_close(const Results *a, const Results *b);
// True: each file of the folder is whole, and no temporary file is left; otherwise `why` names one.
bool results_whole(const char *folder, char why[256]);

#endif
