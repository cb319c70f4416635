// Counts a run's cost before its first step (parameters, bytes, floating-point operations), and
// checks that the machine has the memory.  Everything comes from the parameter table and from
// plans without memory. estimate.c estimates the time of a step.
#include "trainer/run/run_cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/ranks/comm.h"
#include "base/text/json.h"
#include "base/text/number.h"
#include "kernels/conv/conv.h"
#include "kernels/core/gemm.h"
#include "kernels/machine.h"
#include "trainer/optim/optim_options.h"
#include "trainer/optim/param_groups.h"
#include "trainer/run/run_plans.h"
#include "trainer/run/run_teacher.h"

// ---- memory -------------------------------------------------------------------------------------

size_t sr_run_state_bytes(const SrRunCost *c) {
    return c->optimizer_bytes + c->statistics_bytes + c->loss_bytes;
}

size_t sr_run_bytes(const SrRunCost *c) {
    return c->plan.activation_bytes + c->parameter_bytes + sr_run_state_bytes(c) + c->loader_bytes +
           c->replica_bytes + c->kept_bytes + c->blas_bytes;
}

// An error now is better than a kill by the kernel an hour later, when the loader's buffers have
// grown.
SrStatus sr__run_check_memory(const SrRun *run) {
    SR_TRY(sr_gemm_reserve());
    size_t need = sr_run_bytes(&run->cost), available = sr_memory_available();
    char a[32], b[32];
    if (available == 0 || need <= available)
        return SR_OK;
    bool keeps = run->config->recompute != SR_RECOMPUTE_ALWAYS && !run->config->model.checkpointing;
    SR_FAIL(SR_ERR_MEMORY,
            "the step needs %s, but this machine has only %s free; lower "
            "DATA.TRAIN.BATCHSIZE_PER_REPLICA (now %d) or the crop sizes%s",
            sr_bytes_text((double)need, a, sizeof a), sr_bytes_text((double)available, b, sizeof b),
            run->batch, keeps ? ", or try MACHINE.RECOMPUTE=always" : "");
}

// ---- counting -----------------------------------------------------------------------------------

// Counts the table's entries by kind: the model's parameters, the model's state (running
// statistics), and entries of the loss (queues, a momentum encoder).  A loss may learn too.
static void count_entries(SrParams *params, SrRunCost *c) {
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        int64_t n = sr_shape_count(p->shape);
        size_t bytes = (size_t)n * sr_dtype_bytes(p->dtype);
        bool of_loss = strncmp(p->name, "loss.", strlen("loss.")) == 0;
        c->trainable += p->trainable && !p->merged ? n : 0;
        if (p->kind == SR_SLOT_PARAM && (p->trainable || !of_loss)) {
            c->parameters += n;
            c->parameter_bytes += bytes * (p->trainable ? 2 : 1);
        } else if (of_loss) {
            c->loss_bytes += bytes;
        } else {
            c->statistics_bytes += bytes;
        }
    }
}

// Adds the cost of a frozen trunk, which has its own plan.
static SrStatus add_trunk_cost(SrRun *run) {
    SrPlan *dry = NULL;
    SR_TRY(sr_feature_source_dry(&run->trunk, &dry));
    run->cost.plan.activation_bytes += sr_plan_cost(dry).activation_bytes;
    run->cost.plan.forward_flops += sr_plan_cost(dry).forward_flops;
    sr_plan_free(dry);
    return SR_OK;
}

// Adds a teacher that has its own plan, and the file of its outputs.
static SrStatus add_teacher_cost(SrRun *run) {
    SrPlan *dry = NULL;
    SR_TRY(sr__run_compile_teacher(run, &run->graph, true, &dry));
    run->cost.plan.activation_bytes += sr_plan_cost(dry).activation_bytes;
    run->cost.teacher_file_bytes = sr_run_teacher_bytes(run);
    sr_plan_free(dry);
    return SR_OK;
}

