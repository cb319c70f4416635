// The registry of heads: every descriptor `const SrHead sr_head_<stem>` the build found, in name
// order. It knows names only; what a head does is in its own file.
#include "heads/head.h"

#include "base/plugin.h"

#include "gen/head.def"

SR_REGISTRY(SrHead, head, head, "head")

const char *sr_head_scores(int set) {
    static const char *const names[SR_HEAD_MAX_OUT] = {
        "scores0",  "scores1",  "scores2",  "scores3", "scores4",  "scores5",
        "scores6",  "scores7",  "scores8",  "scores9", "scores10", "scores11",
        "scores12", "scores13", "scores14", "scores15"};
    return names[set];
}
