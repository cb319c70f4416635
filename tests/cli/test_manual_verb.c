// Help, manual page and completions come from the tables: every verb and every flag of it is in each of them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/verb.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static ProgramResult result; // two 64 kB texts: too large for the stack of a test
static char form[6][1 << 16];
static const char *const names[] = {"man", "bash", "zsh", "fish"};

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})

static void has(int f, const char *text) {
    if (!strstr(form[f], text))
        fail_msg("%s has no \"%s\"", names[f], text);
}

// As the page has it, with its hyphens.
static void has_in_page(const char *text) {
    char roff[256] = "";
    for (; *text; text++)
        strncat(roff, *text == '-' ? "\\-" : (char[]){*text, 0}, sizeof roff - strlen(roff) - 1);
    has(0, roff);
}

static void test_every_verb_and_flag(void **state) {
    (void)state;
    char text[256];
    int flags = 0;
    for (int f = 0; f < SR_COUNT(names); f++) {
        RUN("manual", names[f]);
        CHECK_INT(result.code, 0);
        CHECK(strlen(result.out) < sizeof result.out - 1); // whole
        snprintf(form[f], sizeof form[f], "%s", result.out);
    }
    RUN("--help");
    for (int i = 0; sr_verb_at(i); i++) {
        const SrVerb *verb = sr_verb_at(i);
        SrFlag table[SR_FLAGS_MAX];
        int n = sr_args_flags_of(verb->run, table);
        snprintf(text, sizeof text, "  sslrun %s ", verb->name);
        CHECK(strstr(result.out, verb->help));
        snprintf(text, sizeof text, ".SS %s\n", verb->name);
        has_in_page(text);
        snprintf(text, sizeof text, "    %s) flags=", verb->name);
        has(1, text);
        snprintf(text, sizeof text, "  %s) _arguments", verb->name);
        has(2, text);
        snprintf(text, sizeof text, "-a %s -d ", verb->name);
        has(3, text);
        CHECK(n < SR_FLAGS_MAX);
        for (int k = 0; k < n; k++, flags++) {
            has_in_page(table[k].name);
            has(1, table[k].name);
            has(2, table[k].name);
            snprintf(text, sizeof text, "seen_subcommand_from %s' -l %s ", verb->name,
                     table[k].name + 2);
            has(3, text);
        }
    }
    CHECK(flags > 60);
    RUN("manual", "fisch");
    CHECK_INT(result.code, 2);
}

// bash reads it, and completes verbs, flags and keys.
static void test_bash_completes(void **state) {
    (void)state;
    char dir[64], script[2048], out[512];
    temp_dir_make(dir);
    RUN("manual", "bash");
    snprintf(script, sizeof script, "%s/completion", dir);
    FILE *f = fopen(script, "w");
    CHECK(f);
    fputs(result.out, f);
    fprintf(f, "try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _sslrun "
               "2>/dev/null; echo \"${COMPREPLY[*]}\"; }\n"
               "try sslrun augm\ntry sslrun init photos --min\ntry sslrun knn --layer res\n");
    fclose(f);
    snprintf(script, sizeof script, "bash %s/completion >%s/out", dir, dir);
    CHECK_INT(system(script), 0);
    program_read(dir, "out", out, sizeof out);
    CHECK_STR(out, "augment\n--minutes\nres2 res3 res4 res5\n");
    temp_dir_remove(dir);
}

static void test_keys(void **state) {
    (void)state;
    RUN("manual", "keys");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "CHECKPOINT.DIR"));
    CHECK(strstr(result.out, "ACTIVATION_CHECKPOINTING"));
}

SR_TESTS(manual_verb, unit(test_every_verb_and_flag), unit(test_bash_completes), unit(test_keys))
