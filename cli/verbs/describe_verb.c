// sslrun describe NAME ...: explains a plugin, a key or a section of the configuration.
#include <stdio.h>
#include <string.h>

#include "cli/args/args.h"
#include "cli/verb.h"
#include "trainer/config/describe.h"

// Describes the key of an override such as LOSS.swav_loss.epsilon=0.1.
static SrStatus describe_override(const char *override, SrText *out) {
    char key[256];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(override, "="), override);
    return sr_manual_describe(key, &sr_manual_verbs, out);
}

static SrStatus run_verb(int argc, char **argv) {
    SrArgs args;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, NULL, NULL, &args));
    if (args.n_names + args.n_overrides == 0)
        SR_FAIL(SR_ERR_CONFIG, "sslrun describe: no name is given; give a plugin (resnet), a key "
                               "(LOSS.swav_loss.epsilon) or a section (OPTIMIZER)");
    SrStatus status = SR_OK;
    for (int i = 0; i < args.n_names && status == SR_OK; i++)
        status = sr_manual_describe(args.names[i], &sr_manual_verbs, &out);
    for (int i = 0; i < args.n_overrides && status == SR_OK; i++)
        status = describe_override(args.overrides[i], &out);
    if (status == SR_OK)
        return sr_args_print(&out);
    sr_text_deinit(&out);
    return status;
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
