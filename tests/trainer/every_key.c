// Tries other legal values for each option of a table until one has a visible effect
// (every_key.h).
#include "tests/trainer/every_key.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/yaml_edit.h"
#include "base/text/yaml_load.h"
#include "base/text/yaml_print.h"
#include "tests/check.h"
#include "tests/temp_dir.h"

char every_key_dir[64];
static char log_path[128];

static uint64_t hash_of(const void *bytes, size_t n) {
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return h;
}

void every_key_add_hash(SrText *out, const void *bytes, size_t n) {
    sr_text_printf(out, "%llx ", (unsigned long long)hash_of(bytes, n));
}

// ---- candidate values

static void path_of(const EveryKeyTable *t, const SrOption *o, char out[256]) {
    const char *below = t->below ? t->below : "";
    snprintf(out, 256, "%s%s%s", below, *below ? "." : "", o->name);
}

static const EveryKeyGiven *given_of(const EveryKeyTable *t, const SrOption *o) {
    char key[256];
    snprintf(key, sizeof key, "%s.%s", t->name, o->name);
    for (const EveryKeyGiven *g = t->given; g && g->key; g++)
        if (strcmp(g->key, key) == 0)
            return g;
    return NULL;
}

// Writes the i-th other number, or list of as many numbers as `now` has. Returns false past the
// last.
static bool other_number(const SrOption *o, const SrYaml *now, int i, SrText *out) {
    const SrYaml *first = now->type == SR_YAML_LIST && now->n > 0 ? now->items[0] : now;
    double v = first->type == SR_YAML_INT || first->type == SR_YAML_FLOAT ? first->f : 0;
    bool list = o->type == SR_OPT_INTS || o->type == SR_OPT_FLOATS;
    bool whole = o->type != SR_OPT_FLOAT && o->type != SR_OPT_FLOATS;
    int n = list && now->type == SR_YAML_LIST ? SR_MAX(now->n, 1) : 1;
    const double tries[] = {v + 1, v * 2, v - 1, v / 2, v + 0.25, v * 4, v + 7, v - 0.25};
    if (i >= SR_COUNT(tries))
        return false;
    sr_text_add(out, list ? "[" : "");
    for (int k = 0; k < n; k++)
        sr_text_printf(out, "%s%.6g", k ? ", " : "", whole ? floor(tries[i]) : tries[i]);
    sr_text_add(out, list ? "]" : "");
    return true;
}

// Writes the i-th other value of an option whose value is `now`. Returns false past the last.
static bool candidate(const EveryKeyGiven *given, const SrOption *o, const SrYaml *now, int i,
                      SrText *out) {
    if (given && given->value) {
        sr_text_add(out, given->value);
        return i == 0;
    }
    switch (o->type) {
    case SR_OPT_BOOL: sr_text_add(out, now->b ? "false" : "true"); return i == 0;
    case SR_OPT_ENUM: {
        const char *word = o->choices;
        for (int k = 0; k < i && *word; k++) {
            word += strcspn(word, "|");
            word += *word == '|';
        }
        sr_text_printf(out, "%.*s", (int)strcspn(word, "|"), word);
        return *word != '\0';
    }
    case SR_OPT_INT:
    case SR_OPT_INT64:
    case SR_OPT_INTS:
    case SR_OPT_FLOAT:
    case SR_OPT_FLOATS: return other_number(o, now, i, out);
    case SR_OPT_IGNORED: sr_text_add(out, "[another]"); return i == 0;
    default: return false;
    }
}

// Writes the map `base` with one key changed, in flow style.
static SrStatus changed_map(const char *base, const char *with, const char *key, const char *value,
                            SrText *out) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *map = NULL, *more = NULL, *node = NULL;
    SrStatus status = sr_yaml_parse(&arena, base, strlen(base), "test", &map);
    if (status == SR_OK && with)
        status = sr_yaml_parse(&arena, with, strlen(with), "test", &more);
    if (status == SR_OK && more)
        status = sr_yaml_merge(&arena, map, more);
    if (status == SR_OK && value)
        status = sr_yaml_parse(&arena, value, strlen(value), "test", &node);
    if (status == SR_OK && node)
        status = sr_yaml_put_path(&arena, map, key, node);
    if (status == SR_OK)
        sr_yaml_print_flow(map, out);
    sr_arena_deinit(&arena);
    return status;
}

