// Reads metrics.json line by line and writes every number of it.
#include "pages/runs/run_csv.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text/escape.h"
#include "base/text/json.h"
#include "base/text/lines.h"
#include "base/text/yaml_edit.h"
#include "pages/runs/run_page.h"

enum { MAX_BYTES = 1 << 28 };

typedef struct {
    const char *run, *seed, *epoch;
    SrText *out;
} Line;

// Appends the numbers of a node; key: names of the objects around it, joined by dots.
static void add_numbers(const Line *l, const char *key, const SrYaml *node) {
    char name[512], number[SR_TEXT_NUMBER_BYTES];
    if (node->type == SR_YAML_INT || node->type == SR_YAML_FLOAT) {
        sr_escape_csv(l->run, l->out);
        sr_text_printf(l->out, ",%s,%s,", l->seed, l->epoch);
        sr_escape_csv(key, l->out);
        sr_text_printf(l->out, ",%s\n", sr_text_number(node->f, number));
        return;
    }
    for (int i = 0; node->type == SR_YAML_MAP && i < node->n; i++) {
        snprintf(name, sizeof name, "%s%s%s", key, *key ? "." : "", node->keys[i]);
        add_numbers(l, name, node->items[i]);
    }
}

// Skips a line that is no JSON: a killed run may have left it incomplete.
static void add_line(Line *l, const char *text, size_t n) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree = NULL;
    char epoch[24] = "";
    if (sr_json_parse(&arena, text, n, "line", &tree) == SR_OK) {
        int64_t index = sr_tree_int(tree, "train_phase_idx", -1);
        if (index >= 0)
            snprintf(epoch, sizeof epoch, "%lld", (long long)index);
        l->epoch = epoch;
        add_numbers(l, "", tree);
    }
    sr_status_clear();
    sr_arena_deinit(&arena);
}

static SrStatus add_lines(Line *l, const char *path) {
    SrLines lines;
    char *text;
    size_t n;
    SR_TRY(sr_lines_open(&lines, path, MAX_BYTES));
    SrStatus status = sr_lines_next(&lines, &text, &n);
    for (; status == SR_OK && text; status = sr_lines_next(&lines, &text, &n))
        add_line(l, text, n);
    sr_lines_close(&lines);
    return status;
}

static SrStatus add_run(const char *run, SrText *out) {
    char path[4096], seed[24];
    SrRunPage page;
    SrStatus status = sr_run_page_open(run, &page);
    snprintf(seed, sizeof seed, "%lld", (long long)sr_tree_int(page.config, "SEED_VALUE", 0));
    sr_run_page_close(&page);
    SR_TRY(status);
    SR_TRY(sr_file_join(path, sizeof path, run, "metrics.json"));
    if (!sr_file_exists(path))
        return SR_OK;
    return add_lines(&(Line){.run = run, .seed = seed, .out = out}, path);
}

SrStatus sr_run_csv(const char *const *runs, int n, SrText *out) {
    sr_text_add(out, "run,seed,epoch,key,value\n");
    for (int i = 0; i < n; i++)
        SR_TRY(add_run(runs[i], out));
    return out->failed ? sr_out_of_memory("the figures") : SR_OK;
}
