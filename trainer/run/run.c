// Builds a run in a fixed order: shapes, model, graph, memory check on a dry plan, and only then
// real memory.
#include "trainer/run/run.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/ranks/comm.h"
#include "data/collator.h"
#include "data/load/loader.h"
#include "data/pipeline.h"
#include "kernels/conv/conv.h"
#include "kernels/machine.h"
#include "trainer/data/data_summary.h"
#include "trainer/model/train_graph.h"
#include "trainer/run/run_check.h"
#include "trainer/run/run_cost.h"
#include "trainer/run/run_plans.h"
#include "trainer/run/run_rates.h"
#include "trainer/run/run_teacher.h"

// ---- pieces -------------------------------------------------------------------------------------

// Gets the sizes of the test images for a run that learns nothing; phases.c opens their split.
static SrStatus only_shape(SrRun *run) {
    SrSplit *s = &run->train;
    const SrYaml *test = run->config->test.transforms;
    return test && test->n > 0 ? sr_split_eval_shape(run->config, &s->n_views, s->h, s->w)
                               : sr_split_plan_train(run->config, s);
}

// Opens the data.  Without data there is no epoch, and schedules run over one imaginary update.
static SrStatus open_data(SrRun *run) {
    if (sr__run_forward_only(run))
        return sr_split_eval_shape(run->config, &run->train.n_views, run->train.h, run->train.w);
    if (run->config->test_only)
        return only_shape(run);
    if (run->mode != SR_RUN_TRAIN)
        return sr_split_plan_train(run->config, &run->train);
    SR_TRY(sr_split_open_train(run->config, &run->train));
    run->steps_per_epoch = sr_loader_batches(run->train.loader);
    if (run->config->replicas > 1)
        run->steps_per_epoch = sr_loader_samples(run->train.loader) / run->step_loaded;
    if (run->steps_per_epoch < 1)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.TRAIN: %lld images do not fill one step of %d replicas with "
                "BATCHSIZE_PER_REPLICA %d; lower DISTRIBUTED.REPLICAS",
                (long long)sr_loader_samples(run->train.loader),
                run->config->replicas * run->config->sync_bn_group,
                run->config->train.batchsize_per_replica);
    run->max_iterations = run->steps_per_epoch * run->config->optimizer.num_epochs;
    return SR_OK;
}

// Builds a model that is all frozen: outputs without a loss.
static SrStatus build_frozen(SrRun *run) {
    const SrSplit *d = &run->train;
    SrOutputGraph outputs;
    SR_TRY(sr_model_build_outputs(run->model, run->batch, d->n_views, d->h, d->w, &outputs));
    run->graph = (SrTrainGraph){.graph = outputs.graph,
                                .n_views = outputs.n_views,
                                .n_outputs = outputs.n_outputs,
                                .n_model_outputs = outputs.n_outputs,
                                .loss = SR_NO_NODE};
    memcpy(run->graph.outputs, outputs.outputs, sizeof outputs.outputs);
    return SR_OK;
}

// Builds heads over a frozen trunk: the training graph's inputs are the trunk's features.
static SrStatus build_over_frozen_trunk(SrRun *run, int64_t samples) {
    const SrSplit *d = &run->train;
    SrShape features[SR_HEAD_MAX_OUT];
    if (d->n_views != 1 || d->rows[0] > 1)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.TRAIN.TRANSFORMS make %d views, but heads on a frozen trunk need one",
                d->n_views * SR_MAX(d->rows[0], 1));
    SR_TRY(sr_feature_source_of_heads(run->model, run->batch, d->h[0], d->w[0], &run->trunk));
    int n = sr_feature_source_shapes(&run->trunk, run->batch, features);
    return sr_model_build_train_heads(run->model, run->batch, features, n, samples, &run->graph);
}

// True if the loss needs the number of samples.  Building the model reports an unknown loss.
static bool needs_samples(const SrConfig *config) {
    const SrLoss *loss;
    return config->learns && sr_loss_find(config->loss_name, &loss) == SR_OK && loss->needs_samples;
}

