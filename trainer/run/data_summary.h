// What is said about the images of a run: how many, of how many classes, where they were found, what was passed over,
// what could not be read.
#ifndef SR_TRAINER_RUN_DATA_SUMMARY_H
#define SR_TRAINER_RUN_DATA_SUMMARY_H

#include "trainer/run/data_split.h"

// "what: 3409 images in 5 classes from photos/train (passed over: 3 .gif)" in the log.
void sr_data_summary_say_set(const SrSplit *split, const char *what);
// One line for each side of an evaluation in the log.  DATA.TEST that names the training images is a warning.
void sr_data_summary_say(const SrConfig *config, const SrSplit *train, const SrSplit *test);

// What the loaders of all ranks (NULL: none) could not read, with reasons: nothing if there was none.  Collective, as long
// as `status`, of the work they did, says that ranks still act together; behind an error only a run without others speaks.
typedef struct {
    const SrLoader *loader;
    bool last_pass;      // of this one, or all passes
    const char *what;    // "test images"
    const char *outcome; // what became of them: "are left out"
} SrBadImages;
void sr_data_summary_say_bad(const SrBadImages *images, SrStatus status);

// Before hours are spent on training: opens the test images that will be evaluated, matches their classes with the
// training's (sr_class_match) and says both lines.  Nothing without test images or labels but the training's line.
SrStatus sr_data_summary_check(const SrConfig *config, const SrSplit *train);

#endif
