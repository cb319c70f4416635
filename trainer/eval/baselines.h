// Extracts the features that an evaluation compares, for the bank and the test images: those of a
// frozen trunk, and baselines that need no training (the untrained trunk, raw pixels).
//
// The untrained trunk comes twice, because neither is always the stronger: as drawn, and with
// batch-norm statistics measured on these images.  A report shows the better one and says which.
#ifndef SR_TRAINER_EVAL_BASELINES_H
#define SR_TRAINER_EVAL_BASELINES_H

#include "trainer/features/feature_rows.h"

typedef enum {
    SR_ROW_MAJORITY,
    SR_ROW_PIXELS,
    SR_ROW_UNTRAINED,  // the trunk with the parameters the run's seed draws
    SR_ROW_CALIBRATED, // that trunk, its batch norms with statistics of these images
    SR_ROW_STARTED,    // the trunk with the weights that the run began from
    SR_ROW_TRAINED,
    SR_ROW_COUNT
} SrReportRow;

const char *sr_report_row_name(SrReportRow row); // "untrained, as drawn"
const char *sr_report_row_key(SrReportRow row);  // "untrained", the start of a JSON key
// Keeps the untrained row with the higher score in has[]; a tie keeps the trunk as drawn.
void sr_baselines_keep_better(bool has[SR_ROW_COUNT], double drawn, double calibrated);
// "untrained_norms": "as drawn" or "calibrated", where one of the rows is there.
void sr_baselines_json(const bool has[SR_ROW_COUNT], SrText *out);
// "mean of 16 crops per image, " for the heading of a table.  crops 0: appends nothing.
void sr_baselines_crops_text(int crops, SrText *out);

// The two sides of the images, opened once for all rows.
typedef struct {
    const SrConfig *config; // borrowed
    const char *layer;      // borrowed
    SrSplit bank, test;
    int crop, batch;
    SrStages *stages; // rows of all stages, and receives them; NULL: rows of `layer`
    SrModel *started; // gives SR_ROW_STARTED, borrowed; NULL: no such row
    bool labels;      // both sides have them
} SrBaselines;

// Opens both splits, with images as large as the first crop of training.  Close it also after a
// failure.
SrStatus sr_baselines_open(SrBaselines *rows, const SrConfig *config, const char *layer);
void sr_baselines_close(SrBaselines *rows);

// One row.  Features live for the length of the call, which bounds memory; the callee may change
// them.
typedef SrStatus (*SrEachRow)(void *arg, SrReportRow row, SrMatrix *bank, SrMatrix *test);
// Makes rows of pixels and of the untrained trunks first (baselines), then of `started`, then of
// `trained`, whose parameters have their values and keep them; NULL: no such row.  Collective:
// ranks share out the images, all get all rows, and all return the failure of one, so that a caller
// may go on without the rows.
SrStatus sr_baselines_each(SrBaselines *rows, SrModel *trained, bool baselines, SrEachRow each,
                           void *arg);

// The row of raw pixels alone.
SrStatus sr_baselines_pixels(SrBaselines *rows, SrEachRow each, void *arg);

// Makes a model with the trunk alone, for batches of crop x crop pixels, as the run's seed draws
// it.
SrStatus sr_baselines_drawn(const SrConfig *config, const char *layer, int batch, int crop,
                            SrModel **out);

// Makes the trunk alone with the weights that a run of this configuration begins from: as the seed
// draws it, with what MODEL.WEIGHTS_INIT loads.  *out is NULL if PARAMS_FILE names no file.
SrStatus sr_baselines_start(const SrConfig *config, const char *layer, SrModel **out);

// The trunk alone, without heads, loss or optimiser, with the weights of a file: one of our
// checkpoints, or MODEL.WEIGHTS_INIT.PARAMS_FILE with its prefixes.  path NULL: PARAMS_FILE, or
// else the newest checkpoint of the run folder; neither: SR_ERR_CONFIG, because a random trunk is
// not to be taken for a trained one.
SrStatus sr_baselines_model(const SrConfig *config, const char *layer, const char *path,
                            SrModel **out);
// Does so for images of side x side pixels, with the weights of the checkpoint at `path`; position
// embeddings are resampled.
SrStatus sr_baselines_model_of_side(const SrConfig *config, const char *layer, const char *path,
                                    int side, SrModel **out);

#endif
