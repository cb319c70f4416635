// Finds configuration files and merges them with overrides, by Hydra's rules as VISSL uses them.
// Nothing here knows what a key means: the tables (trainer/config/vissl/schema.c) check the
// finished tree.
#include "trainer/config/vissl/compose.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/yaml_load.h"
#include "formats/weights/weights.h"
#include "trainer/config/overrides.h"
#include "trainer/config/vissl/interpolate.h"
#include "trainer/config/vissl/schema.h"

// Limits on what a configuration reads.  VISSL's own files nest two deep.
enum { MAX_PATH_BYTES = 4096, MAX_FILES = 64, MAX_DEPTH = 8, MAX_LISTED = 2048 };

typedef struct {
    SrArena *arena;
    SrYaml *tree;
    int files, depth; // files read so far; nesting of `defaults:` lists
    // (depth) files whose `defaults:` lists are being merged, from the outermost on
    const char *open[MAX_DEPTH];
    bool ring;           // the error names a chain of files, so that no list above adds its place
    const char **layers; // files in the order in which they were merged
    int n_layers;
} Composer;

// ---- finding files

// The user's folders are searched first, so that they can replace the shipped ones.
static const char *const roots[] = {"configs/config", "configs"};

// Gets the folder of the running program, with a slash; "" where the system does not tell.
static void program_folder(char out[MAX_PATH_BYTES]) {
    ssize_t len = readlink("/proc/self/exe", out, MAX_PATH_BYTES - 1);
    out[len > 0 ? len : 0] = '\0';
    char *slash = strrchr(out, '/');
    if (slash)
        slash[1] = '\0';
    else
        out[0] = '\0';
}

// Tries the name with and without the ending, as VISSL does.
static bool try_file(const char *folder, const char *root, const char *name,
                     char out[MAX_PATH_BYTES]) {
    static const char *const endings[] = {"", ".yaml"};
    for (int i = 0; i < SR_COUNT(endings); i++) {
        int len = snprintf(out, MAX_PATH_BYTES, "%s%s%s%s%s", folder, root, *root ? "/" : "", name,
                           endings[i]);
        if (len > 0 && len < MAX_PATH_BYTES && sr_file_exists(out) && !sr_file_is_dir(out))
            return true;
    }
    return false;
}

// Folders that may hold configs/: the current one, the program's (a build), and the one that
// `make install` fills.  "" after the first: there is no such folder.
enum { PLACES = 3 };
static void list_places(char places[PLACES][MAX_PATH_BYTES]) {
    memset(places, 0, PLACES * MAX_PATH_BYTES);
    program_folder(places[1]);
    int len = snprintf(places[2], MAX_PATH_BYTES, "%.4000s../share/sslrun/", places[1]);
    if (!*places[1] || len >= MAX_PATH_BYTES)
        *places[2] = '\0';
}

static bool find_file(const char *name, char out[MAX_PATH_BYTES]) {
    char places[PLACES][MAX_PATH_BYTES];
    list_places(places);
    for (int p = 0; p < PLACES; p++) {
        if (p > 0 && (!*places[p] || *name == '/'))
            continue;
        if (try_file(places[p], "", name, out)) // "configs/photos.yaml" as documents write it
            return true;
        for (int r = 0; r < SR_COUNT(roots); r++)
            if (try_file(places[p], roots[r], name, out))
                return true;
    }
    return false;
}

bool sr_config_found(const char *name) {
    char path[MAX_PATH_BYTES];
    return find_file(name, path);
}

