// The smallest verb: it greets.  Help, manual page and completions know it without another file
// (`make toy` adds it to a copy of the tree).
#include "cli/args/args.h"
#include "cli/verb.h"

typedef struct {
    bool loud;
} Options;

static const SrFlag flags[] = {SR_FLAG_ON(Options, loud, "--toy-loud", "greet in capitals"), {0}};

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.loud = false};
    SrArgs args;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    sr_text_add(&out, o.loud ? "HELLO\n" : "hello\n");
    return sr_args_print(&out);
}

const SrVerb sr_verb_toygreet = {
    .name = "toygreet",
    .group = SR_VERB_CHECK,
    .args = "",
    .summary = "greets",
    .help = "Greets the reader, in small letters by default.",
    .examples = {{"sslrun toygreet --toy-loud", "Greets in capitals."}},
    .flags = flags,
    .run = run_verb,
};
