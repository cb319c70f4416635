// Contract of verbs: `sslrun <name> ...` is one file cli/verbs/<name>_verb.c with a
// descriptor
// `const SrVerb sr_verb_<name>`.  Verbs parse arguments and print; other rooms do the work.
// `sslrun --help`, manual pages, completions and docs/reference/verbs.md are written from the
// descriptors.
#ifndef SR_CLI_VERB_H
#define SR_CLI_VERB_H

#include "base/status.h"
#include "cli/args/args.h"
#include "trainer/config/describe.h"

// Groups of `sslrun --help`, in the order in which they are printed.
typedef enum {
    SR_VERB_TRAIN,
    SR_VERB_LOOK,
    SR_VERB_EVALUATE,
    SR_VERB_FEATURES,
    SR_VERB_FOLDER,
    SR_VERB_FILES,
    SR_VERB_CHECK,
    SR_VERB_GROUPS
} SrVerbGroup;

typedef struct {
    const char *command; // works as it stands; tests/cli/test_examples.c runs it
    const char *what;    // one sentence
} SrExample;

#define SR_EXAMPLES_MAX 5

typedef struct SrVerb {
    const char *name;
    SrVerbGroup group;
    int common; // place among the commonest verbs, from 1; 0: not one of them
    // Arguments and required flags that follow the name.  A line break separates two forms.
    const char *args;
    const char *summary; // one line in lower case without a full stop
    const char *help;    // some sentences; an empty line separates paragraphs
    SrExample examples[SR_EXAMPLES_MAX];
    const char *files;   // files that are written or needed; NULL: none to mention
    const char *exit;    // exit codes; NULL: the usual ones
    const SrFlag *flags; // table that ends with {0}; NULL: no flags
    // argc, argv: the arguments after the verb.  A failure leaves its message with sr_fail.
    SrStatus (*run)(int argc, char **argv);
} SrVerb;

const SrVerb *sr_verb_at(int i); // NULL: no such i
// Finds a verb.  SR_ERR_CONFIG: unknown name; the message suggests the nearest.
SrStatus sr_verb_find(const char *name, const SrVerb **out);
extern const SrManualKind sr_manual_verbs; // for `list` and `describe`

#endif
