// Implements the trunk part of sslrun.h over one source of features.  All arguments are checked.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/version.h"
#include "library/arguments.h"
#include "library/model_graph.h"
#include "library/trunk_source.h"
#include "sslrun.h"
#include "trainer/eval/extract/feature_images.h"
#include "trainer/features/feature_values.h"

struct SrFeatureModel {
    SrTrunkSource from; // what it was opened by
    int batch;
    SrFeatureSource source; // compiled once layers are tapped
    bool tapped, train;
    float **output;         // (taps) values of the last run, in torch's layout
    SrFeatureImages images; // open after the first image
    pthread_mutex_t lock;   // guards source and images
};

const char *sr_version(void) { return SR_VERSION; }

// ---- opening ------------------------------------------------------------------------------------

static SrStatus open_model(SrFeatureModel *m, const char *trunk, int height, int width) {
    SR_TRY(sr__trunk_source_open(trunk, height, width, &m->from));
    SrFeatureOptions o = {.trunk = m->from.trunk,
                          .config_text = m->from.config_text,
                          .batch = m->batch,
                          .height = m->from.height,
                          .width = m->from.width};
    return sr_feature_source_build(&o, &m->source);
}

int sr_feature_model_open(const char *trunk, int batch, int height, int width,
                          SrFeatureModel **out) {
    SR_NEED(out, "out");
    *out = NULL;
    SR_NEED(trunk, "trunk");
    SrFeatureModel *m = sr_calloc(1, sizeof *m);
    if (!m)
        return (int)sr_out_of_memory("%s", trunk);
    pthread_mutex_init(&m->lock, NULL);
    m->batch = batch;
    SrStatus status = open_model(m, trunk, height, width);
    if (status == SR_OK)
        *out = m;
    else
        sr_feature_model_close(m);
    return (int)status;
}

static SrStatus open_copy(SrFeatureModel *m, const SrModelGraph *graph) {
    SrTrunkGraph trunk;
    SrShape x = sr__model_graph_images(graph);
    SR_TRY(sr_trunk_graph_copy(sr__model_graph_trunk(graph), &trunk));
    m->batch = x.d[0];
    m->from.height = x.d[1];
    m->from.width = x.d[2];
    SrFeatureOptions o = {.edited = &trunk, .trunk = sr_graph_title(trunk.graph), .batch = x.d[0]};
    return sr_feature_source_build(&o, &m->source);
}

int sr_feature_model_open_graph(const SrModelGraph *graph, SrFeatureModel **out) {
    SR_NEED(out, "out");
    *out = NULL;
    SR_NEED(graph, "graph");
    SrFeatureModel *m = sr_calloc(1, sizeof *m);
    if (!m)
        return (int)sr_out_of_memory("a model of a graph");
    pthread_mutex_init(&m->lock, NULL);
    SrStatus status = open_copy(m, graph);
    if (status == SR_OK)
        *out = m;
    else
        sr_feature_model_close(m);
    return (int)status;
}

static void untap(SrFeatureModel *m) {
    for (int i = 0; m->output && i < m->source.taps.n; i++)
        sr_free(m->output[i]);
    sr_free(m->output);
    m->output = NULL;
    m->tapped = false;
}

void sr_feature_model_close(SrFeatureModel *m) {
    if (!m)
        return;
    untap(m);
    sr_feature_images_close(&m->images);
    sr_feature_source_close(&m->source);
    sr__trunk_source_close(&m->from);
    pthread_mutex_destroy(&m->lock);
    sr_free(m);
}

void sr_feature_model_size(const SrFeatureModel *m, int *batch, int *height, int *width) {
    if (batch)
        *batch = m ? m->batch : 0;
    if (height)
        *height = m ? m->from.height : 0;
    if (width)
        *width = m ? m->from.width : 0;
}

static void describe(const char *name, SrShape s, SrFeatureShape *out) {
    if (!out)
        return;
    *out = (SrFeatureShape){.name = name, .rank = s.rank};
    memcpy(out->shape, s.d, sizeof out->shape);
}

int sr_feature_model_node(const SrFeatureModel *m, int i, SrFeatureShape *out) {
    if (!m || i < 0 || i >= sr_graph_count(m->source.whole))
        return 0;
    const SrNode *node = sr_graph_at(m->source.whole, i);
    describe(node->name, sr_node_torch_shape(node), out);
    return 1;
}

static SrStatus allocate_outputs(SrFeatureModel *m) {
    m->output = sr_calloc((size_t)m->source.taps.n, sizeof *m->output);
    for (int i = 0; m->output && i < m->source.taps.n; i++) {
        m->output[i] = sr_alloc(
            (size_t)sr_shape_count(sr_feature_source_value(&m->source, i).shape) * sizeof(float));
        SR_TRY_MEMORY(m->output[i], "features");
    }
    return m->output ? SR_OK : sr_out_of_memory("features");
}

