// Judges the training of a run: figures of its trunk compared with those that cost nothing.
#ifndef SR_PAGES_RUNS_RUN_VERDICT_H
#define SR_PAGES_RUNS_RUN_VERDICT_H

#include "pages/runs/run_history.h"

typedef enum {
    SR_VERDICT_NONE, // the run was not evaluated, or its images have no labels
    SR_VERDICT_EASY, // features without training are right already: the test cannot tell
    // Better than all of these, or no worse than at its start, in a run that began from weights:
    // whether training helped is for sr_run_change to say
    SR_VERDICT_STARTED,
    SR_VERDICT_HELPED,  // better than the untrained trunk, raw pixels and the commonest class
    SR_VERDICT_PIXELS,  // better than the untrained trunk, and no better than one of the others
    SR_VERDICT_NOTHING, // no better than the untrained trunk
} SrVerdict;

// Accuracies on test images, per cent; NaN: not measured.
typedef struct {
    double trained, untrained, pixels;
} SrScores;

// Figures of the last evaluation, all on the same test images.
typedef struct {
    const char *layer;    // layer that is judged
    bool by_probe;        // the probe decides; false: kNN, and `probe` is not measured
    SrScores probe, knn;  // untrained: of the untrained trunk's best layer
    double majority;      // accuracy of the commonest class, per cent
    int64_t images, bank; // number of test images and of training images
} SrRunScores;

// False: the run was not evaluated, or its images have no labels.
bool sr_run_scores(const SrHistory *history, SrRunScores *out);
// Returns the accuracy of kNN, per cent: that of the best layer where the run was evaluated, as the
// page shows it, and otherwise the last probe's.  NaN: there is none.
double sr_run_knn(const SrHistory *history);

// Returns the verdict and writes it with its figures to `out`; writes nothing for SR_VERDICT_NONE.
// The text begins with the sentence that sr_run_verdict_words returns.
// The linear probe of the best layer decides, as in the table of layers; without it kNN does.
// Better means by more than sr_chance.
SrVerdict sr_run_verdict(const SrHistory *history, SrText *out);
// Judges a run that began from weights by the comparison of its trunk before and after training.
// Appends the comparison's sentence.  SR_VERDICT_NONE: there is no comparison.  SR_VERDICT_HELPED:
// the features got better.  SR_VERDICT_NOTHING: they got worse, or narrower where there are no
// labels.  SR_VERDICT_STARTED: neither.
SrVerdict sr_run_change(const SrHistory *history, SrText *out);
const char *sr_run_verdict_words(SrVerdict verdict); // a sentence; "" for SR_VERDICT_NONE

#endif
