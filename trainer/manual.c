// Listing and describing: walks over the registries and the schema.
#include "trainer/manual.h"

#include <string.h>

#include "base/mem.h"
#include "base/plugin.h"
#include "data/data.h"
#include "heads/head.h"
#include "kernels/op.h"
#include "losses/loss.h"
#include "trainer/optim.h"
#include "trainer/schedule.h"
#include "trainer/schema.h"
#include "trainer/vissl_names.h"
#include "trunks/trunk.h"

// ---- registries as one table
// ----------------------------------------------------------------------

typedef struct {
    const char *name, *help;
    const char *where; // the map its options stand in, NULL if they have no fixed place
    const SrOption *options;
} Entry;

// Entry i of one registry; false past its end.
#define ENTRIES(noun, Type, place, table)                   \
    static bool noun##_entry(int i, Entry *out) {           \
        const Type *p = sr_##noun##_at(i);                  \
        if (p)                                              \
            *out = (Entry){p->name, p->help, place, table}; \
        return p != NULL;                                   \
    }
ENTRIES(trunk, SrTrunk, p->subtree, p->options)
ENTRIES(head, SrHead, NULL, p->options)
ENTRIES(loss, SrLoss, p->subtree, p->options)
ENTRIES(dataset, SrDataset, NULL, NULL)
ENTRIES(transform, SrTransform, NULL, p->options)
ENTRIES(collator, SrCollator, NULL, NULL)
ENTRIES(optimizer, SrOptimizer, NULL, NULL)
ENTRIES(schedule_kind, SrScheduleKind, NULL, p->options)
ENTRIES(op, SrOp, NULL, p->options)

static const struct {
    const char *kind, *title;
    bool (*at)(int i, Entry *out);
} kinds[] = {
    {"trunk", "trunks (MODEL.TRUNK.NAME)", trunk_entry},
    {"head", "heads (MODEL.HEAD.PARAMS)", head_entry},
    {"loss", "losses (LOSS.name)", loss_entry},
    {"source", "data sources (DATA.TRAIN.DATA_SOURCES)", dataset_entry},
    {"transform", "transforms (DATA.TRAIN.TRANSFORMS)", transform_entry},
    {"collator", "collators (DATA.TRAIN.COLLATE_FUNCTION)", collator_entry},
    {"optimizer", "optimizers (OPTIMIZER.name)", optimizer_entry},
    {"schedule", "schedules (OPTIMIZER.param_schedulers.lr.name)", schedule_kind_entry},
    {"op", "ops of the graph", op_entry},
};

// Registries are sorted by name at build time, so the list is stable.
SrStatus sr_manual_list(const char *kind, SrText *out) {
    const char *names[SR_COUNT(kinds)];
    bool found = false;
    for (int k = 0; k < SR_COUNT(kinds); k++) {
        Entry e;
        names[k] = kinds[k].kind;
        if (kind && strcmp(kind, kinds[k].kind) != 0)
            continue;
        found = true;
        sr_text_printf(out, "%s\n", kinds[k].title);
        for (int i = 0; kinds[k].at(i, &e); i++)
            sr_text_printf(out, "  %-34s %s\n", e.name, e.help ? e.help : "");
    }
    return found ? SR_OK : sr_plugin_unknown("kind", kind, names, SR_COUNT(kinds));
}

// ---- describing
// -----------------------------------------------------------------------------------

// One paragraph an option, worded by the option's own row.
static void describe_table(const SrOption *table, SrText *out) {
    for (const SrOption *o = table; o && o->name; o++) {
        sr_text_add(out, "  ");
        sr_option_describe(o, out);
        sr_text_add(out, out->len && out->s[out->len - 1] == '\n' ? "" : "\n");
    }
}

