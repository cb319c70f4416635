// Finds the plugins that a configuration names and this program lacks.  One message lists all of
// them; VISSL reports one at a time.
//
// A name that only VISSL has is "not built yet".  Any other unknown name is a misspelling, and its
// message names the closest one.  Only names are checked here: each plugin reads its own arguments.
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/text/yaml_edit.h"
#include "trainer/config/vissl/missing_plugins.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/config/vissl/sharding.h"
#include "trainer/config/vissl/vissl_names.h"
#include "trunks/presets.h"

// State of the walk.  Missing plugins go into one message, each misspelt name has its own.
typedef struct {
    const SrYaml *tree;
    SrArena *arena;
    SrProblems *problems; // collects misspelt names; NULL: the first one is returned
    SrText missing;       // "trunk 'regnet', loss 'moco_loss'"
    int n;
} Needs;

// Words the error for a misspelt name: the closest name that this program has, and all of them in
// brackets.  For a trunk, names of models count too.
static SrStatus unknown(SrNameKind kind, const char *name, const char *key, const SrYaml *at) {
    enum { MAX_NAMES = 512 };
    const char *names[MAX_NAMES];
    int n = 0;
    SrText built = SR_TEXT_INIT;
    for (int i = 0; n < MAX_NAMES && sr__built_name_at(kind, i); i++) {
        names[n++] = sr__built_name_at(kind, i);
        sr_text_printf(&built, "%s%s", i ? ", " : "", names[n - 1]);
    }
    for (int i = 0; kind == SR_NAME_TRUNK && n < MAX_NAMES && sr_preset_at(i); i++)
        names[n++] = sr_preset_at(i)->name;
    int near = sr_text_nearest(name, names, n);
    SrStatus status =
        sr_fail(SR_ERR_CONFIG, "%s: %s: unknown %s '%s'%s%s%s (known: %s)", sr_yaml_place(at).text,
                key, sr__name_kind(kind), name, near >= 0 ? "; did you mean '" : "",
                near >= 0 ? names[near] : "", near >= 0 ? "'?" : "", built.s ? built.s : "none");
    sr_text_deinit(&built);
    return status;
}

// Adds a missing plugin, once however often it is used.
static void add(Needs *needs, const char *noun, const char *name) {
    char piece[512];
    snprintf(piece, sizeof piece, "%s '%s'", noun, name);
    if (needs->missing.s && strstr(needs->missing.s, piece))
        return;
    sr_text_printf(&needs->missing, "%s%s", needs->n++ ? ", " : "", piece);
}

// Looks up the plugin named at node `at`.  NULL: none is asked for.
static SrStatus want(Needs *needs, SrNameKind kind, const char *key, const SrYaml *at) {
    if (!at || at->type != SR_YAML_STRING)
        return SR_OK;
    const char *name = sr__unsharded_name(at->text, needs->arena);
    SR_TRY_MEMORY(name, "%s", key);
    if (sr__is_built_name(kind, name))
        return SR_OK;
    if (!sr__is_vissl_name(kind, name))
        return sr_problems_keep(needs->problems, unknown(kind, at->text, key, at));
    add(needs, sr__name_kind(kind), name);
    return SR_OK;
}

// Looks up the plugin of a key that holds one name.
static SrStatus want_at(Needs *needs, SrNameKind kind, const char *path) {
    return want(needs, kind, path, sr_yaml_find_path(needs->tree, path));
}

// Without gradients the loss does not matter: extraction runs with any LOSS.name.
bool sr__learns(const SrYaml *tree) {
    const SrYaml *s = sr_yaml_find_path(tree, "MODEL.FEATURE_EVAL_SETTINGS");
    return !sr_tree_bool(s, "FREEZE_TRUNK_AND_HEAD", false) &&
           !sr_tree_bool(s, "EXTRACT_TRUNK_FEATURES_ONLY", false);
}

static bool is_list(const SrYaml *node) { return node && node->type == SR_YAML_LIST; }

// Heads are [name, {...}] or lists of such pairs; the parser refuses other forms.
static SrStatus want_heads(Needs *needs) {
    const SrYaml *list = sr_yaml_find_path(needs->tree, "MODEL.HEAD.PARAMS");
    for (int i = 0; is_list(list) && i < list->n; i++) {
        const SrYaml *entry = list->items[i];
        if (!is_list(entry) || entry->n == 0)
            continue;
        SR_TRY(want(needs, SR_NAME_HEAD, "MODEL.HEAD.PARAMS", entry->items[0]));
        for (int j = 0; is_list(entry->items[0]) && j < entry->n; j++)
            if (is_list(entry->items[j]) && entry->items[j]->n > 0)
                SR_TRY(want(needs, SR_NAME_HEAD, "MODEL.HEAD.PARAMS", entry->items[j]->items[0]));
    }
    return SR_OK;
}

