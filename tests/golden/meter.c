// Runs golden cases meter_*: recorded outputs and targets of a few updates through the meter of
// that name, and its value.
#include <stdio.h>
#include <string.h>

#include "measure/meter.h"
#include "tests/golden/golden.h"

typedef struct {
    SrGoldenCase *c;
    const SrMeter *kind;
    void *state;
    bool list; // outputs are named out<update>_<output>
    int64_t rows;
} MeterRun;

static const SrTensor *scores_of(const MeterRun *r, int update, int output) {
    char name[32];
    if (r->list)
        snprintf(name, sizeof name, "out%d_%d", update, output);
    else
        snprintf(name, sizeof name, "out%d", update);
    return golden_tensor(r->c, name);
}

static SrStatus feed(MeterRun *r, int output) {
    for (int update = 0;; update++) {
        char name[32];
        snprintf(name, sizeof name, "target%d", update);
        const SrTensor *x = scores_of(r, update, output), *y = golden_tensor(r->c, name);
        if (!x || !y)
            return update > 0 ? SR_OK : sr_fail(SR_ERR_RUN, "the case has no updates");
        SrMeterRows rows = {x->shape.d[0], x->shape.d[1], x->data, y->data, y->shape.rank == 2};
        r->kind->update(r->state, &rows);
    }
}

// Returns what `map` holds for an output; outputs of one name share a list.
static const SrYaml *value_of(const MeterRun *r, const SrYaml *map, int output) {
    const SrYaml *names = sr_yaml_find(r->c->config, "meter_names");
    if (!map || !names || output >= names->n)
        return map && map->n > output ? map->items[output] : NULL;
    const SrYaml *found = sr_yaml_find(map, names->items[output]->text);
    int nth = 0;
    for (int i = 0; i < output; i++)
        nth += strcmp(names->items[i]->text, names->items[output]->text) == 0;
    if (found && found->type == SR_YAML_LIST)
        return nth < found->n ? found->items[nth] : NULL;
    return found;
}

static SrStatus compare_output(MeterRun *r, const SrYaml *value, int output) {
    SrMeterValue ours[SR_METER_MAX_VALUES];
    int n = r->kind->values(r->state, ours);
    const SrYaml *mean = sr_yaml_find(r->c->values, "mAP");
    if (mean) // the single meter gives a share, the list meter per cent with four decimals
        return golden_number(r->c, "mAP", ours[0].value, 100 * mean->f, 1e-5);
    for (int i = 0; i < n; i++) {
        const SrYaml *theirs = value_of(r, sr_yaml_find(value, ours[i].key), output);
        if (!theirs)
            SR_FAIL(SR_ERR_RUN, "the case has no value %s of output %d", ours[i].key, output);
        // VISSL sums the mean over classes in float32, so the last digit depends on the order.
        bool mean_ap = strcmp(ours[i].key, "mAP") == 0;
        SR_TRY(golden_number(r->c, ours[i].key, ours[i].value, theirs->f, mean_ap ? 1e-5 : 1e-9));
    }
    return SR_OK;
}

// Finds the meter by the name of the case: "accuracy" and "accuracy_2" are accuracy_list_meter.
static SrStatus find_kind(const char *name, const SrMeter **out) {
    for (int i = 0; sr_meter_at(i); i++) {
        const char *known = sr_meter_at(i)->name, *end = strstr(known, "_list_meter");
        *out = sr_meter_at(i);
        if (end && strncmp(name, known, (size_t)(end - known)) == 0)
            return SR_OK;
    }
    SR_FAIL(SR_ERR_RUN, "no meter is called %s", name);
}

static SrStatus run(SrGoldenCase *c) {
    MeterRun r = {.c = c, .list = golden_tensor(c, "out0_0") != NULL};
    const SrYaml *value = sr_yaml_find(c->values, "value");
    SR_TRY(find_kind(c->name + strlen("meter_"), &r.kind));
    void *params = sr_arena_alloc(c->arena, r.kind->params_bytes);
    if (!params)
        SR_FAIL(SR_ERR_MEMORY, "out of memory");
    SR_TRY(sr_options_parse(r.kind->options, c->config, r.kind->subtree, c->arena, params));
    for (int output = 0; output == 0 || (r.list && scores_of(&r, 0, output)); output++) {
        const SrTensor *x = scores_of(&r, 0, output);
        if (!x)
            SR_FAIL(SR_ERR_RUN, "the case has no outputs");
        SR_TRY(r.kind->open(params, x->shape.d[1], 100000, &r.state));
        SrStatus status = feed(&r, output);
        if (status == SR_OK)
            status = compare_output(&r, value, output);
        r.kind->close(r.state);
        SR_TRY(status);
    }
    return SR_OK;
}

const SrGolden sr_golden_meter = {
    .prefixes = {"meter_"},
    .run = run,
};
