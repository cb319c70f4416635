// auto_lr_scaling: rewrites the numbers in a schedule's tree for the batch of the run (Goyal et
// al., "Accurate, large minibatch SGD", 2017, section 2.1).  The rules are those of VISSL's
// infer_learning_rate, including its surprises, because published recipes depend on them.
#include "trainer/schedules/auto_lr_scaling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/plugin/option.h"
#include "base/text/number.h"
#include "base/text/yaml_edit.h"
#include "base/text/yaml_scalar.h"
#include "trainer/schedules/schedule.h"

typedef struct {
    bool enabled;
    double base_value;
    int base_batch;
    int type; // index into "linear|sqrt"
} Scaling;

static const SrOption options[] = {
    {"auto_scale", SR_OPT_BOOL, offsetof(Scaling, enabled), "False",
     .help = "Scale the learning rate with the batch size."},
    {"base_value", SR_OPT_FLOAT, offsetof(Scaling, base_value), "0.1", 0, SR_SCHEDULE_MAX,
     .help = "Learning rate for a batch of base_lr_batch_size."},
    {"base_lr_batch_size", SR_OPT_INT, offsetof(Scaling, base_batch), "256", 1, 1e9,
     .help = "Batch size that base_value is for."},
    {"scaling_type", SR_OPT_ENUM, offsetof(Scaling, type), "linear", .choices = "linear|sqrt",
     .help = "Scale with the batch size (linear), or with its square root (sqrt)."},
    SR_OPTION_END,
};

typedef struct {
    double scaled;     // peak rate for the run's batch
    double warm_start; // start of a warm-up, for one node's batch; scaling_type is not applied
    int nodes;
    const char *where;
    SrArena *arena;
} Target;

// Rounds to decimals correctly, as Python's round() does.
static double round_decimals(double x, int decimals) {
    char buf[400];
    sr_number_print(buf, sizeof buf, "%.*f", decimals, x);
    return sr_number_parse(buf, NULL);
}

// Scales start_value; end_value keeps its ratio to it.
static SrStatus scale_cosine(SrYaml *tree, const Target *t) {
    double start = 0, end = 0;
    SR_TRY(sr_tree_number(tree, "start_value", t->where, &start));
    SR_TRY(sr_tree_number(tree, "end_value", t->where, &end));
    if (start == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: %s.start_value is 0; auto_lr_scaling needs a cosine that starts above 0; set "
                "auto_scale=False, or another start_value",
                sr_yaml_place(tree).text, t->where);
    if (start ==
        t->scaled) // scaled already (a saved configuration): end must not change by rounding
        return SR_OK;
    SR_TRY(sr_tree_put_float(t->arena, tree, "end_value", t->scaled * (end / start)));
    return sr_tree_put_float(t->arena, tree, "start_value", t->scaled);
}

// Sets values[i] = scaled * gamma^i, with gamma from the first two values.  Other ratios between
// the values are lost, as in VISSL.
static SrStatus scale_steps(SrYaml *tree, const Target *t) {
    const SrYaml *old = sr_yaml_find(tree, "values");
    if (!old || old->type != SR_YAML_LIST || old->n == 0)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s.values must be a list of numbers", sr_yaml_place(tree).text,
                t->where);
    if (old->n > 1 && old->items[0]->f == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: %s.values starts with 0; auto_lr_scaling needs the ratio of the first "
                "two",
                sr_yaml_place(old).text, t->where);
    double gamma = old->n > 1 ? round_decimals(old->items[1]->f / old->items[0]->f, 6) : 1;
    SrYaml *values = sr_yaml_new(t->arena, SR_YAML_LIST, old->file, old->line);
    SR_TRY_MEMORY(values, "learning rates");
    for (int i = 0; i < old->n; i++) {
        char text[40];
        sr_tree_float_text(round_decimals(t->scaled * pow(gamma, i), 8), text, sizeof text);
        SrYaml *item = sr_yaml_scalar(t->arena, text, old->file, old->line);
        SR_TRY_MEMORY(item, "learning rates");
        SR_TRY(sr_yaml_append(t->arena, values, item));
    }
    return sr_yaml_put(t->arena, tree, "values", values);
}

static SrStatus scale_tree(SrYaml *tree, const Target *t, int depth);