// Plugins of every kind with this name: a name may mean a transform and an op.
static bool describe_plugins(const char *name, SrText *out) {
    bool found = false;
    for (int k = 0; k < SR_COUNT(kinds); k++) {
        Entry e;
        for (int i = 0; kinds[k].at(i, &e); i++) {
            if (strcmp(name, e.name) != 0)
                continue;
            found = true;
            sr_text_printf(out, "%s %s: %s\n", kinds[k].kind, e.name, e.help ? e.help : "");
            if (e.where)
                sr_text_printf(out, "  options in %s\n", e.where);
            describe_table(e.options, out);
        }
    }
    return found;
}

// The row a dotted key names, or the whole section.  A key may be given whole
// (LOSS.swav_loss.epsilon) or as the section it stands in; dotted rows of a table
// (queue.start_iter) are keys like any other.
static bool describe_key(const SrSchemaEntry *entries, int n, const char *key, SrText *out) {
    bool found = false;
    for (int i = 0; i < n; i++) {
        const SrSection *s = &entries[i].section;
        size_t len = strlen(s->path);
        if (strcmp(key, s->path) == 0 && len > 0) {
            sr_text_printf(out, "%s\n", s->path);
            describe_table(s->table, out);
            found = true;
        }
        if (len > 0 && (strncmp(key, s->path, len) != 0 || key[len] != '.'))
            continue;
        const SrOption *o = sr_options_find(s->table, key + (len > 0 ? len + 1 : 0));
        if (!o || o->type == SR_OPT_TREE)
            continue;
        sr_text_printf(out, "%s%s", s->path, len > 0 ? "." : "");
        sr_option_describe(o, out);
        sr_text_add(out, out->s && out->s[out->len - 1] == '\n' ? "" : "\n");
        found = true;
    }
    return found;
}

// Every name that could have been meant: plugins, sections, and the keys of all sections.  Every
// name of every kind is a candidate for the suggestion.
static SrStatus unknown(const SrSchemaEntry *entries, int n, const char *name, SrArena *arena) {
    enum { MAX_NAMES = 4096 };
    const char **names = sr_arena_alloc(arena, MAX_NAMES * sizeof *names);
    int count = 0, near;
    Entry e;
    if (!names)
        return sr_fail(SR_ERR_MEMORY, "out of memory for the list of names");
    for (int k = 0; k < SR_COUNT(kinds); k++)
        for (int i = 0; count < MAX_NAMES && kinds[k].at(i, &e); i++)
            names[count++] = e.name;
    for (int i = 0; i < n; i++) {
        const SrSection *s = &entries[i].section;
        for (const SrOption *o = s->table; count < MAX_NAMES && o && o->name; o++) {
            const char *key =
                sr_arena_printf(arena, "%s%s%s", s->path, *s->path ? "." : "", o->name);
            if (key)
                names[count++] = key;
        }
    }
    for (int k = 0; k < SR_NAME_KINDS; k++)
        if (sr__is_vissl_name((SrNameKind)k, name))
            return sr_fail(SR_ERR_CONFIG, "VISSL's %s '%s' is not built yet (`sslrun list` shows what is)",
                           sr__name_kind((SrNameKind)k), name);
    near = sr_text_nearest(name, names, count);
    return sr_fail(SR_ERR_CONFIG, "nothing is called '%s'%s%s%s (`sslrun list` shows all plugins)",
                   name, near >= 0 ? "; did you mean '" : "", near >= 0 ? names[near] : "",
                   near >= 0 ? "'?" : "");
}

// VISSL's habit of writing config. before every key is accepted.
SrStatus sr_manual_describe(const char *name, SrText *out) {
    SrArena arena = SR_ARENA_INIT;
    SrSchemaEntry *entries;
    int n;
    const char *key = sr_text_starts(name, "config.") ? name + strlen("config.") : name;
    SrStatus status = sr__schema_entries(&arena, &entries, &n);
    if (status == SR_OK) {
        bool plugin = describe_plugins(name, out);
        if (!describe_key(entries, n, key, out) && !plugin)
            status = unknown(entries, n, key, &arena);
    }
    sr_arena_deinit(&arena);
    return status;
}