static SrStatus tap(SrFeatureModel *m, const char *nodes, const char *weights, bool train) {
    untap(m);
    m->source.options.weights = weights || !m->from.config_text ? weights : m->from.trunk;
    m->source.options.mode = train ? SR_MODE_TRAIN : SR_MODE_EVAL;
    SrStatus status = sr_feature_source_choose(&m->source, nodes);
    if (status == SR_OK)
        status = sr_feature_source_compile(&m->source);
    if (status == SR_OK)
        status = allocate_outputs(m);
    m->tapped = status == SR_OK;
    m->train = train;
    if (status != SR_OK)
        untap(m);
    return status;
}

int sr_feature_model_tap(SrFeatureModel *m, const char *nodes, const char *weights, int train) {
    SR_NEED(m, "model");
    SR_NEED(nodes, "nodes");
    pthread_mutex_lock(&m->lock);
    SrStatus status = tap(m, nodes, weights, train != 0);
    pthread_mutex_unlock(&m->lock);
    return (int)status;
}

// ---- features -----------------------------------------------------------------------------------

static SrStatus open_images(SrFeatureModel *m) {
    SrStatus status = SR_OK;
    pthread_mutex_lock(&m->lock);
    if (!m->images.pipeline)
        status = sr_feature_images_open(m->source.trunk.config, m->source.trunk.preset,
                                        m->from.height, m->from.width, &m->images);
    pthread_mutex_unlock(&m->lock);
    return status;
}

// Once open, the images are read by all threads at the same time.
int sr_feature_model_preprocess(SrFeatureModel *m, const void *image, size_t bytes, float *x) {
    SR_NEED(m, "model");
    SR_NEED(image, "image");
    SR_NEED(x, "x");
    SrStatus status = open_images(m);
    if (status == SR_OK)
        status = sr_feature_images_read(&m->images, image, bytes, x);
    return (int)status;
}

static SrStatus check_rows(const SrFeatureModel *m, int64_t n, float *const *out) {
    if (!m->tapped)
        SR_FAIL(SR_ERR_CONFIG, "no layers were chosen: call sr_feature_model_tap first");
    if (n < 1)
        SR_FAIL(SR_ERR_CONFIG, "%lld images: at least 1", (long long)n);
    if (m->train && n != m->batch)
        SR_FAIL(SR_ERR_CONFIG, "statistics are those of a batch: give %d images, not %lld",
                m->batch, (long long)n);
    for (int i = 0; i < m->source.taps.n; i++) {
        SrShape s = sr_feature_shape(&m->source, i, false);
        if (!out[i])
            SR_FAIL(SR_ERR_CONFIG, "out[%d], for layer %s, is NULL", i, m->source.taps.v[i].name);
        if (s.rank == 0 || s.d[0] != m->batch)
            SR_FAIL(SR_ERR_CONFIG, "%s is not one row an image: sr_feature_model_run gives it",
                    m->source.taps.v[i].name);
    }
    return SR_OK;
}

// Images that are not there are zero: no row depends on another in evaluation.
static void run_rows(SrFeatureModel *m, const float *x, int rows, int64_t first,
                     float *const *out) {
    SrTensor in = sr_feature_source_input(&m->source);
    SrShape part = in.shape;
    part.d[0] = rows;
    memset(in.data, 0, (size_t)sr_shape_count(in.shape) * sizeof(float));
    sr_layout_to_nhwc(x + first * part.d[3] * m->from.height * m->from.width, part, in.data);
    sr_feature_source_forward(&m->source);
    for (int i = 0; i < m->source.taps.n; i++) {
        SrShape s = sr_feature_shape(&m->source, i, false);
        int64_t row = sr_shape_count(s) / m->batch;
        sr_feature_copy(&m->source, i, rows, false, out[i] + first * row);
    }
}

// The caller may be a thread whose team has not computed yet.
int sr_feature_model_features(SrFeatureModel *m, const float *x, int64_t n, float *const *out) {
    SR_NEED(m, "model");
    SR_NEED(x, "x");
    SR_NEED(out, "out");
    pthread_mutex_lock(&m->lock);
    SrStatus status = check_rows(m, n, out);
    if (status == SR_OK)
        sr_parallel_init();
    for (int64_t first = 0; status == SR_OK && first < n; first += m->batch)
        run_rows(m, x, (int)SR_MIN(n - first, m->batch), first, out);
    pthread_mutex_unlock(&m->lock);
    return (int)status;
}

int sr_feature_model_run(SrFeatureModel *m, const float *x) {
    SR_NEED(m, "model");
    SR_NEED(x, "x");
    if (!m->tapped)
        return (int)sr_fail(SR_ERR_CONFIG,
                            "no layers were chosen: call sr_feature_model_tap first");
    SrTensor in = sr_feature_source_input(&m->source);
    sr_layout_to_nhwc(x, in.shape, in.data);
    sr_feature_source_forward(&m->source);
    for (int i = 0; i < m->source.taps.n; i++)
        sr_feature_copy(&m->source, i, m->batch, false, m->output[i]);
    return 0;
}

const float *sr_feature_model_output(SrFeatureModel *m, int i, SrFeatureShape *out) {
    if (!m || !m->tapped || i < 0 || i >= m->source.taps.n)
        return NULL;
    describe(m->source.taps.v[i].name, sr_feature_shape(&m->source, i, false), out);
    return m->output[i];
}
