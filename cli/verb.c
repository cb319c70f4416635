// The table of verbs, which the build collects.
#include "cli/verb.h"

#include "base/plugin/plugin.h"
#include "gen/verb.def"

SR_REGISTRY(SrVerb, verb, verb, "verb")

static bool manual_entry(int i, SrManualEntry *out) {
    const SrVerb *verb = sr_verb_at(i);
    if (verb)
        *out = (SrManualEntry){.name = verb->name, .help = verb->summary};
    return verb != NULL;
}

const SrManualKind sr_manual_verbs = {"verb", "verbs (sslrun help VERB explains one)",
                                      manual_entry};
