// sslrun list [KIND ...]: prints every trunk, model, head, loss, data source, transform, collator,
// optimizer, schedule, meter, op and verb; `list keys` prints every key.
#include "cli/args.h"
#include "cli/verb.h"
#include "trainer/config/describe.h"

static SrStatus run_verb(int argc, char **argv) {
    SrArgs args;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, NULL, NULL, &args));
    SR_TRY(sr_args_no_overrides(&args, "list"));
    SrStatus status = args.n_names == 0 ? sr_manual_list(NULL, &sr_manual_verbs, &out) : SR_OK;
    for (int i = 0; status == SR_OK && i < args.n_names; i++)
        status = sr_manual_list(args.names[i], &sr_manual_verbs, &out);
    if (status == SR_OK)
        return sr_args_print(&out);
    sr_text_deinit(&out);
    return status;
}

const SrVerb sr_verb_list = {
    .name = "list",
    .group = SR_VERB_CHECK,
    .args = "[KIND ...]",
    .summary = "lists trunks, models, losses, transforms, keys and other names",
    .help = "Without KIND all plugins are listed, one per line with what they do. `list keys` "
            "lists every key of a configuration with its default.",
    .examples = {{"sslrun list loss", "Lists the losses."},
                 {"sslrun list keys", "Lists every key."}},
    .run = run_verb,
};