static bool is_listed(const char *name, const char *const *names, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

// Collects names such as "pretrain/swav/swav_resnet50", each once.  Skips folders that cannot be
// read.
static void list_names(const char *folder, size_t prefix, int depth, SrArena *arena,
                       const char **names, int *n) {
    char **entries = NULL;
    int count = 0;
    if (depth > MAX_DEPTH || sr_file_list(folder, &entries, &count) != SR_OK)
        return;
    for (int i = 0; i < count && *n < MAX_LISTED; i++) {
        char path[MAX_PATH_BYTES];
        if (sr_file_join(path, sizeof path, folder, entries[i]) != SR_OK)
            continue;
        if (sr_file_is_dir(path)) {
            list_names(path, prefix, depth + 1, arena, names, n);
        } else if (sr_text_ends(path, ".yaml")) {
            path[strlen(path) - strlen(".yaml")] = '\0';
            const char *copy = sr_arena_strdup(arena, path + prefix);
            if (copy && !is_listed(copy, names, *n))
                names[(*n)++] = copy;
        }
    }
    sr_file_list_free(entries, count);
}

SrStatus sr_config_names(SrArena *arena, SrStrings *out) {
    char places[PLACES][MAX_PATH_BYTES], folder[2 * MAX_PATH_BYTES];
    const char **names = sr_arena_alloc(arena, MAX_LISTED * sizeof *names);
    int n = 0;
    SR_TRY_MEMORY(names, "the list of configurations");
    list_places(places);
    for (int r = 0; r < SR_COUNT(roots); r++)
        list_names(roots[r], strlen(roots[r]) + 1, 0, arena, names, &n);
    for (int p = 1; p < PLACES; p++) {
        int len = snprintf(folder, sizeof folder, "%sconfigs", places[p]);
        if (*places[p])
            list_names(folder, (size_t)len + 1, 0, arena, names, &n);
    }
    *out = (SrStrings){n, names};
    return SR_OK;
}

// Refuses a folder in the place of a file.  Most often it is a run folder, or holds photos that
// have no configuration yet.
static SrStatus not_a_folder(const char *name) {
    char config[MAX_PATH_BYTES], word[MAX_PATH_BYTES];
    if (sr_file_join(config, sizeof config, name, "train_config.yaml") == SR_OK &&
        sr_file_exists(config))
        SR_FAIL(SR_ERR_CONFIG, "%s is a run folder; give its configuration, %s", name, config);
    SR_FAIL(SR_ERR_CONFIG,
            "%s is a folder, expected a configuration; `sslrun init %s` writes one for a folder of "
            "photos",
            name, sr_text_word(name, word, sizeof word));
}

static SrStatus no_such_file(const char *name, SrArena *arena) {
    SrStrings names;
    if (sr_file_is_dir(name))
        return not_a_folder(name);
    SR_TRY(sr_config_names(arena, &names));
    // Listed names have neither the folder nor the ending.
    const char *folder = sr_text_starts(name, "configs/") ? "configs/" : "";
    const char *end = sr_text_ends(name, ".yaml") ? ".yaml" : "";
    const char *bare = sr_arena_printf(
        arena, "%.*s", (int)(strlen(name) - strlen(folder) - strlen(end)), name + strlen(folder));
    int near = bare ? sr_text_nearest(bare, names.v, names.n) : -1;
    const char *also = *end ? "" : ", with or without .yaml";
    const char *hint =
        near < 0 ? ""
                 : sr_arena_printf(arena, "; did you mean '%s%s%s'?", folder, names.v[near], end);
    SR_FAIL(SR_ERR_CONFIG,
            "%s: there is no such configuration file, neither at this path nor below configs/%s%s",
            name, also, hint ? hint : "");
}

// Words the error for a file that is no YAML: it may hold weights, which belong to another key.
static SrStatus not_yaml(SrStatus failed, const char *path, SrArena *arena) {
    const char *message = sr_arena_strdup(arena, sr_status_message());
    char word[MAX_PATH_BYTES];
    SrWeights weights;
    bool opened = sr_weights_open(&weights, path) == SR_OK;
    sr_weights_close(&weights);
    if (opened)
        SR_FAIL(SR_ERR_CONFIG,
                "%s holds weights, expected a configuration; `sslrun inspect %s --config` prints "
                "the configuration of a run's checkpoint",
                path, sr_text_word(path, word, sizeof word));
    SR_FAIL(failed, "%s", message ? message : path);
}

SrStatus sr__compose_load(const char *name, SrArena *arena, const char **found, SrYaml **file) {
    char path[MAX_PATH_BYTES];
    if (!find_file(name, path))
        return no_such_file(name, arena);
    *found = sr_arena_strdup(arena, path);
    SR_TRY_MEMORY(*found, "a configuration");
    SrStatus status = sr_yaml_load(arena, *found, file);
    return status == SR_OK ? SR_OK : not_yaml(status, *found, arena);
}

// ---- one file

// VISSL stops at any version but 1: keys of another version may have another meaning.
static SrStatus check_version(const SrYaml *tree) {
    const SrYaml *version = sr_yaml_find(tree, "VERSION");
    if (!version || (version->type == SR_YAML_INT && version->i == 1))
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG, "%s: VERSION must be 1", sr_yaml_place(version).text);
}

