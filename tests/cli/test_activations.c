// Tests DISTRIBUTED.MEMORY on the command line: `check` reports which activations are kept, and
// runs with either setting end in the same bits.
#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/checkpoint_pair.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define TINY "tests/cli/tiny.yaml"
#define FOUR "DISTRIBUTED.REPLICAS=4"

static void check_says(const char *memory, const char *text) {
    static ProgramResult r;
    program_run(&r, 1, (const char *[]){"check", TINY, FOUR, memory, NULL});
    if (r.code != 0 || !strstr(r.out, text))
        fail_msg("'%s' is not in: %s%s", text, r.out, r.err);
}

TEST(test_told) {
    check_says("DISTRIBUTED.MEMORY=keep", "kept for the backward pass");
    check_says("DISTRIBUTED.MEMORY=again", "forward passes run twice");
}

static void train(const char *dir, const char *memory) {
    static ProgramResult r;
    char key[128];
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
    program_run(&r, 1, (const char *[]){TINY, FOUR, memory, key, NULL});
    if (r.code != 0)
        fail_msg("exit code %d: %s", r.code, r.err);
}

TEST(test_same_bits) {
    char a[64], b[64], x[128], y[128];
    temp_dir_make(a);
    temp_dir_make(b);
    train(a, "DISTRIBUTED.MEMORY=keep");
    train(b, "DISTRIBUTED.MEMORY=again");
    snprintf(x, sizeof x, "%s/model_final_checkpoint_phase2.safetensors", a);
    snprintf(y, sizeof y, "%s/model_final_checkpoint_phase2.safetensors", b);
    check_same_checkpoint(x, y, 50);
    temp_dir_remove(a);
    temp_dir_remove(b);
}

SR_TESTS(activations, unit(test_told), unit(test_same_bits))
