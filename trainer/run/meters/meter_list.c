// Makes the meters of METERS.names, hands them rows, and writes their values as VISSL's lines and
// JSON.
#include "trainer/run/meters/meter_list.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text/number.h"

typedef struct {
    const SrMeter *kind;
    const SrMeterOutputs *params;
    void **state; // (outputs)
} Entry;

struct SrMeterList {
    SrArena arena;
    int n, outputs;
    Entry *entries; // (n)
};

static SrStatus open_entry(SrMeterList *list, const SrConfig *config, const char *name,
                           const int *classes, int64_t rows, Entry *e) {
    char at[128];
    SR_TRY(sr_meter_find(name, &e->kind));
    void *params = sr_arena_alloc(&list->arena, e->kind->params_bytes + 1);
    e->state = sr_arena_alloc(&list->arena, (size_t)list->outputs * sizeof *e->state);
    SR_TRY_MEMORY(params && e->state, "the meters");
    memset(e->state, 0, (size_t)list->outputs * sizeof *e->state);
    snprintf(at, sizeof at, "METERS.%s", name);
    SR_TRY(sr_options_parse(e->kind->options, sr_yaml_find_path(config->tree, at), at, &list->arena,
                            params));
    e->params = params;
    if (e->params->num_meters != list->outputs)
        SR_FAIL(SR_ERR_CONFIG, "%s.num_meters is %d, but the model has %d outputs", at,
                e->params->num_meters, list->outputs);
    for (int i = 0; i < list->outputs; i++)
        SR_TRY(e->kind->open(params, classes[i], rows, &e->state[i]));
    return SR_OK;
}

SrStatus sr_meter_list_new(const SrConfig *config, int n_outputs, const int *classes, int64_t rows,
                           SrMeterList **out) {
    const SrStrings *names = &config->meters.names;
    SrMeterList *list = sr_calloc(1, sizeof *list);
    SR_TRY_MEMORY(list, "the meters");
    list->outputs = n_outputs;
    list->entries = sr_arena_alloc(&list->arena, (size_t)(names->n + 1) * sizeof *list->entries);
    SrStatus status = list->entries ? SR_OK : sr_out_of_memory("the meters");
    for (int i = 0; i < names->n && status == SR_OK; i++) {
        list->entries[list->n] = (Entry){0};
        status = open_entry(list, config, names->v[i], classes, rows, &list->entries[list->n++]);
    }
    if (status == SR_OK)
        *out = list;
    else
        sr_meter_list_free(list);
    return status;
}

void sr_meter_list_free(SrMeterList *list) {
    if (!list)
        return;
    for (int i = 0; i < list->n; i++)
        for (int k = 0; list->entries[i].state && k < list->outputs; k++)
            list->entries[i].kind->close(list->entries[i].state[k]);
    sr_arena_deinit(&list->arena);
    sr_free(list);
}

int sr_meter_list_count(const SrMeterList *list) { return list->n; }

void sr_meter_list_reset(SrMeterList *list) {
    for (int i = 0; i < list->n; i++)
        for (int k = 0; k < list->outputs; k++)
            list->entries[i].kind->reset(list->entries[i].state[k]);
}

void sr_meter_list_update(SrMeterList *list, int output, const SrMeterRows *rows) {
    for (int i = 0; i < list->n; i++)
        list->entries[i].kind->update(list->entries[i].state[output], rows);
}

const char *sr_meter_list_output(const SrMeterList *list, int output, char buf[16]) {
    const SrStrings *names = list->n > 0 ? &list->entries[0].params->meter_names : NULL;
    snprintf(buf, 16, "%d", output);
    return names && names->n > output ? names->v[output] : buf;
}

int sr_meter_list_values(SrMeterList *list, int i, int output,
                         SrMeterValue out[SR_METER_MAX_VALUES]) {
    return list->entries[i].kind->values(list->entries[i].state[output], out);
}

bool sr_meter_list_best(SrMeterList *list, double *value) {
    SrMeterValue v[SR_METER_MAX_VALUES];
    for (int k = 0; list->n > 0 && k < list->outputs; k++)
        if (sr_meter_list_values(list, 0, k, v) > 0 && (k == 0 || v[0].value > *value))
            *value = v[0].value;
    return list->n > 0;
}

// ---- words

// True if an output before k has the same name: its value then is in that output's list.
static bool repeats(const SrMeterList *list, int k) {
    char a[16], b[16];
    for (int j = 0; j < k; j++)
        if (strcmp(sr_meter_list_output(list, j, a), sr_meter_list_output(list, k, b)) == 0)
            return true;
    return false;
}

// Writes the outputs of one name: a number, or a list if several have it.
static void add_output(SrMeterList *list, int i, int v, int first, SrText *out) {
    SrMeterValue values[SR_METER_MAX_VALUES];
    char a[16], b[16], number[SR_TEXT_NUMBER_BYTES];
    const char *name = sr_meter_list_output(list, first, a);
    int n = 0;
    for (int k = first; k < list->outputs; k++)
        n += strcmp(name, sr_meter_list_output(list, k, b)) == 0;
    sr_text_add(out, n > 1 ? "[" : "");
    for (int k = first, said = 0; k < list->outputs; k++) {
        if (strcmp(name, sr_meter_list_output(list, k, b)) != 0)
            continue;
        sr_meter_list_values(list, i, k, values);
        sr_number_print(number, sizeof number, "%.4f", values[v].value);
        for (size_t len = strlen(number); number[len - 1] == '0' && number[len - 2] != '.'; len--)
            number[len - 1] = '\0';
        sr_text_printf(out, "%s%s", said++ ? ", " : "", number);
    }
    sr_text_add(out, n > 1 ? "]" : "");
}

// Writes {<q>top_1<q>: {<q>res5<q>: 71.4}}.  Python and JSON differ only in the quote <q>.
static void add_values(SrMeterList *list, int i, char quote, SrText *out) {
    SrMeterValue values[SR_METER_MAX_VALUES];
    char buf[16];
    int n = sr_meter_list_values(list, i, 0, values);
    for (int v = 0; v < n; v++) {
        sr_text_printf(out, "%s%c%s%c: {", v ? ", " : "{", quote, values[v].key, quote);
        for (int k = 0; k < list->outputs; k++) {
            if (repeats(list, k))
                continue;
            sr_text_printf(out, "%s%c%s%c: ", k ? ", " : "", quote,
                           sr_meter_list_output(list, k, buf), quote);
            add_output(list, i, v, k, out);
        }
        sr_text_add(out, "}");
    }
    sr_text_add(out, "}");
}

void sr_meter_list_say(SrMeterList *list, const char *phase) {
    for (int i = 0; i < list->n; i++) {
        SrText text = SR_TEXT_INIT;
        add_values(list, i, '\'', &text);
        sr_info("name: %s_%s, value: %s", phase, list->entries[i].kind->name, text.s ? text.s : "");
        sr_text_deinit(&text);
    }
}

void sr_meter_list_json(SrMeterList *list, const char *phase, SrText *out) {
    for (int i = 0; i < list->n; i++) {
        sr_text_printf(out, ", \"%s_%s\": ", phase, list->entries[i].kind->name);
        add_values(list, i, '"', out);
    }
}
