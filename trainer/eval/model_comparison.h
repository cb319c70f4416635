// Compares the features of two trunks on the same images: kNN, a linear probe, and logistic
// regression on five images per class, each with its standard error, next to raw pixels and an
// untrained trunk.  A trunk is judged at the stage whose probe does best on training images that
// are held out of its fit.  layer_report.h compares the stages of one trunk.
#ifndef SR_TRAINER_EVAL_MODEL_COMPARISON_H
#define SR_TRAINER_EVAL_MODEL_COMPARISON_H

#include "trainer/eval/baselines.h"

typedef struct {
    const char *label;      // name in the table; borrowed
    const SrConfig *config; // its transforms; the images are those of the first
    SrModel *model;         // with the values of its parameters, which stay
} SrComparedModel;

// A figure in per cent of the test images, with its standard error in points.  NaN: a class has
// too few images for it.
typedef struct {
    double value, error;
} SrFigure;

typedef struct {
    char layer[SR_STAGE_NAME_BYTES]; // "": raw pixels
    SrFigure knn, probe, few;        // few: five images per class, mean of five draws
    double held_out;                 // probe on the training images held out, per cent
} SrComparedRow;

typedef struct {
    const char *label[2];
    SrComparedRow model[2], untrained, pixels; // untrained: the first model's trunk, as drawn or
                                               // calibrated, whichever has the better probe
    double majority;                           // accuracy of the commonest class, per cent
    int64_t n_train, n_test;
    int k; // neighbours
    double seconds;
    bool before_after; // the models are one trunk before and after training
} SrModelComparison;

// Returns an accuracy in per cent of so many test images, with its standard error.
SrFigure sr_figure(double percent, int64_t images);
// Measures logistic regression on five images per class: the mean of five draws.  Its error has
// two parts: which images were drawn for training, and which are in the test.
SrStatus sr_few_shots(uint64_t seed, const SrMatrix *train, const SrMatrix *test, SrFigure *out);

// Measures both models.  SR_ERR_CONFIG: the images have no labels, or several each.
SrStatus sr_model_comparison(const SrComparedModel models[2], bool before_after,
                             SrModelComparison *out);

// Says whether the second model is better (1), worse (-1), or no different (0): by its probe, and
// by more than two standard errors of the difference.
int sr_model_comparison_sign(const SrModelComparison *c);
// Appends one sentence on whether the second model is better, with its figures.
void sr_model_comparison_sentence(const SrModelComparison *c, SrText *out);
void sr_model_comparison_text(const SrModelComparison *c, SrText *out); // a table and a sentence
void sr_model_comparison_json(const SrModelComparison *c, SrText *out); // one line

#endif
