// The registry of trunks: every descriptor `const SrTrunk sr_trunk_<stem>` that the build found, in
// the order of names, and the checks around a trunk's build.
#include "trunks/trunk.h"

#include <string.h>

#include "base/plugin/plugin.h"

#include "gen/trunk.def"

SR_REGISTRY(SrTrunk, trunk, trunk, "trunk")

const char *sr_trunk_param_prefix(const SrTrunk *trunk) {
    return trunk->param_prefix ? trunk->param_prefix : "";
}

// Checks that the trunk gives one pooled vector per image, which heads and probes rely on.
static SrStatus check_output(const SrTrunk *trunk, SrBuilder *b, const SrTrunkInput *in,
                             const SrTrunkOutput *out) {
    SR_TRY(sr_builder_status(b));
    SrShape x = sr_build_shape(b, in->image), y = {0};
    char text[64];
    if (out->pooled != SR_NO_NODE)
        y = sr_build_shape(b, out->pooled);
    if (y.rank != 2 || y.d[0] != x.d[0])
        return sr_builder_fail(b, SR_ERR_RUN, "trunk %s: pooled is %s, expected [%d, D]",
                               trunk->name, sr_shape_text(y, text, sizeof text), x.d[0]);
    return SR_OK;
}

// True: the trunk itself announced the stage, at index `first` or later.  The feature of
// efficientnet comes after it.
static bool has_stage(SrBuilder *b, int first, const char *stage) {
    const SrGraph *graph = sr_builder_graph(b);
    for (int i = first; i < sr_graph_alias_count(graph); i++) {
        SrNodeId id;
        const char *name = sr_graph_alias_at(graph, i, &id), *at = strstr(name, stage);
        if (at && (at == name || at[-1] == '.') && strchr("@", at[strlen(stage)]))
            return true;
    }
    return false;
}

SrStatus sr_trunk_build(const SrTrunk *trunk, SrBuilder *b, const void *params,
                        const SrTrunkInput *in, SrTrunkOutput *out) {
    *out = (SrTrunkOutput){.pooled = SR_NO_NODE, .map = SR_NO_NODE, .tokens = SR_NO_NODE};
    if (in->mask != SR_NO_NODE && !(trunk->flags & SR_TRUNK_TAKES_MASK))
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "MODEL.TRUNK.NAME: %s takes no mask of hidden patches", trunk->name);
    if (in->visible && !(trunk->flags & SR_TRUNK_TAKES_VISIBLE))
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "MODEL.TRUNK.NAME: %s takes no choice of visible patches; "
                               "vision_transformer and dinov2 do",
                               trunk->name);
    int stages = sr_graph_alias_count(sr_builder_graph(b));
    SR_TRY(trunk->build(b, params, in, out));
    SR_TRY(check_output(trunk, b, in, out));
    // Evaluation and `extract` use this name when no layer is given; transformers have no such
    // node.
    if (!has_stage(b, stages, "flatten"))
        sr_build_alias(b, "flatten", out->pooled);
    return sr_builder_status(b);
}