// Counts the states and the work of the optimiser.  Checks its options and parameter groups too, so
// that a dry run fails where a real one would.
static SrStatus count_optimizer(SrRun *run, SrRunCost *c) {
    const SrOptimizerConfig *config = &run->config->optimizer;
    const SrOptimizer *kind;
    const void *params;
    SrParamGroups groups;
    if (run->graph.loss == SR_NO_NODE)
        return SR_OK;
    SR_TRY(sr_optim_check(config, &run->arena, &kind, &params));
    SR_TRY(sr_param_groups(sr_model_params(run->model), config, &run->arena, &groups));
    SrOptimWork work = sr_optim_work(kind, params, sr_model_params(run->model), &groups);
    c->optimizer_bytes = (size_t)c->trainable * sizeof(float) * (size_t)kind->n_states(params) +
                         (size_t)work.floats * sizeof(float);
    c->update_flops = work.flops;
    // Gradients are cleared and read, values and states read and written; norms read both once
    // more.
    int streams = 4 + 2 * kind->n_states(params);
    if (kind->norms && kind->norms(params) != SR_NORMS_NONE)
        streams += 2;
    c->update_bytes = (size_t)c->trainable * sizeof(float) * (size_t)streams;
    return SR_OK;
}

// Decides whether activations of all replicas of a rank are kept.  They may take half of the free
// memory: loader and page cache grow later, and the ranks of a machine share the rest.
static void choose_memory(const SrRun *run, size_t once, SrRunCost *c) {
    size_t more = (size_t)sr_replicas_again(&run->graph) * once;
    size_t room = c->available_bytes / 2 / (size_t)sr_comm_node_ranks();
    bool fits = sr_run_bytes(c) + more <= room;
    if (run->config->memory == SR_REPLICAS_KEEP ||
        (run->config->memory == SR_REPLICAS_AUTO && fits))
        c->kept_bytes = more;
}

SrStatus sr__run_count_cost(SrRun *run) {
    SrPlan *dry = NULL, *loss = NULL;
    SrRunCost *c = &run->cost;
    SrStatus status = sr_run_compile(run, true, &dry, &loss);
    if (status == SR_OK)
        *c = (SrRunCost){.plan = sr_plan_cost(dry),
                         .replica_bytes = sr_replicas_bytes(&run->graph),
                         .available_bytes = sr_memory_available()};
    size_t once = c->plan.activation_bytes;
    if (loss)
        c->plan.activation_bytes += sr_plan_cost(loss).activation_bytes;
    sr_plan_free(dry);
    sr_plan_free(loss);
    SR_TRY(status);
    count_entries(sr_model_params(run->model), c);
    SR_TRY(count_optimizer(run, c));
    for (int v = 0; v < run->train.n_views; v++)
        c->loader_bytes += SR_SPLIT_BATCHES_AHEAD * (size_t)run->batch *
                           (size_t)run->config->channels * sizeof(float) *
                           (size_t)SR_MAX(run->train.rows[v], 1) * (size_t)run->train.h[v] *
                           (size_t)run->train.w[v];
    if (run->tail.batch > 0) {
        SR_TRY(sr__run_compile(run, &run->tail.graph, true, &dry, &loss));
        c->plan.activation_bytes += sr_plan_cost(dry).activation_bytes;
        sr_plan_free(dry);
    }
    if (run->graph.teacher.graph)
        SR_TRY(add_teacher_cost(run));
    c->blas_bytes = sr_gemm_touched_bytes();
    if (run->graph.loss_kind)
        choose_memory(run, once, c);
    return run->frozen_trunk ? add_trunk_cost(run) : SR_OK;
}

// ---- in words -----------------------------------------------------------------------------------

// Says what MODEL.AMP_PARAMS.USE_AMP does on this processor.
static const char *precision_text(const SrRun *run) {
    const SrMachine *machine = sr_model_machine(run->model);
    if (!run->config->model.use_amp)
        return run->config->fp32 == SR_CONV_FP32_X3 && sr_machine_has_tiles(machine)
                   ? "float32, with products from three bfloat16 products"
                   : "float32";
    if (sr_machine_has_tiles(machine) || sr_machine_has_pairs(machine))
        return "maps and their products in bfloat16";
    return sr_machine_has_bf16(machine)
               ? "maps stored in bfloat16, products in float32 (faster here than avx512_bf16)"
               : "maps stored in bfloat16, products in float32 (this processor has no avx512_bf16)";
}

