// The table of presets.  One row a model; nothing here knows how a trunk is built.
#include "trunks/presets.h"

#include <string.h>

#include "kernels/linear.h"

// clang-format off
static const SrPreset presets[] = {
    {"resnet18",         "resnet", "{DEPTH: 18}", "fc", 1000},
    {"resnet34",         "resnet", "{DEPTH: 34}", "fc", 1000},
    {"resnet50",         "resnet", "{DEPTH: 50}", "fc", 1000},
    {"resnet101",        "resnet", "{DEPTH: 101}", "fc", 1000},
    {"resnet152",        "resnet", "{DEPTH: 152}", "fc", 1000},
    {"resnext50_32x4d",  "resnet", "{DEPTH: 50, GROUPS: 32, WIDTH_PER_GROUP: 4}", "fc", 1000},
    {"resnext101_32x8d", "resnet", "{DEPTH: 101, GROUPS: 32, WIDTH_PER_GROUP: 8}", "fc", 1000},
    {"resnext101_64x4d", "resnet", "{DEPTH: 101, GROUPS: 64, WIDTH_PER_GROUP: 4}", "fc", 1000},
    {"wide_resnet50_2",  "resnet", "{DEPTH: 50, WIDTH_PER_GROUP: 128}", "fc", 1000},
    {"wide_resnet101_2", "resnet", "{DEPTH: 101, WIDTH_PER_GROUP: 128}", "fc", 1000},
    {"resnet20",         "resnet_cifar", "{DEPTH: 20}", "linear", 10},
    {"resnet32",         "resnet_cifar", "{DEPTH: 32}", "linear", 10},
    {"resnet44",         "resnet_cifar", "{DEPTH: 44}", "linear", 10},
    {"resnet56",         "resnet_cifar", "{DEPTH: 56}", "linear", 10},
    {"resnet110",        "resnet_cifar", "{DEPTH: 110}", "linear", 10},
};
// clang-format on

const SrPreset *sr_preset_at(int i) { return i >= 0 && i < SR_COUNT(presets) ? &presets[i] : NULL; }

const SrPreset *sr_preset_find(const char *name) {
    for (int i = 0; i < SR_COUNT(presets); i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}

SrStatus sr_preset_build(const SrPreset *preset, SrBuilder *b, SrNodeId input, SrNodeId *output) {
    const SrTrunk *trunk;
    SrYaml *map;
    SrNodeId features;
    SrArena *arena =
        sr_graph_arena(sr_builder_graph(b)); // options live as long as what they shaped
    SR_TRY(sr_trunk_find(preset->trunk, &trunk));
    void *params = sr_arena_alloc(arena, trunk->params_bytes);
    if (!params)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for the options of %s", preset->name);
    SR_TRY(sr_yaml_parse(arena, preset->options, strlen(preset->options), preset->name, &map));
    SR_TRY(sr_options_parse(trunk->options, map, trunk->subtree, arena, params));
    SR_TRY(trunk->build(b, params, input, &features));
    SrLinearParams linear = {.out_features = preset->classes, .bias = true};
    *output = sr_build(b, "linear", preset->classifier, &linear, features);
    return sr_builder_status(b);
}
