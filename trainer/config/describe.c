// Lists and describes plugins and keys by walking over the registries and the schema.
#include "trainer/config/describe.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/plugin/plugin.h"
#include "data/collator.h"
#include "data/dataset.h"
#include "data/transform.h"
#include "heads/head.h"
#include "kernels/op.h"
#include "losses/loss.h"
#include "measure/meter.h"
#include "trainer/config/manual_search.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/config/vissl/vissl_names.h"
#include "trainer/optim/optimizer.h"
#include "trainer/schedules/schedule.h"
#include "trunks/presets.h"
#include "trunks/trunk.h"

// ---- registries as one table
// ----------------------------------------------------------------------

// Defines a function that gives entry i of one registry; false past its end.
#define ENTRIES(noun, Type, place, table)                           \
    static bool noun##_entry(int i, SrManualEntry *out) {           \
        const Type *p = sr_##noun##_at(i);                          \
        if (p)                                                      \
            *out = (SrManualEntry){p->name, p->help, place, table}; \
        return p != NULL;                                           \
    }
ENTRIES(trunk, SrTrunk, p->subtree, p->options)
ENTRIES(head, SrHead, NULL, p->options)
ENTRIES(loss, SrLoss, p->subtree, p->options)
ENTRIES(dataset, SrDataset, NULL, NULL)
ENTRIES(transform, SrTransform, NULL, p->options)
ENTRIES(collator, SrCollator, NULL, p->options)
ENTRIES(optimizer, SrOptimizer, NULL, NULL)
ENTRIES(schedule_kind, SrScheduleKind, NULL, p->options)
ENTRIES(meter, SrMeter, p->subtree, p->options)
ENTRIES(op, SrOp, NULL, p->options)

// Gives model i by name; its options are its trunk's.
static bool model_entry(int i, SrManualEntry *out) {
    const SrPreset *p = sr_preset_at(i);
    if (p)
        *out = (SrManualEntry){p->name, p->options, sr_preset_trunk(p)->subtree, NULL};
    return p != NULL;
}

static const SrManualKind kinds[] = {
    {"trunk", "trunks (MODEL.TRUNK.NAME)", trunk_entry},
    {"model", "models (sslrun graph, extract, bench --forward-only: a trunk with its options)",
     model_entry},
    {"head", "heads (MODEL.HEAD.PARAMS)", head_entry},
    {"loss", "losses (LOSS.name)", loss_entry},
    {"source", "data sources (DATA.TRAIN.DATA_SOURCES)", dataset_entry},
    {"transform", "transforms (DATA.TRAIN.TRANSFORMS)", transform_entry},
    {"collator", "collators (DATA.TRAIN.COLLATE_FUNCTION)", collator_entry},
    {"optimizer", "optimizers (OPTIMIZER.name)", optimizer_entry},
    {"schedule", "schedules (OPTIMIZER.param_schedulers.lr.name)", schedule_kind_entry},
    {"meter", "meters (METERS.names)", meter_entry},
    {"op", "ops of the graph", op_entry},
};

enum { N_KINDS = SR_COUNT(kinds) + 1 };

// Returns kind k; the caller's kind comes last.  NULL past the end.
static const SrManualKind *kind_at(int k, const SrManualKind *more) {
    return k < SR_COUNT(kinds) ? &kinds[k] : k == SR_COUNT(kinds) ? more : NULL;
}

// ---- describing
// -----------------------------------------------------------------------------------

// Writes a paragraph about an option, from its row.  prefix: map that its key stands in.
static void describe_option(const SrOption *o, const char *prefix, SrText *out) {
    sr_text_add(out, prefix);
    sr_option_describe(o, out);
    sr_text_add(out, out->len && out->s[out->len - 1] == '\n' ? "" : "\n");
}

// Describes the rows of a table whose dotted names lie below `under` (NULL: all); returns their
// number.
static int describe_table(const SrOption *table, const char *under, SrText *out) {
    int n = 0;
    for (const SrOption *o = table; o && o->name; o++) {
        if (under && !sr_text_below(o->name, under))
            continue;
        describe_option(o, "  ", out);
        n++;
    }
    return n;
}

// Describes a plugin ("resnet"), or one of its options ("mlp.use_bn"); false: the name is neither.
static bool describe_plugin(const SrManualKind *kind, const SrManualEntry *e, const char *name,
                            SrText *out) {
    const char *key = sr_text_below(name, e->name);
    if (!key && strcmp(name, e->name) != 0)
        return false;
    const SrOption *option = key && e->options ? sr_options_find(e->options, key) : NULL;
    if (key) {
        if (option)
            describe_option(option, "", out);
        return option != NULL;
    }
    sr_text_printf(out, "%s %s: %s\n", kind->kind, e->name, e->help ? e->help : "");
    if (e->where)
        sr_text_printf(out, "  options in %s\n", e->where);
    describe_table(e->options, NULL, out);
    return true;
}

