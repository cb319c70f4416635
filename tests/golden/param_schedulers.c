// Runs golden cases param_schedulers: every schedule on a regular and an irregular grid, in
// double precision.
#include <stdio.h>
#include <string.h>

#include "tests/golden/golden.h"
#include "trainer/schedules/schedule.h"

// fvcore computes the formulas in the same order, so that only the last bit of cos and pow may
// differ.
static const double tolerance = 1e-12;

static SrStatus compare_on(SrGoldenCase *c, const SrSchedule *schedule, const char *grid_name,
                           const char *name) {
    const SrTensor *grid = golden_tensor(c, grid_name);
    if (!grid || grid->dtype != SR_F64 || !golden_tensor(c, name))
        SR_FAIL(SR_ERR_RUN, "no float64 tensors %s and %s", grid_name, name);
    int64_t n = sr_shape_count(grid->shape);
    double *ours = sr_arena_alloc(c->arena, sizeof(double) * (size_t)(n + 1));
    if (!ours)
        SR_FAIL(SR_ERR_MEMORY, "out of memory");
    for (int64_t i = 0; i < n; i++)
        ours[i] = sr_schedule_value(schedule, ((const double *)grid->data)[i]);
    return golden_compare_f64(c, name, ours, n, tolerance);
}

static SrStatus check_interval(const SrSchedule *schedule, const SrYaml *entry, const char *name) {
    // The text is such as "UpdateInterval.EPOCH".
    const SrYaml *interval = sr_yaml_find(entry, "update_interval");
    if (!interval || !interval->text ||
        (strstr(interval->text, "EPOCH") != NULL) == sr_schedule_per_epoch(schedule))
        return SR_OK;
    SR_FAIL(SR_ERR_RUN, "%s: the update interval should be %s", name, interval->text);
}

// Returns the epochs of the tree, or of the first part that has them: a composite schedule passes
// its own on.
static int epochs_of(const SrYaml *tree) {
    const SrYaml *epochs = sr_yaml_find(tree, "num_epochs"),
                 *parts = sr_yaml_find(tree, "schedulers");
    if (epochs && epochs->type == SR_YAML_INT)
        return (int)epochs->i;
    for (int i = 0; parts && i < parts->n; i++)
        if (epochs_of(parts->items[i]) > 1)
            return epochs_of(parts->items[i]);
    return 1;
}

static SrStatus run(SrGoldenCase *c) {
    for (int i = 0; i < c->values->n; i++) {
        const char *name = c->values->keys[i];
        const SrYaml *tree = sr_yaml_find(c->values->items[i], "config");
        if (!tree)
            continue;
        SrSchedule *schedule = NULL;
        char irregular[256];
        snprintf(irregular, sizeof irregular, "%s.irr", name);
        SR_TRY(sr_schedule_new(tree, name, epochs_of(tree), c->arena, &schedule));
        SR_TRY(check_interval(schedule, c->values->items[i], name));
        SR_TRY(compare_on(c, schedule, "where", name));
        if (golden_tensor(c, irregular))
            SR_TRY(compare_on(c, schedule, "where_irr", irregular));
    }
    return SR_OK;
}

const SrGolden sr_golden_param_schedulers = {.prefixes = {"param_schedulers"}, .run = run};
