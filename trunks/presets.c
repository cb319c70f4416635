// Collects the presets of all trunks and builds models by name.
#include "trunks/presets.h"

#include <string.h>

#include "base/plugin/plugin.h"
#include "base/text/yaml_load.h"
#include "kernels/basic/linear.h"

const SrPreset *sr_preset_at(int i) {
    for (int t = 0; i >= 0 && sr_trunk_at(t); i -= sr_trunk_at(t++)->presets.n)
        if (i < sr_trunk_at(t)->presets.n)
            return &sr_trunk_at(t)->presets.v[i];
    return NULL;
}

static const char *name_at(int i) { return sr_preset_at(i) ? sr_preset_at(i)->name : NULL; }

SrStatus sr_preset_find(const char *name, const SrPreset **out) {
    int i = 0;
    SR_TRY(sr_plugin_find("model", name, name_at, &i));
    *out = sr_preset_at(i);
    return SR_OK;
}

const SrTrunk *sr_preset_trunk(const SrPreset *preset) {
    for (int t = 0; sr_trunk_at(t); t++)
        for (int i = 0; i < sr_trunk_at(t)->presets.n; i++)
            if (&sr_trunk_at(t)->presets.v[i] == preset)
                return sr_trunk_at(t);
    return NULL;
}

static SrStatus linear_on_top(SrBuilder *b, const SrPreset *preset, SrNodeId pooled,
                              SrNodeId *logits) {
    SrLinearParams linear = {.out_features = preset->classes, .bias = true};
    *logits = sr_build(b, "linear", preset->classifier, &linear, pooled);
    return sr_builder_status(b);
}

SrStatus sr_preset_build(const SrPreset *preset, SrBuilder *b, SrNodeId input, SrNodeId *output) {
    const SrTrunk *trunk = sr_preset_trunk(preset);
    SrTrunkOutput features;
    SrYaml *map;
    SrArena *arena = sr_graph_arena(sr_builder_graph(b)); // options live as long as the graph
    void *params = sr_arena_alloc(arena, trunk->params_bytes);
    SR_TRY_MEMORY(params, "the options of %s", preset->name);
    SR_TRY(sr_yaml_parse(arena, preset->options, strlen(preset->options), preset->name, &map));
    SR_TRY(sr_options_parse(trunk->options, map, trunk->subtree, arena, params));
    SR_TRY(sr_trunk_build(trunk, b, params, &(SrTrunkInput){.image = input, .mask = SR_NO_NODE},
                          &features));
    return trunk->classify ? trunk->classify(b, params, preset, &features, output)
                           : linear_on_top(b, preset, features.pooled, output);
}

const SrPresetPixels *sr_preset_pixels(const SrPreset *preset) {
    static const SrPresetPixels imagenet = {
        "", {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, 224, SR_FIT_MARGIN};
    const SrPresetPixelsList none = {0}, all = preset ? sr_preset_trunk(preset)->pixels : none;
    for (int i = 0; i < all.n; i++)
        if (!all.v[i].preset || strcmp(all.v[i].preset, preset->name) == 0)
            return &all.v[i];
    return &imagenet;
}
