// Applies command-line overrides in Hydra's grammar: A.B=v, +A.B=v, ++A.B=v, ~A.B, ~A.B=v, with or
// without "config.".  Values are YAML in flow style; {k:v} needs no blank after the colon, as in
// Hydra.  compose.c merges files (+config/dir=file); sweeps (a=1,2) are refused.
// `sslrun train` takes a sweep over SEED_VALUE out before.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/text/yaml_load.h"
#include "base/text/yaml_print.h"
#include "base/text/yaml_scalar.h"
#include "trainer/config/overrides.h"
#include "trainer/config/vissl/schema.h"

enum { MAX_PATH_LEN = 512, MAX_NESTING = 64, MAX_SECTIONS = 6 };

// Puts a blank after the colon of a flow map's key: YAML needs it, Hydra does not.
static void space_keys(const char *value, SrText *out) {
    // Open brackets; the innermost one decides what a colon means.
    char open[MAX_NESTING + 1];
    int depth = 0;
    bool key = false; // the next colon ends a key of a map
    char quote = 0;
    for (const char *c = value; *c; c++) {
        sr_text_addn(out, c, 1);
        if (quote) {
            quote = *c == quote ? 0 : quote;
        } else if (*c == '"' || *c == '\'') {
            quote = *c;
        } else if ((*c == '{' || *c == '[') && depth < MAX_NESTING) {
            open[depth++] = *c;
            key = *c == '{';
        } else if ((*c == '}' || *c == ']') && depth > 0) {
            depth--;
            key = false;
        } else if (*c == ',') {
            key = depth > 0 && open[depth - 1] == '{';
        } else if (*c == ':' && key) {
            if (!isspace((unsigned char)c[1]))
                sr_text_addn(out, " ", 1);
            key = false;
        }
    }
}

// Refuses a comma outside brackets and quotes.  Hydra starts one run for each part; here one run
// has one configuration, and most likely a list lost its brackets.
static SrStatus refuse_sweep(const char *value, const char *text) {
    int depth = 0;
    char quote = 0;
    for (const char *c = value; *c; c++) {
        if (quote)
            quote = *c == quote ? 0 : quote;
        else if (*c == '"' || *c == '\'')
            quote = *c;
        else if (strchr("[{", *c))
            depth++;
        else if (strchr("]}", *c))
            depth--;
        else if (*c == ',' && depth <= 0)
            SR_FAIL(SR_ERR_CONFIG,
                    "override '%s': only SEED_VALUE of `sslrun train` takes several values; write "
                    "[%s] for a list, or start one run per value",
                    text, value);
    }
    return SR_OK;
}

// Lists, maps and quoted strings are YAML; everything else is one scalar.
static SrStatus parse_value(const char *value, const char *text, SrArena *arena, SrYaml **out) {
    size_t len = strlen(value += strspn(value, " "));
    while (len > 0 && value[len - 1] == ' ')
        len--;
    value = sr_arena_printf(arena, "%.*s", (int)len,
                            value); // without blanks around it, as in YAML
    SR_TRY_MEMORY(value, "an override");
    SR_TRY(refuse_sweep(value, text));
    // Everything else is a bare scalar ("a: b", "# c").  A.B= is the empty string, as in Hydra.
    if (!*value || !strchr("[{\"'", *value)) {
        *out = *value ? sr_yaml_scalar(arena, value, SR_YAML_COMMAND_LINE, 0)
                      : sr_yaml_new(arena, SR_YAML_STRING, SR_YAML_COMMAND_LINE, 0);
        if (*out && !(*out)->text)
            (*out)->text = sr_arena_strdup(arena, value);
        return *out && (*out)->text ? SR_OK : sr_out_of_memory("an override");
    }
    SrText spaced = {0};
    space_keys(value, &spaced);
    SrStatus status = spaced.failed
                          ? sr_out_of_memory("an override")
                          : sr_yaml_parse(arena, spaced.s, spaced.len, SR_YAML_COMMAND_LINE, out);
    sr_text_deinit(&spaced);
    return status == SR_ERR_CONFIG ? sr_fail_prefix(status, "override '%s'", text) : status;
}

// Splits a path: `parent` gets the path of the map, the return value is the last part.
static const char *split(const char *path, char parent[MAX_PATH_LEN]) {
    const char *dot = strrchr(path, '.');
    size_t len = dot ? (size_t)(dot - path) : 0;
    memcpy(parent, path, len);
    parent[len] = '\0';
    return dot ? dot + 1 : path;
}

