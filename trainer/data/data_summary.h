// Reports the images of a run: how many, in how many classes, their folder, and images that were
// passed over or could not be read.
#ifndef SR_TRAINER_DATA_DATA_SUMMARY_H
#define SR_TRAINER_DATA_DATA_SUMMARY_H

#include "data/load/loader.h"
#include "trainer/data/data_split.h"

// Logs "what: 3409 images in 5 classes from photos/train (passed over: 3 .gif)".
void sr_data_summary_say_set(const SrSplit *split, const char *what);
// Logs a line for each split of an evaluation.  Warns if DATA.TEST names the training images.
void sr_data_summary_say(const SrConfig *config, const SrSplit *train, const SrSplit *test);

// Logs channels and bits of the images, and how they are read, unless both are RGB of 8 bits.
// Looks at the first image.  Names the key that reads what is left out.
void sr_data_summary_say_samples(const SrConfig *config, const SrSplit *split);

typedef struct {
    const SrLoader *loader; // NULL: none
    bool last_pass;         // counts the last pass alone; false: all passes
    const char *what;       // "test images"
    const char *outcome;    // fate of unreadable images: "are left out"
} SrBadImages;
// Logs the images that the loaders of all ranks could not read, with reasons; nothing if there
// are none. `status` is that of the loaders' work.  SR_OK: the call is collective.  After an
// error ranks no longer act together, and only a run of one rank reports.
void sr_data_summary_say_bad(const SrBadImages *images, SrStatus status);

// Checks the test images before hours are spent on training: opens them, matches their classes
// with those of training, and logs a line for each split.  Without test images or labels it logs
// the training split's line only.
SrStatus sr_data_summary_check(const SrConfig *config, const SrSplit *train);

#endif
