// Reads metrics.json line by line and writes every number of it.
#include "pages/runs/run_csv.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/escape.h"
#include "base/text/json.h"
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

static void add_lines(Line *l, char *text, size_t n) {
    for (char *at = text, *end; (end = memchr(at, '\n', n - (size_t)(at - text))); at = end + 1) {
        SrArena arena = SR_ARENA_INIT;
        SrYaml *tree = NULL;
        char epoch[24] = "";
        if (sr_json_parse(&arena, at, (size_t)(end - at), "line", &tree) == SR_OK) {
            int64_t index = sr_tree_int(tree, "train_phase_idx", -1);
            if (index >= 0)
                snprintf(epoch, sizeof epoch, "%lld", (long long)index);
            l->epoch = epoch;
            add_numbers(l, "", tree);
        }
        sr_status_clear(); // a line that a killed run left incomplete is skipped
        sr_arena_deinit(&arena);
    }
}

static SrStatus add_run(const char *run, SrText *out) {
    char path[4096], seed[24], *text;
    size_t n;
    SrRunPage page;
    SrStatus status = sr_run_page_open(run, &page);
    snprintf(seed, sizeof seed, "%lld", (long long)sr_tree_int(page.config, "SEED_VALUE", 0));
    sr_run_page_close(&page);
    SR_TRY(status);
    SR_TRY(sr_file_join(path, sizeof path, run, "metrics.json"));
    if (!sr_file_exists(path))
        return SR_OK;
    SR_TRY(sr_file_read_end(path, MAX_BYTES, &text, &n));
    add_lines(&(Line){.run = run, .seed = seed, .out = out}, text, n);
    sr_free(text);
    return SR_OK;
}

SrStatus sr_run_csv(const char *const *runs, int n, SrText *out) {
    sr_text_add(out, "run,seed,epoch,key,value\n");
    for (int i = 0; i < n; i++)
        SR_TRY(add_run(runs[i], out));
    return out->failed ? sr_out_of_memory("the figures") : SR_OK;
}
