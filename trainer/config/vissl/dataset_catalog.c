// Finds and reads VISSL's catalogue of data sets, and writes its paths into a configuration.
#include "trainer/config/vissl/dataset_catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "base/text/yaml_edit.h"
#include "data/dataset.h"

enum { PATH_BYTES = 4096, CATALOG_BYTES = 1 << 24 };

typedef struct {
    SrYaml *tree; // the configuration
    SrArena *arena;
    char path[PATH_BYTES];
    SrYaml *entries; // the parsed catalogue; NULL: not read so far
} Catalog;

// ---- the file -----------------------------------------------------------------------------------

// Searches the folder of `config` and those above it, as far as its path names them.
static bool find_above(const char *config, char out[PATH_BYTES]) {
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", config);
    for (char *slash; (slash = strrchr(folder, '/')); *slash = '\0') {
        slash[slash == folder] = '\0';
        if (sr_file_join(out, PATH_BYTES, folder, SR_CATALOG_FILE) == SR_OK && sr_file_exists(out))
            return true;
        if (slash == folder)
            return false;
    }
    snprintf(out, PATH_BYTES, "%s", SR_CATALOG_FILE);
    return config[0] != '/' && sr_file_exists(out);
}

static bool find(const char *config, char out[PATH_BYTES]) {
    const char *named = getenv(SR_CATALOG_VARIABLE);
    if (named && *named) {
        snprintf(out, PATH_BYTES, "%s", named);
        return true;
    }
    if (find_above(config, out))
        return true;
    snprintf(out, PATH_BYTES, "configs/config/" SR_CATALOG_FILE);
    return sr_file_exists(out);
}

static SrStatus read_entries(Catalog *c) {
    if (c->entries)
        return SR_OK;
    const char *named = getenv(SR_CATALOG_VARIABLE);
    if (named && *named && !sr_file_exists(c->path))
        SR_FAIL(SR_ERR_CONFIG, SR_CATALOG_VARIABLE " names %s, which does not exist", c->path);
    SR_TRY(sr_json_load(c->arena, c->path, CATALOG_BYTES, &c->entries));
    if (c->entries->type != SR_YAML_MAP)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: expected an object, {\"name\": {\"train\": [images, labels], \"val\": "
                "[images, labels]}}",
                c->path);
    return SR_OK;
}

// ---- a name -------------------------------------------------------------------------------------

// Fails for a name that the catalogue lacks, with the closest one.
static SrStatus unknown(const Catalog *c, const SrYaml *name, const char *key) {
    int near = sr_text_nearest(name->text, (const char *const *)c->entries->keys, c->entries->n);
    SR_FAIL(SR_ERR_CONFIG,
            "%s: %s: '%s' is not among the names of %s%s%s%s; add it there, or set DATA_PATHS",
            sr_yaml_place(name).text, key, name->text, c->path,
            near >= 0 ? " (the closest is '" : "", near >= 0 ? c->entries->keys[near] : "",
            near >= 0 ? "')" : "");
}

// Gets the list [images, labels] of a name; labels may be missing.
static SrStatus look_up(const Catalog *c, const SrYaml *name, const char *key, const char *part,
                        const SrYaml **out) {
    const SrYaml *entry = NULL;
    if (name->type != SR_YAML_STRING)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s: expected names", sr_yaml_place(name).text, key);
    for (int i = 0; i < c->entries->n; i++)
        if (strcmp(c->entries->keys[i], name->text) == 0)
            entry = c->entries->items[i];
    if (!entry)
        return unknown(c, name, key);
    const SrYaml *list = sr_yaml_find(entry, part);
    if (!list || list->type != SR_YAML_LIST || list->n < 1 ||
        list->items[0]->type != SR_YAML_STRING)
        SR_FAIL(SR_ERR_CONFIG, "%s: '%s' has no list \"%s\": [images, labels]; %s needs it",
                c->path, name->text, part, key);
    *out = list;
    return SR_OK;
}

// Returns entry i of a list of sources; NULL: there is none.  An unknown source is reported
// elsewhere.
static const SrDataset *source_of(const SrYaml *split, const char *key, int i) {
    const SrYaml *sources = sr_yaml_find(split, key);
    const SrDataset *source = NULL;
    if (sources && sources->type == SR_YAML_LIST && i < sources->n &&
        sources->items[i]->type == SR_YAML_STRING &&
        sr_dataset_find(sources->items[i]->text, &source) != SR_OK)
        sr_status_clear();
    return source;
}