// Checks the keys next to `config:`.  Hydra's own ones steer its launcher and have no effect here;
// any other key was most likely meant to stand below `config:`.
static SrStatus check_beside(const SrYaml *file) {
    static const char *const launcher[] = {"config", "hydra", "defaults", "node_id", "engine_name"};
    for (int i = 0; i < file->n; i++) {
        bool known = false;
        for (int k = 0; k < SR_COUNT(launcher); k++)
            known |= strcmp(file->keys[i], launcher[k]) == 0;
        if (!known)
            SR_FAIL(SR_ERR_CONFIG,
                    "%s:%d: the key '%s' stands next to `config:`; move it below that key",
                    file->file, file->items[i]->line, file->keys[i]);
    }
    return SR_OK;
}

// Gets the map below the top key `config:`, or the whole file without such a key.  *defaults gets
// the file's `defaults:` list.
static SrStatus unwrap(SrYaml *file, SrYaml **defaults, SrYaml **out) {
    *defaults = *out = NULL;
    if (file->type == SR_YAML_NULL)
        SR_FAIL(SR_ERR_CONFIG,
                "%s is an empty file, expected a configuration, which is a map of keys",
                file->file);
    if (file->type != SR_YAML_MAP)
        SR_FAIL(SR_ERR_CONFIG, "%s: expected a configuration, which is a map of keys, found %s",
                sr_yaml_place(file).text, sr_yaml_type_name(file->type));
    SR_TRY(check_version(file));
    sr_yaml_remove(file, "VERSION");
    *defaults = sr_yaml_find(file, "defaults");
    sr_yaml_remove(file, "defaults");
    *out = sr_yaml_find(file, "config");
    if (!*out) {
        *out = file;
        return SR_OK;
    }
    SR_TRY(check_beside(file));
    if ((*out)->type == SR_YAML_NULL)
        *out = NULL;
    else if ((*out)->type != SR_YAML_MAP)
        SR_FAIL(SR_ERR_CONFIG, "%s: expected a map of keys below `config:`, found %s",
                sr_yaml_place(*out).text, sr_yaml_type_name((*out)->type));
    return SR_OK;
}

// Removes the parts that only say "from the folder of configurations": group names start there
// anyway.
static const char *without_group(const char *name) {
    name += *name == '/' ? 1 : 0;
    return sr_text_starts(name, "config/") ? name + strlen("config/") : name;
}

// Returns the file that an entry names: "pretrain/swav/x", "/config/pretrain/swav/x" or
// {config/pretrain/swav: x}.  NULL: the entry has another form.  Hydra's package suffix (@_global_)
// is dropped: every file here is global.
static const char *default_name(const SrYaml *entry, SrArena *arena) {
    char unused[MAX_PATH_BYTES];
    if (entry->type ==
        SR_YAML_STRING) // a leading slash starts a path, or is Hydra's "from the top"
        return try_file("", "", entry->text, unused) ? entry->text : without_group(entry->text);
    if (entry->type != SR_YAML_MAP || entry->n != 1 || entry->items[0]->type != SR_YAML_STRING)
        return NULL;
    const char *group = without_group(entry->keys[0]), *file = entry->items[0]->text;
    int len = (int)strcspn(group, "@");
    return strcmp(group, "config") == 0 ? without_group(file)
                                        : sr_arena_printf(arena, "%.*s/%s", len, group, file);
}

// Looks for a name that is nowhere else in the folders above the file that names it, so that
// shipped files compose wherever they lie.  Without such a file the name comes back as it is.
static const char *above(const char *naming, const char *name, SrArena *arena) {
    char folder[MAX_PATH_BYTES], found[MAX_PATH_BYTES];
    char *slash;
    if (find_file(name, found) || snprintf(folder, sizeof folder, "%s", naming) >= MAX_PATH_BYTES)
        return name;
    while ((slash = strrchr(folder, '/')) != NULL) {
        slash[1] = '\0';
        if (try_file(folder, "", name, found))
            return sr_arena_strdup(arena, found);
        *slash = '\0';
    }
    return name;
}

