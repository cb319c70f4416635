// sslrun train CONFIG [KEY=VALUE ...]: trains a model and evaluates its trunk at the end.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/ranks/comm.h"
#include "base/text/json.h"
#include "base/text/yaml_edit.h"
#include "cli/args/args.h"
#include "cli/interrupt.h"
#include "cli/run_pages.h"
#include "cli/sweep.h"
#include "cli/verb.h"
#include "cli/view_figures.h"
#include "trainer/bench/minutes.h"
#include "trainer/eval/feature_spread.h"
#include "trainer/eval/layer_report.h"
#include "trainer/eval/linear_probes.h"
#include "trainer/eval/report.h"
#include "trainer/run/meters/progress.h"
#include "trainer/run/run.h"
#include "trainer/train.h"

#define RESUME "CHECKPOINT.AUTO_RESUME=True"

// Writes the command that continues this run: the present one without flags that start from
// scratch.
static void continuation(const SrConfig *config, SrText *out) {
    sr_args_command("--restart", out);
    if (!config->checkpoint.auto_resume)
        sr_text_add(out, " " RESUME);
}

// Returns the words of that command, and their number.
static int continuation_words(const SrConfig *config, const char *words[SR_ARGS_MAX + 1]) {
    int n = sr_args_words("--restart", words);
    if (!config->checkpoint.auto_resume)
        words[n++] = RESUME;
    return n;
}

// Writes the command as the heading of this start into log.txt.
static void say_heading(void) {
    SrText command = SR_TEXT_INIT;
    sr_args_command(NULL, &command);
    sr_train_heading(command.s ? command.s : "");
    sr_text_deinit(&command);
}

// Prints the mean losses of the first and last epoch, which show whether the model learned.
static void print_losses(const SrTrainResult *r, SrText *out) {
    if (r->epochs > 1)
        sr_text_printf(out, "mean loss in this session: first epoch %.4f, last epoch %.4f\n",
                       r->first_loss, r->last_loss);
    else if (r->epochs == 1)
        sr_text_printf(out, "mean loss in this session: %.4f, one epoch\n", r->last_loss);
}

static void print_result(const SrTrainResult *r, bool json, SrText *out) {
    char took[48], peak[32], rate[24];
    if (json) {
        sr_json_begin(out);
        sr_json_int(out, "iterations", r->iterations);
        sr_json_int(out, "updates_here", r->steps);
        sr_json_bool(out, "already_finished", r->already_finished);
        sr_json_float(out, "seconds", r->seconds);
        sr_json_float(out, "images_per_s", r->images_per_s);
        sr_json_float(out, "data_wait", r->wait_share);
        sr_json_float(out, "first_loss", r->first_loss);
        sr_json_float(out, "last_loss", r->last_loss);
        sr_json_int(out, "peak_bytes", (int64_t)r->peak_bytes);
        sr_json_end(out);
    } else if (!r->already_finished) {
        sr_text_printf(out,
                       "trained %lld updates in %s: %s images/s, %.0f%% of the time waiting for "
                       "data, peak memory %s\n",
                       (long long)r->steps, sr_duration_text(r->seconds, took, sizeof took),
                       sr_rate_text(r->images_per_s, rate, sizeof rate), 100 * r->wait_share,
                       sr_bytes_text((double)r->peak_bytes, peak, sizeof peak));
        print_losses(r, out);
    }
}

// Writes evaluated.json, which names the run and the state of the last report in metrics.json.  An
// evaluation that was interrupted is detected by it.
static SrStatus mark_evaluated(const SrConfig *config, const SrTrainResult *r) {
    char path[4096];
    SrText text = SR_TEXT_INIT;
    if (sr_comm_rank() > 0)
        return SR_OK;
    SR_TRY(sr_file_join(path, sizeof path, config->checkpoint.dir, "evaluated.json"));
    sr_json_begin(&text);
    sr_json_string(&text, "run", r->run.id);
    sr_json_int(&text, "iteration", r->iterations);
    sr_json_end(&text);
    SrStatus status = sr_file_write_text(path, &text);
    sr_text_deinit(&text);
    return status;
}

// True: evaluated.json names this state.  Every problem with the file gives false, because
// evaluating twice is harmless.
static bool is_evaluated(const SrConfig *config, const SrTrainResult *r) {
    char path[4096];
    SrArena arena = SR_ARENA_INIT;
    SrYaml *mark = NULL;
    bool same =
        sr_file_join(path, sizeof path, config->checkpoint.dir, "evaluated.json") == SR_OK &&
        sr_json_load(&arena, path, 4096, &mark) == SR_OK &&
        strcmp(sr_tree_text(mark, "run", ""), r->run.id) == 0 &&
        sr_tree_int(mark, "iteration", -1) == r->iterations;
    sr_arena_deinit(&arena);
    return same;
}