// True: the split takes labels from a file, and the catalogue's exists.
static bool wants_labels(const SrYaml *split, int i, const SrYaml *list) {
    const SrDataset *source = source_of(split, "LABEL_SOURCES", i);
    return source && source->reads_label_path && list->n > 1 &&
           list->items[1]->type == SR_YAML_STRING && sr_file_exists(list->items[1]->text);
}

static SrStatus append(const Catalog *c, SrYaml *paths, const SrYaml *path, const SrYaml *name) {
    SrYaml *copy = sr_yaml_copy(c->arena, path);
    SR_TRY_MEMORY(copy, "the paths of %s", name->text);
    copy->file = name->file;
    copy->line = name->line;
    return sr_yaml_append(c->arena, paths, copy);
}

// ---- a split ------------------------------------------------------------------------------------

static bool is_empty(const SrYaml *list) {
    return !list || list->type != SR_YAML_LIST || list->n == 0;
}

static SrStatus resolve_split(Catalog *c, const char *which, const char *part) {
    char key[64];
    snprintf(key, sizeof key, "DATA.%s", which);
    SrYaml *split = sr_yaml_find_path(c->tree, key);
    const SrYaml *names = sr_yaml_find(split, "DATASET_NAMES"), *list;
    const SrDataset *source = source_of(split, "DATA_SOURCES", 0);
    if (sr_tree_is_default(names) || is_empty(names) || (source && source->makes_images) ||
        !is_empty(sr_yaml_find(split, "DATA_PATHS")))
        return SR_OK;
    SR_TRY(read_entries(c));
    SrYaml *images = sr_yaml_new(c->arena, SR_YAML_LIST, names->file, names->line);
    SrYaml *labels = sr_yaml_new(c->arena, SR_YAML_LIST, names->file, names->line);
    SR_TRY_MEMORY(images && labels, "the paths of %s", key);
    snprintf(key, sizeof key, "DATA.%s.DATASET_NAMES", which);
    for (int i = 0; i < names->n; i++) {
        SR_TRY(look_up(c, names->items[i], key, part, &list));
        SR_TRY(append(c, images, list->items[0], names->items[i]));
        if (wants_labels(split, i, list))
            SR_TRY(append(c, labels, list->items[1], names->items[i]));
        sr_info("DATA.%s.DATA_PATHS: %s is %s, by %s", which, names->items[i]->text,
                list->items[0]->text, c->path);
    }
    SR_TRY(sr_yaml_put(c->arena, split, "DATA_PATHS", images));
    if (labels->n > 0 && is_empty(sr_yaml_find(split, "LABEL_PATHS")))
        SR_TRY(sr_yaml_put(c->arena, split, "LABEL_PATHS", labels));
    return SR_OK;
}

// True: the list is the default of DATASET_NAMES, which every saved configuration has.
static bool is_usual(const SrYaml *names) {
    return names->n == 1 && names->items[0]->text &&
           strcmp(names->items[0]->text, "imagenet1k_folder") == 0;
}

// Says that a split's names are not looked up, if the images are named otherwise.
static void say_unused(const SrYaml *tree, const char *which) {
    char key[64];
    snprintf(key, sizeof key, "DATA.%s", which);
    const SrYaml *split = sr_yaml_find_path(tree, key);
    const SrYaml *names = sr_yaml_find(split, "DATASET_NAMES");
    const SrDataset *source = source_of(split, "DATA_SOURCES", 0);
    bool synthetic = source && source->makes_images;
    if (!sr_tree_is_default(names) && !is_empty(names) && !is_usual(names) &&
        (synthetic || !is_empty(sr_yaml_find(split, "DATA_PATHS"))))
        sr_info("%s: %s.DATASET_NAMES is accepted and changes nothing: %s names the images",
                sr_yaml_place(names).text, key, synthetic ? "DATA_SOURCES" : "DATA_PATHS");
}

SrStatus sr__catalog_resolve(SrYaml *tree, const char *config, SrArena *arena) {
    Catalog c = {.tree = tree, .arena = arena};
    say_unused(tree, "TRAIN");
    say_unused(tree, "TEST");
    if (!find(config, c.path))
        return SR_OK;
    SR_TRY(resolve_split(&c, "TRAIN", "train"));
    return sr_tree_bool(tree, "TEST_MODEL", false) ? resolve_split(&c, "TEST", "val") : SR_OK;
}