static SrStatus merge_file(Composer *c, SrYaml *file);

static SrStatus merge_named(Composer *c, const char *name) {
    const char *found = NULL;
    SrYaml *file = NULL;
    if (++c->files > MAX_FILES)
        SR_FAIL(SR_ERR_CONFIG, "%s: more than %d files are composed; do they name each other?",
                name, MAX_FILES);
    SR_TRY(sr__compose_load(name, c->arena, &found, &file));
    return merge_file(c, file);
}

// Merges the entries of a `defaults:` list from `first` to `_self_` or the end.  *next gets the
// index of the entry after `_self_`.
static SrStatus merge_defaults(Composer *c, const SrYaml *list, int first, int *next) {
    int i = first;
    for (; i < list->n; i++) {
        const SrYaml *entry = list->items[i];
        if (entry->type == SR_YAML_STRING && strcmp(entry->text, "_self_") == 0)
            break;
        const char *name = default_name(entry, c->arena);
        if (!name || strcmp(name, "???") == 0)
            SR_FAIL(SR_ERR_CONFIG,
                    "%s: defaults: expected each entry to be _self_ or a file, as in "
                    "pretrain/swav/swav_8node_resnet",
                    sr_yaml_place(entry).text);
        const char *path = above(entry->file, name, c->arena);
        SrStatus status = path ? merge_named(c, path) : sr_out_of_memory("a configuration");
        if (status != SR_OK && !c->ring)
            sr_fail_prefix(status, "%s: defaults", sr_yaml_place(entry).text);
        SR_TRY(status);
    }
    *next = i + 1;
    return SR_OK;
}

// Fails with the chain of files from `first` on, which ends in `file`.
static SrStatus refuse_chain(Composer *c, int first, const char *file, const char *what) {
    SrText chain = SR_TEXT_INIT;
    for (int i = first; i < c->depth; i++)
        sr_text_printf(&chain, "%s -> ", c->open[i]);
    c->ring = true;
    SrStatus status = sr_fail(SR_ERR_CONFIG, "%s: defaults %s: %s%s; remove one of these entries",
                              c->open[c->depth - 1], what, chain.s ? chain.s : "", file);
    sr_text_deinit(&chain);
    return status;
}

// Adds a file to the chain of open ones.  A file that is in the chain already closes a ring.
static SrStatus open_file(Composer *c, const char *file) {
    for (int i = 0; i < c->depth; i++)
        if (strcmp(c->open[i], file) == 0)
            return refuse_chain(c, i, file, "name each other in a ring");
    if (c->depth == MAX_DEPTH)
        return refuse_chain(c, 0, file, "are nested too deep");
    c->open[c->depth++] = file;
    return SR_OK;
}

// Merges a file.  The file wins over the files that its `defaults:` list names, except for those
// after `_self_`.
static SrStatus merge_file(Composer *c, SrYaml *file) {
    SrYaml *list = NULL, *own = NULL;
    int next = 0;
    SR_TRY(unwrap(file, &list, &own));
    if (list && list->type != SR_YAML_LIST)
        SR_FAIL(
            SR_ERR_CONFIG,
            "%s: defaults must be a list of files, as in defaults: [pretrain/swav/swav_cifar10]",
            sr_yaml_place(list).text);
    SR_TRY(open_file(c, file->file));
    if (list)
        SR_TRY(merge_defaults(c, list, 0, &next));
    if (own) {
        SR_TRY(sr_yaml_merge(c->arena, c->tree, own));
        c->layers[c->n_layers++] = file->file;
    }
    if (list && next < list->n)
        SR_TRY(merge_defaults(c, list, next, &next));
    c->depth--;
    return SR_OK;
}

// ---- the command line

// Returns the part of an override before its '=', without its sign.
static const char *key_of(const char *text, size_t *len) {
    text += strspn(text, "+~");
    *len = strcspn(text, "=");
    return text;
}