// Counts the training images.  `check` of a file that names none assumes ImageNet's number:
// VISSL's files name data sets of a catalogue.
static SrStatus count_samples(const SrRun *run, int64_t *samples) {
    enum { IMAGENET = 1281167 };
    SrStatus status = sr_split_train_length(run->config, samples);
    if (status == SR_OK || run->mode != SR_RUN_CHECK || run->config->train.data_paths.n > 0)
        return status;
    *samples = IMAGENET;
    sr_info(
        "DATA.TRAIN.DATA_PATHS is empty, so the size of the memory bank is computed for %d images",
        IMAGENET);
    return SR_OK;
}

// Memory banks are as long as the training set, so the number of images is part of the model.
static SrStatus build_model(SrRun *run) {
    const SrSplit *d = &run->train;
    int64_t samples = d->loader ? sr_loader_samples(d->loader) : 0;
    SR_TRY(sr_model_new(run->config, &run->model));
    if (!d->loader && needs_samples(run->config))
        SR_TRY(count_samples(run, &samples));
    sr_model_set_targets(run->model, d->n_targets);
    sr_model_set_batch(run->model, d->collation ? &d->collation->plan : NULL);
    if (sr__run_forward_only(run))
        return build_frozen(run);
    run->frozen_trunk = sr_model_has_frozen_trunk(run->model);
    if (run->frozen_trunk)
        return build_over_frozen_trunk(run, samples);
    return sr_model_build_train(run->model, run->batch, d->n_views, d->h, d->w, samples,
                                &run->graph);
}

// Returns the images in the batch that the collator makes of `loaded` images.
static int images_of(const SrRun *run, int loaded) {
    const SrCollation *collation = run->train.collation;
    return collation ? sr_batch_plan_images(&collation->plan, loaded) : loaded;
}

// Builds the step for an epoch's smaller last batch, over the same parameters: a plan has one
// batch size.
static SrStatus build_tail(SrRun *run) {
    const SrSplit *d = &run->train;
    SrRunTail *tail = &run->tail;
    SrShape features[SR_HEAD_MAX_OUT];
    int64_t samples = d->loader ? sr_loader_length(d->loader) : 0;
    int left = (int)(samples % run->config->batch); // 0 where the loader drops it
    tail->batch = images_of(run, left);
    if (run->config->replicas > 1)
        tail->batch = 0;
    if (tail->batch == 0)
        return SR_OK;
    if (!run->frozen_trunk)
        return sr_model_build_train(run->model, tail->batch, d->n_views, d->h, d->w, samples,
                                    &tail->graph);
    int n = sr_feature_source_shapes(&run->trunk, tail->batch, features);
    return sr_model_build_train_heads(run->model, tail->batch, features, n, samples, &tail->graph);
}

static SrStatus open_replicas(SrRun *run) {
    SrPlanOptions options = sr__run_plan_options(run, &run->graph, false);
    if (run->graph.replicas < 2)
        return SR_OK;
    SR_TRY(
        sr_replicas_new(&run->graph, run->plan, run->loss_plan, run->config->seed, &run->replicas));
    return run->cost.kept_bytes > 0 ? sr_replicas_keep(run->replicas, &options) : SR_OK;
}

// Gathers everything that a step needs, so that it looks up nothing.
static SrStatus build_step(SrRun *run) {
    const SrModelConfig *m = &run->config->model;
    SrParams *params = sr_model_params(run->model);
    run->step = (SrStep){
        .params = params,
        .graph = &run->graph,
        .plan = run->plan,
        .loss_plan = run->loss_plan,
        .replicas = run->replicas,
        .optim = run->optim,
        .ema = run->ema,
        .lora = run->lora,
        .clip = m->grad_clip,
        .clip_norm_type = m->grad_clip_norm_type,
        .clip_max_norm = m->grad_clip_max_norm,
        .check_nan = run->config->check_nan,
        .max_iterations = run->max_iterations,
    };
    SR_TRY(sr_freeze_new(params, m, &run->arena, &run->step.freeze));
    run->tail.step = run->step;
    run->tail.step.graph = &run->tail.graph;
    run->tail.step.plan = run->tail.plan;
    return SR_OK;
}

