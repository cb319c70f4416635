// Runs golden cases param_groups: names and weight decay of every parameter group that VISSL
// makes for a recipe under overrides.
//
// The model is built from the recipe at the depth that the case asks for. VISSL only lists
// modules, but sslrun infers shapes, so the width of the trunk is set to the input of the
// recipe's head. Names do not depend on it.
#include <stdio.h>
#include <string.h>

#include "base/text/yaml_edit.h"
#include "base/text/yaml_load.h"
#include "tests/golden/golden.h"
#include "trainer/config/config_internal.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/model/model_forward.h"
#include "trainer/model/model_internal.h"
#include "trainer/optim/param_groups.h"

// Returns the first `dims` below a list of heads and chains: the number of features that the
// first head takes.
static int64_t head_width(const SrYaml *node) {
    const SrYaml *dims = sr_yaml_find(node, "dims");
    if (dims && dims->n > 0)
        return dims->items[0]->i;
    for (int i = 0; node->type == SR_YAML_LIST && i < node->n; i++) {
        int64_t width = head_width(node->items[i]);
        if (width > 0)
            return width;
    }
    return 0;
}

// Attaches heads for which a mapping names different inputs to the single output that this trunk
// has.
static SrStatus unmap_heads(SrConfig *config) {
    const SrYaml *map = sr_yaml_find_path(config->tree, "MODEL.MULTI_INPUT_HEAD_MAPPING");
    static const char text[] = "{MULTI_INPUT_HEAD_MAPPING: [], HEAD: {PARALLEL: True}}";
    SrYaml *model;
    if (!map || map->n == 0)
        return SR_OK;
    SR_TRY(sr_yaml_parse(&config->arena, text, sizeof text - 1, "golden", &model));
    return sr_yaml_merge(&config->arena, sr_yaml_find_path(config->tree, "MODEL"), model);
}

static SrStatus make_config(SrGoldenCase *c, const SrYaml *entry, SrConfig *config) {
    const SrYaml *overrides = sr_yaml_find(entry, "overrides");
    int n = overrides ? overrides->n : 0;
    const char **texts = sr_arena_alloc(c->arena, sizeof *texts * (size_t)(n + 1));
    if (!texts)
        SR_FAIL(SR_ERR_MEMORY, "out of memory");
    for (int i = 0; i < n; i++)
        texts[i] = overrides->items[i]->text;
    SR_TRY(sr_config_compose(golden_recipe(c, sr_tree_text(entry, "config", "")), texts, n,
                             &config->arena, &config->tree));
    SR_TRY(unmap_heads(config));
    if (strcmp(sr_tree_text(config->tree, "MODEL.TRUNK.NAME", "resnet"), "resnet") != 0)
        return sr__config_read(config, NULL);
    SrYaml *trunk = sr_yaml_find_path(config->tree, "MODEL.TRUNK.RESNETS");
    const SrYaml *heads = sr_yaml_find_path(config->tree, "MODEL.HEAD.PARAMS");
    int64_t depth = sr_tree_int(entry, "depth", 50), width = heads ? head_width(heads) : 0;
    if (!trunk || width == 0)
        SR_FAIL(SR_ERR_RUN, "the recipe has no ResNet or no head");
    SR_TRY(sr_tree_put_int(&config->arena, trunk, "DEPTH", depth));
    SR_TRY(sr_tree_put_float(&config->arena, trunk, "WIDTH_MULTIPLIER",
                             (double)width / (depth < 50 ? 512 : 2048)));
    return sr__config_read(config, NULL);
}

static SrStatus build_forward(SrModel *model, SrGraph *graph) {
    SrBuilder *b = NULL;
    SR_TRY(sr_builder_new(graph, &b));
    SrNodeId view = sr_build_input(b, "view", SR_SHAPE(18, 64, 64, 3), SR_F32); // 2 x 9 patches
    SrOutputs outputs;
    SrStatus status =
        sr_model_forward(model, b, &(SrModelRun){.trainable = true}, &view, 1, &outputs);
    sr_builder_free(b);
    return status;
}

static SrStatus compare_group(SrGoldenCase *c, SrParams *params, const SrParamGroup *ours,
                              const SrYaml *reference, const char *name) {
    const SrYaml *names = sr_yaml_find(reference, "params");
    double decay = 0;
    SR_TRY(sr_tree_number(reference, "weight_decay", name, &decay));
    SR_TRY(golden_number(c, name, ours->weight_decay, decay, 1e-12));
    if (!names || names->n != ours->n)
        SR_FAIL(SR_ERR_RUN, "%s (%s): %d parameters, the reference has %d", name, ours->name,
                ours->n, names ? names->n : 0);
    for (int i = 0; i < names->n; i++) {
        bool found = false;
        for (int k = 0; k < ours->n && !found; k++)
            found = strcmp(sr_params_at(params, ours->params[k])->name, names->items[i]->text) == 0;
        if (!found)
            SR_FAIL(SR_ERR_RUN, "%s (%s): %s is not in it", name, ours->name,
                    names->items[i]->text);
    }
    return SR_OK;
}

static SrStatus run_entry(SrGoldenCase *c, const char *name, const SrYaml *entry, SrConfig *config,
                          SrModel **model, SrGraph **graph) {
    const SrYaml *reference = sr_yaml_find(entry, "groups");
    SrParamGroups ours = {0};
    SR_TRY(make_config(c, entry, config));
    SR_TRY(sr_model_new(config, model));
    SrParams *params = sr_model_params(*model);
    SR_TRY(sr_graph_new(params, graph));
    SR_TRY(build_forward(*model, *graph));
    SR_TRY(sr__model_freeze_named(*model));
    SR_TRY(sr_param_groups(params, &config->optimizer, c->arena, &ours));
    if (!reference || reference->n != ours.n)
        SR_FAIL(SR_ERR_RUN, "%s: %d groups, the reference has %d", name, ours.n,
                reference ? reference->n : 0);
    for (int g = 0; g < ours.n; g++)
        SR_TRY(compare_group(c, params, &ours.groups[g], reference->items[g], name));
    return SR_OK;
}

static SrStatus run(SrGoldenCase *c) {
    SrStatus status = SR_OK;
    for (int i = 0; i < c->values->n && status == SR_OK; i++) {
        const char *name = c->values->keys[i];
        SrConfig config = {0};
        SrModel *model = NULL;
        SrGraph *graph = NULL;
        if (!sr_yaml_find(c->values->items[i], "groups"))
            continue;
        status = run_entry(c, name, c->values->items[i], &config, &model, &graph);
        if (status != SR_OK)
            sr_fail_prefix(status, "%s", name);
        sr_graph_free(graph);
        sr_model_free(model);
        sr_arena_deinit(&config.arena);
    }
    return status;
}

const SrGolden sr_golden_param_groups = {.prefixes = {"param_groups"}, .run = run};
