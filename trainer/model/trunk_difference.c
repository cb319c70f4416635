// Compares two maps MODEL.TRUNK: by the trunk's name, then by the options of that trunk.
#include "trainer/model/trunk_difference.h"

#include <string.h>

#include "base/compiler.h"
#include "base/text/yaml_edit.h"
#include "base/text/yaml_load.h"
#include "base/text/yaml_print.h"
#include "formats/weights/weights.h"
#include "trunks/trunk.h"

typedef struct {
    const char *name;
    const SrYaml *options; // NULL: none is set
} Trunk;

// Reads a map MODEL.TRUNK.  NULL gives a trunk without name.
static Trunk trunk_of(const SrYaml *map) {
    const SrTrunk *kind;
    Trunk t = {sr_tree_text(map, "NAME", ""), NULL};
    if (sr_trunk_find(t.name, &kind) == SR_OK)
        t.options = sr_yaml_find(map, strrchr(kind->subtree, '.') + 1);
    return t;
}

// Adds the options that differ from the other trunk's: " (DEPTH: 8, ...)".  Trunks of different
// names are compared by the options that every family has.
static void add_trunk(const Trunk *t, const Trunk *other, SrText *out) {
    static const char *const size[] = {"DEPTH", "WIDTH_MULTIPLIER"};
    bool same = strcmp(t->name, other->name) == 0;
    const char *before = " (";
    sr_text_add(out, t->name);
    for (int i = 0; t->options && i < t->options->n; i++) {
        const char *key = t->options->keys[i];
        bool shown =
            same && !sr_yaml_equal(t->options->items[i], sr_yaml_find(other->options, key));
        for (int k = 0; k < SR_COUNT(size) && !same; k++)
            shown |= strcmp(key, size[k]) == 0;
        if (!shown)
            continue;
        sr_text_printf(out, "%s%s: ", before, key);
        sr_yaml_print_flow(t->options->items[i], out);
        before = ", ";
    }
    sr_text_add(out, *before == ',' ? ")" : "");
}

// True if the trunks differ.  An option that only one side sets may be the other side's default.
static bool differ(const Trunk *a, const Trunk *b) {
    if (strcmp(a->name, b->name) != 0)
        return true;
    for (int i = 0; a->options && b->options && i < a->options->n; i++) {
        const SrYaml *other = sr_yaml_find(b->options, a->options->keys[i]);
        if (other && !sr_yaml_equal(a->options->items[i], other))
            return true;
    }
    return false;
}

void sr_trunk_difference(const SrWeights *file, const SrModelConfig *config, SrText *out) {
    const char *text = sr_weights_meta(file, "config");
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree = NULL;
    if (!text || sr_yaml_parse(&arena, text, strlen(text), "the checkpoint", &tree) != SR_OK) {
        sr_arena_deinit(&arena);
        return;
    }
    const SrYaml *whole = sr_yaml_find(tree, "config");
    Trunk held = trunk_of(sr_yaml_find_path(whole ? whole : tree, "MODEL.TRUNK"));
    Trunk asked = trunk_of(config->trunk_tree);
    if (*held.name && differ(&held, &asked)) {
        sr_text_add(out, "the checkpoint holds the trunk ");
        add_trunk(&held, &asked, out);
        sr_text_add(out, ", the configuration asks for ");
        add_trunk(&asked, &held, out);
    }
    sr_arena_deinit(&arena);
}
