// The registry of heads: every descriptor `const SrHead sr_head_<stem>` the build found, in name
// order. It knows names only; what a head does is in its own file.
#include "heads/head.h"

#include <string.h>

#include "base/plugin.h"

#define SR_PLUGIN(stem) extern const SrHead sr_head_##stem;
#include "gen/head.def"
#undef SR_PLUGIN

#define SR_PLUGIN(stem) &sr_head_##stem,
static const SrHead *const registry[] = {
#include "gen/head.def"
    NULL};

const SrHead *sr_head_at(int i) { return i >= 0 && i < SR_COUNT(registry) ? registry[i] : NULL; }

SrStatus sr_head_find(const char *name, const SrHead **out) {
    const char *known[SR_COUNT(registry)] = {NULL}; // one longer than needed: a list may be empty
    int n = 0;
    for (; registry[n]; n++) {
        known[n] = registry[n]->name;
        if (!strcmp(known[n], name)) {
            *out = registry[n];
            return SR_OK;
        }
    }
    return sr_plugin_unknown("head", name, known, n);
}