// A transform may hold a list of others.  Those of augly belong to another library.
static SrStatus want_transforms(Needs *needs, const char *path, const SrYaml *list, int depth) {
    for (int i = 0; is_list(list) && i < list->n && depth < 4; i++) {
        const SrYaml *t = list->items[i], *name = sr_yaml_find(t, "name");
        if (strcmp(sr_tree_text(t, "transform_type", ""), "augly") == 0 && name && name->text)
            add(needs, "augly's transform", name->text);
        else
            SR_TRY(want(needs, SR_NAME_TRANSFORM, path, name));
        SR_TRY(want_transforms(needs, path, sr_yaml_find(t, "transforms"), depth + 1));
    }
    return SR_OK;
}

// Looks up the plugins of a key that holds a list of names, or one name without brackets.
static SrStatus want_list(Needs *needs, SrNameKind kind, const char *path) {
    const SrYaml *list = sr_yaml_find_path(needs->tree, path);
    if (list && !is_list(list))
        return want(needs, kind, path, list);
    for (int i = 0; list && i < list->n; i++)
        SR_TRY(want(needs, kind, path, list->items[i]));
    return SR_OK;
}

// Looks up transforms before sources, so that the message reads model, method, transforms, data.
// Both splits count: the same file evaluates the run.
static SrStatus want_data(Needs *needs, const char *split, bool sources) {
    char path[64];
    snprintf(path, sizeof path, "DATA.%s.TRANSFORMS", split);
    if (!sources)
        return want_transforms(needs, path, sr_yaml_find_path(needs->tree, path), 0);
    snprintf(path, sizeof path, "DATA.%s.DATA_SOURCES", split);
    SR_TRY(want_list(needs, SR_NAME_SOURCE, path));
    snprintf(path, sizeof path, "DATA.%s.LABEL_SOURCES", split);
    return want_list(needs, SR_NAME_SOURCE, path);
}

// Refuses VISSL's names for storage that only its authors' company can read.
static SrStatus refuse_storage(const Needs *needs, const char *path) {
    const SrYaml *list = sr_yaml_find_path(needs->tree, path);
    for (int i = 0; is_list(list) && i < list->n; i++) {
        const char *name = list->items[i]->text;
        if (name && (strcmp(name, "everstore") == 0 || strcmp(name, "airstore") == 0))
            SR_FAIL(SR_ERR_CONFIG,
                    "%s: %s is storage inside Facebook, which this program cannot reach; give your "
                    "own images as disk_folder or disk_filelist",
                    path, name);
    }
    return SR_OK;
}

// Looks up everything in the order of the message: model, method, data.
static SrStatus want_all(Needs *needs) {
    bool learns = sr__learns(needs->tree);
    SR_TRY(refuse_storage(needs, "DATA.TRAIN.DATA_SOURCES"));
    SR_TRY(refuse_storage(needs, "DATA.TEST.DATA_SOURCES"));
    if (learns && strcmp(sr_tree_text(needs->tree, "LOSS.name", ""), "msn_loss") == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "LOSS.name: VISSL's msn_loss is an unfinished placeholder; for masked siamese "
                "networks as in the paper, set LOSS.name=masked_siamese_loss (`sslrun describe "
                "LOSS.masked_siamese_loss`)");
    SR_TRY(want_at(needs, SR_NAME_TRUNK, "MODEL.TRUNK.NAME"));
    if (learns)
        SR_TRY(want_at(needs, SR_NAME_LOSS, "LOSS.name"));
    SR_TRY(want_heads(needs));
    SR_TRY(want_data(needs, "TRAIN", false));
    SR_TRY(want_data(needs, "TEST", false));
    if (learns) // frozen models are given one view
        SR_TRY(want_at(needs, SR_NAME_COLLATOR, "DATA.TRAIN.COLLATE_FUNCTION"));
    SR_TRY(want_at(needs, SR_NAME_COLLATOR, "DATA.TEST.COLLATE_FUNCTION"));
    SR_TRY(want_data(needs, "TRAIN", true));
    SR_TRY(want_data(needs, "TEST", true));
    return learns ? want_at(needs, SR_NAME_OPTIMIZER, "OPTIMIZER.name") : SR_OK;
}

// The message names no line: the missing names stand on many.
SrStatus sr__missing_plugins_check(const SrYaml *tree, SrArena *arena, SrProblems *problems) {
    Needs needs = {.tree = tree, .arena = arena, .problems = problems};
    SrStatus status = want_all(&needs);
    if (status == SR_OK && needs.n > 0)
        status = sr_fail(SR_ERR_CONFIG, "this configuration needs %s, which %s not implemented",
                         needs.missing.s ? needs.missing.s : "", needs.n > 1 ? "are" : "is");
    sr_text_deinit(&needs.missing);
    return status;
}
