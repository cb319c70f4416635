// Reads the arguments of the verbs on features: a configuration, a run folder, or files of
// features.
#include "cli/args/eval_sets_args.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/next.h"
#include "trainer/config/vissl/compose.h"
#include "trainer/run/run_folder.h"

enum { PATH_BYTES = 4096 };

bool sr_args_is_features(const char *name) {
    static const char *const ends[] = {".safetensors", ".npz", ".npy", ".pth", ".pt", ".torch"};
    for (int i = 0; i < SR_COUNT(ends); i++)
        if (sr_text_ends(name, ends[i]))
            return true;
    return sr_file_is_dir(name);
}

// Loads the named configuration; for files of features, the defaults with the overrides.
static SrStatus load_options(const SrArgs *args, const char *verb, SrConfig **out) {
    if (args->n_names > 0 && sr_args_is_features(args->names[0]))
        return sr_config_options(args->overrides, args->n_overrides, out);
    return sr_args_load_config(args, verb, out);
}

// *run: the only name is a run folder, with a configuration and a checkpoint but no extracted
// features.  VISSL also puts features next to a train_config.yaml, but no checkpoint of ours.
static SrStatus find_run(const SrArgs *args, char config[PATH_BYTES], bool *run) {
    char features[PATH_BYTES];
    SrFolderEntry *entries = NULL;
    int n = 0;
    *run = args->n_names == 1 &&
           sr_file_join(config, PATH_BYTES, args->names[0], "train_config.yaml") == SR_OK &&
           sr_file_join(features, sizeof features, args->names[0], "extract.json") == SR_OK &&
           sr_file_exists(config) && !sr_file_exists(features);
    if (*run)
        SR_TRY(sr_folder_list(args->names[0], &entries, &n));
    *run = n > 0;
    sr_free(entries);
    return SR_OK;
}

// Loads a run's configuration without its remarks, which training has printed already.
static SrStatus eval_run(const SrArgs *args, const char *verb, const char *path, SrConfig **config,
                         SrEvalSets *sets) {
    SrArgs of_run = *args;
    of_run.names[0] = path;
    SrLogLevel level = sr_log_set_level(SR_LOG_WARN);
    if (level > SR_LOG_WARN)
        sr_log_set_level(level);
    SrStatus status = sr_args_load_config(&of_run, verb, config);
    sr_log_set_level(level);
    SR_TRY(status);
    (*config)->model.params_file = sets->weights ? sets->weights : args->names[0];
    (*config)->model.own_checkpoint = !sets->weights;
    sets->config = *config;
    return SR_OK;
}

// Fails at the first name, whatever follows it.
static SrStatus nothing_named(const SrArgs *args, const char *verb, SrConfig **config) {
    SrArgs first = *args;
    first.n_names = 1;
    SrStatus status = sr_args_load_config(&first, verb, config);
    return sr_fail_prefix(status, "sslrun %s: expected features or a configuration", verb);
}

SrStatus sr_args_eval_sets(const SrArgs *args, const char *verb, SrConfig **config,
                           SrEvalSets *sets) {
    char of_run[PATH_BYTES];
    bool run;
    SR_TRY(find_run(args, of_run, &run));
    bool files = !run && args->n_names > 0 && sr_args_is_features(args->names[0]);
    if (args->n_names == 0 && args->n_overrides == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun %s: no name is given; give a YAML file, a run folder, or two folders of "
                "features (TRAIN TEST)",
                verb);
    if (files && args->n_names > 2)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun %s: '%s' is one name too many; expected features of TRAIN and of TEST",
                verb, args->names[2]);
    if (sets->random && (files || !sets->baselines))
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun %s: --random evaluates the untrained trunk of a configuration, which is "
                "one of the baselines; leave out %s",
                verb, files ? "the features" : "--no-baselines");
    if (sets->weights && (files || sets->random))
        SR_FAIL(
            SR_ERR_CONFIG,
            "sslrun %s: --weights belongs to the trained trunk of a configuration; leave out %s",
            verb, files ? "the features" : "--random");
    if (run)
        return eval_run(args, verb, of_run, config, sets);
    if (!files && args->n_names > 0 && !sr_config_found(args->names[0]))
        return nothing_named(args, verb, config);
    SR_TRY(load_options(args, verb, config));
    if (sets->weights)
        (*config)->model.params_file = sets->weights;
    sets->config = *config;
    if (files) {
        sets->train = args->names[0];
        sets->test = args->n_names > 1 ? args->names[1] : args->names[0];
    }
    return SR_OK;
}

void sr_args_say_other(const SrArgs *args, const SrEvalSets *sets, const char *verb,
                       const char *what) {
    const char *words[2 * SR_ARGS_MAX + 8];
    SrText next = SR_TEXT_INIT;
    int n = 0;
    words[n++] = verb;
    for (int i = 0; i < args->n_names; i++)
        words[n++] = args->names[i];
    for (int i = 0; i < args->n_overrides; i++)
        words[n++] = args->overrides[i];
    if (sets->layer) {
        words[n++] = "--layer";
        words[n++] = sets->layer;
    }
    if (sets->weights) {
        words[n++] = "--weights";
        words[n++] = sets->weights;
    }
    if (sets->random)
        words[n++] = "--random";
    words[n] = NULL;
    sr_next_add(&next, what, words);
    sr_next_say(&next);
}
