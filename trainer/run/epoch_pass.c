// Makes the pass that a loss's before_epoch may ask for: a forward of every training image on the
// plan of the step, without training.
#include "trainer/run/epoch_pass.h"

#include <string.h>

#include "base/mem.h"
#include "data/load/loader.h"
#include "graph/plan/plan_run.h"
#include "trainer/model/train_graph.h"
#include "trainer/run/graph_state.h"
#include "trainer/run/run.h"

typedef struct {
    SrRun *run;
    const SrEpoch *epoch;
    SrStatus (*rows)(void *arg, const SrEpochRows *rows);
    void *arg;
    SrGraphState state;
    char *before;                    // (state.bytes) state before each forward
    SrLossValue values[SR_MAX_ROWS]; // nodes of the loss's graph, for one replica
} Pass;

// Fills a smaller batch by repeating its images: batch norms in training mode must not see rows
// of the batch before.
static void repeat_images(const SrFeedTarget *to, const SrBatch *batch, int whole) {
    for (int i = 0; i < to->n_inputs + to->n_extras; i++) {
        SrTensor x = sr_plan_input(to->plan, i < to->n_inputs ? to->inputs[i]
                                                              : to->extras[i - to->n_inputs].input);
        size_t image = (size_t)sr_shape_count(x.shape) / (size_t)whole * sr_dtype_bytes(x.dtype);
        for (int k = batch->batch; x.data && k < whole; k++)
            memcpy((char *)x.data + (size_t)k * image,
                   (const char *)x.data + (size_t)(k - batch->batch) * image, image);
    }
}

// Running statistics move with every forward in training mode and are restored; values that
// `rows` writes stay.
static SrStatus one_batch(Pass *p, const SrBatch *batch) {
    SrRun *run = p->run;
    SrFeedTarget to = sr_run_target_at(run, 0);
    SrFeed feed = {.trunk = run->feed.trunk, .batch = run->batch};
    sr_graph_state_save(&p->state, p->before);
    sr_feed_copy(&feed, &to, batch);
    repeat_images(&to, batch, run->batch);
    SrStatus status = sr_plan_forward(run->plan, p->epoch->step.iteration);
    sr_graph_state_restore(&p->state, p->before);
    SR_TRY(status);
    SrEpochRows rows = {
        .step = p->epoch->step, .index = batch->index, .n = batch->batch, .batch = run->batch};
    rows.step.plan = run->plan;
    rows.step.values = p->values;
    rows.step.n_values = run->loss_plan ? run->graph.n_rows : 0;
    for (int i = 0; i < rows.step.n_values; i++)
        p->values[i] = (SrLossValue){run->graph.rows[i].world,
                                     sr_plan_output(run->plan, run->graph.rows[i].replica)};
    return p->rows(p->arg, &rows);
}

static SrStatus all_batches(Pass *p, SrLoader *loader) {
    SR_TRY(sr_loader_start(loader, p->epoch->step.epoch, 0));
    for (;;) {
        const SrBatch *batch;
        double wait_s;
        SR_TRY(sr_loader_next(loader, &batch, &wait_s));
        if (!batch)
            return SR_OK;
        SR_TRY(one_batch(p, batch));
    }
}

static void zero_inputs(SrRun *run) {
    for (SrNodeId id = 0; id < sr_graph_count(run->graph.graph); id++) {
        SrTensor x = {.data = NULL};
        if (!sr_graph_at(run->graph.graph, id)->op)
            x = sr_plan_input(run->plan, id);
        if (x.data)
            memset(x.data, 0, (size_t)sr_shape_count(x.shape) * sr_dtype_bytes(x.dtype));
    }
}

static SrStatus pass(const SrEpoch *epoch, SrStatus (*rows)(void *arg, const SrEpochRows *),
                     void *arg) {
    Pass p = {.run = epoch->run, .epoch = epoch, .rows = rows, .arg = arg};
    SrLoader *in_order = NULL;
    SrStatus status;
    SR_TRY(sr_graph_state_init(&p.state, p.run->graph.graph));
    status = (p.before = sr_alloc(p.state.bytes + 1)) ? SR_OK
                                                      : sr_out_of_memory("the state beside a pass");
    SR_TRY_GOTO(status);
    zero_inputs(p.run);
    SR_TRY_GOTO(sr_split_in_order(p.run->config, &p.run->train, &in_order));
    SR_TRY_GOTO(all_batches(&p, in_order));
done:
    sr_loader_free(in_order);
    sr_free(p.before);
    sr_graph_state_deinit(&p.state);
    return status;
}

SrEpoch sr_run_epoch(SrRun *run, int64_t iteration, int epoch) {
    return (SrEpoch){.step = sr_step_view(&run->step, iteration, epoch),
                     .n_samples = run->train.loader ? sr_loader_samples(run->train.loader) : 0,
                     .pass = pass,
                     .run = run};
}