// Evaluates a self-supervised trunk: kNN on all images, then the layers.  A run that began from
// weights is compared with them; without labels by figures that need none.
static SrStatus evaluate_trunk(const SrConfig *config, SrRun *run, bool json, SrText *out,
                               SrText *line) {
    SrKnnReport report;
    SrLayerReport layers;
    SrFeatureSpread spread;
    SrModel *started = NULL;
    SrStatus status;
    SR_TRY_GOTO(sr_knn_report(config, run->model, true, &report));
    sr_knn_report_print(&report, json, out);
    sr_knn_report_json(&report, line);
    if (sr_comm_agree(sr_baselines_start(config, config->knn.layer, &started)) != SR_OK) {
        sr_warn("there is no verdict on this training, because the starting weights could not be "
                "loaded: %s",
                sr_status_message());
        sr_status_clear();
        sr_model_free(started);
        started = NULL;
    }
    // A class may have too few images for the layers.
    if (sr_layer_report(config, run->model, started, &layers) != SR_OK)
        sr_warn("the layers could not be evaluated: %s", sr_status_message());
    (json ? sr_layer_report_json : sr_layer_report_text)(&layers, out);
    sr_layer_report_json(&layers, line);
    if (!report.labels && !json)
        sr_view_figures_text(config->checkpoint.dir, out);
    if (!report.labels && started) {
        SR_TRY_GOTO(sr_feature_spread(config, run->model, started, &spread));
        (json ? sr_feature_spread_json : sr_feature_spread_text)(&spread, out);
        sr_feature_spread_json(&spread, line);
    }
done:
    sr_model_free(started);
    return status;
}

// Evaluates a trunk by kNN, and linear probes on a frozen trunk by their layers.  Test phases have
// evaluated other models with labels already.
static SrStatus evaluate(const SrConfig *config, SrRun *run, bool json, SrText *out) {
    SrText line = SR_TEXT_INIT;
    SrStatus status = SR_OK;
    if (config->supervised && !run->frozen_trunk)
        return SR_OK;
    sr_info("evaluating the frozen trunk and its baselines (TEST_MODEL=False skips this)");
    if (config->supervised) {
        SrLinearReport report;
        SR_TRY_GOTO(sr_linear_report(run, &report));
        sr_linear_report_print(&report, json, out);
        sr_linear_report_print(&report, true, &line);
    } else {
        SR_TRY_GOTO(evaluate_trunk(config, run, json, out, &line));
    }
    if (sr_comm_rank() == 0)
        SR_TRY_GOTO(sr_run_pages_keep(config->checkpoint.dir, &line));
done:
    sr_text_deinit(&line);
    return status;
}

// Evaluates as `sslrun knn` does, for TEST_ONLY.
static SrStatus only_evaluate(const SrConfig *config, bool random, bool json) {
    SrKnnReport report;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_knn_report_configured(config, true, random, &report));
    sr_knn_report_print(&report, json, &out);
    return sr_args_print(&out);
}

static bool wants_evaluation(const SrConfig *config, const SrTrainResult *r) {
    return config->test_model && !config->test_only &&
           (!config->supervised || sr_split_has_test(config)) &&
           !(r->already_finished && sr_comm_max(sr_comm_rank() == 0 && is_evaluated(config, r)));
}

static SrStatus evaluate_and_print(const SrConfig *config, SrRun *run, const SrTrainResult *r,
                                   bool json) {
    SrText out = SR_TEXT_INIT;
    if (r->already_finished) // no training has computed the features of a frozen trunk
        SR_TRY(sr_run_begin(run, r->iterations, true));
    SrStatus status = evaluate(config, run, json, &out);
    if (status == SR_OK)
        status = sr_args_print(&out);
    sr_text_deinit(&out);
    return status == SR_OK ? mark_evaluated(config, r) : status;
}

static SrStatus train_and_print(const SrConfig *config, const SrTrainOptions *options, bool json,
                                SrRun **run, SrTrainResult *result) {
    SR_TRY(sr_train_run(config, options, run, result));
    if (!config->test_only)
        print_result(result, json, options->test);
    return sr_args_print(options->test);
}

