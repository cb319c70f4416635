// The registry of losses: every descriptor `const SrLoss sr_loss_<stem>` the build found, in name
// order. It knows names only; what a loss does is in its own file.
#include "losses/loss.h"

#include <string.h>

#include "base/plugin.h"

#define SR_PLUGIN(stem) extern const SrLoss sr_loss_##stem;
#include "gen/loss.def"
#undef SR_PLUGIN

#define SR_PLUGIN(stem) &sr_loss_##stem,
static const SrLoss *const registry[] = {
#include "gen/loss.def"
    NULL};

const SrLoss *sr_loss_at(int i) { return i >= 0 && i < SR_COUNT(registry) ? registry[i] : NULL; }

SrStatus sr_loss_find(const char *name, const SrLoss **out) {
    const char *known[SR_COUNT(registry)] = {NULL}; // one longer than needed: a list may be empty
    int n = 0;
    for (; registry[n]; n++) {
        known[n] = registry[n]->name;
        if (!strcmp(known[n], name)) {
            *out = registry[n];
            return SR_OK;
        }
    }
    return sr_plugin_unknown("loss", name, known, n);
}
