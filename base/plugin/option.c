// Option tables: defaults, parsing with checks, printing back, describing.
#include "base/plugin/option.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "base/text/yaml_edit.h"
#include "base/text/yaml_load.h"
#include "base/text/yaml_print.h"
#include "base/text/yaml_scalar.h"

// Context of one parse, from which messages name the place.
typedef struct {
    const SrOption *table;
    const char *where; // path of the whole map, for messages
    SrArena *arena;
    char *params;
    SrProblems *problems; // NULL: the first mistake ends the parse
} Parser;

static SrStatus out_of_memory(void) { return sr_out_of_memory("options"); }

// Returns "file:line: " of a value; "": the value came from no file.
static const char *place(const SrYaml *v, char *buf, size_t bytes) {
    if (!v->file || !*v->file)
        snprintf(buf, bytes, "%s", "");
    else if (v->line > 0)
        snprintf(buf, bytes, "%s:%d: ", v->file, v->line);
    else
        snprintf(buf, bytes, "%s: ", v->file);
    return buf;
}

// Returns the dot between path and key; "" at the root of a configuration, where the path is empty.
static const char *dot(const char *where) { return *where ? "." : ""; }

// Fails with "a.yaml:3: LOSS.swav_loss.epsilon is a string ("x"), expected a number".
static SrStatus wrong(const Parser *p, const SrOption *o, const SrYaml *v, const char *expected) {
    char at[512];
    SrText text = SR_TEXT_INIT;
    sr_yaml_print_flow(v, &text);
    SrStatus status =
        sr_fail(SR_ERR_CONFIG, "%s%s%s%s is %.60s, expected %s", place(v, at, sizeof at), p->where,
                dot(p->where), o->name, text.s ? text.s : "?", expected);
    sr_text_deinit(&text);
    return status;
}

// Refuses NaN even without a range.  A range of 0 to 0 means none.
static SrStatus check_range(const Parser *p, const SrOption *o, const SrYaml *v) {
    bool bounded = o->min != 0 || o->max != 0;
    if (!isnan(v->f) && (!bounded || (v->f >= o->min && v->f <= o->max)))
        return SR_OK;
    char expected[96];
    sr_number_print(expected, sizeof expected, "a number from %.10g to %.10g", o->min, o->max);
    return wrong(p, o, v, bounded ? expected : "a number");
}

static bool is_number(const SrYaml *v) {
    return v->type == SR_YAML_INT || v->type == SR_YAML_FLOAT;
}

// Checks for a number.  2.0 counts as whole, because schedules and overrides write epochs like
// that. 9.2e18 is a round bound just below the maximum of int64_t.
static SrStatus number(const Parser *p, const SrOption *o, const SrYaml *v, bool whole) {
    bool ok = is_number(v) && (!whole || (v->f == floor(v->f) && fabs(v->f) < 9.2e18));
    if (!ok)
        return wrong(p, o, v, whole ? "a whole number" : "a number");
    return check_range(p, o, v);
}

static int64_t whole_of(const SrYaml *v) { return v->type == SR_YAML_INT ? v->i : (int64_t)v->f; }

// Checks the row's range before the 32 bits of an int, because its message is clearer.
static SrStatus int_of(const Parser *p, const SrOption *o, const SrYaml *v, int *out) {
    SR_TRY(number(p, o, v, true));
    int64_t i = whole_of(v);
    if (i < INT32_MIN || i > INT32_MAX)
        return wrong(p, o, v, "a whole number that fits 32 bits");
    *out = (int)i;
    return SR_OK;
}

// Returns the position of `word` among "a|b|c", ignoring case; -1: absent.
static int choice_index(const char *choices, const char *word) {
    size_t len = strlen(word);
    for (int i = 0; *choices; i++) {
        size_t n = strcspn(choices, "|");
        if (n == len && strncasecmp(choices, word, n) == 0)
            return i;
        choices += n + (choices[n] == '|');
    }
    return -1;
}

// Stores the index of the choice; `choices` is the only list of names.
static SrStatus parse_enum(const Parser *p, const SrOption *o, const SrYaml *v, int *out) {
    char expected[256];
    snprintf(expected, sizeof expected, "one of %s", o->choices);
    int i = v->text ? choice_index(o->choices, v->text) : -1;
    if (i < 0)
        return wrong(p, o, v, expected);
    *out = i;
    return SR_OK;
}

