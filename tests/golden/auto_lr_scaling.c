// Runs golden cases auto_lr_scaling: the learning-rate section that automatic scaling gives for
// VISSL's recipes under overrides, and the schedule built from it. Recipes are looked up by name
// below tests/vissl and configs/.
#include <stdio.h>
#include <string.h>

#include "base/text/yaml_edit.h"
#include "tests/golden/golden.h"
#include "trainer/config/config.h"
#include "trainer/schedules/auto_lr_scaling.h"
#include "trainer/schedules/schedule.h"

static const double tolerance = 1e-12;

static SrStatus compare_trees(SrGoldenCase *c, const char *where, const SrYaml *ours,
                              const SrYaml *reference) {
    char path[512];
    bool numbers = (ours->type == SR_YAML_INT || ours->type == SR_YAML_FLOAT) &&
                   (reference->type == SR_YAML_INT || reference->type == SR_YAML_FLOAT);
    if (numbers)
        return golden_number(c, where, ours->f, reference->f, tolerance);
    if (ours->type != reference->type || ours->n != reference->n)
        SR_FAIL(SR_ERR_RUN, "%s: %s with %d entries, the reference has %s with %d", where,
                sr_yaml_type_name(ours->type), ours->n, sr_yaml_type_name(reference->type),
                reference->n);
    if (reference->type != SR_YAML_LIST && reference->type != SR_YAML_MAP)
        return sr_yaml_equal(ours, reference)
                   ? SR_OK
                   : sr_fail(SR_ERR_RUN, "%s: '%s', the reference has '%s'", where, ours->text,
                             reference->text);
    for (int i = 0; i < reference->n; i++) {
        const char *key = reference->type == SR_YAML_MAP ? reference->keys[i] : NULL;
        const SrYaml *item = key ? sr_yaml_find(ours, key) : ours->items[i];
        snprintf(path, sizeof path, "%s.%s", where, key ? key : "item");
        if (!item)
            SR_FAIL(SR_ERR_RUN, "%s is missing", path);
        SR_TRY(compare_trees(c, path, item, reference->items[i]));
    }
    return SR_OK;
}

// Returns an override's value, or 1: the reference ran as one process unless an override says
// otherwise, whatever the 8 x 8 of the recipe.
static int overridden(const SrYaml *overrides, const char *key) {
    for (int i = 0; overrides && i < overrides->n; i++) {
        const char *at = overrides->items[i]->text ? strstr(overrides->items[i]->text, key) : NULL;
        int value = 0;
        if (at && sscanf(at + strlen(key), "=%d", &value) == 1)
            return value;
    }
    return 1;
}

static SrStatus compose(SrGoldenCase *c, const SrYaml *entry, SrYaml **tree) {
    const SrYaml *overrides = sr_yaml_find(entry, "overrides");
    int n = overrides ? overrides->n : 0;
    const char **texts = sr_arena_alloc(c->arena, sizeof *texts * (size_t)(n + 1));
    if (!texts)
        SR_FAIL(SR_ERR_MEMORY, "out of memory");
    for (int i = 0; i < n; i++)
        texts[i] = overrides->items[i]->text;
    return sr_config_compose(golden_recipe(c, sr_tree_text(entry, "config", "")), texts, n,
                             c->arena, tree);
}

static SrStatus run_entry(SrGoldenCase *c, const char *name, const SrYaml *entry) {
    SrYaml *tree = NULL;
    SR_TRY(compose(c, entry, &tree));
    const SrYaml *overrides = sr_yaml_find(entry, "overrides"),
                 *reference = sr_yaml_find(entry, "resolved_lr");
    SrYaml *lr = sr_yaml_find_path(tree, "OPTIMIZER.param_schedulers.lr");
    if (!lr || !reference)
        SR_FAIL(SR_ERR_RUN, "%s: no learning-rate tree", name);
    int nodes = overridden(overrides, "NUM_NODES"),
        procs = overridden(overrides, "NUM_PROC_PER_NODE");
    int batch = (int)sr_tree_int(tree, "DATA.TRAIN.BATCHSIZE_PER_REPLICA", 256);
    SR_TRY(sr_schedule_auto_scale(lr, name, batch * nodes * procs, batch * procs, nodes, c->arena));
    SR_TRY(compare_trees(c, name, lr, reference));

    const SrTensor *t = golden_tensor(c, name);
    int epochs = (int)sr_tree_int(entry, "num_epochs", 1);
    if (!t)
        return SR_OK;
    SrSchedule *schedule = NULL;
    SR_TRY(sr_schedule_new(lr, name, epochs, c->arena, &schedule));
    int64_t n = sr_shape_count(t->shape);
    double *ours = sr_arena_alloc(c->arena, sizeof(double) * (size_t)(n + 1));
    if (!ours)
        SR_FAIL(SR_ERR_MEMORY, "out of memory");
    for (int64_t i = 0; i < n; i++)
        ours[i] = sr_schedule_value(schedule, (double)i / (double)n);
    return golden_compare_f64(c, name, ours, n, tolerance);
}

static SrStatus run(SrGoldenCase *c) {
    for (int i = 0; i < c->values->n; i++)
        if (sr_yaml_find(c->values->items[i], "resolved_lr"))
            SR_TRY(run_entry(c, c->values->keys[i], c->values->items[i]));
    return SR_OK;
}

const SrGolden sr_golden_auto_lr_scaling = {.prefixes = {"auto_lr_scaling"}, .run = run};