// The log and `sslrun check` show these two lines.
void sr_run_cost_text(const SrRun *run, SrText *out) {
    const SrRunCost *c = &run->cost;
    char n[3][32], b[6][32];
    sr_text_printf(
        out,
        "%s parameters: %s trained, %s frozen; %.2f GFLOP per step of %d images, %d view%s; %s\n",
        sr_count_text(c->parameters, n[0]), sr_count_text(c->trainable, n[1]),
        sr_count_text(c->parameters - c->trainable, n[2]),
        (double)(c->plan.forward_flops + c->plan.backward_flops) * run->config->replicas / 1e9,
        run->step_images, run->train.n_views, run->train.n_views == 1 ? "" : "s",
        precision_text(run));
    sr_text_printf(
        out,
        "  memory: activations %s, parameters and gradients %s, state %s (optimiser %s, running "
        "statistics %s, queues and teacher %s)",
        sr_bytes_text((double)c->plan.activation_bytes, b[0], sizeof b[0]),
        sr_bytes_text((double)c->parameter_bytes, b[1], sizeof b[1]),
        sr_bytes_text((double)sr_run_state_bytes(c), b[2], sizeof b[2]),
        sr_bytes_text((double)c->optimizer_bytes, b[3], sizeof b[3]),
        sr_bytes_text((double)c->statistics_bytes, b[4], sizeof b[4]),
        sr_bytes_text((double)c->loss_bytes, b[5], sizeof b[5]));
    if (c->teacher_file_bytes)
        sr_text_printf(out, ", file of the teacher's outputs %s (DISTILLATION.CACHED_VIEWS)",
                       sr_bytes_text((double)c->teacher_file_bytes, b[0], sizeof b[0]));
    if (c->replica_bytes)
        sr_text_printf(out, ", %d replicas %s", run->config->replicas,
                       sr_bytes_text((double)c->replica_bytes, b[0], sizeof b[0]));
    if (c->kept_bytes)
        sr_text_printf(out, ", kept for the backward pass %s (DISTRIBUTED.MEMORY)",
                       sr_bytes_text((double)c->kept_bytes, b[0], sizeof b[0]));
    else if (sr_replicas_again(&run->graph) > 0)
        sr_text_printf(out, ", forward passes run twice (DISTRIBUTED.MEMORY)");
}

// The fields are raw numbers: bytes, floating-point operations.
void sr_run_cost_json(const SrRun *run, SrText *out) {
    const SrRunCost *c = &run->cost;
    sr_json_int(out, "parameters", c->parameters);
    sr_json_int(out, "trainable", c->trainable);
    sr_json_int(out, "frozen", c->parameters - c->trainable);
    sr_json_int(out, "activation_bytes", (int64_t)c->plan.activation_bytes);
    sr_json_int(out, "kept_bytes", (int64_t)c->kept_bytes);
    sr_json_int(out, "parameter_bytes", (int64_t)c->parameter_bytes);
    sr_json_int(out, "state_bytes", (int64_t)sr_run_state_bytes(c));
    sr_json_int(out, "optimizer_bytes", (int64_t)c->optimizer_bytes);
    sr_json_int(out, "statistics_bytes", (int64_t)c->statistics_bytes);
    sr_json_int(out, "loss_bytes", (int64_t)c->loss_bytes);
    if (c->teacher_file_bytes)
        sr_json_int(out, "teacher_file_bytes", (int64_t)c->teacher_file_bytes);
    sr_json_int(out, "blas_bytes", (int64_t)c->blas_bytes);
    sr_json_int(out, "forward_flops", c->plan.forward_flops);
    sr_json_int(out, "backward_flops", c->plan.backward_flops);
    sr_json_int(out, "batch", run->step_images);
    sr_json_int(out, "views", run->train.n_views);
    sr_json_string(out, "precision", run->config->model.use_amp ? "bf16" : "f32");
}
