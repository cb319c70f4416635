// What the verbs on features take: CONFIG [KEY=VALUE ...], or files of features, with KEY=VALUE over the defaults.
#ifndef SR_CLI_EVAL_SETS_ARGS_H
#define SR_CLI_EVAL_SETS_ARGS_H

#include "cli/args.h"
#include "trainer/eval/eval_sets.h"

// Which weights a configuration's trunk gets, among the flags of these verbs; a random trunk has to be asked for.
// clang-format off
#define SR_WEIGHTS_FLAGS(sets) \
    {.name = "--weights", .text = &(sets).weights, \
     .help = "a file of weights, as MODEL.WEIGHTS_INIT.PARAMS_FILE=FILE"}, \
    {.name = "--random", .on = &(sets).random, \
     .help = "the untrained trunk: no weights are needed"}
// clang-format on

// Is this name a folder or file of features rather than a configuration?
bool sr_args_is_features(const char *name);
// CONFIG, a run's folder (its configuration and newest checkpoint), or TRAIN [TEST] of features.
// Fills config (to be freed with sr_config_free(*config)), train and test.  One folder may hold both sets, as VISSL's
// extractions do.  sets->baselines, random and weights are set before.
SrStatus sr_args_eval_sets(const SrArgs *args, const char *verb, SrConfig **config,
                           SrEvalSets *sets);

#endif
