// Opens the meters and the test split, counts training batches, and makes the pass over test
// images.
#include "trainer/run/phases.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/ranks/comm.h"
#include "base/stop.h"
#include "data/load/loader.h"
#include "data/pipeline.h"
#include "graph/plan/plan_run.h"
#include "trainer/data/data_summary.h"
#include "trainer/run/run_check.h"

// ---- the test's own graph

// Builds the model for testing: running statistics, no gradients.
static SrStatus build_graph(SrRun *run, SrPhases *p) {
    const SrSplit *s = &p->split;
    SrShape features[SR_HEAD_MAX_OUT];
    if (!run->frozen_trunk)
        return sr_model_build_outputs(run->model, p->batch, 1, s->h, s->w, &p->graph);
    SR_TRY(sr_feature_source_of_heads(run->model, p->batch, s->h[0], s->w[0], &p->trunk));
    SR_TRY(sr_feature_source_compile(&p->trunk));
    int n = sr_feature_source_shapes(&p->trunk, p->batch, features);
    return sr_model_build_head_outputs(run->model, p->batch, features, n, &p->graph);
}

static SrStatus open_feed(SrRun *run, SrPhases *p) {
    const SrModelConfig *m = &run->config->model;
    p->feed = (SrFeed){.loader = p->split.loader, .batch = p->batch};
    if (!run->frozen_trunk)
        return SR_OK;
    p->feed.trunk = &p->trunk;
    if (m->cache_features == SR_CACHE_OFF || !sr_pipeline_is_fixed(p->split.pipeline))
        return SR_OK;
    return sr_feed_keep(&p->feed, p->split.loader, m->cache_features, run->config->checkpoint.dir);
}

// Opens the test split.  Without training, the training images (if they exist) only give class
// names.
static SrStatus open_split(SrRun *run, SrPhases *p) {
    const SrConfig *c = run->config;
    SrSplit names = {.note = "", .path = ""};
    const SrSplit *train = &run->train;
    if (!train->source && (c->train.data_paths.n > 0 || c->train.data_sources.n > 0)) {
        if (sr_split_open_set(&c->train, sr_split_form(c), "TRAIN", c->seed, &names) != SR_OK)
            sr_warn("the classes of the test images keep their own numbers, because those of the "
                    "training images are not known: %s",
                    sr_status_message());
        else
            train = &names;
        sr_status_clear();
    }
    SrStatus status =
        sr_split_open_eval(c, SR_SIDE_PHASE, false, p->batch, run->train.h[0], train, &p->split);
    if (status == SR_OK && train == &names)
        sr_data_summary_say(c, &names, &p->split);
    sr_split_close(&names);
    return status;
}

// ---- between ranks in a test

static size_t test_label_bytes(const SrPhases *p) {
    return (size_t)p->batch * (size_t)SR_MAX(p->split.n_targets, 1) * sizeof(int64_t);
}

static size_t test_output_bytes(const SrPhases *p, int i) {
    return (size_t)sr_shape_count(sr_graph_at(p->graph.graph, p->graph.outputs[i])->shape) *
           sizeof(float);
}

