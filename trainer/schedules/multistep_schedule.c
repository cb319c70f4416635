// multistep: a new value at each of some epochs (fvcore MultiStepParamScheduler).
//   values[number of milestones <= floor((where + 1e-6) * num_epochs)]
// Without milestones, the epochs are split evenly: ceil(num_epochs / n) for each of n values.
// Milestones are epochs, whatever update_interval says.
#include "base/text/text.h"
#include "base/text/yaml_print.h"
#include "trainer/schedules/schedule.h"

typedef struct {
    SrDoubles values;  // n + 1
    SrInts milestones; // n epochs
} Multistep;

static const SrOption options[] = {
    {"values", SR_OPT_FLOATS, offsetof(Multistep, values), "[0.1, 0.01, 0.001]", 0, SR_SCHEDULE_MAX,
     .help = "Values of the schedule, one more than milestones."},
    {"milestones", SR_OPT_INTS, offsetof(Multistep, milestones), "[30, 60]", 0, 1e9,
     .help = "Epochs (from 0) at which the next value begins, in rising order; without this key, "
             "evenly spaced."},
    SR_OPTION_END,
};

// Lowering OPTIMIZER.num_epochs alone is the most common way to break a recipe, so the message
// contains overrides to paste.  They keep the values of the milestones that are still reached.
// i: index of the first milestone that is not reached.
static SrStatus cut_short(const Multistep *p, const SrScheduleBuild *build, const SrYaml *at,
                          int i) {
    SrText keep = SR_TEXT_INIT;
    const SrYaml *values = sr_yaml_find(build->tree, "values");
    sr_text_printf(&keep, "%s.milestones=[", build->where);
    for (int k = 0; k < i; k++)
        sr_text_printf(&keep, "%s%d", k ? "," : "", p->milestones.v[k]);
    sr_text_printf(&keep, "] %s.values=[", build->where);
    for (int k = 0; values && k <= i && k < values->n; k++) {
        sr_text_add(&keep, k ? "," : "");
        sr_yaml_print_flow(values->items[k], &keep);
    }
    SrStatus status = sr_fail(SR_ERR_CONFIG,
                              "%s: %s.milestones: epoch %d is not below OPTIMIZER.num_epochs=%d; "
                              "raise num_epochs, or add %s]",
                              sr_yaml_place(at).text, build->where, p->milestones.v[i],
                              build->num_epochs, keep.s ? keep.s : "");
    sr_text_deinit(&keep);
    return status;
}

static SrStatus check_milestones(const Multistep *p, const SrScheduleBuild *build) {
    const SrYaml *at = sr_yaml_find(build->tree, "milestones");
    at = at ? at : build->tree;
    if (p->values.n == 0 || p->values.n != p->milestones.n + 1)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s: %d values need %d milestones, but there are %d",
                sr_yaml_place(at).text, build->where, p->values.n,
                p->values.n > 0 ? p->values.n - 1 : 0, p->milestones.n);
    for (int i = 0; i < p->milestones.n; i++) {
        if (i > 0 && p->milestones.v[i] <= p->milestones.v[i - 1])
            SR_FAIL(SR_ERR_CONFIG, "%s: %s.milestones must be in rising order, but %d follows %d",
                    sr_yaml_place(at).text, build->where, p->milestones.v[i],
                    p->milestones.v[i - 1]);
        if (p->milestones.v[i] >= build->num_epochs)
            return cut_short(p, build, at, i);
    }
    return SR_OK;
}

// The last milestones may be after the end of the training, as in fvcore, which does not check
// them. Their values are then never reached.
static SrStatus split_evenly(const SrScheduleBuild *build, Multistep *p) {
    int n = p->values.n, *milestones = sr_arena_alloc(build->arena, (size_t)n * sizeof(int));
    SR_TRY_MEMORY(milestones, "a schedule");
    for (int i = 0; i < n - 1; i++)
        milestones[i] = (build->num_epochs + n - 1) / n * (i + 1);
    p->milestones = (SrInts){n - 1, milestones};
    return SR_OK;
}

static SrStatus check(const void *params, const SrScheduleBuild *build, void **prepared) {
    Multistep *p = sr_arena_copy(build->arena, params, sizeof *p);
    SR_TRY_MEMORY(p, "a schedule");
    *prepared = p;
    if (!sr_yaml_find(build->tree, "milestones") && p->values.n > 0)
        return split_evenly(build, p);
    return check_milestones(p, build);
}

static double value(const void *params, const void *prepared, int num_epochs, double where) {
    (void)params;
    const Multistep *p = prepared;
    int epoch = (int)((where + SR_WHERE_EPSILON) * num_epochs);
    int i = 0;
    while (i < p->milestones.n && p->milestones.v[i] <= epoch)
        i++;
    return p->values.v[i];
}

const SrScheduleKind sr_schedule_multistep = {
    .name = "multistep",
    .help = "A new value at each milestone epoch.",
    .options = options,
    .params_bytes = sizeof(Multistep),
    .required = {"values"},
    .per_epoch = true,
    .check = check,
    .value = value,
    .examples = {"{values: [1, 0.1, 0.01], milestones: [3, 7]}"},
};
