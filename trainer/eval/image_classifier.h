// A linear classifier on a trained trunk's features.  It is trained on a folder with one folder per
// class, judged on its test images, saved in a file, and applied to other folders.
//
// The file holds "weight" (classes, d) and "bias" (classes) F32, and "classes" (feature_names.h).
// The metadata has the layer and a checksum of the trunk.  The file is linear.safetensors next to
// the checkpoint, unless the caller names another.
#ifndef SR_TRAINER_EVAL_IMAGE_CLASSIFIER_H
#define SR_TRAINER_EVAL_IMAGE_CLASSIFIER_H

#include "base/text/text.h"
#include "measure/probes/chosen_probe.h"
#include "trainer/eval/checkpoint_model.h"

// A test image: its class, the predicted one, and how probable the classifier finds that.
typedef struct {
    int is, said;
    double sure; // 0 to 1
} SrClassifiedImage;

typedef struct {
    SrStages layers;
    SrChosenProbe probe[SR_STAGES_MAX];
    SrChosenProbe pixels; // the same probe on raw pixels
    double majority;      // accuracy of the commonest training class, in per cent
    int best;             // layer with the highest accuracy on training images held out
    bool named;           // the caller named the layer, so that none was chosen
    int classes;
    SrStringList names; // (classes), empty: the source has none
    int64_t n_train, n_test;
    int64_t *confusion;         // (classes, classes): test images by class and predicted class
    SrClassifiedImage *image;   // (n_test)
    SrStringList files;         // (n_test) their paths; empty: the source has no files
    char note[256], file[4096]; // how the test images were chosen; where the classifier was kept
} SrClassifierReport;

// Trains a classifier on the labelled images at `data`.  data NULL: the images of the run, with
// the labels that its configuration names; layer NULL: the best; file NULL: next to the
// checkpoint.  Free with sr_classifier_report_deinit, also after a failure.
SrStatus sr_image_classifier_train(SrCheckpointModel *m, const char *data, const char *layer,
                                   const char *file, SrClassifierReport *out);
void sr_classifier_report_deinit(SrClassifierReport *report);
double sr_classifier_report_accuracy(const SrClassifierReport *report); // per cent of test images
// Returns the name of class c, or its number, written into the buffer.
const char *sr_classifier_report_class(const SrClassifierReport *report, int c, char number[16]);
void sr_classifier_report_text(const SrClassifierReport *report, SrText *out);
void sr_classifier_report_json(const SrClassifierReport *report, SrText *out); // one object

// Predicts the classes of the images at `data`: one line "path<TAB>class<TAB>probability" per
// image, or a JSON object.  by_doubt: the least probable first; else in the order of the files.
// SR_ERR_CONFIG: the classifier belongs to another trunk.
SrStatus sr_image_classifier_apply(SrCheckpointModel *m, const char *data, const char *file,
                                   bool by_doubt, bool json, SrText *out);

#endif
