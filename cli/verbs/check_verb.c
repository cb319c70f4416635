// sslrun check CONFIG [KEY=VALUE ...]: composes, validates, builds and plans a configuration,
// without its data and without memory for training, and checks that the files it names exist.
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/text/json.h"
#include "base/text/yaml_print.h"
#include "cli/args/args.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "data/dataset.h"
#include "trainer/bench/estimate.h"
#include "trainer/bench/forecast.h"
#include "trainer/config/derived_config.h"
#include "trainer/config/paths_check.h"
#include "trainer/config/stages.h"
#include "trainer/data/data_summary.h"
#include "trainer/eval/online_probe.h"
#include "trainer/run/run.h"
#include "trainer/run/run_cost.h"
#include "trainer/train_stages.h"

// Reports a step that is too large for this machine without failing: another machine may run it.
static void print_text(const SrRun *run, double seconds, SrText *out) {
    char need[32], free_now[32];
    const SrRunCost *c = &run->cost;
    size_t bytes = sr_run_bytes(c);
    const char *method = !run->config->learns     ? "no loss, since all parameters are frozen"
                         : run->config->test_only ? "evaluation only"
                                                  : run->config->loss_name;
    sr_text_printf(out, "%s: trunk %s, %s%s\n  ", run->config->path, run->config->model.trunk_name,
                   method == run->config->loss_name ? "loss " : "", method);
    sr_run_cost_text(run, out);
    sr_text_printf(
        out, "\n  %s in all, %s free on this machine%s",
        sr_bytes_text((double)bytes, need, sizeof need),
        sr_bytes_text((double)c->available_bytes, free_now, sizeof free_now),
        c->available_bytes > 0 && bytes > c->available_bytes ? ": more than this machine has" : "");
    sr_text_printf(out,
                   "\n  about %.3g s a step on this machine with %d threads (an estimate; `sslrun "
                   "bench` measures it)\n",
                   seconds, sr_parallel_threads());
    int minutes = run->config->optimizer.minutes;
    if (minutes > 0)
        sr_text_printf(out, "  as many epochs as fit %d minute%s (OPTIMIZER.MINUTES)\n", minutes,
                       minutes == 1 ? "" : "s");
}

typedef struct {
    const SrConfig *config;
    SrText text;
} Stages;

// Adds a line for stage k with the time of its step, unless it is too short for an epoch.
static void add_stage(Stages *s, int k, double seconds) {
    if (sr_stage_begin(s->config, k) == sr_stage_end(s->config, k))
        return;
    sr_text_add(&s->text, "  ");
    sr_stage_text(s->config, k, &s->text);
    sr_text_printf(&s->text, "; about %.3g s a step\n", seconds);
}

static SrStatus see_stage(void *arg, int k, SrRun *dry) {
    double seconds;
    SR_TRY(sr_estimate_step(dry, &seconds));
    add_stage(arg, k, seconds);
    return SR_OK;
}

// Checks and prints the stages of a run that has more than one.  seconds: of a step of the last
// one, whose plan is the configuration's.
static SrStatus print_stages(const SrConfig *config, double seconds) {
    Stages stages = {.config = config, .text = SR_TEXT_INIT};
    SrStatus status = sr_train_check_stages(config, see_stage, &stages);
    if (status == SR_OK && sr_stages_count(config) > 1) {
        add_stage(&stages, sr_stages_count(config) - 1, seconds);
        return sr_args_print(&stages.text);
    }
    sr_text_deinit(&stages.text);
    return status;
}

// Cluster to forecast for; ranks -1: none.
typedef struct {
    int ranks, gbit, cores;
} Cluster;

// Forecasts a run on a cluster.  Replicas: those of the recipe, or one per rank.  A rank is
// assumed to be faster than this process by its cores divided by this process's threads.
static SrStatus forecast(const SrRun *run, double seconds, const Cluster *c, SrText *out) {
    int planned = run->config->replicas, replicas = planned > 1 ? planned : c->ranks;
    double backward_share = sr_estimate_backward_share(run);
    if (c->ranks < 1 || c->gbit < 1 || c->cores < 0 || replicas % c->ranks)
        SR_FAIL(SR_ERR_CONFIG,
                "--ranks %d --network %d: expected a number of ranks that divides the %d replicas, "
                "and at least 1 Gbit/s",
                c->ranks, c->gbit, replicas);
    const SrLoss *loss = run->graph.loss_kind;
    bool twice = loss && !loss->rows_are_independent && run->cost.kept_bytes == 0;
    double passes = sr_forecast_passes(planned, twice, backward_share);
    SrForecastInput in = {.replica_s = seconds / passes,
                          .backward_share = backward_share,
                          .gradient_bytes = 4.0 * (double)run->cost.trainable,
                          .twice = twice,
                          .replicas = replicas,
                          .ranks = c->ranks,
                          .gbit = c->gbit};
    in.replica_s *= c->cores ? (double)sr_parallel_threads() / c->cores : 1;
    SrForecast f = sr_forecast(&in);
    sr_forecast_text(&in, &f, run->config->batch, out);
    return SR_OK;
}

// *seconds: of a step.
static SrStatus check_plan(const SrConfig *config, const Cluster *cluster, bool json,
                           double *seconds) {
    SrRun *run;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_run_open(config, SR_RUN_CHECK, &run));
    SrStatus status = sr_estimate_step(run, seconds);
    if (status != SR_OK) {
        sr_run_close(run);
        return status;
    }
    if (json) {
        sr_json_begin(&out);
        sr_json_string(&out, "config", config->path);
        sr_run_cost_json(run, &out);
        sr_json_float(&out, "estimated_step_ms", 1e3 * *seconds);
        sr_json_end(&out);
    } else {
        print_text(run, *seconds, &out);
        if (cluster->ranks >= 0)
            status = forecast(run, *seconds, cluster, &out);
    }
    sr_run_close(run);
    if (status == SR_OK)
        return sr_args_print(&out);
    sr_text_deinit(&out);
    return status;
}

