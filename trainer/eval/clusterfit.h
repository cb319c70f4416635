// Makes label files from clusters of features, as VISSL's cluster_features_and_label does.
//
// In CLUSTERFIT.OUTPUT_DIR, for the training features and for the test's where they are given:
//   NAME_train_LAYER_N10_D512_labels.npy   (n) int64, the cluster of each image
//   NAME_train_LAYER_N10_D512_images.npy   (n) strings, where the extraction left the images' names
//   NAME_LAYER_N10_D512_centers.npy        (10, 512) float32
// The first two are a disk_filelist: LABEL_PATHS and DATA_PATHS of a training.
#ifndef SR_TRAINER_EVAL_CLUSTERFIT_H
#define SR_TRAINER_EVAL_CLUSTERFIT_H

#include "base/text/text.h"
#include "measure/clusters/kmeans.h"
#include "trainer/config/config.h"

typedef struct {
    int64_t n;
    int64_t smallest, largest;       // images in a cluster
    double spread;                   // mean distance to the centre (squared, or 1 - product)
    double purity;                   // per cent, -1 without labels
    char labels[4096], images[4096]; // files; images "" if the names are not known
} SrClusterSide;

typedef struct {
    int clusters, d, iterations;
    double seconds;
    char centers[4096]; // file
    int n_sides;        // 1, or 2 with a test
    SrClusterSide side[2];
} SrClusterReport;

// train, test: files of features; test may be NULL.  layer NULL: CLUSTERFIT.FEATURES.LAYER_NAME,
// or the only one.  Both are looked at, and files of these names that exist refused unless
// `force`, before anything is written.  A failure leaves no file without `force`, so that the same
// call may follow.
SrStatus sr_cluster(const SrConfig *config, const char *train, const char *test, const char *layer,
                    bool force, SrClusterReport *out);
void sr_cluster_text(const SrClusterReport *report, SrText *out);
void sr_cluster_json(const SrClusterReport *report, SrText *out);

#endif
