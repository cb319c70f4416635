// Turns notes of golden cases about the size of a trunk into options of the trunk
// (trunk_notes.h).
#include "tests/golden/trunk_notes.h"

#include <stdio.h>
#include <string.h>

#include "base/text/yaml_load.h"

SrStatus golden_trunk_option(SrGoldenCase *c, SrYaml *map, const char *flow) {
    SrYaml *given;
    SR_TRY(sr_yaml_parse(c->arena, flow, strlen(flow), "note", &given));
    return sr_yaml_merge(c->arena, map, given);
}

static const char *note(const SrGoldenCase *c, const char *key) {
    const SrYaml *node = sr_yaml_find(c->config, key);
    return node && node->type == SR_YAML_STRING ? node->text : "";
}

// Reads the width from "all widths divided by 16" or "torchvision width_mult 0.1 (channels ...)".
static double width_of(const char *text) {
    double v;
    if (sscanf(text, "all widths divided by %lf", &v) == 1)
        return 1 / v;
    return sscanf(text, "torchvision width_mult %lf", &v) == 1 ? v : 1;
}

SrStatus golden_trunk_options(SrGoldenCase *c, const SrTrunk *trunk, SrYaml **out) {
    const SrYaml *given = sr_yaml_find_path(c->config, trunk->subtree);
    char flow[160];
    int n[4];
    double width, depth;
    SR_TRY(sr_yaml_parse(c->arena, "{}", 2, "case", out));
    if (given)
        SR_TRY(sr_yaml_merge(c->arena, *out, given));
    if (trunk->base) {
        SrYaml *base;
        SR_TRY(sr_options_pick(trunk->options, sr_yaml_find_path(c->config, trunk->base), c->arena,
                               &base));
        SR_TRY(sr_yaml_merge(c->arena, *out, base));
    }
    snprintf(flow, sizeof flow, "{WIDTH_MULTIPLIER: %.17g}", width_of(note(c, "width_note")));
    if (*note(c, "width_note"))
        SR_TRY(golden_trunk_option(c, *out, flow));
    if (sscanf(note(c, "depth_note"), "blocks per stage (%d, %d, %d, %d)", n, n + 1, n + 2,
               n + 3) == 4) {
        snprintf(flow, sizeof flow, "{BLOCKS: [%d, %d, %d, %d]}", n[0], n[1], n[2], n[3]);
        SR_TRY(golden_trunk_option(c, *out, flow));
    }
    if (sscanf(note(c, "model_version_T"), "EfficientNetParams(width %lf, depth %lf", &width,
               &depth) == 2) {
        snprintf(flow, sizeof flow, "{model_version: B0, width: %.17g, depth: %.17g, dropout: 0}",
                 width, depth);
        SR_TRY(golden_trunk_option(c, *out, flow));
    }
    return SR_OK;
}