// Describes plugins of every kind with this name: it may be a transform and an op.
static bool describe_plugins(const char *name, const SrManualKind *more, SrText *out) {
    bool found = false;
    const SrManualKind *kind;
    for (int k = 0; (kind = kind_at(k, more)) != NULL; k++) {
        SrManualEntry e;
        for (int i = 0; kind->at(i, &e); i++)
            found |= describe_plugin(kind, &e, name, out);
    }
    return found;
}

// ---- keys

typedef struct {
    const SrSchemaEntry *entries;
    int n;
    const SrYaml *defaults;
} Schema;

// Describes the section or row of a dotted key, or the rows below it ("MODEL.HEAD" has HEAD.PARAMS
// and others).  A map that a plugin owns is both a row and a section; the section says more.
static bool describe_key(const Schema *s, const char *key, SrText *out) {
    bool found = false;
    for (int i = 0; i < s->n; i++) {
        const SrSection *section = &s->entries[i].section;
        if (*key && strcmp(key, section->path) == 0) {
            sr_text_printf(out, "%s\n", key);
            describe_table(section->table, NULL, out);
            found = true;
        }
        const char *rest = *section->path ? sr_text_below(key, section->path) : key;
        const SrOption *o = rest ? sr_options_find(section->table, rest) : NULL;
        bool map = o && o->type == SR_OPT_TREE && !*o->help;
        if (o && !map) {
            char prefix[256];
            snprintf(prefix, sizeof prefix, "%s%s", section->path, *section->path ? "." : "");
            describe_option(o, prefix, out);
        }
        found |= (o && !map) || (rest && describe_table(section->table, rest, out) > 0);
    }
    return found;
}

// Describes the row that a key lies in, if the key has no row of its own but is part of a value
// ("MODEL.CUDA_CACHE.CLEAR_FREQ").
static bool describe_parent(const Schema *s, const char *key, SrText *out) {
    char parent[256];
    if (strlen(key) >= sizeof parent || !sr_yaml_find_path(s->defaults, key))
        return false;
    strcpy(parent, key);
    for (char *dot; (dot = strrchr(parent, '.')) != NULL;) {
        *dot = '\0';
        size_t len = out->len;
        sr_text_printf(out, "%s is part of\n", key);
        if (describe_key(s, parent, out))
            return true;
        if (out->s)
            out->s[out->len = len] = '\0';
    }
    return false;
}

// Describes every key whose last part has this name: "num_epochs" finds OPTIMIZER.num_epochs.
static bool describe_last_part(const Schema *s, const char *name, SrText *out) {
    bool found = false;
    for (int i = 0; i < s->n; i++) {
        const SrSection *section = &s->entries[i].section;
        for (const SrOption *o = section->table; o && o->name; o++) {
            const char *last = strrchr(o->name, '.');
            char prefix[256];
            if (!*o->help || strcmp(last ? last + 1 : o->name, name) != 0)
                continue;
            snprintf(prefix, sizeof prefix, "%s%s", section->path, *section->path ? "." : "");
            describe_option(o, prefix, out);
            found = true;
        }
    }
    return found;
}

// Lists every key with type and default.  A map that is a section is listed by its rows.
static SrStatus list_keys(SrText *out) {
    SrArena arena = SR_ARENA_INIT;
    SrSchemaEntry *entries;
    int n = 0;
    SrStatus status = sr__schema_entries(&arena, &entries, &n);
    for (int i = 0; status == SR_OK && i < n; i++) {
        const SrSection *s = &entries[i].section;
        for (const SrOption *o = s->table; o && o->name; o++)
            if (o->type != SR_OPT_TREE || (o->initial && strcmp(o->initial, "{}") != 0)) {
                sr_text_printf(out, "%s%s", s->path, *s->path ? "." : "");
                sr_option_summary(o, out);
                sr_text_add(out, "\n");
            }
    }
    sr_arena_deinit(&arena);
    return status;
}

// True: `word` is the kind, or its plural.
static bool is_kind(const char *word, const char *kind) {
    const char *rest = word + strlen(kind);
    return strncmp(word, kind, strlen(kind)) == 0 &&
           (!*rest || strcmp(rest, "s") == 0 || strcmp(rest, "es") == 0);
}

void sr_manual_kinds(const SrManualKind *more, SrText *out) {
    const SrManualKind *k;
    for (int n = 0; (k = kind_at(n, more)) != NULL; n++) {
        SrManualEntry e;
        int entries = 0;
        while (k->at(entries, &e))
            entries++;
        sr_text_printf(out, "  %-10s %4d  %s\n", k->kind, entries, k->title);
    }
    sr_text_add(out, "  keys             every key of a configuration\n"
                     "  all              all of these but the keys\n");
}

// Registries are sorted by name at build time, so the list is stable.
SrStatus sr_manual_list(const char *kind, const SrManualKind *more, SrText *out) {
    const char *names[N_KINDS + 2];
    const SrManualKind *k;
    bool found = false, all = !kind || strcmp(kind, "all") == 0;
    int n = 0;
    for (; (k = kind_at(n, more)) != NULL; n++) {
        SrManualEntry e;
        names[n] = k->kind;
        if (!all && !is_kind(kind, k->kind))
            continue;
        found = true;
        sr_text_printf(out, "%s\n", k->title);
        for (int i = 0; k->at(i, &e); i++)
            sr_text_printf(out, "  %-34s %s\n", e.name, e.help ? e.help : "");
    }
    if (!all && is_kind(kind, "key"))
        return list_keys(out);
    names[n++] = "keys";
    names[n++] = "all";
    return found ? SR_OK : sr_plugin_unknown("kind", kind, names, n);
}

