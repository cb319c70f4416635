// Handles maps of MODEL.TRUNK that several trunks read: whose table counts, and which values a
// trunk takes from another trunk's map.
#include <string.h>

#include "base/text/yaml_edit.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/config/vissl/sharding.h"
#include "trainer/config/vissl/shared_maps.h"
#include "trunks/trunk.h"

const SrTrunk *sr__chosen_trunk(const SrYaml *tree, SrArena *arena) {
    const char *name = sr__unsharded_name(sr_tree_text(tree, "MODEL.TRUNK.NAME", ""), arena);
    for (int i = 0; name && sr_trunk_at(i); i++)
        if (strcmp(sr_trunk_at(i)->name, name) == 0)
            return sr_trunk_at(i);
    return NULL;
}

// Tables of one map have the same keys, so a mistake is reported by one of them alone.
bool sr__table_counts(const SrSchemaEntry *entries, int i, const SrTrunk *chosen) {
    const SrSection *s = &entries[i].section;
    if (!entries[i].owned)
        return true;
    if (chosen && strcmp(chosen->subtree, s->path) == 0 && chosen->options != s->table)
        return false;
    for (int k = 0; k < i; k++)
        if (entries[k].owned && strcmp(entries[k].section.path, s->path) == 0 &&
            (!chosen || strcmp(chosen->subtree, s->path) != 0 ||
             chosen->options == entries[k].section.table))
            return false;
    return true;
}

static const char *path_of(SrArena *arena, const char *map, const char *key) {
    const char *path = sr_arena_printf(arena, "%s.%s", map, key);
    return path ? path : "";
}

SrStatus sr__trunk_base(SrYaml *tree, SrArena *arena) {
    const SrTrunk *t = sr__chosen_trunk(tree, arena);
    for (const SrOption *row = t && t->base ? t->options : NULL; row && row->name; row++) {
        const char *own = path_of(arena, t->subtree, row->name);
        SrYaml *there = sr_yaml_find_path(tree, path_of(arena, t->base, row->name));
        if (there && !sr_tree_is_default(there) && sr_tree_is_default(sr_yaml_find_path(tree, own)))
            SR_TRY(sr_yaml_put_path(arena, tree, own, there));
    }
    return SR_OK;
}
