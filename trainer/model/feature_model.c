// The C interface of sslrun.h over extractors.  Everything a caller gives is checked; nothing here knows a trunk.
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "graph/print.h"
#include "sslrun.h"
#include "trainer/model/extractor.h"

struct SrFeatureModel {
    char *trunk;
    int batch, height, width;
    SrTrunkGraph graph;    // for listing
    SrExtractor extractor; // once tapped
    bool tapped;
    float **output; // (taps): each in torch's layout
};

static SrStatus open_model(SrFeatureModel *m, const char *trunk) {
    m->trunk = sr_strdup(trunk);
    if (!m->trunk)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %s", trunk);
    sr_parallel_init();
    return sr_trunk_graph_open(trunk, NULL, 0, m->batch, m->height, m->width, &m->graph);
}

int sr_feature_model_open(const char *trunk, int batch, int height, int width,
                          SrFeatureModel **out) {
    SrFeatureModel *m = sr_calloc(1, sizeof *m);
    *out = NULL;
    if (!m)
        return (int)sr_fail(SR_ERR_MEMORY, "out of memory for %s", trunk);
    m->batch = batch;
    m->height = height;
    m->width = width;
    SrStatus status = open_model(m, trunk);
    if (status == SR_OK)
        *out = m;
    else
        sr_feature_model_close(m);
    return (int)status;
}

static void untap(SrFeatureModel *m) {
    for (int i = 0; m->output && i < m->extractor.taps.n; i++)
        sr_free(m->output[i]);
    sr_free(m->output);
    m->output = NULL;
    sr_extractor_close(&m->extractor);
    m->tapped = false;
}

void sr_feature_model_close(SrFeatureModel *m) {
    if (!m)
        return;
    untap(m);
    sr_trunk_graph_close(&m->graph);
    sr_free(m->trunk);
    sr_free(m);
}

static void describe(const char *name, SrShape s, SrFeatureShape *out) {
    *out = (SrFeatureShape){.name = name, .rank = s.rank};
    memcpy(out->shape, s.d, sizeof out->shape);
}

int sr_feature_model_node(const SrFeatureModel *m, int i, SrFeatureShape *out) {
    if (i < 0 || i >= sr_graph_count(m->graph.graph))
        return 0;
    const SrNode *node = sr_graph_at(m->graph.graph, i);
    describe(node->name, sr_node_torch_shape(node), out);
    return 1;
}

static SrStatus allocate_outputs(SrFeatureModel *m) {
    m->output = sr_calloc((size_t)m->extractor.taps.n, sizeof *m->output);
    for (int i = 0; m->output && i < m->extractor.taps.n; i++) {
        m->output[i] = sr_alloc(
            (size_t)sr_shape_count(sr_extractor_output(&m->extractor, i).shape) * sizeof(float));
        if (!m->output[i])
            SR_FAIL(SR_ERR_MEMORY, "out of memory for features");
    }
    return m->output ? SR_OK : sr_fail(SR_ERR_MEMORY, "out of memory for features");
}

int sr_feature_model_tap(SrFeatureModel *m, const char *nodes, const char *weights, int train) {
    SrExtractorOptions o = {.trunk = m->trunk,
                            .batch = m->batch,
                            .height = m->height,
                            .width = m->width,
                            .nodes = nodes,
                            .weights = weights,
                            .mode = train ? SR_MODE_TRAIN : SR_MODE_EVAL};
    untap(m);
    SrStatus status = sr_extractor_open(&o, &m->extractor);
    if (status == SR_OK)
        status = allocate_outputs(m);
    m->tapped = status == SR_OK;
    if (status != SR_OK)
        untap(m);
    return (int)status;
}

int sr_feature_model_run(SrFeatureModel *m, const float *x) {
    if (!m->tapped)
        return (int)sr_fail(SR_ERR_CONFIG,
                            "no layers were chosen: call sr_feature_model_tap first");
    SrTensor in = sr_extractor_input(&m->extractor);
    sr_layout_to_nhwc(x, in.shape, in.data);
    sr_extractor_run(&m->extractor);
    for (int i = 0; i < m->extractor.taps.n; i++)
        sr_extractor_copy(&m->extractor, i, m->batch, false, m->output[i]);
    return 0;
}

const float *sr_feature_model_output(SrFeatureModel *m, int i, SrFeatureShape *out) {
    if (!m->tapped || i < 0 || i >= m->extractor.taps.n)
        return NULL;
    describe(m->extractor.taps.v[i].name, sr_extractor_shape(&m->extractor, i, false), out);
    return m->output[i];
}
