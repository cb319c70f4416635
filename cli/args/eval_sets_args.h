// Arguments of the verbs on features: CONFIG [KEY=VALUE ...], or files of features with KEY=VALUE
// over the defaults.
#ifndef SR_CLI_ARGS_EVAL_SETS_ARGS_H
#define SR_CLI_ARGS_EVAL_SETS_ARGS_H

#include "cli/args/args.h"
#include "trainer/eval/eval_sets.h"

// Flags of these verbs that choose the weights of a configuration's trunk; an untrained trunk needs
// --random.
// clang-format off
#define SR_WEIGHTS_FLAGS(Type, sets) \
    SR_FLAG_TEXT(Type, sets.weights, "--weights", "FILE", \
                 "weights to evaluate, as MODEL.WEIGHTS_INIT.PARAMS_FILE=FILE"), \
    SR_FLAG_ON(Type, sets.random, "--random", "evaluate the untrained trunk; no weights are needed")
// clang-format on

// True: this name is a folder or file of features, not a configuration.
bool sr_args_is_features(const char *name);
// Reads CONFIG, a run folder (its configuration and newest checkpoint), or features TRAIN [TEST].
// Fills *config, which the caller frees with sr_config_free, and the sets.  One folder may hold
// both sets, as VISSL's extractions do.  The caller sets sets->baselines, random and weights
// before.
SrStatus sr_args_eval_sets(const SrArgs *args, const char *verb, SrConfig **config,
                           SrEvalSets *sets);
// Suggests another verb for the same features, with the same names, keys, layer and weights.
//   what  what that verb does with them
void sr_args_say_other(const SrArgs *args, const SrEvalSets *sets, const char *verb,
                       const char *what);

#endif
