// Contract of verbs: `sslrun <name> ...` is one file cli/<name>_verb.c with a descriptor
// `const SrVerb sr_verb_<name>`.  Verbs parse arguments and print; other rooms do the work.
#ifndef SR_CLI_VERB_H
#define SR_CLI_VERB_H

#include "base/status.h"
#include "trainer/config/describe.h"

typedef struct SrVerb {
    const char *name;
    const char *usage; // "sslrun train CONFIG [KEY=VALUE ...]"
    const char *help;  // one sentence
    // argc, argv: the arguments after the verb.  A failure leaves its message with sr_fail.
    SrStatus (*run)(int argc, char **argv);
} SrVerb;

const SrVerb *sr_verb_at(int i); // NULL: no such i
// Finds a verb.  SR_ERR_CONFIG: unknown name; the message suggests the nearest.
SrStatus sr_verb_find(const char *name, const SrVerb **out);
extern const SrManualKind sr_manual_verbs; // for `list` and `describe`

#endif
