// The table of verbs, found by the build.
#include "cli/verb.h"

#include <stddef.h>

#include "base/compiler.h"

#define SR_PLUGIN(stem) extern const SrVerb sr_verb_##stem;
#include "gen/verb.def"
#undef SR_PLUGIN
#define SR_PLUGIN(stem) &sr_verb_##stem,
static const SrVerb *const verbs[] = {
#include "gen/verb.def"
    NULL};

const SrVerb *sr_verb_at(int i) { return i >= 0 && i < SR_COUNT(verbs) ? verbs[i] : NULL; }

static bool manual_entry(int i, SrManualEntry *out) {
    const SrVerb *verb = sr_verb_at(i);
    if (verb)
        *out = (SrManualEntry){.name = verb->name, .help = verb->help};
    return verb != NULL;
}

const SrManualKind sr_manual_verbs = {"verb", "verbs (sslrun VERB --help explains its flags)",
                                      manual_entry};