// Trains and evaluates.  options: from the flags.  The run stays open until the evaluation has
// ended, because that reads the parameters in memory.
static SrStatus train(const SrConfig *config, SrTrainOptions options, bool json) {
    SrText command = SR_TEXT_INIT, out = SR_TEXT_INIT;
    SrRun *run = NULL;
    SrTrainResult result;
    continuation(config, &command);
    sr_interrupt_at_once(
        "stopped before the first step; no work is lost, and the same command starts the run");
    options.stop = sr_interrupt_asked;
    options.test = &out;
    options.again = command.s;
    const char *words[SR_ARGS_MAX + 1];
    SrRunPages pages = {.config = config,
                        .words = words,
                        .n_words = continuation_words(config, words),
                        .command = command.s ? command.s : ""};
    options.told = sr_run_pages_told;
    options.told_arg = &pages;
    SrStatus status = train_and_print(config, &options, json, &run, &result);
    sr_interrupt_at_once("the evaluation was interrupted; the same command repeats it");
    // A signal after the last question to all ranks has reached one of them.
    if (status == SR_OK && sr_comm_max(sr_interrupt_signal()))
        status =
            sr_fail(SR_ERR_INTERRUPT,
                    "training had finished and is saved; the same command runs its evaluation");
    if (status == SR_OK && wants_evaluation(config, &result)) {
        if (result.already_finished)
            pages.began = sr_clock();
        status = evaluate_and_print(config, run, &result, json);
    }
    if (sr_comm_rank() == 0 && run && !config->test_only && !result.folder_lost)
        sr_run_pages_end(&pages, run, status);
    sr_interrupt_uninstall();
    sr_run_close(run);
    if (status != SR_OK)
        sr_log_file("%s", sr_status_message()); // main prints it on the terminal
    sr_log_close();
    sr_text_deinit(&command);
    sr_text_deinit(&out);
    return status;
}

typedef struct {
    bool json;
    int seeds, minutes;
    SrTrainOptions train;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_ON(Options, train.restart, "--restart",
               "start over; checkpoints in CHECKPOINT.DIR move to earlier-N/ below it"),
    SR_FLAG_ON(Options, train.random, "--random", "accept a frozen trunk that nobody has trained"),
    SR_FLAG_NUMBER(
        Options, seeds, "--seeds",
        "train with N consecutive seeds, one after the other, and print mean and spread"),
    SR_FLAG_NUMBER(Options, minutes, "--minutes",
                   "train as many epochs as fit N minutes on this machine, at least one; the "
                   "evaluation follows"),
    SR_FLAG_ON(Options, json, "--json", "print results as JSON lines"),
    {0}};

// The results of a run are files, so that a closed stdout is no error.  cli/program.c holds its
// place by a descriptor that cannot be written.  A full disk at stdout still is an error.
static void allow_closed_stdout(void) {
    int mode = fcntl(STDOUT_FILENO, F_GETFL);
    if (mode >= 0 && (mode & O_ACCMODE) == O_RDONLY && !freopen("/dev/null", "w", stdout))
        sr_warn("cannot open /dev/null");
}

// True: the file or the command line sets a value at or below the node.  Values inside a default
// map have no file.
static bool sets_something(const SrYaml *node) {
    if (!node || (node->type != SR_YAML_MAP && node->type != SR_YAML_LIST))
        return node && node->file && *node->file && !sr_tree_is_default(node);
    for (int i = 0; i < node->n; i++)
        if (sets_something(node->items[i]))
            return true;
    return false;
}

// Refuses to train a configuration of an evaluation, with the command of the verb that it is for.
static SrStatus refuse_to_train(const SrConfig *config) {
    static const struct {
        const char *section, *verb, *flags;
        const char *folder; // of VISSL, whose files may leave the section out.  NULL: none
    } rows[] = {{"CLUSTERFIT", "extract", "--nodes flatten --data DIR --out FEATURES", NULL},
                {"NEAREST_NEIGHBOR", "knn", "", "nearest_neighbor/"},
                {"IMG_RETRIEVAL", "retrieve", "", "instance_retrieval/"},
                {"RANKING", "retrieve", "", NULL},
                {"SVM", "svm", "", NULL},
                {"LOW_SHOT_BENCHMARK", "logreg", "", NULL},
                {"MODEL.FEATURE_EVAL_SETTINGS", "extract",
                 "--nodes flatten --data DIR --out FEATURES", NULL}};
    int i = 0, n, last = SR_COUNT(rows) - 1;
    while (i < last && !sets_something(sr_yaml_find_path(config->tree, rows[i].section)))
        i++;
    for (int f = 0; i == last && f < last; f++)
        if (rows[f].folder && strstr(config->path, rows[f].folder))
            i = f;
    const char *words[SR_ARGS_MAX];
    SrText command = SR_TEXT_INIT;
    n = sr_args_words("train", words);
    for (int w = 0; w < n; w++) {
        sr_text_add(&command, w ? " " : "");
        sr_text_add_word(&command, words[w]);
        if (w == 0)
            sr_text_printf(&command, " %s", rows[i].verb);
    }
    SrStatus status = sr_fail(SR_ERR_CONFIG,
                              "%s: nothing learns: MODEL.FEATURE_EVAL_SETTINGS freezes trunk and "
                              "heads; %s is for `%s%s%s`%s",
                              config->path, rows[i].section, command.s ? command.s : rows[i].verb,
                              *rows[i].flags ? " " : "", rows[i].flags,
                              i == 0 ? ", and then `sslrun cluster FEATURES`" : "");
    sr_text_deinit(&command);
    return status;
}

