// composite: several schedules one after another, each for a share of the training (fvcore
// CompositeParamScheduler).  A `rescaled` part sees its own share as [0, 1).  A `fixed` part sees
// `where` of the whole training: a fixed cosine after a 10 % warm-up starts at cos(0.1 pi), below
// its peak.
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "trainer/schedules/schedule.h"

typedef struct {
    const SrYaml *schedulers;
    SrDoubles lengths;
    SrStrings scaling;
} Composite;

typedef struct {
    int n;
    SrSchedule **parts;
    double *lengths; // (n) shares of the training, with sum 1
    bool *rescaled;  // (n) true: rescaled; false: fixed
} Prepared;

static const SrOption options[] = {
    {"schedulers", SR_OPT_TREE, offsetof(Composite, schedulers), "[]",
     .help = "The schedules, in order."},
    {"lengths", SR_OPT_FLOATS, offsetof(Composite, lengths), "[]", 0, 1,
     .help = "Share of the training that each schedule lasts; the sum is 1."},
    {"interval_scaling", SR_OPT_STRINGS, offsetof(Composite, scaling), "[]",
     .help = "rescaled or fixed, one for each schedule."},
    SR_OPTION_END,
};

// Without the key, all parts are rescaled.  VISSL's default tree has an empty list, so the key is
// there with 0 entries if a configuration does not set it.
static bool has_no_scaling(const SrScheduleBuild *build) {
    return !sr_yaml_find(build->tree, "interval_scaling");
}

static SrStatus check_counts(const Composite *p, const SrScheduleBuild *build) {
    const SrYaml *list = p->schedulers;
    const SrYaml *at = list && list->line ? list : build->tree;
    int n = list && list->type == SR_YAML_LIST ? list->n : 0;
    if (n == 0)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s.schedulers must be a list of schedules",
                sr_yaml_place(at).text, build->where);
    if (p->lengths.n != n || (p->scaling.n != n && !has_no_scaling(build)))
        SR_FAIL(SR_ERR_CONFIG,
                "%s: %s: %d schedulers need equal numbers of lengths and interval_scaling entries, "
                "but there are %d and %d",
                sr_yaml_place(at).text, build->where, n, p->lengths.n, p->scaling.n);
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += p->lengths.v[i];
    if (!(fabs(sum - 1) < 1e-3))
        SR_FAIL(SR_ERR_CONFIG, "%s: %s.lengths must add up to 1, but they add up to %g",
                sr_yaml_place(at).text, build->where, sum);
    return SR_OK;
}

// Builds part i, a whole schedule with a path of its own for its messages.
static SrStatus prepare_part(const Composite *p, const SrScheduleBuild *build, Prepared *out,
                             int i) {
    const char *scaling = has_no_scaling(build) ? "rescaled" : p->scaling.v[i];
    out->rescaled[i] = strcmp(scaling, "rescaled") == 0;
    if (!out->rescaled[i] && strcmp(scaling, "fixed") != 0)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s.interval_scaling: '%s' is neither rescaled nor fixed",
                sr_yaml_place(build->tree).text, build->where, scaling);
    out->lengths[i] = p->lengths.v[i];
    SrScheduleBuild part = *build;
    part.tree = p->schedulers->items[i];
    part.depth++;
    part.where = sr_arena_printf(build->arena, "%s.schedulers.%d", build->where, i);
    return part.where ? sr_schedule_build(&part, &out->parts[i]) : sr_out_of_memory("a schedule");
}

// Rounded lengths such as 0.0556 and 0.9444 are common, so the last part lasts to the end.
static SrStatus check(const void *params, const SrScheduleBuild *build, void **prepared) {
    const Composite *p = params;
    SR_TRY(check_counts(p, build));
    int n = p->schedulers->n;
    Prepared *out = sr_arena_alloc(build->arena, sizeof *out);
    SR_TRY_MEMORY(out, "a schedule");
    out->n = n;
    out->parts = sr_arena_alloc(build->arena, sizeof(SrSchedule *) * (size_t)n);
    out->lengths = sr_arena_alloc(build->arena, sizeof(double) * (size_t)n);
    out->rescaled = sr_arena_alloc(build->arena, sizeof(bool) * (size_t)n);
    SR_TRY_MEMORY(out->parts && out->lengths && out->rescaled, "a schedule");
    double before_last = 0;
    for (int i = 0; i < n; i++) {
        SR_TRY(prepare_part(p, build, out, i));
        before_last += i < n - 1 ? out->lengths[i] : 0;
    }
    out->lengths[n - 1] = 1 - before_last;
    *prepared = out;
    return SR_OK;
}

static double value(const void *params, const void *prepared, int num_epochs, double where) {
    (void)params, (void)num_epochs;
    const Prepared *p = prepared;
    int i = 0;
    double end = p->lengths[0];
    // Finds the first part that has not ended; epsilon moves a boundary to the next part.
    while (where + SR_WHERE_EPSILON > end && i < p->n - 1)
        end += p->lengths[++i];
    if (p->rescaled[i])
        where = p->lengths[i] > 0 ? (where - (end - p->lengths[i])) / p->lengths[i] : 0;
    return sr_schedule_value(p->parts[i], where);
}

const SrScheduleKind sr_schedule_composite = {
    .name = "composite",
    .help = "Several schedules one after another.",
    .options = options,
    .params_bytes = sizeof(Composite),
    .required = {"schedulers", "lengths"},
    .check = check,
    .value = value,
    .examples = {"{schedulers: [{name: linear, start_value: 0.1, end_value: 1}, {name: cosine, "
                 "start_value: 1, end_value: 0}], lengths: [0.1, 0.9], interval_scaling: "
                 "[rescaled, fixed]}"},
};
