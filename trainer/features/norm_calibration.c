// Measures batch-norm statistics of an untrained trunk (norm_calibration.h).
#include "trainer/features/norm_calibration.h"

#include <math.h>
#include <string.h>

#include "base/text/text.h"
#include "data/load/loader.h"
#include "graph/ir/graph.h"
#include "kernels/norm/batch_norm_params.h"
#include "trainer/features/feature_source.h"

enum { MOST_BATCHES = 40 };

static SrStatus run_batches(SrFeatureSource *s, SrLoader *loader, int batch) {
    const SrBatch *images = NULL;
    double wait_s;
    int64_t batches = SR_MAX(1, SR_MIN(MOST_BATCHES, sr_loader_length(loader) / batch));
    SR_TRY(sr_loader_start(loader, 0, 0));
    SR_TRY(sr_loader_next(loader, &images, &wait_s));
    for (int64_t i = 0; images && i < batches; i++) {
        sr_feature_source_run(s, images->view[0], images->batch);
        SR_TRY(sr_loader_next(loader, &images, &wait_s));
    }
    return SR_OK;
}

// Finds a state of the node by the end of its name.
static SrParam *state_of(SrParams *params, const SrNode *node, const char *name) {
    for (int i = 0; i < node->n_w; i++) {
        SrParam *p = sr_params_at(params, node->w[i]);
        if (sr_text_ends(p->name, name))
            return p;
    }
    return NULL;
}

// After n updates a statistic r is (1 - momentum)^n of its start plus a weighted sum over the
// batches; dividing by the sum's weights makes it their mean, as Adam does for its moments
// (Kingma and Ba, 2014, algorithm 1).
static void take_out(SrParam *statistic, double start, double kept) {
    float *r = statistic->value;
    for (int64_t i = 0, n = sr_shape_count(statistic->shape); i < n; i++)
        r[i] = (float)(((double)r[i] - kept * start) / (1 - kept));
}

// True if an earlier node has the same entries, as where a trunk is built at two resolutions.
static bool seen(const SrGraph *graph, SrNodeId id) {
    const SrNode *node = sr_graph_at(graph, id);
    for (SrNodeId i = 0; i < id; i++) {
        const SrNode *other = sr_graph_at(graph, i);
        if (other->op == node->op && memcmp(other->w, node->w, sizeof node->w) == 0)
            return true;
    }
    return false;
}

static void take_out_start(SrParams *params, const SrNode *node) {
    const SrBatchNormParams *norm = node->params;
    const SrParam *tracked = state_of(params, node, "num_batches_tracked");
    SrParam *mean = state_of(params, node, "running_mean");
    SrParam *var = state_of(params, node, "running_var");
    int64_t updates = tracked ? *(const int64_t *)tracked->value : 0;
    if (!mean || !var || updates < 1 || norm->momentum <= 0)
        return;
    double kept = pow(1 - norm->momentum, (double)updates);
    take_out(mean, 0, kept);
    take_out(var, 1, kept);
}

SrStatus sr_norms_calibrate(SrModel *model, SrSplit *split, int batch) {
    SrFeatureOptions o = {.model = model,
                          .live = true,
                          .batch = batch,
                          .height = split->h[0],
                          .width = split->w[0],
                          .mode = SR_MODE_TRAIN,
                          .layers = "flatten",
                          .meaning = SR_NAMES_STAGES};
    SrFeatureSource s;
    SR_TRY(sr_feature_source_open(&o, &s));
    SrStatus status = run_batches(&s, split->loader, batch);
    for (SrNodeId id = 0; status == SR_OK && id < sr_graph_count(s.whole); id++) {
        const SrNode *node = sr_graph_at(s.whole, id);
        if (node->op && strcmp(node->op->name, "batch_norm") == 0 && !seen(s.whole, id))
            take_out_start(sr_graph_params(s.whole), node);
    }
    sr_feature_source_close(&s);
    return status;
}