// Allocates room for a batch per rank: number of images, labels, scores.
static SrStatus open_turns(SrPhases *p) {
    if (sr_comm_size() == 1)
        return SR_OK;
    p->turn_bytes = sizeof(int64_t) + test_label_bytes(p);
    for (int i = 0; i < p->graph.n_outputs; i++)
        p->turn_bytes += test_output_bytes(p, i);
    p->turn_bytes = (p->turn_bytes + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
    p->turns = sr_calloc((size_t)sr_comm_size(), p->turn_bytes);
    return p->turns ? SR_OK : sr_out_of_memory("the scores of a test");
}

static SrStatus open_test(SrRun *run, SrPhases *p, const int *classes, int n) {
    const SrConfig *c = run->config;
    if (!c->test_model || !sr_split_has_test(c)) {
        if (c->test_model)
            sr_info("there are no test images, so test phases are skipped; name images with "
                    "DATA.TEST.DATA_PATHS");
        return SR_OK;
    }
    p->batch = SR_MIN(c->test.batchsize_per_replica, run->batch);
    SR_TRY(open_split(run, p));
    SR_TRY(sr_run_check_classes(run, &p->split, "TEST"));
    SR_TRY(build_graph(run, p));
    SR_TRY(sr_feature_source_of_outputs(run->model, &p->graph, &p->plan));
    SR_TRY(open_feed(run, p));
    SR_TRY(open_turns(p));
    return sr_meter_list_new(c, n, classes, sr_loader_length(p->split.loader), &p->test);
}

// ---- counting

// Counts an output of `batch` rows, or of several rounds of as many rows (crops, an ensemble).
static void count_output(SrMeterList *meters, SrTensor y, int output, int batch, int rows,
                         const int64_t *labels, int n_targets) {
    int classes = sr_shape_last(y.shape);
    int64_t round = (int64_t)batch * classes;
    for (int64_t at = 0; at < sr_shape_count(y.shape); at += round)
        sr_meter_list_update(meters, output,
                             &(SrMeterRows){.rows = rows,
                                            .classes = classes,
                                            .scores = (const float *)y.data + at,
                                            .target = labels,
                                            .multi_hot = n_targets > 0});
}

static void count(SrMeterList *meters, SrPlan *plan, const SrNodeId *outputs, int n, int batch,
                  int rows, const int64_t *labels, int n_targets) {
    for (int i = 0; i < n; i++)
        count_output(meters, sr_plan_output(plan, outputs[i]), i, batch, rows, labels, n_targets);
}

// Appends scores or labels of a replica to its part of `crossing`, and moves `at` on by `bytes`.
static void pack(SrPhases *p, int replica, const void *data, size_t bytes, size_t *at) {
    memcpy(p->crossing + (size_t)replica * p->crossing_bytes + *at, data, bytes);
    *at += bytes;
}

static size_t output_bytes(const SrTrainGraph *g, int i) {
    return (size_t)sr_shape_count(sr_graph_at(g->graph, g->outputs[i])->shape) * sizeof(float);
}

static size_t label_bytes(const SrRun *run) {
    return (size_t)run->batch * (size_t)SR_MAX(run->train.n_targets, 1) * sizeof(int64_t);
}

static void keep_replica(SrPhases *p, SrRun *run, int replica, const int64_t *labels) {
    const SrTrainGraph *g = &run->graph;
    size_t at = 0;
    pack(p, replica, labels, label_bytes(run), &at);
    for (int i = 0; i < g->n_model_outputs; i++)
        pack(p, replica, sr_plan_output(run->plan, g->outputs[i]).data, output_bytes(g, i), &at);
}

static SrStatus open_crossing(SrRun *run, SrPhases *p) {
    const SrTrainGraph *g = &run->graph;
    if (sr_comm_size() == 1 || !p->train)
        return SR_OK;
    p->crossing_bytes = label_bytes(run);
    for (int i = 0; i < g->n_model_outputs; i++)
        p->crossing_bytes += output_bytes(g, i);
    p->crossing_bytes = (p->crossing_bytes + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
    p->crossing = sr_calloc((size_t)g->replicas, p->crossing_bytes);
    return p->crossing ? SR_OK : sr_out_of_memory("the scores of a step");
}

// Meters see replicas in their order, whichever rank computed them.
void sr_phases_count_ranks(SrPhases *p, SrRun *run) {
    const SrTrainGraph *g = &run->graph;
    if (!p->crossing)
        return;
    size_t mine = (size_t)sr_replicas_mine(run->replicas) * p->crossing_bytes;
    sr_comm_all_gather(p->crossing + (size_t)sr_comm_rank() * mine, mine, p->crossing);
    for (int r = 0; r < g->replicas; r++) {
        char *block = p->crossing + (size_t)r * p->crossing_bytes;
        const int64_t *labels = (const int64_t *)(void *)block;
        block += label_bytes(run);
        for (int i = 0; i < g->n_model_outputs; i++) {
            SrTensor y = {sr_graph_at(g->graph, g->outputs[i])->shape, SR_F32, block};
            count_output(p->train, y, i, run->batch, run->batch, labels, run->train.n_targets);
            block += output_bytes(g, i);
        }
    }
}

void sr_phases_count(SrPhases *p, SrRun *run, int64_t at, int replica, const int64_t *labels) {
    const SrRunTail *tail = sr_run_tail_at(run, at);
    const SrTrainGraph *g = tail ? &tail->graph : &run->graph;
    int batch = tail ? tail->batch : run->batch;
    if (p->crossing)
        keep_replica(p, run, sr_comm_rank() * sr_replicas_mine(run->replicas) + replica, labels);
    else if (p->train)
        count(p->train, tail ? tail->plan : run->plan, g->outputs, g->n_model_outputs, batch, batch,
              labels, run->train.n_targets);
}

bool sr_phases_test_due(const SrPhases *p, const SrConfig *config, int64_t epoch) {
    return p->test &&
           (epoch % config->test_every_num_epoch == 0 || epoch + 1 == config->optimizer.num_epochs);
}

// ---- the test

static void pack_turn(SrPhases *p, int64_t rows, const int64_t *labels) {
    char *at = p->turns + (size_t)sr_comm_rank() * p->turn_bytes;
    memcpy(at, &rows, sizeof rows);
    at += sizeof rows;
    if (rows == 0)
        return;
    memcpy(at, labels, (size_t)rows * test_label_bytes(p) / (size_t)p->batch);
    at += test_label_bytes(p);
    for (int i = 0; i < p->graph.n_outputs; at += test_output_bytes(p, i++))
        memcpy(at, sr_plan_output(p->plan, p->graph.outputs[i]).data, test_output_bytes(p, i));
}

// Meters see batches in their order, whichever rank computed them.  Returns the images counted.
static int64_t count_turn(SrPhases *p, int rank) {
    char *at = p->turns + (size_t)rank * p->turn_bytes;
    int64_t rows = *(const int64_t *)(void *)at;
    const int64_t *labels = (const int64_t *)(void *)(at + sizeof rows);
    at += sizeof rows + test_label_bytes(p);
    for (int i = 0; rows > 0 && i < p->graph.n_outputs; at += test_output_bytes(p, i++)) {
        SrTensor y = {sr_graph_at(p->graph.graph, p->graph.outputs[i])->shape, SR_F32, at};
        count_output(p->test, y, i, p->batch, (int)rows, labels, p->split.n_targets);
    }
    return rows;
}

static int64_t count_round(SrPhases *p, int rows, const int64_t *labels) {
    int64_t counted = 0;
    pack_turn(p, rows, labels);
    sr_comm_all_gather(p->turns + (size_t)sr_comm_rank() * p->turn_bytes, p->turn_bytes, p->turns);
    for (int r = 0; r < sr_comm_size(); r++)
        counted += count_turn(p, r);
    return counted;
}

// Tests one batch per rank.  *images gets the images in all of them.
static SrStatus test_round(SrPhases *p, int64_t *images) {
    SrFeedTarget to = {.plan = p->plan,
                       .inputs = p->graph.views,
                       .n_inputs = p->graph.n_views,
                       .labels = SR_NO_NODE,
                       .sample_index = SR_NO_NODE};
    const int64_t *labels;
    double wait_s;
    int rows = 0;
    SR_TRY(sr_comm_agree(sr_feed_next(&p->feed, &to, &rows, &labels, &wait_s)));
    if (rows > 0)
        SR_TRY(sr_plan_forward(p->plan, 0));
    if (!p->turns && rows > 0)
        count(p->test, p->plan, p->graph.outputs, p->graph.n_outputs, p->batch, rows, labels,
              p->split.n_targets);
    *images = p->turns ? count_round(p, rows, labels) : rows;
    return *images > 0 ? sr_stop_check() : SR_OK;
}

SrStatus sr_phases_run_test(SrPhases *p) {
    int64_t images = 1;
    sr_meter_list_reset(p->test);
    p->feed.share = sr_split_turns();
    sr_loader_set_share(p->split.loader, p->feed.share);
    SR_TRY(sr_comm_agree(sr_feed_start(&p->feed, 0, 0)));
    while (images > 0)
        SR_TRY(test_round(p, &images));
    return SR_OK;
}

// ---- the whole

SrStatus sr_phases_open(SrRun *run, SrPhases *p) {
    const SrTrainGraph *g = &run->graph;
    int classes[SR_MAX_OUTPUTS];
    SrStatus status = SR_OK;
    *p = (SrPhases){.plan = NULL};
    if (!run->config->supervised)
        return SR_OK;
    for (int i = 0; i < g->n_model_outputs; i++)
        classes[i] = sr_shape_last(sr_graph_at(g->graph, g->outputs[i])->shape);
    if (run->config->meters.training)
        SR_TRY_GOTO(sr_meter_list_new(run->config, g->n_model_outputs, classes,
                                      run->steps_per_epoch * run->step_images, &p->train));
    SR_TRY_GOTO(open_crossing(run, p));
    SR_TRY_GOTO(open_test(run, p, classes, g->n_model_outputs));
done:
    if (status != SR_OK)
        sr_phases_close(p);
    return status;
}

void sr_phases_close(SrPhases *p) {
    sr_feed_close(&p->feed);
    sr_split_close(&p->split);
    sr_plan_free(p->plan);
    sr_feature_source_close(&p->trunk);
    sr_meter_list_free(p->train);
    sr_meter_list_free(p->test);
    sr_free(p->crossing);
    sr_free(p->turns);
    *p = (SrPhases){.plan = NULL};
}
