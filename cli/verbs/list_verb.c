// sslrun list [KIND ...]: lists trunks, models, heads, losses, keys and so on.  Without KIND it
// lists the kinds.
#include "cli/args/args.h"
#include "cli/verb.h"
#include "trainer/config/describe.h"

static SrStatus run_verb(int argc, char **argv) {
    SrArgs args;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, NULL, NULL, &args));
    SR_TRY(sr_args_no_overrides(&args, "list"));
    SrStatus status = SR_OK;
    if (args.n_names == 0)
        sr_manual_kinds(&sr_manual_verbs, &out);
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
    .help = "KIND is trunk, loss, transform or another of the kinds that `sslrun list` alone "
            "prints; the plural is taken, too. `all` lists everything but the keys.",
    .examples = {{"sslrun list losses", "Lists the losses, with a line for each."},
                 {"sslrun list keys", "Lists every key with its type and default."},
                 {"sslrun list all", "Lists all plugins, models, operations and verbs."}},
    .run = run_verb,
};
