// The smallest verb: it greets.  Help, manual page and completions know it without another file
// (`make toy` adds it to a copy of the tree).
#include "cli/args.h"
#include "cli/verb.h"

static SrStatus run_verb(int argc, char **argv) {
    bool loud = false;
    const SrFlag flags[] = {{.name = "--toy-loud", .on = &loud, .help = "greets in capitals"}, {0}};
    SrArgs args;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    sr_text_add(&out, loud ? "HELLO\n" : "hello\n");
    return sr_args_print(&out);
}

const SrVerb sr_verb_toygreet = {
    .name = "toygreet",
    .usage = "sslrun toygreet [--toy-loud]",
    .help = "Greets.",
    .run = run_verb,
};
