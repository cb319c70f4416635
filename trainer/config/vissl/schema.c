// Puts the schema together: the trainer's sections, the maps of trunks, losses and meters, and
// VISSL's keys that have no effect.  Makes the tree of all defaults from it.
#include "trainer/config/vissl/schema.h"

#include <string.h>

#include "base/text/text.h"
#include "base/text/yaml_edit.h"
#include "losses/loss.h"
#include "measure/meter.h"
#include "trainer/config/vissl/vissl_keys.h"
#include "trainer/optim/optim_options.h"
#include "trunks/trunk.h"

static const SrSection sections[] = {
    {"", sr__schema_root, 0, false},
    {"MACHINE", sr__schema_machine, 0, false},
    {"HOOKS", sr__schema_hooks, 0, false},
    {"DATA", sr__schema_data, 0, false},
    {"DATA.TRAIN", sr__schema_split, offsetof(SrConfig, train), false},
    {"DATA.TEST", sr__schema_split, offsetof(SrConfig, test), false},
    {"MODEL", sr__schema_model, offsetof(SrConfig, model), false},
    {"MODEL.TRUNK", sr__schema_trunk, offsetof(SrConfig, model), true},
    {"LOSS", sr__schema_loss, 0, true},
    {"OPTIMIZER", NULL, offsetof(SrConfig, optimizer), false},
    {"CHECKPOINT", sr__schema_checkpoint, 0, false},
    {"DISTRIBUTED", sr__schema_distributed, 0, false},
    {"NEAREST_NEIGHBOR", sr__schema_neighbor, 0, false},
    {"METERS", sr__schema_meters, 0, true},
    {"SVM", sr__schema_svm, 0, false},
    {"LOW_SHOT_BENCHMARK", sr__schema_low_shot, 0, false},
    {"CLUSTERFIT", sr__schema_cluster, 0, false},
};

// The next plugin whose map has not been given: trunks come first, then losses, then meters.
typedef struct {
    int trunk, loss, meter;
} Owners;

// Gives the map of the next plugin.  False: there are no more.
static bool next_owned(Owners *at, SrSchemaEntry *out) {
    const SrTrunk *t = sr_trunk_at(at->trunk);
    const SrLoss *l = t ? NULL : sr_loss_at(at->loss);
    const SrMeter *m = t || l ? NULL : sr_meter_at(at->meter);
    if (t)
        *out = (SrSchemaEntry){{.path = t->subtree, .table = t->options}, true, t->params_bytes};
    else if (l)
        *out = (SrSchemaEntry){{.path = l->subtree, .table = l->options}, true, l->params_bytes};
    else if (m)
        *out = (SrSchemaEntry){{.path = m->subtree, .table = m->options}, true, m->params_bytes};
    at->trunk += t != NULL;
    at->loss += l != NULL;
    at->meter += m != NULL;
    return t || l || m;
}

// Returns the name of `subtree` inside `section`.  NULL: it lies elsewhere, or `subtree` is NULL.
static const char *name_inside(const char *section, const char *subtree) {
    return subtree ? sr_text_below(subtree, section) : NULL;
}

// True if there is a row of this name: trunks that share a map need it once.
static bool has_row(const SrOption *rows, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return true;
    return false;
}

// True if a plugin owns a map that the table lists as "not built".
static bool is_owned(const char *section, const char *name) {
    SrSchemaEntry e;
    for (Owners at = {0}; next_owned(&at, &e);) {
        const char *inside = name_inside(section, e.section.path);
        if (inside && strcmp(inside, name) == 0)
            return true;
    }
    return false;
}

static int count_rows(const SrOption *table) {
    int n = 0;
    while (table && table[n].name)
        n++;
    return n;
}

// Appends the rows of a table, except those whose map a plugin owns.
static void add_rows(const SrSection *section, const SrOption *table, SrOption *rows, int *m) {
    for (int i = 0; table && table[i].name; i++)
        if (table[i].type != SR_OPT_IGNORED || !is_owned(section->path, table[i].name))
            rows[(*m)++] = table[i];
}