// Parameters are allocated once all graphs that add entries exist: the training graph holds the
// momentum encoder and the queues too.
static SrStatus open_all(SrRun *run) {
    bool trains = !sr__run_forward_only(run) && !run->config->test_only;
    SR_TRY(open_data(run));
    run->batch = images_of(run, run->config->batch);
    run->step_images = run->batch * run->config->replicas;
    SR_TRY(build_model(run));
    SR_TRY(build_tail(run));
    if (trains)
        SR_TRY(sr__run_check_norms(run));
    if (run->train.loader)
        SR_TRY(sr_run_check_classes(run, &run->train, "TRAIN"));
    if (sr__run_forward_only(run))
        return sr__run_count_cost(run);
    SR_TRY(
        sr_ema_model_add(&run->ema, sr_model_params(run->model), &run->config->ema, &run->arena));
    // Comes after the averaged model, which takes the sums, and after all graphs.
    SR_TRY(sr_lora_add(&run->lora, sr_model_params(run->model), run->config, &run->arena));
    SR_TRY(sr__run_build_schedules(run));
    SR_TRY(sr__run_count_cost(run));
    if (run->mode == SR_RUN_CHECK) {
        SR_TRY(sr__run_check_layer(run));
        return build_step(run);
    }
    SrParams *params = sr_model_params(run->model);
    SR_TRY(sr_params_allocate(params));
    sr_params_init(params, run->config->model.init_seed);
    SR_TRY(sr_optim_new(params, &run->config->optimizer, &run->optim));
    run->cost.optimizer_bytes = sr_optim_bytes(run->optim);
    SR_TRY(sr_run_compile(run, false, &run->plan, &run->loss_plan));
    SR_TRY(open_replicas(run));
    SrPlan *none; // a tail has one replica
    if (run->tail.batch > 0)
        SR_TRY(sr__run_compile(run, &run->tail.graph, false, &run->tail.plan, &none));
    run->feed = (SrFeed){.loader = run->train.loader,
                         .batch = run->batch,
                         .share = sr_split_share(run->config),
                         .drop_last = run->tail.batch == 0};
    SR_TRY(build_step(run));
    if (run->mode == SR_RUN_BENCH) // no weights will be loaded
        sr_step_start(&run->step, 0, false);
    return SR_OK;
}

// Refuses to keep features with a collator that mixes images: the mix differs in every batch.
static SrStatus no_cache(const SrRun *run) {
    const char *collator = run->train.collation->collator->name;
    if (run->config->model.cache_features != SR_CACHE_AUTO)
        SR_FAIL(
            SR_ERR_CONFIG,
            "MODEL.FEATURE_EVAL_SETTINGS.CACHE_FEATURES keeps the features of each image, but "
            "DATA.TRAIN.COLLATE_FUNCTION %s mixes images in every batch; set CACHE_FEATURES to off",
            collator);
    sr_info("COLLATE_FUNCTION %s mixes images in every batch, so features are computed again for "
            "each batch",
            collator);
    return SR_OK;
}

SrStatus sr_run_begin(SrRun *run, int64_t iteration, bool resumed) {
    const SrModelConfig *m = &run->config->model;
    sr_step_start(&run->step, iteration, resumed);
    SR_TRY(sr_run_teacher_open(run));
    if (!run->frozen_trunk)
        return SR_OK;
    SR_TRY(sr_feature_source_compile(&run->trunk));
    run->feed.trunk = &run->trunk;
    if (m->cache_features == SR_CACHE_OFF)
        return SR_OK;
    if (run->train.collation->collator->fill)
        return no_cache(run);
    if (!sr_pipeline_is_fixed(run->train.pipeline)) {
        sr_info("DATA.TRAIN.TRANSFORMS are random, so features are computed again in every epoch");
        return SR_OK;
    }
    SrLoader *in_order;
    SR_TRY(sr_split_in_order(run->config, &run->train, &in_order));
    SrStatus status =
        sr_feed_keep(&run->feed, in_order, m->cache_features, run->config->checkpoint.dir);
    sr_data_summary_say_bad(
        &(SrBadImages){in_order, true, "training images", "were replaced by grey images"}, status);
    sr_loader_free(in_order);
    return status;
}

SrStep *sr_run_step_at(SrRun *run, int64_t at) {
    SrRunTail *tail = sr_run_tail_at(run, at);
    return tail ? &tail->step : &run->step;
}

SrStatus sr_run_start_epoch(SrRun *run, int64_t epoch, int64_t at) {
    int mine = run->replicas ? sr_replicas_mine(run->replicas) : 1;
    int views = run->graph.teacher.graph ? run->config->distillation.cached_views : 0;
    run->shown_epoch = views > 0 ? epoch % views : epoch;
    return sr_feed_start(&run->feed, run->shown_epoch, at * mine);
}