// True if a key is `word` or, with `whole` false, has it among its words between underscores.
// Upper and lower case are the same.
static bool is_named(const char *key, const char *word, bool whole) {
    size_t n = strlen(word);
    if (whole)
        return strcmp(key, word) == 0;
    for (const char *at = key; (at = strcasestr(at, word)); at++)
        if ((at == key || at[-1] == '_') && (at[n] == '\0' || at[n] == '_'))
            return true;
    return false;
}

// Finds the first key of a name exactly `depth` maps below: OPTIMIZER.num_epochs for "num_epochs".
// `path` is "" at first and gets the key's path.  Losses are left out: most of them have a
// temperature, and the wrong loss would be found.
static bool find_below(const SrYaml *map, const char *key, int depth, bool whole,
                       char path[MAX_PATH_LEN]) {
    size_t len = strlen(path);
    for (int i = 0; i < map->n && map->type == SR_YAML_MAP; i++) {
        if (strcmp(map->keys[i], "LOSS") == 0)
            continue;
        snprintf(path + len, MAX_PATH_LEN - len, "%s%s", len ? "." : "", map->keys[i]);
        if (depth > 0 ? find_below(map->items[i], key, depth - 1, whole, path)
                      : is_named(map->keys[i], key, whole))
            return true;
    }
    path[len] = '\0';
    return false;
}

// Finds the key that the last part of `path` names or is a word of; the least nested key wins.
static bool find_named(const SrYaml *tree, const char *path, char near[MAX_PATH_LEN]) {
    char parent[MAX_PATH_LEN];
    const char *last = split(path, parent);
    near[0] = '\0';
    for (int i = 0; i < 2 * MAX_SECTIONS; i++)
        if (find_below(tree, last, i % MAX_SECTIONS, i < MAX_SECTIONS, near))
            return true;
    return false;
}

// Words the error for a path whose first part is no key.
static SrStatus no_section(const SrYaml *tree, const char *path, const char *text) {
    char near[MAX_PATH_LEN];
    if (find_named(tree, path, near))
        SR_FAIL(SR_ERR_CONFIG, "override '%s': there is no key '%s'; did you mean '%s'?", text,
                path, near);
    SR_FAIL(SR_ERR_CONFIG, "override '%s': there is no key '%s'; `sslrun list keys` has them all",
            text, path);
}

// Words the error "no key 'LOSS.nmae'; did you mean 'LOSS.name'?": follows the path as far as it
// exists.
static SrStatus unknown(const SrYaml *tree, const char *path, const char *text) {
    char known[MAX_PATH_LEN] = "";
    const SrYaml *map = tree;
    const char *rest = path;
    for (;;) {
        size_t len = strcspn(rest, ".");
        char key[MAX_PATH_LEN];
        memcpy(key, rest, len);
        key[len] = '\0';
        const SrYaml *child = sr_yaml_find(map, key);
        if (child && rest[len] == '.' && child->type == SR_YAML_MAP) {
            memcpy(known, path, (size_t)(rest - path) + len + 1);
            known[(size_t)(rest - path) + len + 1] = '\0';
            map = child;
            rest += len + 1;
            continue;
        }
        if (map == tree && !strchr(path, '.') && find_named(tree, path, known))
            return no_section(tree, path, text);
        int near = child || map->type != SR_YAML_MAP ? -1 : sr_text_nearest(key, map->keys, map->n);
        if (near >= 0)
            SR_FAIL(SR_ERR_CONFIG, "override '%s': there is no key '%s%s'; did you mean '%s%s'?",
                    text, known, key, known, map->keys[near]);
        if (*known)
            SR_FAIL(SR_ERR_CONFIG, "override '%s': there is no key '%s' (+%s=... adds one)", text,
                    path, path);
        return no_section(tree, path, text);
    }
}

// ~A.B=v removes the key only where it has this value: somebody expects it to.
static SrStatus check_value(const SrYaml *old, const SrYaml *value, const char *text) {
    SrText flow = SR_TEXT_INIT;
    if (!old || sr_yaml_equal(old, value))
        return SR_OK;
    sr_yaml_print_flow(old, &flow);
    SrStatus status =
        sr_fail(SR_ERR_CONFIG,
                "override '%s': the value is %s; ~KEY without a value removes it in any case", text,
                flow.s ? flow.s : "another");
    sr_text_deinit(&flow);
    return status;
}

