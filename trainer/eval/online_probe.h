// Reports how good the trunk is during training: weighted kNN and a linear classifier on its
// features every few epochs (HOOKS.PROBE).  report.h is the evaluation at the end,
// linear_probes.h the linear evaluation.
//
// Each probe starts afresh from features of the trunk as it stands, in evaluation mode: the
// gradient is stopped by construction, there is no state to save or resume, a run's bits are
// those without probes, and the figures of two epochs can be compared, which those of a
// classifier that chases a moving trunk cannot.
#ifndef SR_TRAINER_EVAL_ONLINE_PROBE_H
#define SR_TRAINER_EVAL_ONLINE_PROBE_H

#include "measure/neighbours/knn.h"
#include "trainer/eval/baselines.h"

// Penalty of the classifier, as LOW_SHOT_BENCHMARK.LOGISTIC_REGRESSION.LAMBDA has it: the cost is
// images / lambda, 1 with 5000 images.  Large ones converge soonest.
#define SR_PROBE_LAMBDA 5000.0
#define SR_PROBE_MAX_ITER 100

typedef struct {
    SrConfig *config; // a copy of the run's with the probe's limits
    SrModel *model;   // borrowed; NULL: HOOKS.PROBE is off
    bool warned;      // lengths of features were spoken of, once a run
} SrOnlineProbe;

typedef struct {
    SrKnnResult knn;    // for the first of NEAREST_NEIGHBOR.TOPK
    double linear_top1; // per cent
    int64_t n_train, n_test;
    double seconds;
} SrProbeResult;

// Before the first step: what would keep a probe from working is SR_ERR_CONFIG now, not after an
// epoch.  The model's parameters have their memory.
SrStatus sr_online_probe_open(const SrConfig *config, SrModel *model, SrOnlineProbe *out);
// Checks the configuration and the labels of the images, which are opened for it, without a model.
SrStatus sr_online_probe_check(const SrConfig *config);
bool sr_online_probe_due(const SrOnlineProbe *probe,
                         int64_t epoch); // after every EVERY_NUM_EPOCHS-th
SrStatus sr_online_probe_run(SrOnlineProbe *probe, SrProbeResult *out);
void sr_online_probe_close(SrOnlineProbe *probe); // also one that could not be opened

#endif
