// Help, manual page and completions are made from the tables: each contains every verb and every
// flag.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/args.h"
#include "cli/verb.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
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

// Fails unless the manual page has the text, with the page's hyphens.
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
        CHECK(strlen(result.out) < sizeof result.out - 1); // not cut off
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
            if (!strstr(verb->usage, table[k].name))
                fail_msg("the usage of %s has no %s", verb->name, table[k].name);
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

static void write_completion(const char *dir, const char *shell) {
    char path[256];
    RUN("manual", shell);
    snprintf(path, sizeof path, "%s/%s", dir, shell);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(result.out, f) >= 0 && fclose(f) == 0);
}

// Runs a shell command and copies its output. The program is in PATH, and $D is the folder.
static void shell(const char *dir, const char *line, char *out, int n) {
    char self[2048], whole[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    snprintf(whole, sizeof whole, "D='%s' PATH='%s':$PATH; export PATH; { %s; } >$D/out 2>&1", dir,
             self, line);
    CHECK_INT(system(whole), 0);
    program_read(dir, "out", out, n);
}

// bash completes verbs, flags, layers of a trunk, keys and configurations.
static void test_bash_completes(void **state) {
    (void)state;
    char dir[64], out[2048];
    static const char tries[] =
        ". $D/bash\n"
        "try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _sslrun; echo "
        "\"${COMPREPLY[*]}\"; }\n"
        "try sslrun augm\ntry sslrun init photos --min\ntry sslrun knn tests/cli/tiny.yaml --layer "
        "res5\ntry sslrun check x CHECKPOINT.DI\ntry sslrun check pretrain/rotnet/rotnet_8\n"
        "try sslrun extract resnet18 --nodes layer1,avgp\n";
    temp_dir_make(dir);
    write_completion(dir, "bash");
    fixture_write(dir, "tries", tries, sizeof tries - 1);
    shell(dir, "D=$D bash $D/tries", out, sizeof out);
    CHECK_STR(out, "augment\n--minutes\nres5 res5avg\nCHECKPOINT.DIR=\n"
                   "pretrain/rotnet/rotnet_8gpu_resnet\nlayer1,avgpool\n");
    temp_dir_remove(dir);
}

static void test_fish_and_zsh_read(void **state) {
    (void)state;
    char dir[64], out[8192];
    bool fish = access("/usr/bin/fish", X_OK) == 0, zsh = access("/usr/bin/zsh", X_OK) == 0;
    if (!fish && !zsh)
        SKIP("there is neither fish nor zsh", "apt-get install fish zsh");
    temp_dir_make(dir);
    write_completion(dir, "fish");
    write_completion(dir, "zsh");
    if (zsh)
        shell(dir, "zsh -n $D/zsh", out, sizeof out);
    if (fish) {
        shell(dir,
              "D=$D HOME=$D fish -c 'source $D/fish; complete -C \"sslrun knn tests/cli/tiny.yaml "
              "--layer res5a\"; complete -C \"sslrun check x CHECKPOINT.DI\"; complete -C \"sslrun "
              "init photos --minu\"'",
              out, sizeof out);
        CHECK(strstr(out, "res5avg") && strstr(out, "CHECKPOINT.DIR=") && strstr(out, "--minutes"));
    }
    temp_dir_remove(dir);
}

// Completion lists runs below runs/ and a run's own layers, and nothing for a line without sense.
static void test_words(void **state) {
    (void)state;
    char dir[64], out[8192];
    temp_dir_make(dir);
    shell(dir,
          "mkdir -p $D/runs && sslrun tests/cli/tiny.yaml CHECKPOINT.DIR=$D/runs/one "
          "OPTIMIZER.num_epochs=1 >/dev/null 2>&1 && cd $D && sslrun manual words linear ru && "
          "sslrun manual words linear runs/one --layer res5a && sslrun manual words similar a.jpg "
          "--model runs/one --layer res5a && sslrun manual words knn nothing --layer r && sslrun "
          "manual words nothing --",
          out, sizeof out);
    CHECK_STR(out, "runs/one\nres5avg\nres5avg\n");
    // describe completes keys and not assignments; trunks complete torchvision's names.
    shell(dir,
          "sslrun manual words describe LOSS.swav_loss.eps && sslrun manual words check "
          "LOSS.swav_loss.eps && sslrun manual words graph resnet50 && sslrun manual words extract "
          "vit_b_3",
          out, sizeof out);
    CHECK_STR(out, "LOSS.swav_loss.epsilon\nLOSS.swav_loss.epsilon=\nresnet50\nvit_b_32\n");
    temp_dir_remove(dir);
}

// The page of keys in the documents equals the one that the program writes.
static void test_keys(void **state) {
    (void)state;
    char *page = NULL;
    size_t bytes = 0;
    RUN("manual", "keys");
    CHECK_INT(result.code, 0);
    CHECK(strlen(result.out) < sizeof result.out - 1); // not cut off
    CHECK_OK(sr_file_read("docs/reference/keys.md", sizeof result.out, &page, &bytes));
    if (strcmp(page, result.out) != 0)
        fail_msg("docs/reference/keys.md is not what `sslrun manual keys` writes; make docs");
    sr_free(page);
}

SR_TESTS(manual_verb, unit(test_every_verb_and_flag), unit(test_bash_completes),
         unit(test_fish_and_zsh_read), unit(test_words), unit(test_keys))
