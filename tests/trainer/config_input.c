// Splits an input of the configuration fuzzer into overrides and YAML text, and loads it as the
// program does (config_input.h).
#include "tests/trainer/config_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/yaml.h"
#include "base/text/yaml_load.h"
#include "base/text/yaml_print.h"
#include "trainer/run/run.h"

enum { MAX_OVERRIDES = 16, MAX_TEXT = 1 << 16, MAX_BYTES = 256 << 20 };

typedef struct {
    const char *overrides[MAX_OVERRIDES];
    int n;
    const char *text;
} Input;

// Splits the copy at its line ends. Overrides come first here; on a command line they would
// follow the file.
static Input take_apart(char *copy) {
    Input in = {.n = 0};
    while (*copy == '!' && in.n < MAX_OVERRIDES) {
        char *end = strchr(copy, '\n');
        in.overrides[in.n++] = copy + 1;
        if (!end) {
            copy += strlen(copy);
            break;
        }
        *end = '\0';
        copy = end + 1;
    }
    in.text = copy;
    return in;
}

// A run resumes from its saved configuration, so the printed tree must parse to an equal one.
// Inference rules run once more on their own results and must change nothing.
static void check_round_trip(const SrConfig *config) {
    SrArena arena = SR_ARENA_INIT;
    SrText text = {0};
    SrYaml *again = NULL;
    sr_yaml_print(config->tree, &text);
    if (text.failed || sr_yaml_parse(&arena, text.s, text.len, "again", &again) != SR_OK ||
        !sr_yaml_equal(config->tree, again))
        abort();
    sr_text_deinit(&text);
    sr_arena_deinit(&arena);
}

// Builds and plans the step without memory for it, as `sslrun check` does.
static void check_run(const SrConfig *config) {
    SrRun *run = NULL;
    if (sr_run_open(config, SR_RUN_CHECK, &run) == SR_OK)
        sr_run_close(run);
}

static void load(Input in) {
    SrConfig *config = NULL;
    if (sr_config_parse(in.text, "input.yaml", in.overrides, in.n, &config) != SR_OK)
        return;
    check_round_trip(config);
    check_run(config);
    sr_config_free(config);
}

void config_input_try(const char *data, size_t bytes) {
    if (bytes > MAX_TEXT)
        return;
    char *copy = sr_calloc(1, bytes + 1);
    if (!copy)
        return;
    memcpy(copy, data, bytes);
    int64_t live = sr_mem_live(), before = sr_mem_bytes();
    sr_mem_peak_reset();
    load(take_apart(copy));
    if (sr_mem_peak() - before > MAX_BYTES || sr_mem_live() != live) {
        fprintf(stderr, "%lld bytes at once, %lld blocks left\n",
                (long long)(sr_mem_peak() - before), (long long)(sr_mem_live() - live));
        abort();
    }
    sr_free(copy);
}
