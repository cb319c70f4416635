// Compiles the plans of a step with the options that the configuration gives.
#include "trainer/run/run_plans.h"

#include "base/compiler.h"

bool sr__run_forward_only(const SrRun *run) {
    return !run->config->learns || (run->mode == SR_RUN_CHECK && run->config->test_only);
}

// VISSL counts segments per trunk pass, and consecutive views of one size make a pass.
static int plan_splits(const SrRun *run) {
    const SrSplit *d = &run->train;
    int passes = 1;
    for (int v = 1; v < d->n_views; v++)
        passes += d->h[v] != d->h[v - 1] || d->w[v] != d->w[v - 1] ||
                  run->config->model.single_pass_every_crop;
    return run->config->model.checkpointing ? passes * run->config->model.checkpointing_splits : 0;
}

// Returns the bytes of maps, over all replicas of a process, below which a step need not save
// memory.
static int64_t keep_bytes(const SrRun *run) {
    static const int64_t keep[] = {[SR_RECOMPUTE_AUTO] = 384 << 20,
                                   [SR_RECOMPUTE_NEVER] = INT64_MAX,
                                   [SR_RECOMPUTE_ALWAYS] = 0};
    int64_t most = keep[run->config->recompute];
    return most < INT64_MAX ? most / SR_MAX(1, run->graph.replicas) : most;
}

// The model's outputs stay readable after a step because hooks of the loss want them (SwAV's queue
// takes the embeddings).
SrPlanOptions sr__run_plan_options(const SrRun *run, const SrTrainGraph *graph, bool dry) {
    return (SrPlanOptions){
        .mode = sr__run_forward_only(run) ? SR_MODE_EVAL : SR_MODE_TRAIN,
        .outputs = graph->outputs,
        .n_outputs = graph->n_outputs,
        .machine = sr_model_machine(run->model),
        .seed = run->config->seed,
        .bf16 = run->config->model.use_amp,
        .keep_bytes = keep_bytes(run),
        .splits = plan_splits(run),
        .no_allocate = dry,
    };
}

SrStatus sr__run_compile(const SrRun *run, const SrTrainGraph *graph, bool dry, SrPlan **out,
                         SrPlan **loss) {
    SrPlanOptions options = sr__run_plan_options(run, graph, dry);
    return sr_replicas_compile(graph, &options, out, loss);
}

SrStatus sr__run_compile_teacher(const SrRun *run, const SrTrainGraph *graph, bool dry,
                                 SrPlan **out) {
    SrPlanOptions options = sr__run_plan_options(run, graph, dry);
    return sr_replicas_compile_teacher(graph, &options, out);
}

SrStatus sr_run_compile(SrRun *run, bool dry, SrPlan **out, SrPlan **loss) {
    return sr__run_compile(run, &run->graph, dry, out, loss);
}
