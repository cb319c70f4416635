// Reads DATA.STAGES where it stands in the tree, which holds few entries.
#include "trainer/config/stages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

static const char below[] = "DATA.TRAIN.TRANSFORMS";

// Returns the number of written stages; the last stage of a run is not written.
static int written(const SrConfig *config) {
    return config->stages && config->stages->type == SR_YAML_LIST ? config->stages->n : 0;
}

// Reads `until` of an entry; 0: there is no number.
static double until(const SrYaml *entry) {
    const SrYaml *n = entry->type == SR_YAML_MAP ? sr_yaml_find(entry, "until") : NULL;
    return n && (n->type == SR_YAML_FLOAT || n->type == SR_YAML_INT) ? n->f : 0;
}

int sr_stages_count(const SrConfig *config) { return written(config) + 1; }

int sr_stage_end(const SrConfig *config, int k) {
    int epochs = config->optimizer.num_epochs;
    return k < written(config) ? (int)lround(until(config->stages->items[k]) * epochs) : epochs;
}

int sr_stage_begin(const SrConfig *config, int k) {
    return k > 0 ? sr_stage_end(config, k - 1) : 0;
}

const SrYaml *sr_stage_set(const SrConfig *config, int k) {
    return k < written(config) ? sr_yaml_find(config->stages->items[k], "set") : NULL;
}

void sr_stage_text(const SrConfig *config, int k, SrText *out) {
    const SrYaml *set = sr_stage_set(config, k);
    sr_text_printf(out, "stage %d of %d, up to epoch %d: %s", k + 1, sr_stages_count(config),
                   sr_stage_end(config, k) - 1, set ? "" : "DATA.TRAIN.TRANSFORMS as configured");
    for (int i = 0; set && i < set->n; i++)
        sr_text_printf(out, "%s%s", i > 0 ? ", " : "", set->items[i]->text);
}

// Warns if the command line has set what an override of stage k sets.
static void warn_override(const SrConfig *config, int k, const char *override) {
    const char *begin = override + strspn(override, "+~");
    char path[512];
    snprintf(path, sizeof path, "%.*s", (int)strcspn(begin, "="), begin);
    if (sr_yaml_from_command_line(sr_yaml_find_path(config->tree, path)))
        sr_warn("DATA.STAGES sets %s up to epoch %d, and the command line's value holds after it; "
                "with DATA.STAGES=[] it holds from the first epoch on",
                override, sr_stage_end(config, k) - 1);
}

void sr_stages_warn(const SrConfig *config) {
    for (int k = 0; k < written(config); k++) {
        const SrYaml *set = sr_stage_set(config, k);
        bool holds = sr_stage_end(config, k) > sr_stage_begin(config, k);
        for (int i = 0; i < set->n && holds && !sr_yaml_from_command_line(set); i++)
            warn_override(config, k, set->items[i]->text);
    }
}

// Checks that an override stays below the transforms, so that all stages train one model.
static SrStatus check_override(const SrYaml *text) {
    bool ok = text->type == SR_YAML_STRING &&
              strncmp(text->text + strspn(text->text, "+~"), below, sizeof below - 1) == 0;
    if (ok)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "%s: DATA.STAGES: expected `set` to be a list of overrides of %s, such as "
            "\"%s.0.size=24\"",
            sr_yaml_place(text).text, below, below);
}

static SrStatus check_entry(const SrYaml *entry, double after) {
    const SrYaml *set = entry->type == SR_YAML_MAP ? sr_yaml_find(entry, "set") : NULL;
    if (!set || set->type != SR_YAML_LIST || set->n == 0 || entry->n != 2 ||
        !(until(entry) > after && until(entry) < 1))
        SR_FAIL(SR_ERR_CONFIG,
                "%s: DATA.STAGES: expected {until: SHARE, set: [OVERRIDE, ...]}, where the share "
                "of the epochs is above %g and below 1",
                sr_yaml_place(entry).text, after);
    for (int i = 0; i < set->n; i++)
        SR_TRY(check_override(set->items[i]));
    return SR_OK;
}

SrStatus sr__stages_check(const SrConfig *config) {
    const SrYaml *list = config->stages;
    if (list && list->type != SR_YAML_LIST && list->type != SR_YAML_NULL)
        SR_FAIL(SR_ERR_CONFIG, "%s: DATA.STAGES must be a list of {until: SHARE, set: [OVERRIDE]}",
                sr_yaml_place(list).text);
    for (int k = 0; k < written(config); k++)
        SR_TRY(check_entry(list->items[k], k > 0 ? until(list->items[k - 1]) : 0));
    if (written(config) > 0 && config->distillation.cached_views > 0)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: DATA.STAGES changes the views, and DISTILLATION.CACHED_VIEWS keeps those of "
                "the first epochs: use one of them",
                sr_yaml_place(list).text);
    return SR_OK;
}
