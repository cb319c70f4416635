// Features out of a trunk; see the header.
#include "trunks/feature_extractor.h"

#include <string.h>

SrStatus sr_feature_tap(const SrGraph *graph, const char *layer, SrNodeId *out) {
    for (int i = 0; i < sr_graph_alias_count(graph); i++)
        if (!strcmp(sr_graph_alias_at(graph, i, out), layer))
            return SR_OK;
    return sr_graph_query(graph, layer, out);
}
