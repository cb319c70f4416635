// Reads MODEL.MULTI_INPUT_HEAD_MAPPING, whose entries are [key, [features]] or
// [key, {feat_names, head_index}].
//
// VISSL finds a wrong length and repeated keys only while it trains, and unused heads never.
#include "trainer/model/input_mapping.h"

#include <string.h>

#include "base/plugin/plugin.h"

#define KEY "MODEL.MULTI_INPUT_HEAD_MAPPING"

#define refuse(node, index, ...)                                           \
    sr_fail_prefix(sr_fail(SR_ERR_CONFIG, __VA_ARGS__), "%s: " KEY "[%d]", \
                   sr_yaml_place(node).text, index)

// Reads the keys of what the trunk gets in addition to the image: only a mask of hidden patches
// exists.
static SrStatus parse_additional(const SrYaml *list, int index, bool *masked) {
    for (int i = 0; i < list->n; i++) {
        const SrYaml *key = list->items[i];
        if (key->type != SR_YAML_STRING || strcmp(key->text, "mask") != 0)
            return refuse(list, index, "additional_keys: unknown key '%s'; known: mask",
                          key->text ? key->text : "");
        *masked = true;
    }
    return SR_OK;
}

// Reads {feat_names: [...], head_index: 1, additional_keys: [mask]}.
static SrStatus parse_dict(const SrYaml *spec, int index, const SrYaml **names, int *head,
                           bool *masked) {
    for (int i = 0; i < spec->n; i++) {
        const char *key = spec->keys[i];
        const SrYaml *value = spec->items[i];
        if (!strcmp(key, "feat_names"))
            *names = value;
        else if (!strcmp(key, "head_index") && value->type == SR_YAML_INT)
            *head = value->i < 0 || value->i > 65535 ? -1 : (int)value->i;
        else if (!strcmp(key, "head_index"))
            return refuse(value, index, "head_index must be a whole number");
        else if (!strcmp(key, "additional_keys"))
            SR_TRY(parse_additional(value, index, masked));
        else
            return refuse(value, index,
                          "unknown key '%s'; known: feat_names, head_index, additional_keys", key);
    }
    if (!*names)
        return refuse(spec, index, "feat_names is missing");
    return SR_OK;
}

static SrStatus parse_entry(const SrYaml *e, int index, int n_heads, SrArena *arena,
                            SrMappedInput *out) {
    if (e->type != SR_YAML_LIST || e->n != 2 || e->items[0]->type != SR_YAML_STRING)
        return refuse(e, index,
                      "expected [input, [features]] or [input, {feat_names: [...], "
                      "head_index: 0}]");
    const SrYaml *spec = e->items[1], *names = NULL;
    // VISSL's rule: input i has head i, and further inputs have the last head.
    int head = index < n_heads ? index : n_heads - 1;
    bool masked = false;
    if (spec->type == SR_YAML_MAP)
        SR_TRY(parse_dict(spec, index, &names, &head, &masked));
    else
        names = spec;
    if (n_heads > 0 && (head < 0 || head >= n_heads))
        return refuse(e, index, "head_index must be 0 .. %d: MODEL.HEAD.PARAMS has %d heads",
                      n_heads - 1, n_heads);
    *out = (SrMappedInput){.key = e->items[0]->text, .head = head, .masked = masked};
    return sr_features_parse_names(names, KEY, arena, &out->features);
}

static SrStatus check_heads_used(const SrYaml *list, const SrInputMapping *mapping, int n_heads) {
    for (int h = 0; h < n_heads; h++) {
        bool used = false;
        for (int i = 0; i < mapping->n; i++)
            used |= mapping->v[i].head == h;
        if (!used)
            SR_FAIL(SR_ERR_CONFIG,
                    "%s: " KEY ": no input uses MODEL.HEAD.PARAMS[%d]; there are %d heads and "
                    "%d inputs",
                    sr_yaml_place(list).text, h, n_heads, mapping->n);
    }
    return SR_OK;
}

SrStatus sr_input_mapping_parse(const SrYaml *list, int n_heads, SrArena *arena,
                                SrInputMapping *out) {
    *out = (SrInputMapping){0, NULL};
    if (!list || list->type == SR_YAML_NULL)
        return SR_OK;
    if (list->type != SR_YAML_LIST)
        SR_FAIL(SR_ERR_CONFIG, "%s: " KEY " must be a list of [input, features]",
                sr_yaml_place(list).text);
    out->v = sr_arena_alloc(arena, (size_t)(list->n + 1) * sizeof *out->v);
    SR_TRY_MEMORY(out->v, "" KEY);
    for (int i = 0; i < list->n; i++) {
        SR_TRY(parse_entry(list->items[i], i, n_heads, arena, &out->v[i]));
        if (sr_input_mapping_find(out, out->v[i].key) >= 0)
            return refuse(list->items[i], i, "the input '%s' is mapped twice", out->v[i].key);
        out->n++;
    }
    return out->n > 0 ? check_heads_used(list, out, n_heads) : SR_OK;
}

SrStatus sr_input_mapping_check_names(const SrInputMapping *mapping, SrStrings names) {
    if (names.n < 2)
        return SR_OK;
    if (mapping->n == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.TRAIN.INPUT_KEY_NAMES has %d inputs; " KEY " says which head takes which",
                names.n);
    for (int i = 0; i < names.n; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(names.v[i], names.v[k]))
                SR_FAIL(SR_ERR_CONFIG, "DATA.TRAIN.INPUT_KEY_NAMES: the input '%s' is named twice",
                        names.v[i]);
    for (int m = 0; m < mapping->n; m++) {
        bool known = false;
        for (int i = 0; i < names.n; i++)
            known |= !strcmp(names.v[i], mapping->v[m].key);
        if (!known)
            return sr_fail_prefix(sr_plugin_unknown("input", mapping->v[m].key, names.v, names.n),
                                  KEY "[%d] (DATA.TRAIN.INPUT_KEY_NAMES)", m);
    }
    return SR_OK;
}

int sr_input_mapping_find(const SrInputMapping *mapping, const char *key) {
    for (int i = 0; i < mapping->n; i++)
        if (!strcmp(mapping->v[i].key, key))
            return i;
    return -1;
}