// ---- effects

typedef struct {
    SrStatus status;
    SrText seen;
    char error[512];
    char *log; // lines logged meanwhile
} Look;

// Appends the lines of a log that contain the word, without their time stamps.
static void lines_with(const char *log, const char *word, SrText *out) {
    enum { STAMP = 20 }; // the length of "2026-11-22 11:28:32 "
    for (const char *line = log; *line;) {
        size_t len = strcspn(line, "\n");
        const char *hit = strstr(line, word);
        if (hit && hit < line + len && len > STAMP)
            sr_text_printf(out, "%.*s\n", (int)(len - STAMP), line + STAMP);
        line += len + (line[len] == '\n');
    }
}

// Returns whether the log names the key in a line that was not there before.
static bool is_told(const char *before, const char *after, const char *key) {
    SrText a = SR_TEXT_INIT, b = SR_TEXT_INIT;
    lines_with(before, key, &a);
    lines_with(after, key, &b);
    bool told = b.len > 0 && (a.len == 0 || strcmp(a.s, b.s) != 0);
    sr_text_deinit(&a);
    sr_text_deinit(&b);
    return told;
}

static void look_deinit(Look *l) {
    sr_text_deinit(&l->seen);
    sr_free(l->log);
}

// Returns the visible effects of a map: status, text, error and log.
static Look look(const EveryKeyTable *t, int base, const char *map) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree = NULL;
    size_t bytes;
    Look l = {.seen = SR_TEXT_INIT};
    remove(log_path);
    CHECK_OK(sr_log_open(log_path));
    CHECK_OK(sr_yaml_parse(&arena, map, strlen(map), "test", &tree));
    // With `below` set, the table is a section, and the configuration writes the lines about its
    // keys.
    l.status = t->below ? SR_OK : sr_options_report(t->table, tree, t->name, &arena);
    if (l.status == SR_OK)
        l.status = t->see(t->owner, base, map, &l.seen);
    sr_log_close();
    snprintf(l.error, sizeof l.error, "%s", l.status == SR_OK ? "" : sr_status_message());
    CHECK_OK(sr_file_read(log_path, 1 << 22, &l.log, &bytes));
    sr_arena_deinit(&arena);
    return l;
}

// The last look at an unchanged base. Most options share it, so it is computed once.
typedef struct {
    SrText map;
    Look look;
} Memo;

static void memo_deinit(Memo *m) {
    sr_text_deinit(&m->map);
    look_deinit(&m->look);
}

static const Look *remembered(Memo *m, const EveryKeyTable *t, int base, const char *map) {
    if (m->map.s && strcmp(m->map.s, map) == 0)
        return &m->look;
    memo_deinit(m);
    *m = (Memo){.map = SR_TEXT_INIT, .look = look(t, base, map)};
    sr_text_add(&m->map, map);
    // An owner that differs from look to look would make every key seem to have an effect.
    Look again = look(t, base, map);
    const char *a = m->look.seen.s ? m->look.seen.s : "", *b = again.seen.s ? again.seen.s : "";
    size_t same = 0;
    while (a[same] && a[same] == b[same])
        same++;
    size_t from = same > 60 ? same - 60 : 0;
    if (a[same] || b[same])
        fail_msg("%s: two looks at the same differ: \"%.100s\" and \"%.100s\"", t->name, a + from,
                 b + from);
    look_deinit(&again);
    return &m->look;
}

