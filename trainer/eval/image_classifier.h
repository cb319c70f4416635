// A linear classifier on a trained trunk's features: trained on a folder with a folder a class, judged on its test
// images, kept in a file of its own, applied to other folders.  Layer, sizes and classes follow from trunk and folder.
//
// The file: "weight" (classes, numbers) and "bias" (classes) F32, "classes" (names as feature_names.h has them), and in
// the metadata the layer and a checksum of the trunk.  It lies beside the checkpoint as linear.safetensors unless told.
#ifndef SR_TRAINER_EVAL_IMAGE_CLASSIFIER_H
#define SR_TRAINER_EVAL_IMAGE_CLASSIFIER_H

#include "base/text.h"
#include "measure/chosen_probe.h"
#include "trainer/eval/checkpoint_model.h"

typedef struct {
    SrStages layers;
    SrChosenProbe probe[SR_STAGES_MAX];
    int best; // layer: of the highest accuracy on training images held out
    int classes;
    SrStringList names; // (classes), empty where the source has none
    int64_t n_train, n_test;
    int64_t *confusion;         // (classes, classes): test images by class and by what was said
    char note[256], file[4096]; // how the test images were chosen; where the classifier was kept
} SrClassifierReport;

// data: images with labels.  layer: NULL, the best; file: NULL, beside the checkpoint.  Free with
// sr_classifier_report_deinit, also after a failure.
SrStatus sr_image_classifier_train(SrCheckpointModel *m, const char *data, const char *layer,
                                   const char *file, SrClassifierReport *out);
void sr_classifier_report_deinit(SrClassifierReport *report);
void sr_classifier_report_text(const SrClassifierReport *report, SrText *out);
void sr_classifier_report_json(const SrClassifierReport *report, SrText *out); // one object

// The classes of the images at `data`: "path<TAB>class<TAB>probability" a line, or a JSON object.  A classifier of
// another trunk: SR_ERR_CONFIG.
SrStatus sr_image_classifier_apply(SrCheckpointModel *m, const char *data, const char *file,
                                   bool json, SrText *out);

#endif
