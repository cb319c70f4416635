// Checks which lists of layers the flags of a verb give.
#include "cli/args/tap_args.h"

SrStatus sr_tap_args_check(const SrTapArgs *args) {
    if (!args->train != !args->eval)
        SR_FAIL(SR_ERR_CONFIG, "%s is given without %s; give both flags, or --nodes for both modes",
                args->train ? "--train-nodes" : "--eval-nodes",
                args->train ? "--eval-nodes" : "--train-nodes");
    if (args->both && args->train)
        SR_FAIL(SR_ERR_CONFIG, "--nodes excludes --train-nodes and --eval-nodes; give one list for "
                               "both modes, or one for each mode");
    return SR_OK;
}
