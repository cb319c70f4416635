// Reads and builds MODEL.HEAD.PARAMS: a list whose entries are [name, {arguments}] or lists of such
// pairs.
//
// With one feature VISSL runs the entries as a chain, although they look like alternatives.
// VISSL's configurations rely on it (SimCLR's two mlp entries), so entries are a chain here too.
// MODEL.HEAD.PARALLEL gives each entry the feature itself.
#include "trainer/model/head_modules.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define KEY "MODEL.HEAD.PARAMS"

static SrStatus bad_form(const SrYaml *node, const char *where) {
    SR_FAIL(SR_ERR_CONFIG, "%s: %s is %s; expected [name, {arguments}] or a list of such pairs",
            sr_yaml_place(node).text, where, sr_yaml_type_name(node->type));
}

// True for [name] and [name, {arguments}].
static bool is_module(const SrYaml *node) {
    return node->type == SR_YAML_LIST && node->n > 0 && node->items[0]->type == SR_YAML_STRING;
}

// True for [name, {arguments}, {more}]: two of PIRL's files close the first map too early.
static bool is_map_too_many(const SrYaml *node) {
    return node->n == 3 && node->items[2]->type == SR_YAML_MAP;
}

SrStatus sr_head_module_parse(const char *kind, const SrYaml *arguments, const char *where,
                              SrArena *arena, SrHeadModule *out) {
    SR_TRY(sr_head_find(kind, &out->kind));
    const char *path = sr_arena_printf(arena, "%s.%s", where, kind);
    SR_TRY_MEMORY(path, "%s", where);
    return sr_head_parse(out->kind, arguments, path, arena, NULL, &out->params);
}

// Reads [name, {arguments}] into the head's params struct.  `where` is its path for messages.
static SrStatus parse_module(const SrYaml *node, const char *where, SrArena *arena,
                             SrHeadModule *out) {
    if (!is_module(node) || (node->n > 2 && !is_map_too_many(node)))
        return bad_form(node, where);
    if (node->n > 2)
        sr_warn("%s: %s: only the first map of arguments is used, as in VISSL",
                sr_yaml_place(node).text, where);
    const SrYaml *arguments =
        node->n >= 2 && node->items[1]->type != SR_YAML_NULL ? node->items[1] : NULL;
    if (arguments && arguments->type != SR_YAML_MAP)
        return bad_form(arguments, where);
    if (sr_head_find(node->items[0]->text, &out->kind) != SR_OK)
        return sr_fail_prefix(SR_ERR_CONFIG, "%s: %s", sr_yaml_place(node).text, where);
    return sr_head_module_parse(out->kind->name, arguments, where, arena, out);
}

// Reads entry `index` of the list: a module, or a list of modules.
static SrStatus parse_entry(const SrYaml *node, int index, SrArena *arena, SrHeadEntry *out) {
    char where[64];
    snprintf(where, sizeof where, KEY "[%d]", index);
    if (node->type != SR_YAML_LIST || node->n == 0)
        return bad_form(node, where);
    out->nested = !is_module(node);
    out->n = out->nested ? node->n : 1;
    out->modules = sr_arena_alloc(arena, (size_t)out->n * sizeof *out->modules);
    SR_TRY_MEMORY(out->modules, "%s", where);
    if (!out->nested)
        return parse_module(node, where, arena, out->modules);
    for (int j = 0; j < node->n; j++) {
        snprintf(where, sizeof where, KEY "[%d][%d]", index, j);
        SR_TRY(parse_module(node->items[j], where, arena, &out->modules[j]));
    }
    return SR_OK;
}

SrStatus sr_head_modules_parse(const SrModelConfig *config, SrArena *arena, SrHeadModules *out) {
    const SrYaml *list = config->head_params;
    *out = (SrHeadModules){.settings = {.bn_eps = config->bn_eps,
                                        .bn_momentum = config->bn_momentum,
                                        .params_multiplier = config->params_multiplier}};
    if (!list || list->type == SR_YAML_NULL)
        return SR_OK;
    if (list->type != SR_YAML_LIST)
        return bad_form(list, KEY);
    out->n = list->n;
    out->entries = sr_arena_alloc(arena, (size_t)(list->n + 1) * sizeof *out->entries);
    SR_TRY_MEMORY(out->entries, "" KEY);
    for (int i = 0; i < list->n; i++)
        SR_TRY(parse_entry(list->items[i], i, arena, &out->entries[i]));
    return SR_OK;
}

// Builds a module.  io: the module's inputs, replaced by its outputs.
static SrStatus build_module(SrBuilder *b, const SrHeadModule *module, const char *scope,
                             const SrHeadSettings *settings, SrHeadOutputs *io) {
    const SrHeadOutputs in = *io;
    const SrHead *kind = module->kind;
    sr_builder_push(b, scope);
    SrStatus status = kind->build(b, module->params, settings, in.node, in.n, io->node, &io->n);
    sr_builder_pop(b);
    for (int i = 0; status == SR_OK && i < io->n; i++)
        io->name[i] = kind->output ? kind->output(module->params, i) : NULL;
    return status;
}

static SrHeadOutputs only(SrNodeId x) { return (SrHeadOutputs){.n = 1, .node = {x}}; }

SrStatus sr_head_module_build(SrBuilder *b, const SrHeadModule *module, const char *scope,
                              const SrHeadSettings *settings, SrNodeId x, SrHeadOutputs *out) {
    *out = only(x);
    return build_module(b, module, scope, settings, out);
}

// Puts a module's place in the configuration before its error.
static SrStatus fail_at(SrBuilder *b, const SrHeadEntry *entry, int index, int j) {
    if (entry->nested)
        return sr_fail_prefix(sr_builder_status(b), KEY "[%d][%d]", index, j);
    return sr_fail_prefix(sr_builder_status(b), KEY "[%d]", index);
}

static SrStatus build_entry(SrBuilder *b, const SrHeadModules *heads, int index,
                            SrHeadOutputs *io) {
    if (index < 0 || index >= heads->n)
        return sr_builder_fail(b, SR_ERR_CONFIG, KEY " has %d heads, but head %d is needed",
                               heads->n, index);
    const SrHeadEntry *entry = &heads->entries[index];
    for (int j = 0; j < entry->n; j++) {
        char scope[48];
        if (entry->nested)
            snprintf(scope, sizeof scope, "heads.%d.%d", index, j);
        else
            snprintf(scope, sizeof scope, "heads.%d", index);
        if (build_module(b, &entry->modules[j], scope, &heads->settings, io) != SR_OK)
            return fail_at(b, entry, index, j);
    }
    return SR_OK;
}

SrStatus sr_head_modules_build(SrBuilder *b, const SrHeadModules *heads, const SrInts *which,
                               SrNodeId x, SrHeadOutputs *out) {
    if (heads->n == 0)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               KEY " is empty: the model has one feature and no head; add one, for "
                                   "example [[\"mlp\", {\"dims\": [2048, 128]}]]");
    *out = only(x);
    for (int i = 0; i < (which ? which->n : heads->n); i++)
        SR_TRY(build_entry(b, heads, which ? which->v[i] : i, out));
    return SR_OK;
}

SrStatus sr_head_modules_build_one(SrBuilder *b, const SrHeadModules *heads, int index, SrNodeId x,
                                   SrHeadOutputs *out) {
    *out = only(x);
    return build_entry(b, heads, index, out);
}