static bool is_section(const char *path) {
    for (int i = 0; i < SR_COUNT(sections); i++)
        if (strcmp(sections[i].path, path) == 0)
            return true;
    return false;
}

// Appends a row for each map that a plugin owns in this section.  The owner's table reads the
// map; the row only makes the key known.
static void add_owned(const SrSection *section, SrOption *rows, int *m) {
    // Offsets are from the section's struct: MODEL.TRUNK fills SrModelConfig, LOSS fills SrConfig.
    size_t place = section->offset == offsetof(SrConfig, model)
                       ? offsetof(SrModelConfig, owned)
                       : offsetof(SrConfig, sections.owned);
    SrSchemaEntry e;
    for (Owners at = {0}; next_owned(&at, &e);) {
        const char *name = name_inside(section->path, e.section.path);
        if (name && !has_row(rows, *m, name)) // two trunks may share a map
            rows[(*m)++] = (SrOption){name, SR_OPT_TREE, place, "{}", .help = ""};
    }
}

// Makes a section's table: its own rows, VISSL's keys that have no effect, and maps that plugins
// own.
static SrStatus build_table(const SrSection *section, int owned, SrArena *arena,
                            const SrOption **out) {
    const SrOption *own = section->table;
    if (!own) // OPTIMIZER: every optimiser adds its keys
        SR_TRY(sr_optim_options(arena, &own));
    int room = count_rows(own) + sr__vissl_keys_count() + owned;
    SrOption *rows = sr_arena_alloc(arena, sizeof *rows * (size_t)(room + 1)),
             *vissl = sr_arena_alloc(arena, sizeof *rows * (size_t)(room + 1));
    SR_TRY_MEMORY(rows && vissl, "the schema");
    int n = 0, n_vissl = 0;
    sr__vissl_keys_rows(section->path, is_section, vissl, &n_vissl);
    add_rows(section, own, rows, &n);
    add_rows(section, vissl, rows, &n);
    if (section->has_plugins)
        add_owned(section, rows, &n);
    *out = rows;
    return SR_OK;
}

SrStatus sr__schema_entries(SrArena *arena, SrSchemaEntry **out, int *n) {
    int owned = 0;
    SrSchemaEntry e;
    for (Owners at = {0}; next_owned(&at, &e);)
        owned++;
    SrSchemaEntry *list =
        sr_arena_alloc(arena, sizeof *list * (size_t)(SR_COUNT(sections) + owned));
    SR_TRY_MEMORY(list, "the schema");
    *n = 0;
    for (int i = 0; i < SR_COUNT(sections); i++) {
        list[*n].section = sections[i];
        SR_TRY(build_table(&sections[i], owned, arena, &list[(*n)++].section.table));
    }
    for (Owners at = {0}; next_owned(&at, &e);)
        if (e.section.path)
            list[(*n)++] = e;
    *out = list;
    return SR_OK;
}

// Goes from parents to children: a child's defaults are merged into its parent's empty map.
SrStatus sr__schema_defaults(SrArena *arena, SrYaml **out) {
    SrSchemaEntry *entries = NULL;
    int n = 0;
    SR_TRY(sr__schema_entries(arena, &entries, &n));
    SrYaml *tree = NULL;
    SR_TRY(sr_options_defaults(entries[0].section.table, arena, &tree));
    for (int i = 1; i < n; i++) {
        SrYaml *part = NULL;
        SR_TRY(sr_options_defaults(entries[i].section.table, arena, &part));
        SrYaml *there = sr_yaml_find_path(tree, entries[i].section.path);
        if (there && there->type == SR_YAML_MAP)
            SR_TRY(sr_yaml_merge(arena, there, part));
        else
            SR_TRY(sr_yaml_put_path(arena, tree, entries[i].section.path, part));
    }
    *out = tree;
    return SR_OK;
}
