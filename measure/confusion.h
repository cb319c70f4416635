// Counts of pixels by class and predicted class, and the figures of segmentation that follow from
// them (Everingham et al., "The Pascal Visual Object Classes Challenge", IJCV 2015, section 4.4).
#ifndef SR_MEASURE_CONFUSION_H
#define SR_MEASURE_CONFUSION_H

#include <stdint.h>

#include "base/status.h"

#define SR_CONFUSION_CLASSES 200 // most classes
#define SR_CONFUSION_IGNORED 255 // label of pixels that do not count

typedef struct {
    int classes;
    // count[truth][predicted]
    int64_t count[SR_CONFUSION_CLASSES][SR_CONFUSION_CLASSES];
} SrConfusion;

// Adds n pixels.  truth: classes, or SR_CONFUSION_IGNORED.  predicted: classes.
void sr_confusion_add(SrConfusion *confusion, const uint8_t *truth, const uint8_t *predicted,
                      int64_t n);
// Computes the intersection over union of a class: true positives over all pixels that are the
// class or predicted to be.  NaN: there are none.
double sr_confusion_iou(const SrConfusion *confusion, int class);
// Returns the mean over classes that have an IoU, 0 to 1; NaN: no pixel was added.
double sr_confusion_mean_iou(const SrConfusion *confusion);
// Returns the share of pixels whose class is predicted; NaN: no pixel was added.
double sr_confusion_accuracy(const SrConfusion *confusion);

#endif
