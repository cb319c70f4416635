// CONFIG or TRAIN TEST.
#include "cli/eval_sets_args.h"

#include "base/file.h"

bool sr_args_is_features(const char *name) {
    static const char *const ends[] = {".safetensors", ".npz", ".npy", ".pth", ".pt", ".torch"};
    for (int i = 0; i < SR_COUNT(ends); i++)
        if (sr_text_ends(name, ends[i]))
            return true;
    return sr_file_is_dir(name);
}

SrStatus sr_args_load_options(const SrArgs *args, const char *verb, SrConfig **out) {
    if (args->n_names > 0 && sr_args_is_features(args->names[0]))
        return sr_config_options(args->overrides, args->n_overrides, out);
    return sr_args_load_config(args, verb, out);
}

SrStatus sr_args_eval_sets(const SrArgs *args, const char *verb, SrConfig **config,
                           SrEvalSets *sets) {
    bool files = args->n_names > 0 && sr_args_is_features(args->names[0]);
    if (args->n_names == 0 && args->n_overrides == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun %s: of what? Give a YAML file, or two folders of features (TRAIN TEST)",
                verb);
    if (files && args->n_names > 2)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun %s: what is '%s'? Features of TRAIN and of TEST are expected", verb,
                args->names[2]);
    if (sets->random && (files || !sets->baselines))
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun %s: --random is a configuration's trunk without weights, which is "
                "one of its baselines; leave out %s",
                verb, files ? "the features" : "--no-baselines");
    if (sets->weights && (files || sets->random))
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun %s: --weights is of a configuration's trained trunk; leave out %s", verb,
                files ? "the features" : "--random");
    SR_TRY(sr_args_load_options(args, verb, config));
    if (sets->weights)
        (*config)->model.params_file = sets->weights;
    sets->config = *config;
    if (files) {
        sets->train = args->names[0];
        sets->test = args->n_names > 1 ? args->names[1] : args->names[0];
    }
    return SR_OK;
}
