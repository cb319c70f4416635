// sslrun describe NAME ...: explains a plugin, a key or a section of the configuration.
#include "cli/args/args.h"
#include "cli/verb.h"
#include "trainer/config/describe.h"

static SrStatus run_verb(int argc, char **argv) {
    SrArgs args;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, NULL, NULL, &args));
    SR_TRY(sr_args_no_overrides(&args, "describe"));
    if (args.n_names == 0)
        SR_FAIL(SR_ERR_CONFIG, "sslrun describe: no name is given; give a plugin (resnet), a key "
                               "(LOSS.swav_loss.epsilon) or a section (OPTIMIZER)");
    for (int i = 0; i < args.n_names; i++) {
        SrStatus status = sr_manual_describe(args.names[i], &sr_manual_verbs, &out);
        if (status != SR_OK) {
            sr_text_deinit(&out);
            return status;
        }
    }
    return sr_args_print(&out);
}

const SrVerb sr_verb_describe = {
    .name = "describe",
    .group = SR_VERB_CHECK,
    .args = "NAME ...",
    .summary = "explains plugins, keys, sections and verbs",
    .help = "NAME is a plugin (resnet), one of its options (mlp.use_bn), a key "
            "(LOSS.swav_loss.epsilon), the last part of a key (num_epochs) or a section "
            "(OPTIMIZER). Other words are searched for in names and help texts.",
    .examples = {{"sslrun describe OPTIMIZER.num_epochs",
                  "Explains a key: type, range, default, meaning."},
                 {"sslrun describe swav_loss", "Explains a loss and lists its options."},
                 {"sslrun describe 'gradient accumulation'", "Searches names and help texts."}},
    .run = run_verb,
};
