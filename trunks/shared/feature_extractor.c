// Taps and pools features of a trunk.  They are returned in the requested order.  VISSL returns
// the network's order unless a name is repeated, and so pairs a list in another order with the
// wrong heads.
#include "trunks/shared/feature_extractor.h"

#include <stdio.h>
#include <string.h>

#include "base/plugin/plugin.h"
#include "graph/ir/layer_name.h"

// ---- reading

typedef struct { // place in the configuration, for messages
    const SrYaml *node;
    const char *key;
    int index;
} Place;

#define refuse(p, ...)                                                \
    sr_fail_prefix(sr_fail(SR_ERR_CONFIG, __VA_ARGS__), "%s: %s[%d]", \
                   sr_yaml_place((p)->node).text, (p)->key, (p)->index)

// Reads argument `i` of the list, a number or [height, width]; absent or null: both stay unchanged.
static SrStatus read_pair(const Place *p, const SrYaml *args, int i, const char *what, int min,
                          int *h, int *w) {
    const SrYaml *a = args && i < args->n ? args->items[i] : NULL;
    if (!a || a->type == SR_YAML_NULL)
        return SR_OK;
    const SrYaml *first = a, *second = a;
    if (a->type == SR_YAML_LIST && a->n == 2) {
        first = a->items[0];
        second = a->items[1];
    }
    if (first->type != SR_YAML_INT || second->type != SR_YAML_INT || first->i < min ||
        second->i < min || first->i > 65535 || second->i > 65535)
        return refuse(p, "%s must be a whole number from %d, or [height, width]", what, min);
    *h = (int)first->i;
    *w = (int)second->i;
    return SR_OK;
}

// Reads argument `i`, True or False; absent or null: `initial`.
static SrStatus read_flag(const Place *p, const SrYaml *args, int i, const char *what, bool initial,
                          bool *out) {
    *out = initial;
    if (!args || i >= args->n || args->items[i]->type == SR_YAML_NULL)
        return SR_OK;
    if (args->items[i]->type != SR_YAML_BOOL)
        return refuse(p, "%s must be True or False", what);
    *out = args->items[i]->b;
    return SR_OK;
}

// torch.nn.AvgPool2d(kernel, stride, padding, ceil_mode, count_include_pad) and
// MaxPool2d(kernel, stride, padding, dilation, return_indices, ceil_mode).
static SrStatus read_window(const Place *p, const SrYaml *args, bool max, SrFeature *out) {
    SrPool2dParams *pool = &out->params.pool;
    bool ceil_mode, include_pad;
    int dilation_h = 1, dilation_w = 1;
    *pool = (SrPool2dParams){.kernel_h = 0};
    SR_TRY(read_pair(p, args, 0, "the kernel", 1, &pool->kernel_h, &pool->kernel_w));
    SR_TRY(read_pair(p, args, 1, "the stride", 1, &pool->stride_h, &pool->stride_w));
    SR_TRY(read_pair(p, args, 2, "the padding", 0, &pool->padding_h, &pool->padding_w));
    if (pool->kernel_h == 0 || args->n > (max ? 6 : 5))
        return refuse(p, "%s takes [kernel, stride, padding]", max ? "MaxPool2d" : "AvgPool2d");
    if (max)
        SR_TRY(read_pair(p, args, 3, "the dilation", 1, &dilation_h, &dilation_w));
    SR_TRY(read_flag(p, args, max ? 5 : 3, "ceil_mode", false, &ceil_mode));
    SR_TRY(read_flag(p, max ? NULL : args, 4, "count_include_pad", true, &include_pad));
    if (dilation_h != 1 || dilation_w != 1 || (ceil_mode && !max))
        return refuse(p, "%s is not implemented", max ? "a dilation" : "ceil_mode of AvgPool2d");
    pool->ceil_mode = ceil_mode;
    pool->exclude_pad = !include_pad;
    return SR_OK;
}

// torch.nn.AdaptiveAvgPool2d(output_size)
static SrStatus read_adaptive(const Place *p, const SrYaml *args, SrFeature *out) {
    SrAdaptivePool2dParams *pool = &out->params.adaptive;
    *pool = (SrAdaptivePool2dParams){0, 0};
    SR_TRY(read_pair(p, args, 0, "the output size", 1, &pool->out_h, &pool->out_w));
    if (pool->out_h == 0 || args->n > 1)
        return refuse(p, "an adaptive pooling takes [size] or [[height, width]]");
    return SR_OK;
}

