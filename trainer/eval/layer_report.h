// Reports where in a trunk the learning is: kNN and a linear probe for each of its last stages.
// They are compared with raw pixels, the same trunk untrained and the commonest training class, on
// at most HOOKS.PROBE.LIMIT images per side.  report.h has VISSL's kNN on the whole set, and
// linear_probes.h the linear evaluation of a recipe.
#ifndef SR_TRAINER_EVAL_LAYER_REPORT_H
#define SR_TRAINER_EVAL_LAYER_REPORT_H

#include "measure/probes/chosen_probe.h"
#include "trainer/eval/model_comparison.h"

typedef struct {
    double knn; // top-1, per cent of the test images
    SrChosenProbe probe;
} SrLayerScore;

typedef struct {
    bool labels;     // false: none, or several an image, and nothing was computed
    bool normalised; // kNN divided rows by their lengths (NEAREST_NEIGHBOR.L2_NORM_FEATS)
    int crops;       // random crops per image, whose mean was compared.  0: whole images
    bool has[SR_ROW_COUNT];
    SrStages layers;
    SrLayerScore score[SR_ROW_COUNT][SR_STAGES_MAX]; // SR_ROW_PIXELS has the first alone
    double length_ratio;                             // largest SrKnnResult.length_ratio
    int pixel_numbers, k;
    double majority;
    int best; // layer whose trained probe does best on training images held out of its fit
    int64_t n_train, n_test;
    bool other_images; // LIMIT left images out, so that kNN's own report counts others
    // Trunk before and after training; has[SR_ROW_STARTED] tells whether it was measured.  Rows of
    // both, of the untrained trunk and of pixels have the bits of `score`.
    SrModelComparison change;
    double seconds;
} SrLayerReport;

// Measures `trained`, and `started`, the trunk with the weights that the run began from (NULL: it
// began from random weights).  Changes nothing in either, whose parameters have their values.
SrStatus sr_layer_report(const SrConfig *config, SrModel *trained, SrModel *started,
                         SrLayerReport *out);

// The stronger of the two untrained trunks at layer i, by kNN or by the probe.
SrReportRow sr_layer_untrained(const SrLayerReport *report, int i, bool probe);

void sr_layer_report_text(const SrLayerReport *report,
                          SrText *out); // tables, and a sentence after each
// One line, and a second one for the comparison with the starting weights.
void sr_layer_report_json(const SrLayerReport *report, SrText *out);

#endif