// Checks the images of the evaluation, which the plan of the training ignores.
static SrStatus check_test_images(const SrConfig *config) {
    const SrYaml *list = config->test.transforms;
    int n, h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    if (!list || list->type != SR_YAML_LIST || list->n == 0)
        return SR_OK;
    return sr_split_eval_shape(config, &n, h, w);
}

// Checks what a probe during training needs, if the images are made by their source: check reads
// no others.
static SrStatus check_probe(const SrConfig *config) {
    const SrDataset *source = NULL;
    const SrStrings *sources = &config->train.data_sources;
    if (sources->n < 1 || sr_dataset_find(sources->v[0], &source) != SR_OK || !source->makes_images)
        return SR_OK;
    return sr_online_probe_check(config);
}

// Reports mistakes in the step, in the images of the evaluation and in paths together.  Shows the
// plan even if files are missing, because they may be on another machine.
static SrStatus check(const SrConfig *config, const Cluster *cluster, bool json) {
    SrArena arena = SR_ARENA_INIT;
    SrProblems problems = {.arena = &arena};
    double seconds;
    SrStatus status = sr_problems_keep(&problems, check_plan(config, cluster, json, &seconds));
    bool planned = status == SR_OK && problems.n == 0;
    if (status == SR_OK)
        status = sr_problems_keep(&problems, planned && !json
                                                 ? print_stages(config, seconds)
                                                 : sr_train_check_stages(config, NULL, NULL));
    if (status == SR_OK)
        status = sr_problems_keep(&problems, check_test_images(config));
    if (status == SR_OK)
        status = sr_problems_keep(&problems, check_probe(config));
    if (status == SR_OK)
        status = sr_config_check_paths(config, &problems);
    if (status == SR_OK)
        status = sr_problems_fail(&problems, config->path);
    sr_arena_deinit(&arena);
    return status;
}

static void say_set(const SrConfig *config, const SrSplit *split, bool files) {
    if (files)
        sr_data_summary_say_set(split, "training images");
    sr_data_summary_say_samples(config, split);
}

// Lists the folder of training images, if its source passes files over, and says which: files of
// formats that this build does not read come with the package that adds them.
static void say_images(const SrConfig *config) {
    const SrStrings *names = &config->train.data_sources, *paths = &config->train.data_paths;
    const SrDataset *source;
    SrSplit split = {.note = "", .path = ""};
    SrStatus status = paths->n == 0 || !sr_file_exists(paths->v[0]) ? SR_ERR_CONFIG
                      : names->n > 0 ? sr_dataset_find(names->v[0], &source)
                                     : sr_dataset_infer(paths->v[0], "TRAIN", &source);
    if (status == SR_OK && (source->skipped || source->samples)) {
        if (sr_split_open_set(&config->train, sr_split_form(config), "TRAIN", config->seed,
                              &split) == SR_OK)
            say_set(config, &split, source->skipped != NULL);
        sr_split_close(&split);
    }
    sr_status_clear(); // paths have their own check
}

static void say_next(const SrConfig *config, const SrArgs *args) {
    SrText next = SR_TEXT_INIT;
    sr_next_add_config(&next, "trains, resumes after an interruption, and evaluates at the end",
                       "train", config, args);
    sr_next_say(&next);
}

typedef struct {
    bool json, tree;
    Cluster cluster;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_ON(Options, tree, "--tree", "print the resolved configuration instead"),
    SR_FLAG_NUMBER(Options, cluster.ranks, "--ranks", "forecast the step on N machines"),
    SR_FLAG_NUMBER(Options, cluster.gbit, "--network", "Gbit/s between the machines (10)"),
    SR_FLAG_NUMBER(Options, cluster.cores, "--cores",
                   "cores of each machine (the threads used here)"),
    SR_FLAG_ON(Options, json, "--json", "print results as one JSON line"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.cluster = {.ranks = -1, .gbit = 10}};
    SrArgs args;
    SrConfig *config;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(sr_args_load_config(&args, "check", &config));
    SrText out = SR_TEXT_INIT;
    SrStatus status;
    if (o.tree) {
        sr_yaml_print(config->tree, &out);
        status = sr_args_print(&out);
    } else {
        status = check(config, &o.cluster, o.json);
        if (status == SR_OK && !o.json)
            say_images(config);
        if (status == SR_OK && !o.json && config->learns && sr_config_names_weights(config))
            say_next(config, &args);
    }
    sr_config_free(config);
    return status;
}

const SrVerb sr_verb_check = {
    .name = "check",
    .group = SR_VERB_CHECK,
    .args = "CONFIG [KEY=VALUE ...]",
    .summary = "validates a configuration and plans its step: memory, time",
    .help = "All mistakes are reported together, with file and line. A folder of images is listed, "
            "but no image is read and no memory for training is taken, so the answer comes at "
            "once. The time of a step is an estimate; `sslrun bench` measures it.",
    .examples = {{"sslrun check photos.yaml", "Prints parameters, memory and time per step."},
                 {"sslrun check photos.yaml --tree", "Prints every key with its value."},
                 {"sslrun check configs/swav.yaml --ranks 4 --network 25",
                  "Forecasts the step on four machines."}},
    .exit = "0: the configuration can be trained; 2: it has mistakes.",
    .flags = flags,
    .run = run_verb,
};