// Tries one value on one base. Returns whether it has a visible effect, is reported, or is
// refused as the only legal value.
static bool shows(Memo *memo, const EveryKeyTable *t, const SrOption *o, int base,
                  const char *value) {
    SrText a = SR_TEXT_INIT, b = SR_TEXT_INIT;
    char path[256];
    const EveryKeyGiven *given = given_of(t, o);
    const char *with = given ? given->with : NULL, *last = strrchr(o->name, '.');
    last = last ? last + 1 : o->name;
    path_of(t, o, path);
    CHECK_OK(changed_map(t->bases[base], with, path, NULL, &a));
    CHECK_OK(changed_map(t->bases[base], with, path, value, &b));
    const Look *was = remembered(memo, t, base, a.s);
    if (was->status != SR_OK && with)
        print_message("%s: nothing can be tried with %s: %s\n", path, with, was->error);
    Look is = look(t, base, b.s);
    // A key that must be the sum of others has one legal value, and a file may be missing. An
    // error that names the key or the value counts as an effect.
    bool named = strstr(is.error, last) || strstr(is.error, value);
    bool refused =
        was->status == SR_OK && is.status != SR_OK && named && (o->type == SR_OPT_IGNORED || given);
    bool seen = was->status == SR_OK && is.status == SR_OK &&
                strcmp(was->seen.s ? was->seen.s : "", is.seen.s ? is.seen.s : "") != 0;
    bool told = is_told(was->log, is.log, last);
    sr_text_deinit(&a);
    sr_text_deinit(&b);
    look_deinit(&is);
    return told || refused || seen;
}

static const SrYaml *value_now(const char *base, const char *path, const SrOption *o,
                               SrArena *arena) {
    SrYaml *map = NULL, *usual = NULL;
    const char *text = o->initial ? o->initial : "null";
    CHECK_OK(sr_yaml_parse(arena, base, strlen(base), "test", &map));
    CHECK_OK(sr_yaml_parse(arena, text, strlen(text), "test", &usual));
    const SrYaml *there = sr_yaml_find_path(map, path);
    return there ? there : usual;
}

static bool option_shows(Memo *memo, const EveryKeyTable *t, const SrOption *o, int base) {
    SrArena arena = SR_ARENA_INIT;
    char path[256];
    // A choice with a single word has no other value.
    bool found = o->type == SR_OPT_ENUM && !strchr(o->choices, '|'), more = true;
    path_of(t, o, path);
    const SrYaml *now = value_now(t->bases[base], path, o, &arena);
    for (int i = 0; !found && more; i++) {
        SrText value = SR_TEXT_INIT;
        more = candidate(given_of(t, o), o, now, i, &value);
        found = more && shows(memo, t, o, base, value.s);
        sr_text_deinit(&value);
    }
    sr_arena_deinit(&arena);
    return found;
}

void every_key_try(EveryKey *total, const EveryKeyTable *t) {
    Memo memo[EVERY_KEY_MAX_BASES] = {{.map = SR_TEXT_INIT}};
    CHECK(t->n_bases <= EVERY_KEY_MAX_BASES);
    for (const SrOption *o = t->table; o && o->name; o++) {
        bool found = false;
        for (int base = 0; !found && base < t->n_bases; base++)
            found = option_shows(&memo[base], t, o, base);
        total->options++;
        if (!found && ++total->n < 100)
            sr_text_printf(&total->missing, "\n  %s.%s", t->name, o->name);
    }
    for (int base = 0; base < t->n_bases; base++)
        memo_deinit(&memo[base]);
}

void every_key_finish(EveryKey *total, int at_least) {
    if (total->n > 0)
        fail_msg("nothing is seen of %d of %d options, and nothing is said:%s", total->n,
                 total->options, total->missing.s);
    CHECK(total->options >= at_least);
    sr_text_deinit(&total->missing);
}

int every_key_set_up(void **state) {
    (void)state;
    temp_dir_make(every_key_dir);
    snprintf(log_path, sizeof log_path, "%s/log.txt", every_key_dir);
    sr_log_set_level(SR_LOG_ERROR);
    return 0;
}

int every_key_tear_down(void **state) {
    (void)state;
    sr_log_set_level(SR_LOG_INFO);
    temp_dir_remove(every_key_dir);
    return 0;
}
