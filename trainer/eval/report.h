// Reports how good a trunk is by kNN on its features, compared with baselines: the untrained
// trunk, raw pixels, and the score of the most frequent training class.
#ifndef SR_TRAINER_EVAL_REPORT_H
#define SR_TRAINER_EVAL_REPORT_H

#include "measure/neighbours/knn.h"
#include "trainer/eval/baselines.h"

#define SR_REPORT_MAX_K SR_KNN_MAX_TOPK

typedef struct {
    bool files;      // features of files, not of a trunk
    bool labels;     // false: the data has none and nothing was computed
    bool normalised; // rows were divided by their lengths (NEAREST_NEIGHBOR.L2_NORM_FEATS)
    int crops;       // random crops per image, whose mean was compared.  0: whole images
    int n_k;
    int k[SR_REPORT_MAX_K];
    bool has[SR_ROW_COUNT];
    SrKnnResult row[SR_ROW_COUNT][SR_REPORT_MAX_K];
    int64_t n_bank, n_test;
    int feature_length;
    const char *layer, *note;
    double length_ratio; // largest SrKnnResult.length_ratio of the trunk's rows
    double seconds;
} SrKnnReport;

// Warns where features were compared as they are and their lengths differ much: their ratio is
// SrKnnResult.length_ratio.
void sr_knn_warn_lengths(double ratio);

// Trains nothing and changes nothing in `trained`, whose parameters have their values.  baselines:
// all rows, else the trained one alone; trained NULL: the others alone.  Warns of lengths.
SrStatus sr_knn_report(const SrConfig *config, SrModel *trained, bool baselines, SrKnnReport *out);
// Loads the weights that the configuration names (PARAMS_FILE, or else the newest checkpoint), then
// reports.  random: loads none.
SrStatus sr_knn_report_configured(const SrConfig *config, bool baselines, bool random,
                                  SrKnnReport *out);

// Reports on files of features (feature_files.h); layer NULL: the only one.
SrStatus sr_knn_report_files(const SrConfig *config, const char *train, const char *test,
                             const char *layer, SrKnnReport *out);

void sr_knn_report_json(const SrKnnReport *report, SrText *out); // one line
void sr_knn_report_print(const SrKnnReport *report, bool json, SrText *out);

#endif
