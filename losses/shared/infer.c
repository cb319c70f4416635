// Reads and writes of the configuration tree for the inference rules.  The rules themselves are in
// the losses.
#include "losses/shared/infer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/yaml_print.h"
#include "base/text/yaml_scalar.h"

// ---- writing with a line in the log

static void say(SrLogLevel level, const char *path, const SrYaml *old, const SrYaml *now) {
    SrText a = {0}, b = {0};
    sr_yaml_print_flow(old, &a);
    sr_yaml_print_flow(now, &b);
    sr_log(level, "%s: %s, inferred (was %s)", path, b.s ? b.s : "", a.s ? a.s : "");
    sr_text_deinit(&a);
    sr_text_deinit(&b);
}

SrStatus sr_infer_set_path(SrInfer *in, const char *path, const SrYaml *value) {
    const SrYaml *old = sr_yaml_find_path(in->tree, path);
    if (!old || sr_yaml_equal(old, value))
        return SR_OK;
    SrYaml *copy = sr_yaml_copy(in->arena, value);
    SR_TRY_MEMORY(copy, "%s", path);
    copy->file = old->file;
    copy->line = old->line;
    say(in->level, path, old, copy);
    return sr_yaml_put_path(in->arena, in->tree, path, copy);
}

// Builds the node from text, because a node's number and text must agree.
SrStatus sr_infer_set_path_int(SrInfer *in, const char *path, int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    const SrYaml *node = sr_yaml_scalar(in->arena, text, "inferred", 0);
    SR_TRY_MEMORY(node, "%s", path);
    return sr_infer_set_path(in, path, node);
}

SrStatus sr_infer_set_path_text(SrInfer *in, const char *path, const char *value) {
    SrYaml *node = sr_yaml_new(in->arena, SR_YAML_STRING, "inferred", 0);
    SR_TRY_MEMORY(node, "%s", path);
    node->text = value;
    return sr_infer_set_path(in, path, node);
}

SrStatus sr_infer_put(SrInfer *in, SrYaml *map, const char *key, const SrYaml *value,
                      const char *where) {
    const SrYaml *old = sr_yaml_find(map, key);
    SrYaml *copy = sr_yaml_copy(in->arena, value);
    SR_TRY_MEMORY(copy, "%s", where);
    if (old && !sr_yaml_equal(old, copy))
        say(in->level, where, old, copy);
    return sr_yaml_put(in->arena, map, key, copy);
}

// ---- the loss's own keys

typedef struct {
    char text[256];
} Path;

static Path path_of(const SrInfer *in, const char *key) {
    Path path;
    snprintf(path.text, sizeof path.text, "%s.%s", in->at, key);
    return path;
}

SrStatus sr_infer_set(SrInfer *in, const char *key, const SrYaml *value) {
    return sr_infer_set_path(in, path_of(in, key).text, value);
}

SrStatus sr_infer_set_int(SrInfer *in, const char *key, int64_t value) {
    return sr_infer_set_path_int(in, path_of(in, key).text, value);
}

int64_t sr_infer_int(const SrInfer *in, const char *key, int64_t otherwise) {
    return sr_tree_int(in->tree, path_of(in, key).text, otherwise);
}

SrStatus sr_infer_crops(SrInfer *in) {
    return in->total_crops ? sr_infer_set_int(in, "num_crops", in->total_crops) : SR_OK;
}

SrStatus sr_infer_global_crops(SrInfer *in) {
    const SrYaml *first = in->num_crops && in->num_crops->n > 0 ? in->num_crops->items[0] : NULL;
    if (!first || first->type != SR_YAML_INT)
        return SR_OK;
    SR_TRY(sr_infer_set_int(in, "num_global_crops", first->i));
    return sr_infer_set_int(in, "num_local_crops", in->total_crops - first->i);
}

// ---- the rest of the configuration

SrStatus sr_infer_only_head(const SrInfer *in, const char *names, const SrYaml **arguments) {
    const SrYaml *list = sr_yaml_find_path(in->tree, "MODEL.HEAD.PARAMS");
    const SrYamlPlace at = sr_yaml_place(list);
    if (!list || list->type != SR_YAML_LIST || list->n != 1)
        SR_FAIL(SR_ERR_CONFIG, "%s: MODEL.HEAD.PARAMS: %s needs exactly one head, but there are %d",
                at.text, in->loss, list && list->type == SR_YAML_LIST ? list->n : 0);
    const SrYaml *entry = list->items[0];
    const SrYaml *name = entry->type == SR_YAML_LIST && entry->n > 0 ? entry->items[0] : NULL;
    bool known = false;
    for (const char *p = names; name && name->type == SR_YAML_STRING && *p;
         p += strcspn(p, " ") + (strchr(p, ' ') != 0))
        known |= strcspn(p, " ") == strlen(name->text) &&
                 strncmp(p, name->text, strlen(name->text)) == 0;
    if (!known)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: MODEL.HEAD.PARAMS: %s needs the head [%s, {...}], and neither a chain nor "
                "another head",
                at.text, in->loss, names);
    *arguments = entry->n > 1 ? entry->items[1] : NULL;
    return SR_OK;
}

SrStatus sr_infer_argument(const SrYaml *arguments, const char *key, SrYamlType type,
                           const SrYaml **out) {
    *out = sr_yaml_find(arguments, key);
    if (*out && (*out)->type == type && (type != SR_YAML_LIST || (*out)->n > 0))
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG, "%s: MODEL.HEAD.PARAMS: the head needs %s as %s",
            sr_yaml_place(arguments).text, key, sr_yaml_type_name(type));
}

SrStatus sr_infer_force_collator(SrInfer *in, const char *name) {
    return sr_infer_set_path_text(in, "DATA.TRAIN.COLLATE_FUNCTION", name);
}

SrStatus sr_infer_check_collator(const SrInfer *in, const char *const *allowed, int n) {
    const SrYaml *node = sr_yaml_find_path(in->tree, "DATA.TRAIN.COLLATE_FUNCTION");
    for (int i = 0; node && node->text && i < n; i++)
        if (strcmp(node->text, allowed[i]) == 0)
            return SR_OK;
    SR_FAIL(SR_ERR_CONFIG, "%s: DATA.TRAIN.COLLATE_FUNCTION: %s needs %s, not %s",
            sr_yaml_place(node).text, in->loss, allowed[0],
            node && node->text ? node->text : "nothing");
}