// Sets the start of warm-ups from one node's batch.  On a single node a warm-up then starts where
// it ends, and is removed.  lengths and interval_scaling keep their entries, which do not matter
// when one schedule is left.
static SrStatus drop_or_start_warmups(SrYaml *parts, const Target *t) {
    int kept = 0;
    for (int i = 0; i < parts->n; i++) {
        SrYaml *part = parts->items[i];
        bool keep = true;
        if (strcmp(sr_tree_text(part, "name", ""), "linear") == 0) {
            SR_TRY(sr_tree_put_float(t->arena, part, "start_value", t->warm_start));
            double end = 0;
            SR_TRY(sr_tree_number(part, "end_value", t->where, &end));
            keep = t->nodes != 1 || t->warm_start > end || parts->n == 1;
        }
        if (keep)
            parts->items[kept++] = part;
    }
    if (kept < parts->n)
        sr_info("%s: the warm-up starts at its end value, so it is removed "
                "(auto_lr_scaling.auto_scale=False keeps it)",
                t->where);
    parts->n = kept;
    return SR_OK;
}

// Scales all parts to the same peak.  If one part is left, it becomes the whole schedule.
static SrStatus scale_composite(SrYaml *tree, const Target *t, int depth) {
    SrYaml *parts = sr_yaml_find(tree, "schedulers");
    if (!parts || parts->type != SR_YAML_LIST || parts->n == 0)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s.schedulers must be a list of schedules",
                sr_yaml_place(tree).text, t->where);
    for (int i = 0; i < parts->n; i++)
        SR_TRY(scale_tree(parts->items[i], t, depth + 1));
    SR_TRY(drop_or_start_warmups(parts, t));
    if (parts->n != 1)
        return SR_OK;
    const SrYaml *only = parts->items[0];
    for (int i = 0; i < only->n; i++)
        SR_TRY(sr_yaml_put(t->arena, tree, only->keys[i], sr_yaml_copy(t->arena, only->items[i])));
    return SR_OK;
}

static SrStatus scale_tree(SrYaml *tree, const Target *t, int depth) {
    if (tree->type != SR_YAML_MAP || depth > 8)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s: a schedule must be a map, nested at most 8 deep",
                sr_yaml_place(tree).text, t->where);
    const char *name = sr_tree_text(tree, "name", "");
    if (strcmp(name, "composite") == 0)
        return scale_composite(tree, t, depth);
    if (strstr(name, "cosine"))
        return scale_cosine(tree, t);
    if (strcmp(name, "multistep") == 0 || strcmp(name, "step") == 0)
        return scale_steps(tree, t);
    // VISSL refuses polynomial here; this program scales it.
    static const char *const simple[][2] = {{"linear", "end_value"},
                                            {"inverse_sqrt", "start_value"},
                                            {"constant", "value"},
                                            {"step_with_fixed_gamma", "base_value"},
                                            {"polynomial", "base_value"}};
    for (int i = 0; i < SR_COUNT(simple); i++)
        if (strcmp(name, simple[i][0]) == 0)
            return sr_tree_put_float(t->arena, tree, simple[i][1], t->scaled);
    const SrScheduleKind *kind = NULL;
    SR_TRY(sr_schedule_kind_find(name, &kind));
    SR_FAIL(SR_ERR_CONFIG,
            "%s: %s: auto_lr_scaling cannot scale the schedule '%s'; set auto_scale=False",
            sr_yaml_place(tree).text, t->where, name);
}

// Scaling a tree again, such as a saved configuration, does not change it.
SrStatus sr_schedule_auto_scale(SrYaml *tree, const char *where, int global_batch, int node_batch,
                                int nodes, SrArena *arena) {
    const SrYaml *section = sr_yaml_find(tree, "auto_lr_scaling");
    if (!section || section->type == SR_YAML_NULL)
        return SR_OK;
    char path[256];
    snprintf(path, sizeof path, "%s.auto_lr_scaling", where);
    Scaling s = {0};
    SR_TRY(sr_options_parse(options, section, path, arena, &s));
    if (!s.enabled)
        return SR_OK;
    double factor = (double)global_batch / s.base_batch;
    factor = s.type == 0 ? factor : sqrt(factor);
    Target target = {
        .scaled = s.base_value * factor,
        .warm_start = s.base_value * ((double)node_batch / s.base_batch),
        .nodes = nodes,
        .where = where,
        .arena = arena,
    };
    SR_TRY(scale_tree(tree, &target, 0));
    sr_info("%s: %g at batch size %d becomes %g at batch size %d (%s)", where, s.base_value,
            s.base_batch, target.scaled, global_batch, s.type == 0 ? "linear" : "sqrt");
    return SR_OK;
}