static SrStatus read_operation(const Place *p, const char *name, const SrYaml *args,
                               SrFeature *out) {
    static const char *const names[][2] = {{"AdaptiveAvgPool2d", "adaptive_avg_pool2d"},
                                           {"AdaptiveMaxPool2d", "adaptive_max_pool2d"},
                                           {"AvgPool2d", "avg_pool2d"},
                                           {"MaxPool2d", "max_pool2d"},
                                           {"Identity", NULL}};
    if (args && args->type != SR_YAML_LIST)
        return refuse(p, "the arguments of %s must be a list: [%s, [...]]", name, name);
    for (int i = 0; i < SR_COUNT(names); i++) {
        if (strcmp(names[i][0], name) != 0)
            continue;
        out->op = names[i][1];
        return !out->op ? SR_OK
               : i < 2  ? read_adaptive(p, args, out)
                        : read_window(p, args, i == 3, out);
    }
    const char *known[SR_COUNT(names)];
    for (int i = 0; i < SR_COUNT(names); i++)
        known[i] = names[i][0];
    sr_plugin_unknown("pooling", name, known, SR_COUNT(known));
    return refuse(p, "%s", sr_status_message());
}

static SrStatus begin(const SrYaml *list, const char *key, SrArena *arena, SrFeatures *out) {
    *out = (SrFeatures){.n = 0};
    if (!list || list->type == SR_YAML_NULL)
        return SR_OK;
    if (list->type != SR_YAML_LIST || list->n > SR_MAX_FEATURES)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s must be a list of at most %d features",
                sr_yaml_place(list).text, key, SR_MAX_FEATURES);
    out->v = sr_arena_alloc(arena, (size_t)(list->n + 1) * sizeof *out->v);
    SR_TRY_MEMORY(out->v, "%s", key);
    out->n = list->n;
    out->key = key;
    return SR_OK;
}

static bool is_text(const SrYaml *node) { return node->type == SR_YAML_STRING; }

SrStatus sr_features_parse(const SrYaml *list, const char *key, SrArena *arena, SrFeatures *out) {
    SR_TRY(begin(list, key, arena, out));
    for (int i = 0; i < out->n; i++) {
        const SrYaml *e = list->items[i];
        Place place = {e, key, i};
        const SrYaml *op = e->type == SR_YAML_LIST && e->n == 2 ? e->items[1] : NULL;
        if (!op || !is_text(e->items[0]) || op->type != SR_YAML_LIST || op->n < 1 || op->n > 2 ||
            !is_text(op->items[0]))
            return refuse(&place, "expected [layer, [operation, [arguments]]], for example "
                                  "[\"res4\", [\"AvgPool2d\", [[8, 8], 3, 0]]]");
        out->v[i] = (SrFeature){.layer = e->items[0]->text};
        SR_TRY(read_operation(&place, op->items[0]->text, op->n == 2 ? op->items[1] : NULL,
                              &out->v[i]));
    }
    return SR_OK;
}

SrStatus sr_features_parse_names(const SrYaml *list, const char *key, SrArena *arena,
                                 SrFeatures *out) {
    SR_TRY(begin(list, key, arena, out));
    for (int i = 0; i < out->n; i++) {
        Place place = {list->items[i], key, i};
        if (!is_text(list->items[i]))
            return refuse(&place, "expected the name of a layer, for example res5");
        out->v[i] = (SrFeature){.layer = list->items[i]->text};
    }
    return SR_OK;
}

// ---- building

// Looks a layer up under the names of this pass: "res4" in the second pass of a teacher is
// "teacher.res4@1".
static SrStatus tap_of_pass(SrBuilder *b, const char *key, const char *prefix, int pass,
                            const char *layer, SrNodeId *out) {
    const SrGraph *graph = sr_builder_graph(b);
    char name[512], suffix[16] = "";
    if (pass > 0)
        snprintf(suffix, sizeof suffix, "@%d", pass);
    snprintf(name, sizeof name, "%s%s%s", prefix, layer, suffix);
    if (sr_layer_node(graph, name, SR_NAMES_STAGES, out) == SR_OK)
        return SR_OK;
    // Makes a message without the pass's suffix.
    sr_layer_node(graph, layer, SR_NAMES_STAGES, out);
    return sr_builder_fail(b, SR_ERR_CONFIG, "%s: %s", key, sr_status_message());
}

SrStatus sr_features_build(SrBuilder *b, const SrFeatures *features, const char *prefix, int pass,
                           bool flatten, SrNodeId out[SR_MAX_FEATURES]) {
    for (int i = 0; i < features->n; i++)
        SR_TRY(tap_of_pass(b, features->key, prefix, pass, features->v[i].layer, &out[i]));
    sr_builder_push(b, "feature_pool_ops");
    for (int i = 0; i < features->n && sr_builder_status(b) == SR_OK; i++) {
        const SrFeature *f = &features->v[i];
        char leaf[16];
        snprintf(leaf, sizeof leaf, "%d", i);
        if (f->op)
            out[i] = sr_build(b, f->op, leaf, &f->params, out[i]);
        if (flatten && sr_build_shape(b, out[i]).rank > 2)
            out[i] = sr_build(b, "flatten", "flatten", NULL, out[i]);
        if (sr_builder_status(b) != SR_OK)
            return sr_fail_prefix(sr_builder_status(b), "%s[%d]", features->key, i);
    }
    sr_builder_pop(b);
    return sr_builder_status(b);
}
