// Labels of a folder that are probably wrong.
//
// Two judges look at each image.  A linear probe that never saw it predicts its class
// (measure/probes/fold_predictions.h), and confident learning turns the predictions into an
// estimate of the noise (measure/probes/label_noise.h).  SelfClean's ratio compares the nearest
// images of the same class with the nearest of other ones.  The paper takes one image of each kind;
// here it is the mean of three, because any image may have a wrong label itself.
#ifndef SR_FOLDER_MISLABELED_H
#define SR_FOLDER_MISLABELED_H

#include "measure/probes/label_noise.h"
#include "measure/row_view.h"

typedef struct {
    uint64_t seed; // of the parts of the probe
    double share;  // guessed upper bound of the share of wrong labels; SrCutoffOptions.share
} SrMislabelOptions;

typedef struct {
    int64_t row;
    int given, suggested; // classes; equal if the probe agrees with the label
    double confidence;    // probability of the suggested class
    double given_probability;
    float ratio;  // SelfClean's; NaN: the class has no other image
    double doubt; // mean of 1 - given_probability, which counts twice, and 1 - ratio: the ranking
    bool found;   // confident learning marks it, or the ratio is below its cut-off
} SrMislabel;

typedef struct {
    int64_t n, found; // images with a label
    SrMislabel *v;    // (n) the most doubtful first
    SrLabelNoise noise;
} SrMislabelReport;

// Judges the labels of rows of length 1.  Free *out with sr_mislabeled_deinit, also after a
// failure.  SR_ERR_CONFIG: images have no labels or several, or fewer than two classes have five.
SrStatus sr_mislabeled(const SrMislabelOptions *options, const SrRowView *rows,
                       SrMislabelReport *out);
void sr_mislabeled_deinit(SrMislabelReport *report);

#endif