// Accepts numbers and words like true as they were written, because names may look like them.
static SrStatus parse_string(const Parser *p, const SrOption *o, const SrYaml *v,
                             const char **out) {
    if (v->type == SR_YAML_LIST || v->type == SR_YAML_MAP)
        return wrong(p, o, v, "a string");
    *out = v->type == SR_YAML_NULL ? "" : sr_arena_strdup(p->arena, v->text);
    return *out ? SR_OK : out_of_memory();
}

// Returns element i of a list.  A single value is a list of one, and null is the empty list.
static const SrYaml *element(const SrYaml *v, int i) {
    return v->type == SR_YAML_LIST ? v->items[i] : v;
}
static int elements(const SrYaml *v) {
    return v->type == SR_YAML_LIST ? v->n : v->type == SR_YAML_NULL ? 0 : 1;
}

// Allocates 8 bytes per element, which hold an int, a double or a pointer.
static SrStatus parse_list(const Parser *p, const SrOption *o, const SrYaml *v, void *slot) {
    if (v->type == SR_YAML_MAP)
        return wrong(p, o, v, "a list");
    int n = elements(v);
    void *mem = sr_arena_alloc(p->arena, (size_t)(n ? n : 1) * 8);
    if (!mem)
        return out_of_memory();
    for (int i = 0; i < n; i++) {
        const SrYaml *e = element(v, i);
        if (o->type == SR_OPT_INTS)
            SR_TRY(int_of(p, o, e, (int *)mem + i));
        else if (o->type == SR_OPT_STRINGS)
            SR_TRY(parse_string(p, o, e, (const char **)mem + i));
        else {
            SR_TRY(number(p, o, e, false));
            ((double *)mem)[i] = e->f;
        }
    }
    if (o->type == SR_OPT_INTS)
        *(SrInts *)slot = (SrInts){n, mem};
    else if (o->type == SR_OPT_STRINGS)
        *(SrStrings *)slot = (SrStrings){n, mem};
    else
        *(SrDoubles *)slot = (SrDoubles){n, mem};
    return SR_OK;
}

// Writes one field of the params struct at its offset, with the type that the row declares.
static SrStatus parse_value(const Parser *p, const SrOption *o, const SrYaml *v) {
    void *slot = p->params + o->offset;
    switch (o->type) {
    case SR_OPT_BOOL:
        if (v->type != SR_YAML_BOOL)
            return wrong(p, o, v, "true or false");
        *(bool *)slot = v->b;
        return SR_OK;
    case SR_OPT_INT: return int_of(p, o, v, slot);
    case SR_OPT_INT64:
        SR_TRY(number(p, o, v, true));
        *(int64_t *)slot = whole_of(v);
        return SR_OK;
    case SR_OPT_FLOAT:
        SR_TRY(number(p, o, v, false));
        *(double *)slot = v->f;
        return SR_OK;
    case SR_OPT_STRING: return parse_string(p, o, v, slot);
    case SR_OPT_ENUM: return parse_enum(p, o, v, slot);
    case SR_OPT_INTS:
    case SR_OPT_FLOATS:
    case SR_OPT_STRINGS: return parse_list(p, o, v, slot);
    case SR_OPT_TREE: *(const SrYaml **)slot = v; return SR_OK;
    case SR_OPT_IGNORED: return SR_OK;
    }
    return SR_OK;
}

static int table_count(const SrOption *table) {
    int n = 0;
    while (table && table[n].name)
        n++;
    return n;
}