// ---- what nobody knows

typedef struct {
    SrManualName *v;
    int n;
} Names;

enum { MAX_NAMES = 8192 };

static void add_name(Names *names, const char *name, const char *help) {
    if (name && names->n < MAX_NAMES)
        names->v[names->n++] = (SrManualName){name, help};
}

static void add_names(Names *names, const char *prefix, const SrOption *table, SrArena *arena) {
    for (const SrOption *o = table; o && o->name; o++)
        add_name(names, sr_arena_printf(arena, "%s%s%s", prefix, *prefix ? "." : "", o->name),
                 o->help);
}

// Collects keys and sections first, then plugins, and their options if `options`.
static void collect(const Schema *s, const SrManualKind *more, bool options, SrArena *arena,
                    Names *out) {
    const SrManualKind *kind;
    for (int i = 0; i < s->n; i++) {
        if (*s->entries[i].section.path) // the root's path is empty
            add_name(out, s->entries[i].section.path, NULL);
        add_names(out, s->entries[i].section.path, s->entries[i].section.table, arena);
    }
    for (int k = 0; (kind = kind_at(k, more)) != NULL; k++) {
        SrManualEntry e;
        for (int i = 0; kind->at(i, &e); i++) {
            add_name(out, e.name, e.help);
            if (options && !e.where) // the keys of `where` are in the schema
                add_names(out, e.name, e.options, arena);
        }
    }
}

// Returns the name that a slip of one letter gave, or with `any` the nearest; NULL: none is near.
static const char *nearest(const char *name, const Names *names, bool any, SrArena *arena) {
    const char **v = sr_arena_alloc(arena, (size_t)SR_MAX(names->n, 1) * sizeof *v);
    for (int i = 0; v && i < names->n; i++)
        v[i] = names->v[i].name;
    int near = v ? sr_text_nearest(name, v, names->n) : -1;
    return near >= 0 && (any || sr_text_distance(name, v[near]) <= 1) ? v[near] : NULL;
}

// Answers an unknown name: a slip of one letter fails with the name that was meant; else the names
// are listed that have its words in name or help; else the nearest name is suggested.
static SrStatus unknown(const Schema *s, const char *name, const SrManualKind *more, SrArena *arena,
                        SrText *out) {
    Names names = {.v = sr_arena_alloc(arena, MAX_NAMES * sizeof *names.v)};
    SrText found = SR_TEXT_INIT;
    SR_TRY_MEMORY(names.v, "the list of names");
    collect(s, more, strchr(name, '.') != NULL, arena, &names);
    for (int k = 0; k < SR_NAME_KINDS; k++)
        if (sr__is_vissl_name((SrNameKind)k, name) && !sr__is_built_name((SrNameKind)k, name))
            SR_FAIL(SR_ERR_CONFIG,
                    "VISSL's %s '%s' is not implemented (`sslrun list all` shows what is)",
                    sr__name_kind((SrNameKind)k), name);
    const char *slip = nearest(name, &names, false, arena);
    bool listed =
        !slip && strlen(name) >= 3 && sr_manual_search(name, names.v, names.n, &found) > 0;
    if (listed)
        sr_text_printf(out, "nothing has the name '%s'; these have it in their name or help:\n%s",
                       name, found.s ? found.s : "");
    sr_text_deinit(&found);
    if (listed)
        return SR_OK;
    const char *near = nearest(name, &names, true, arena);
    SR_FAIL(SR_ERR_CONFIG, "nothing has the name '%s'%s%s%s (`sslrun list all` shows all plugins)",
            name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

// Accepts keys with "config." in front, as VISSL's users write them.
static SrStatus describe(const char *name, const SrManualKind *more, SrArena *arena, SrText *out) {
    Schema s;
    SrSchemaEntry *entries;
    SrYaml *defaults;
    const char *key = sr_text_starts(name, "config.") ? name + strlen("config.") : name;
    SR_TRY(sr__schema_entries(arena, &entries, &s.n));
    SR_TRY(sr__schema_defaults(arena, &defaults));
    s.entries = entries;
    s.defaults = defaults;
    bool plugin = describe_plugins(name, more, out);
    if (describe_key(&s, key, out) || plugin || describe_parent(&s, key, out) ||
        describe_last_part(&s, key, out))
        return out->failed ? sr_out_of_memory("the description") : SR_OK;
    return unknown(&s, key, more, arena, out);
}

SrStatus sr_manual_describe(const char *name, const SrManualKind *more, SrText *out) {
    SrArena arena = SR_ARENA_INIT;
    SrStatus status = describe(name, more, &arena, out);
    sr_arena_deinit(&arena);
    return status;
}
