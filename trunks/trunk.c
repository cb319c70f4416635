// The registry of trunks: every descriptor `const SrTrunk sr_trunk_<stem>` the build found, in name
// order. It knows names only; what a trunk does is in its own file.
#include "trunks/trunk.h"

#include <string.h>

#include "base/plugin.h"

#define SR_PLUGIN(stem) extern const SrTrunk sr_trunk_##stem;
#include "gen/trunk.def"
#undef SR_PLUGIN

#define SR_PLUGIN(stem) &sr_trunk_##stem,
static const SrTrunk *const registry[] = {
#include "gen/trunk.def"
    NULL};

const SrTrunk *sr_trunk_at(int i) { return i >= 0 && i < SR_COUNT(registry) ? registry[i] : NULL; }

SrStatus sr_trunk_find(const char *name, const SrTrunk **out) {
    const char *known[SR_COUNT(registry)] = {NULL}; // one longer than needed: a list may be empty
    int n = 0;
    for (; registry[n]; n++) {
        known[n] = registry[n]->name;
        if (!strcmp(known[n], name)) {
            *out = registry[n];
            return SR_OK;
        }
    }
    return sr_plugin_unknown("trunk", name, known, n);
}