const SrOption *sr_options_find(const SrOption *table, const char *name) {
    for (const SrOption *o = table; o && o->name; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

// Fails for an unknown key at the line of its value v, because keys have no line.  Whole dotted
// names are compared, so that a slip in the second part of "queue.length" gets a suggestion too.
static SrStatus unknown_key(const Parser *p, const SrYaml *v, const char *key) {
    int n = table_count(p->table);
    const char **names = sr_alloc((size_t)(n + 1) * sizeof *names);
    if (!names)
        return out_of_memory();
    for (int i = 0; i < n; i++)
        names[i] = p->table[i].name;
    int near = sr_text_nearest(key, names, n);
    // For an entry of a list ("TRANSFORMS[1].Resize") the manual describes the plugin only.
    const char *entry = strrchr(p->where, ']');
    const char *manual = entry && entry[1] == '.' ? entry + 2 : p->where;
    char at[512];
    place(v, at, sizeof at);
    SrStatus status =
        near >= 0
            ? sr_fail(SR_ERR_CONFIG, "%sunknown key '%s%s%s'; did you mean '%s'?", at, p->where,
                      dot(p->where), key, names[near])
            : sr_fail(SR_ERR_CONFIG, "%sunknown key '%s%s%s'; `sslrun %s%s` lists the valid ones",
                      at, p->where, dot(p->where), key,
                      *p->where ? "describe " : "check CONFIG --tree", manual);
    sr_free(names);
    return status;
}

// True: the name of some option begins with "prefix.".
static bool is_section(const SrOption *table, const char *prefix) {
    for (const SrOption *o = table; o && o->name; o++)
        if (sr_text_below(o->name, prefix))
            return true;
    return false;
}

// Parses a map; joins nested keys with dots to find dotted options.
static SrStatus parse_map(const Parser *p, const SrYaml *map, const char *prefix) {
    for (int i = 0; i < map->n; i++) {
        const char *key =
            sr_arena_printf(p->arena, "%s%s%s", prefix, *prefix ? "." : "", map->keys[i]);
        if (!key)
            return out_of_memory();
        const SrYaml *v = map->items[i];
        const SrOption *o = sr_options_find(p->table, key), missing = {.name = key};
        SrStatus status = o                            ? parse_value(p, o, v)
                          : !is_section(p->table, key) ? unknown_key(p, v, key)
                          : v->type == SR_YAML_MAP     ? parse_map(p, v, key)
                                                       : wrong(p, &missing, v, "a map");
        SR_TRY(sr_problems_keep(p->problems, status));
    }
    return SR_OK;
}

// Parses a row's default from YAML text, so that the manual, the default tree and the parser agree.
static SrStatus default_value(const SrOption *o, SrArena *arena, SrYaml **out) {
    const char *text = o->initial ? o->initial : "null";
    SrStatus status = sr_yaml_parse(arena, text, strlen(text), "", out);
    if (status == SR_ERR_MEMORY)
        return sr_out_of_memory("the default of %s", o->name);
    return status;
}

// Checks defaults like values from a file: a default outside its range fails the first test of the
// table.
SrStatus sr_options_parse(const SrOption *table, const SrYaml *map, const char *where,
                          SrArena *arena, void *params) {
    return sr_options_parse_all(table, map, where, arena, params, NULL);
}

SrStatus sr_options_parse_all(const SrOption *table, const SrYaml *map, const char *where,
                              SrArena *arena, void *params, SrProblems *problems) {
    Parser p = {table, where ? where : "", arena, params, problems};
    for (const SrOption *o = table; o && o->name; o++) {
        SrYaml *v;
        if (o->type == SR_OPT_IGNORED)
            continue;
        SR_TRY(default_value(o, arena, &v));
        SR_TRY(parse_value(&p, o, v));
    }
    if (!map || map->type == SR_YAML_NULL)
        return SR_OK;
    char at[512];
    if (map->type != SR_YAML_MAP)
        return sr_problems_keep(problems, sr_fail(SR_ERR_CONFIG, "%s%s is %s, expected a map",
                                                  place(map, at, sizeof at), p.where,
                                                  sr_yaml_type_name(map->type)));
    return parse_map(&p, map, "");
}

SrStatus sr_options_defaults(const SrOption *table, SrArena *arena, SrYaml **out) {
    *out = sr_yaml_new(arena, SR_YAML_MAP, "defaults", 0);
    if (!*out)
        return out_of_memory();
    for (const SrOption *o = table; o && o->name; o++) {
        SrYaml *v;
        SR_TRY(default_value(o, arena, &v));
        v->file = "defaults";
        v->line = 0;
        SR_TRY(sr_yaml_put_path(arena, *out, o->name, v));
    }
    return SR_OK;
}

// Makes the word of choice i.  Past the last one it makes the empty word, which parses as null
// and is refused.
static SrYaml *choice_node(SrArena *arena, const char *choices, int i) {
    while (i-- > 0) {
        choices += strcspn(choices, "|");
        choices += *choices == '|';
    }
    const char *word = sr_arena_printf(arena, "%.*s", (int)strcspn(choices, "|"), choices);
    return word ? sr_yaml_scalar(arena, word, "", 0) : NULL;
}

static SrStatus print_list(const SrOption *o, const void *slot, SrArena *arena, SrYaml **out) {
    *out = sr_yaml_new(arena, SR_YAML_LIST, "", 0);
    if (!*out)
        return out_of_memory();
    int n = ((const SrInts *)slot)->n; // n is the first field of all three list types
    for (int i = 0; i < n; i++) {
        SrYaml *item = o->type == SR_OPT_INTS ? sr_yaml_int(arena, ((const SrInts *)slot)->v[i])
                       : o->type == SR_OPT_STRINGS
                           ? sr_yaml_string(arena, ((const SrStrings *)slot)->v[i])
                           : sr_yaml_float(arena, ((const SrDoubles *)slot)->v[i]);
        SR_TRY(sr_yaml_append(arena, *out, item));
    }
    return SR_OK;
}

// Makes a node of a field: the inverse of parse_value.
static SrStatus print_value(const SrOption *o, const char *params, SrArena *arena, SrYaml **out) {
    const void *slot = params + o->offset;
    *out = NULL;
    switch (o->type) {
    case SR_OPT_BOOL: *out = sr_yaml_bool(arena, *(const bool *)slot); break;
    case SR_OPT_INT: *out = sr_yaml_int(arena, *(const int *)slot); break;
    case SR_OPT_INT64: *out = sr_yaml_int(arena, *(const int64_t *)slot); break;
    case SR_OPT_FLOAT: *out = sr_yaml_float(arena, *(const double *)slot); break;
    case SR_OPT_STRING: {
        const char *text = *(const char *const *)slot;
        *out = sr_yaml_string(arena, text ? text : "");
        break;
    }
    case SR_OPT_ENUM: *out = choice_node(arena, o->choices, *(const int *)slot); break;
    case SR_OPT_INTS:
    case SR_OPT_FLOATS:
    case SR_OPT_STRINGS: return print_list(o, slot, arena, out);
    case SR_OPT_TREE: {
        const SrYaml *tree = *(const SrYaml *const *)slot;
        *out = tree ? sr_yaml_copy(arena, tree) : sr_yaml_new(arena, SR_YAML_NULL, "", 0);
        break;
    }
    case SR_OPT_IGNORED: return default_value(o, arena, out);
    }
    return *out ? SR_OK : out_of_memory();
}

SrStatus sr_options_print(const SrOption *table, const void *params, SrArena *arena, SrYaml **out) {
    *out = sr_yaml_new(arena, SR_YAML_MAP, "", 0);
    if (!*out)
        return out_of_memory();
    for (const SrOption *o = table; o && o->name; o++) {
        SrYaml *v;
        SR_TRY(print_value(o, params, arena, &v));
        SR_TRY(sr_yaml_put_path(arena, *out, o->name, v));
    }
    return SR_OK;
}

static size_t field_bytes(SrOptionType type) {
    static const size_t bytes[] = {[SR_OPT_BOOL] = sizeof(bool),
                                   [SR_OPT_INT] = sizeof(int),
                                   [SR_OPT_INT64] = sizeof(int64_t),
                                   [SR_OPT_FLOAT] = sizeof(double),
                                   [SR_OPT_STRING] = sizeof(char *),
                                   [SR_OPT_ENUM] = sizeof(int),
                                   [SR_OPT_INTS] = sizeof(SrInts),
                                   [SR_OPT_FLOATS] = sizeof(SrDoubles),
                                   [SR_OPT_STRINGS] = sizeof(SrStrings),
                                   [SR_OPT_TREE] = sizeof(SrYaml *),
                                   [SR_OPT_IGNORED] = 0};
    return bytes[type];
}

// A field with the same bytes is not looked into: rows of several types may share one that nobody
// reads.
SrStatus sr_options_changes(const SrOption *table, const void *params, const void *before,
                            SrArena *arena, SrYaml **out) {
    *out = sr_yaml_new(arena, SR_YAML_MAP, "", 0);
    if (!*out)
        return out_of_memory();
    for (const SrOption *o = table; o && o->name; o++) {
        SrYaml *new, *old;
        if (memcmp((const char *)params + o->offset, (const char *)before + o->offset,
                   field_bytes(o->type)) == 0)
            continue;
        SR_TRY(print_value(o, params, arena, &new));
        SR_TRY(print_value(o, before, arena, &old));
        if (!sr_yaml_equal(new, old))
            SR_TRY(sr_yaml_put_path(arena, *out, o->name, new));
    }
    return SR_OK;
}

static const char *type_word(SrOptionType type) {
    static const char *const words[] = {"true|false",
                                        "whole number",
                                        "whole number",
                                        "number",
                                        "string",
                                        "",
                                        "list of whole numbers",
                                        "list of numbers",
                                        "list of strings",
                                        "tree",
                                        "accepted, no effect"};
    return words[type];
}

void sr_option_summary(const SrOption *option, SrText *out) {
    const char *word = option->type == SR_OPT_ENUM ? option->choices : type_word(option->type);
    sr_text_printf(out, "%-28s %s", option->name, word);
    if (option->initial)
        sr_text_printf(out, ", default %s", *option->initial ? option->initial : "\"\"");
    if (option->min != 0 || option->max != 0)
        sr_text_printf(out, ", %g .. %g", option->min, option->max);
}

// Writes the only description of an option; the manual and `sslrun describe` print it.
void sr_option_describe(const SrOption *option, SrText *out) {
    sr_option_summary(option, out);
    sr_text_printf(out, "\n    %s", option->help ? option->help : "");
    if (option->needs)
        sr_text_printf(out, "  It has an effect only with %s.", option->needs);
    sr_text_add(out, "\n");
}

// Reports a key that is accepted without effect, if it has another value than its default.
static SrStatus report_row(const SrOption *row, const SrYaml *map, const char *where,
                           SrArena *arena) {
    const SrYaml *given = sr_yaml_find_path(map, row->name);
    if (!given)
        return SR_OK;
    SrYaml *usual = NULL;
    const char *text = row->initial ? row->initial : "null";
    SR_TRY(sr_yaml_parse(arena, text, strlen(text), "defaults", &usual));
    const SrYaml *other = sr_tree_difference(given, usual);
    if (!other)
        return SR_OK;
    const SrYamlPlace at = sr_yaml_place(other);
    const char *dot = *where ? "." : "";
    if (row->choices && strcmp(row->choices, SR_REFUSED) == 0)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s%s%s can only be %s in sslrun: %s", at.text, where, dot,
                row->name, text, row->help);
    sr_info("%s: %s%s%s is accepted and changes nothing: %s", at.text, where, dot, row->name,
            row->help);
    return SR_OK;
}

SrStatus sr_options_report(const SrOption *table, const SrYaml *map, const char *where,
                           SrArena *arena) {
    for (const SrOption *row = table; row && row->name; row++)
        if (row->type == SR_OPT_IGNORED)
            SR_TRY(report_row(row, map, where, arena));
    return SR_OK;
}

// True: `key` is the first component of some dotted row, as "larc_config" is of "larc_config.eps".
static bool has_section(const SrOption *table, const char *key) {
    size_t n = strlen(key);
    for (const SrOption *o = table; o && o->name; o++)
        if (strncmp(o->name, key, n) == 0 && (o->name[n] == '\0' || o->name[n] == '.'))
            return true;
    return false;
}

SrStatus sr_options_pick(const SrOption *table, const SrYaml *map, SrArena *arena, SrYaml **out) {
    *out = sr_yaml_new(arena, SR_YAML_MAP, map ? map->file : "defaults", map ? map->line : 0);
    if (!*out)
        return sr_out_of_memory("options");
    for (int i = 0; map && map->type == SR_YAML_MAP && i < map->n; i++)
        if (has_section(table, map->keys[i]))
            SR_TRY(sr_yaml_put(arena, *out, map->keys[i], map->items[i]));
    return SR_OK;
}