static bool is_key(const char *text, const char *name) {
    size_t len;
    const char *key = key_of(text, &len);
    return strlen(name) == len && strncmp(key, name, len) == 0;
}

// True for keys of Hydra and of VISSL's launcher: this program has no launcher.
static bool is_launchers(const char *text) {
    size_t len;
    const char *key = key_of(text, &len);
    return sr_text_starts(key, "hydra.") || sr_text_starts(key, "hydra/") ||
           is_key(text, "node_id") || is_key(text, "engine_name");
}

static bool names_file(const char *text) {
    size_t len;
    const char *key = key_of(text, &len);
    return len >= strlen("config/") && sr_text_starts(key, "config/");
}

// Merges the file of "+config/pretrain/swav/models=resnet50_w2".  Hydra refuses it without the
// plus, because the group is not in its list of defaults.
static SrStatus merge_group(Composer *c, const char *text) {
    size_t len;
    const char *key = key_of(text, &len), *group = without_group(key);
    if (text[0] != '+')
        SR_FAIL(SR_ERR_CONFIG, "'%s': a plus is missing; write +config/DIR=FILE to add a file",
                text);
    if (key[len] != '=' || !key[len + 1] || len == strlen("config/"))
        SR_FAIL(SR_ERR_CONFIG, "'%s' names no file; write +config/DIR=FILE", text);
    const char *name = sr_arena_printf(c->arena, "%.*s/%s", (int)(len - (size_t)(group - key)),
                                       group, key + len + 1);
    SR_TRY_MEMORY(name, "'%s'", text);
    SrStatus status = merge_named(c, name);
    return status == SR_ERR_CONFIG ? sr_fail_prefix(status, "%s", text) : status;
}

// Goes over the command line twice: files come before keys, in whatever order they were given.
static SrStatus merge_overrides(Composer *c, const char *const *overrides, int n,
                                SrProblems *problems) {
    for (int i = 0; i < n; i++)
        if (names_file(overrides[i]))
            SR_TRY(merge_group(c, overrides[i]));
    for (int i = 0; i < n; i++) {
        if (names_file(overrides[i]))
            continue;
        if (is_launchers(overrides[i]))
            sr_info("%s is accepted and changes nothing: the verb decides what runs", overrides[i]);
        else
            SR_TRY(sr_problems_keep(problems, sr__override_apply(c->tree, overrides[i], c->arena)));
    }
    return SR_OK;
}

// Gives each configuration that names no run folder one of its own: the current folder would fill
// with files of several runs.
static SrStatus name_run_folder(Composer *c, const char *path) {
    const char *slash = strrchr(path, '/'), *stem = slash ? slash + 1 : path;
    size_t len = strlen(stem);
    len -= sr_text_ends(stem, ".yaml") ? 5 : sr_text_ends(stem, ".yml") ? 4 : 0;
    const char *dir = sr_arena_printf(c->arena, "runs/%.*s", (int)len, stem);
    SrYaml *node = dir ? sr_yaml_new(c->arena, SR_YAML_STRING, "defaults", 0) : NULL;
    SR_TRY_MEMORY(node, "a configuration");
    node->text = dir;
    return sr_yaml_put(c->arena, sr_yaml_find(c->tree, "CHECKPOINT"), "DIR", node);
}

SrStatus sr__compose(SrYaml *file, const char *const *overrides, int n_overrides, SrArena *arena,
                     SrProblems *problems, SrYaml **tree, SrStrings *layers) {
    Composer c = {.arena = arena};
    c.layers = sr_arena_alloc(arena, (MAX_FILES + 1) * sizeof *c.layers);
    SR_TRY_MEMORY(c.layers, "a configuration");
    SR_TRY(sr__schema_defaults(arena, &c.tree));
    if (file) {
        SR_TRY(name_run_folder(&c, file->file));
        SR_TRY(merge_file(&c, file));
    }
    SR_TRY(merge_overrides(&c, overrides, n_overrides, problems));
    *tree = c.tree;
    if (layers)
        *layers = (SrStrings){c.n_layers, c.layers};
    return sr__interpolate(c.tree, arena);
}