// Removes a key, which gets its table's default when the tree is read.  value: the value that it
// must have; NULL: any.
static SrStatus remove_key(SrYaml *tree, const char *path, const char *value, const char *text,
                           SrArena *arena) {
    char parent[MAX_PATH_LEN];
    const char *key = split(path, parent);
    SrYaml *map = *parent ? sr_yaml_find_path(tree, parent) : tree, *expected = NULL;
    if (value) {
        SR_TRY(parse_value(value, text, arena, &expected));
        SR_TRY(check_value(sr_yaml_find_path(tree, path), expected, text));
    }
    if (!map || map->type != SR_YAML_MAP || !sr_yaml_remove(map, key))
        return unknown(tree, path, text);
    return SR_OK;
}

// Sets a key.  A map is merged into a map, as from a file; any other value is replaced.  Missing
// parents are made: only +A.B=v gets here without them.
static SrStatus set_key(SrYaml *tree, const char *path, SrYaml *value, const char *text,
                        SrArena *arena) {
    char parent[MAX_PATH_LEN];
    const char *key = split(path, parent);
    SrYaml *map = *parent ? sr_yaml_find_path(tree, parent) : tree;
    if (map && map->type != SR_YAML_MAP)
        SR_FAIL(SR_ERR_CONFIG,
                "override '%s': '%s' is %s, but only maps have keys; replace a list as a whole",
                text, parent, sr_yaml_type_name(map->type));
    SrYaml *old = sr_yaml_find(map, key);
    if (old && old->type == SR_YAML_MAP && value->type == SR_YAML_MAP)
        return sr_yaml_merge(arena, old, value);
    return map ? sr_yaml_put(arena, map, key, value) : sr_yaml_put_path(arena, tree, path, value);
}

// Reads the path "A.B" without sign and "config.".  SR_ERR_CONFIG: the text cannot be a path.
static SrStatus read_path(const char *text, const char *start, size_t len,
                          char path[MAX_PATH_LEN]) {
    if (len > 7 && strncmp(start, "config.", 7) == 0) {
        start += 7;
        len -= 7;
    }
    if (len == 0 || len >= MAX_PATH_LEN || start[0] == '.' || start[len - 1] == '.')
        SR_FAIL(SR_ERR_CONFIG,
                "override '%s' has no key before '='; write KEY=VALUE, as in LOG_FREQUENCY=5",
                text);
    memcpy(path, start, len);
    path[len] = '\0';
    if (strchr(path, '/') || strcmp(path, "config") == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "override '%s': write config=FILE, once, or +config/DIR=FILE to name a file", text);
    if (strstr(path, ".."))
        SR_FAIL(SR_ERR_CONFIG, "override '%s': the key '%s' has an empty part", text, path);
    return SR_OK;
}

// Demands UTF-8, as for YAML files: a saved configuration could not hold other bytes.
static SrStatus check_utf8(const char *text) {
    uint32_t code;
    for (const char *c = text; *c;) {
        int len = sr_text_utf8(c, &code);
        if (len == 0)
            SR_FAIL(SR_ERR_CONFIG,
                    "override '%.*s...': the byte 0x%02x is not valid UTF-8, the encoding of "
                    "configurations",
                    (int)SR_MIN(c - text, 200), text, (unsigned char)*c);
        c += len;
    }
    return SR_OK;
}

// Hydra's "struct mode": a key must exist unless a plus says that it is new.  The schema still has
// the last word on what a plus adds.
SrStatus sr__override_apply(SrYaml *tree, const char *text, SrArena *arena) {
    bool removes = text[0] == '~';
    size_t plus = strspn(text, "+");
    const char *start = text + (removes ? 1 : SR_MIN(plus, (size_t)2));
    const char *equals = strchr(start, '=');
    char path[MAX_PATH_LEN];
    SR_TRY(check_utf8(text));
    if (!equals && !removes)
        SR_FAIL(SR_ERR_CONFIG, "override '%s' has no '='; write KEY=VALUE, as in LOG_FREQUENCY=5",
                text);
    SR_TRY(read_path(text, start, equals ? (size_t)(equals - start) : strlen(start), path));
    if (removes)
        return remove_key(tree, path, equals ? equals + 1 : NULL, text, arena);
    if (plus == 0 && !sr_yaml_find_path(tree, path))
        return unknown(tree, path, text);
    SrYaml *value = NULL;
    SR_TRY(parse_value(equals + 1, text, arena, &value));
    return set_key(tree, path, value, text, arena);
}
