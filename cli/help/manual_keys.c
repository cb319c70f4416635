// Writes the page of all keys from the option tables.
#include <string.h>

#include "base/arena.h"
#include "base/text/yaml.h"
#include "cli/help/manual_keys.h"
#include "cli/verb.h"
#include "trainer/config/describe.h"
#include "trainer/config/vissl/schema.h"

enum { IDLE_MAX = 400 };

typedef struct {
    SrArena arena;
    SrText *out;
    const char *last; // text of the row before: a value with parts is one row
    // Keys without effect and their reasons.
    const char *key[IDLE_MAX], *reason[IDLE_MAX];
    int n_idle;
} Page;

static bool is_section(const SrYaml *value) { return value->type == SR_YAML_MAP && value->n > 0; }

// Keeps a key without effect for the end of the page. row: "KEY  accepted, no effect, default X",
// then its indented reason.
static SrStatus keep_idle(Page *page, const char *row) {
    const char *reason = strchr(row, '\n');
    reason = reason ? reason + 1 + strspn(reason + 1, " ") : "";
    const char *key = sr_arena_printf(&page->arena, "%.*s", (int)strcspn(row, " "), row);
    const char *why = sr_arena_printf(&page->arena, "%.*s", (int)strcspn(reason, "\n"), reason);
    if (!key || !why || page->n_idle == IDLE_MAX)
        return sr_out_of_memory("the keys");
    page->key[page->n_idle] = key;
    page->reason[page->n_idle++] = why;
    return SR_OK;
}

static SrStatus write_key(Page *page, const char *key) {
    SrText said = SR_TEXT_INIT;
    SrStatus status = sr_manual_describe(key, &sr_manual_verbs, &said);
    const char *text = sr_arena_printf(&page->arena, "%s", said.s ? said.s : "");
    sr_text_deinit(&said);
    SR_TRY(status);
    SR_TRY_MEMORY(text, "the keys");
    const char *part = strstr(text, " is part of\n"), *line = strchr(text, '\n');
    const char *row = part && line > part ? line + 1 : text;
    if (page->last && strcmp(page->last, row) == 0)
        return SR_OK;
    page->last = row;
    const char *first = row + strcspn(row, "\n"), *idle = strstr(row, "  accepted, no effect, ");
    if (!idle)
        idle = strstr(row, " accepted, no effect, ");
    if (idle && idle < first)
        return keep_idle(page, row);
    sr_text_add(page->out, row);
    return SR_OK;
}

static SrStatus write_below(Page *page, const SrYaml *map, const char *prefix) {
    for (int i = 0; i < map->n; i++) {
        const char *key = sr_arena_printf(&page->arena, "%s.%s", prefix, map->keys[i]);
        SR_TRY_MEMORY(key, "the keys");
        SR_TRY(is_section(map->items[i]) ? write_below(page, map->items[i], key)
                                         : write_key(page, key));
    }
    return SR_OK;
}

// Writes a section's heading and rows; nothing if all of its keys are without effect.
static SrStatus write_section(Page *page, const SrYaml *defaults, const char *name) {
    SrText *out = page->out;
    size_t start = out->len;
    sr_text_printf(out, "\n<a id=\"%s\"></a>\n\n## %s\n\n```\n", name, name);
    size_t empty = out->len;
    for (int i = 0; i < defaults->n; i++) {
        const SrYaml *value = defaults->items[i];
        bool general = strcmp(name, "general") == 0;
        if (general && !is_section(value))
            SR_TRY(write_key(page, defaults->keys[i]));
        else if (is_section(value) && strcmp(name, defaults->keys[i]) == 0)
            SR_TRY(write_below(page, value, name));
    }
    if (out->len == empty && out->s) {
        out->s[out->len = start] = '\0';
        return SR_OK;
    }
    sr_text_add(out, "```\n");
    return SR_OK;
}

// Writes the links to the sections, then the sections.
static SrStatus write_sections(Page *page, const SrYaml *defaults) {
    SrText sections = SR_TEXT_INIT, *out = page->out;
    const char *name = "general";
    SrStatus status = SR_OK;
    sr_text_add(out, "Sections: ");
    page->out = &sections;
    for (int i = -1; i < defaults->n && status == SR_OK; i++) {
        size_t before = sections.len;
        if (i >= 0 && !is_section(defaults->items[i]))
            continue;
        name = i < 0 ? name : defaults->keys[i];
        status = write_section(page, defaults, name);
        if (sections.len > before)
            sr_text_printf(out, "[%s](#%s), ", name, name);
    }
    sr_text_printf(out, "[keys without effect](#keys-without-effect).\n%s",
                   sections.s ? sections.s : "");
    page->out = out;
    sr_text_deinit(&sections);
    return status;
}

// Writes each reason once, with all of its keys.
static void write_idle(const Page *page, SrText *out) {
    sr_text_add(out, "\n## Keys without effect\n\n"
                     "VISSL's files may contain these keys. They are accepted, and a run reports "
                     "those that a file sets.\n\n");
    for (int i = 0; i < page->n_idle; i++) {
        bool known = false;
        for (int k = 0; k < i; k++)
            known = known || strcmp(page->reason[k], page->reason[i]) == 0;
        if (known)
            continue;
        const char *comma = "* ";
        for (int k = i; k < page->n_idle; k++)
            if (strcmp(page->reason[k], page->reason[i]) == 0) {
                sr_text_printf(out, "%s`%s`", comma, page->key[k]);
                comma = ", ";
            }
        sr_text_printf(out, ": %s\n", page->reason[i]);
    }
}

SrStatus sr_manual_keys(SrText *out) {
    Page page = {.arena = SR_ARENA_INIT, .out = out};
    SrYaml *defaults;
    sr_text_add(out, "# Every key of a configuration\n\nWritten by `make docs` from the option "
                     "tables; `sslrun describe KEY` says the same.\n\n");
    SrStatus status = sr__schema_defaults(&page.arena, &defaults);
    if (status == SR_OK)
        status = write_sections(&page, defaults);
    if (status == SR_OK)
        write_idle(&page, out);
    sr_arena_deinit(&page.arena);
    return status;
}