// Loads the configuration, with as many epochs as fit OPTIMIZER.MINUTES.
static SrStatus load(SrArgs *args, const Options *o, SrConfig **out) {
    sr_args_take_config(args);
    SR_TRY(sr_args_load_config(args, "train", out));
    if (o->minutes > 0 && ((*out)->test_only || !(*out)->learns)) {
        sr_config_free(*out);
        SR_FAIL(SR_ERR_CONFIG, "--minutes trains, but %s trains nothing: leave the flag out",
                args->names[0]);
    }
    return sr_minutes_fit(args->names[0], args->overrides, args->n_overrides, o->train.restart,
                          out);
}

static SrStatus run_sweep(const Options *o, const SrArgs *args, SrSweep *sweep) {
    const char *words[4];
    int n = 0;
    if (o->json)
        words[n++] = "--json";
    if (o->train.random)
        words[n++] = "--random";
    if (o->train.restart)
        words[n++] = "--restart";
    words[n] = NULL;
    return sr_sweep_run(args, sweep, words, o->json);
}

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.minutes = -1};
    SrArgs args;
    SrConfig *config;
    SrSweep sweep;
    char minutes[48];
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(sr_sweep_parse(&args, o.seeds, &sweep));
    if (sweep.n > 0 && o.minutes >= 0)
        SR_FAIL(SR_ERR_CONFIG, "--minutes measures one run: several seeds need the same number of "
                               "epochs, OPTIMIZER.num_epochs=N");
    if (o.minutes == 0)
        SR_FAIL(SR_ERR_CONFIG, "--minutes 0: expected a whole number from 1 on");
    if (o.minutes > 0) {
        snprintf(minutes, sizeof minutes, "OPTIMIZER.MINUTES=%d", o.minutes);
        SR_TRY(sr_args_override(&args, minutes));
    }
    if (sweep.n > 0)
        return run_sweep(&o, &args, &sweep);
    allow_closed_stdout();
    say_heading();
    SR_TRY(load(&args, &o, &config));
    SrStatus status;
    if (!config->learns && !config->test_only)
        status = refuse_to_train(config);
    else if (o.train.restart && config->test_only)
        status = sr_fail(SR_ERR_CONFIG, "--restart trains from scratch and TEST_ONLY does not "
                                        "train: leave one of them out");
    else
        status = config->test_only && !config->supervised
                     ? only_evaluate(config, o.train.random, o.json)
                     : train(config, o.train, o.json);
    sr_config_free(config);
    return status;
}

const SrVerb sr_verb_train = {
    .name = "train",
    .group = SR_VERB_TRAIN,
    .common = 2,
    .args = "CONFIG [KEY=VALUE ...]",
    .summary = "trains a model from a configuration, then evaluates its trunk",
    .help = "CONFIG is a YAML file or the name of one of VISSL's files, such as "
            "pretrain/swav/swav_8node_resnet. The word `train` may be left out when CONFIG has a "
            "slash or ends in .yaml. KEY=VALUE changes a key of the configuration; `sslrun "
            "describe KEY` explains it.\n\nThe same command resumes a run that was interrupted and "
            "gives the same bits as an undisturbed run. Ctrl-C finishes the step, saves and stops. "
            "After training, the trunk is compared with an untrained trunk, raw pixels and the "
            "commonest class; TEST_MODEL=False leaves this out.",
    .examples =
        {{"sslrun photos.yaml", "Trains what `sslrun init photos` wrote, or resumes it."},
         {"sslrun photos.yaml SEED_VALUE=1 CHECKPOINT.DIR=runs/photos-1",
          "Trains with another seed into another folder."},
         {"sslrun photos.yaml --seeds 3",
          "Trains with three seeds into runs/photos/seed0 and so on; prints mean and spread."},
         {"sslrun photos.yaml --minutes 30",
          "Trains as many epochs as fit half an hour on this machine."},
         {"sslrun photos.yaml --restart",
          "Starts over; the old checkpoints stay in runs/photos/earlier-1/."}},
    .files = "CHECKPOINT.DIR (runs/NAME) receives checkpoints, log.txt, metrics.json, "
             "train_config.yaml and report.html.",
    .exit = "0: trained, or trained before; 1: failed; 2: wrong usage or configuration; 128 and "
            "the signal's number: stopped by a signal, with the state saved.",
    .flags = flags,
    .run = run_verb,
};
