// Builds schedules from their trees: finds the kind, picks its keys from those of other kinds,
// checks them.  Each kind's formula is in a file of its own.
#include "trainer/schedules/schedule.h"

#include <string.h>

#include "base/compiler.h"
#include "base/plugin/plugin.h"
#include "gen/schedule.def"

SR_REGISTRY(SrScheduleKind, schedule, schedule_kind, "schedule")

struct SrSchedule {
    const SrScheduleKind *kind;
    void *params;
    void *prepared; // data that the kind's check stored; NULL: none
    int num_epochs;
    bool per_epoch;
};

// Composites may be nested.  The limit keeps a malicious file from overflowing the stack.
enum { MAX_DEPTH = 8 };

// Keys that any tree may have in addition to those of its kind.  VISSL's trainer writes num_epochs.
static const char *const common_keys[] = {"name", "update_interval", "auto_lr_scaling",
                                          "num_epochs"};

static bool is_common(const char *key) {
    for (int i = 0; i < SR_COUNT(common_keys); i++)
        if (strcmp(common_keys[i], key) == 0)
            return true;
    return false;
}

// Tells whether any kind has the key: VISSL's default tree has the keys of all kinds.
static bool is_known(const char *key) {
    for (int i = 0; schedule_kind_registry[i]; i++)
        if (sr_options_find(schedule_kind_registry[i]->options, key))
            return true;
    return is_common(key);
}

// Copies the keys of this kind to a map of their own, and checks that the required ones are there.
static SrStatus own_keys(const SrScheduleKind *kind, const SrScheduleBuild *build, SrYaml **out) {
    const SrYaml *tree = build->tree;
    *out = sr_yaml_new(build->arena, SR_YAML_MAP, tree->file, tree->line);
    if (!*out)
        SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", build->where);
    for (int i = 0; i < tree->n; i++) {
        // An unknown key goes in as well, so that the option table reports it with its line and the
        // closest name.
        if (sr_options_find(kind->options, tree->keys[i]) || !is_known(tree->keys[i]))
            SR_TRY(sr_yaml_put(build->arena, *out, tree->keys[i], tree->items[i]));
    }
    for (int i = 0; i < SR_COUNT(kind->required) && kind->required[i]; i++)
        if (!sr_yaml_find(*out, kind->required[i]))
            SR_FAIL(SR_ERR_CONFIG, "%s: %s: schedule '%s' needs the key %s",
                    sr_yaml_place(tree).text, build->where, kind->name, kind->required[i]);
    return SR_OK;
}

// Reads update_interval: the value is read before each step, or once at the start of an epoch.
static SrStatus read_interval(const SrScheduleBuild *build, bool *per_epoch) {
    const SrYaml *node = sr_yaml_find(build->tree, "update_interval");
    if (!node || node->type == SR_YAML_NULL)
        return SR_OK;
    bool epoch = node->type == SR_YAML_STRING && strcmp(node->text, "epoch") == 0;
    bool step = node->type == SR_YAML_STRING && strcmp(node->text, "step") == 0;
    if (!epoch && !step)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s.update_interval must be epoch or step",
                sr_yaml_place(node).text, build->where);
    *per_epoch = epoch;
    return SR_OK;
}

SrStatus sr_schedule_build(const SrScheduleBuild *build, SrSchedule **out) {
    const SrYaml *tree = build->tree;
    if (!tree || tree->type != SR_YAML_MAP)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s must be a map with a key `name`", sr_yaml_place(tree).text,
                build->where);
    if (build->depth > MAX_DEPTH)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s: schedules nest deeper than %d", sr_yaml_place(tree).text,
                build->where, MAX_DEPTH);
    const SrYaml *name = sr_yaml_find(tree, "name");
    if (!name || name->type != SR_YAML_STRING)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s.name must name a schedule", sr_yaml_place(tree).text,
                build->where);

    const SrScheduleKind *kind = NULL;
    SrStatus found = sr_schedule_kind_find(name->text, &kind);
    if (found != SR_OK)
        return sr_fail_prefix(found, "%s: %s.name", sr_yaml_place(name).text, build->where);

    SrSchedule *schedule = sr_arena_alloc(build->arena, sizeof *schedule);
    void *params = sr_arena_alloc(build->arena, kind->params_bytes);
    if (!schedule || !params)
        SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", build->where);
    *schedule = (SrSchedule){kind, params, NULL, build->num_epochs, kind->per_epoch};

    SrYaml *own = NULL;
    SR_TRY(own_keys(kind, build, &own));
    SR_TRY(sr_options_parse(kind->options, own, build->where, build->arena, params));
    SR_TRY(read_interval(build, &schedule->per_epoch));
    if (kind->check)
        SR_TRY(kind->check(params, build, &schedule->prepared));
    *out = schedule;
    return SR_OK;
}

SrStatus sr_schedule_new(const SrYaml *tree, const char *where, int num_epochs, SrArena *arena,
                         SrSchedule **out) {
    SrScheduleBuild build = {
        .tree = tree, .where = where, .num_epochs = num_epochs, .arena = arena};
    return sr_schedule_build(&build, out);
}

double sr_schedule_value(const SrSchedule *schedule, double where) {
    SR_ASSERT(where >= 0 && where <= 1);
    return schedule->kind->value(schedule->params, schedule->prepared, schedule->num_epochs, where);
}

bool sr_schedule_per_epoch(const SrSchedule *schedule) { return schedule->per_epoch; }