SrStatus sr_run_load(SrRun *run, int64_t at, bool *end, const int64_t **labels, double *wait_s) {
    SrFeedTarget to = sr_run_target_at(run, at);
    int mine = run->replicas ? sr_replicas_mine(run->replicas) : 1;
    *wait_s = 0;
    // Remaining images do not fill a step of several replicas.
    *end = run->replicas && at >= run->steps_per_epoch;
    for (int r = 0; r < mine && !*end; r++) {
        double wait;
        int rows;
        SR_TRY(run->teacher.graph ? sr_run_teacher_load(run, at, r, &to, &rows, labels, &wait)
                                  : sr_feed_next(&run->feed, &to, &rows, labels, &wait));
        *wait_s += wait;
        *end = rows == 0;
        if (run->replicas && !*end)
            sr_replicas_take(run->replicas, r, *labels);
    }
    return SR_OK;
}

SrFeedTarget sr_run_target_at(SrRun *run, int64_t at) {
    const SrStep *step = sr_run_step_at(run, at);
    const SrTrainGraph *g = step->graph;
    return (SrFeedTarget){.plan = step->plan,
                          .inputs = g->views,
                          .n_inputs = g->n_views,
                          .labels = g->labels,
                          .sample_index = g->sample_index,
                          .extras = g->extras,
                          .n_extras = g->n_extras};
}

// Builds a dry run first: mistakes of the configuration, and a step too large for this machine,
// show before a file is read or memory is allocated.
static SrStatus rehearse(const SrConfig *config) {
    SrRun *dry;
    SR_TRY(sr_run_open(config, SR_RUN_CHECK, &dry));
    SrStatus status = sr__run_check_memory(dry);
    sr_run_close(dry);
    return status;
}

SrStatus sr_run_open(const SrConfig *config, SrRunMode mode, SrRun **out) {
    if (mode != SR_RUN_CHECK && !config->learns)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: no parameter learns, since MODEL.FEATURE_EVAL_SETTINGS freezes trunk and "
                "heads; use `sslrun extract` to compute their features",
                config->path);
    if (config->replicas % sr_comm_size() != 0)
        SR_FAIL(
            SR_ERR_CONFIG,
            "DISTRIBUTED.REPLICAS: %d replica%s cannot be divided evenly between %d ranks; start a "
            "number of ranks that divides the replicas, or change the number of replicas%s",
            config->replicas, config->replicas == 1 ? "" : "s", sr_comm_size(),
            config->sync_bn_group > 1
                ? " (replicas in one group of MODEL.SYNC_BN_CONFIG count as one if a group would "
                  "span ranks unevenly or if batches are accumulated)"
                : "");
    bool split = config->fp32 == SR_CONV_FP32_X6 || config->fp32 == SR_CONV_FP32_X3;
    if (mode != SR_RUN_CHECK && split && !sr_machine_has_tiles(sr_machine_default()))
        sr_info(
            "MACHINE.FP32: this processor has no tile registers (%s); sslrun computes as with ieee",
            sr_machine_name(sr_machine_default()));
    if (mode != SR_RUN_CHECK)
        SR_TRY(rehearse(config));
    SrRun *run = sr_calloc(1, sizeof *run);
    SR_TRY_MEMORY(run, "a run");
    run->config = config;
    run->mode = mode;
    run->step_loaded = config->batch * config->replicas;
    SrStatus status = open_all(run);
    if (status != SR_OK) {
        sr_run_close(run);
        return status;
    }
    *out = run;
    return SR_OK;
}

// Frees parts in the reverse order of building; each may never have been built.
void sr_run_close(SrRun *run) {
    if (!run)
        return;
    sr_feed_close(&run->feed);
    sr_run_teacher_close(run);
    sr_split_close(&run->train);
    sr_feature_source_close(&run->trunk);
    sr_replicas_free(run->replicas);
    sr_plan_free(run->plan);
    sr_plan_free(run->loss_plan);
    sr_plan_free(run->tail.plan);
    sr_optim_free(run->optim);
    sr_model_free(run->model);
    sr_config_free(run->stage);
    sr_arena_deinit(&run->arena);
    sr_free(run);
}

// Returns the parts that a checkpoint of this run holds.
SrCheckpointParts sr_run_parts(SrRun *run) {
    return (SrCheckpointParts){sr_model_params(run->model), run->optim, run->config->tree};
}
