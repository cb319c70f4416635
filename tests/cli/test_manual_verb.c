// Help, manual pages and completions hold every verb and every flag of the descriptors.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/args/args.h"
#include "cli/verb.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static ProgramResult result; // two 64 kB texts: too large for the stack of a test
static char form[5][1 << 16];
static const char *const names[] = {"bash", "zsh", "fish", "verbs", "man"};
enum { BASH, ZSH, FISH, VERBS, MAN };

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})

static void has(int f, const char *text) {
    if (!strstr(form[f], text))
        fail_msg("%s has no \"%s\"", names[f], text);
}

// Looks for text in a page of man, which has hyphens of its own.
static void page_has(const char *page, const char *text) {
    char roff[512] = "";
    for (; *text; text++)
        strncat(roff, *text == '-' ? "\\-" : (char[]){*text, 0}, sizeof roff - strlen(roff) - 1);
    if (!strstr(page, roff))
        fail_msg("no \"%s\" in %s", roff, page);
}

static void flag_is_everywhere(const SrVerb *verb, const SrFlag *flag, const char *page) {
    char text[256];
    page_has(page, flag->name);
    page_has(page, flag->help);
    has(BASH, flag->name);
    has(ZSH, flag->name);
    snprintf(text, sizeof text, "- `%s%s%s`: %s\n", flag->name, flag->value ? " " : "",
             flag->value ? flag->value : "", flag->help);
    has(VERBS, text);
    snprintf(text, sizeof text, "seen_subcommand_from %s' -l %s ", verb->name, flag->name + 2);
    has(FISH, text);
}

static int verb_is_everywhere(const SrVerb *verb) {
    char text[256];
    int flags = 0;
    snprintf(text, sizeof text, "    %s) flags=", verb->name);
    has(BASH, text);
    snprintf(text, sizeof text, "  %s) _arguments", verb->name);
    has(ZSH, text);
    snprintf(text, sizeof text, "-a %s -d ", verb->name);
    has(FISH, text);
    snprintf(text, sizeof text, ".BR sslrun\\-%s (1)\n", verb->name);
    has(MAN, text);
    RUN("manual", "man", verb->name);
    CHECK_INT(result.code, 0);
    page_has(result.out, verb->summary);
    CHECK(strstr(result.out, "\n.SH EXIT STATUS\n"));
    CHECK(verb->examples[0].command && strlen(verb->help) > 20);
    for (int i = 0; i < SR_EXAMPLES_MAX && verb->examples[i].command; i++)
        page_has(result.out, verb->examples[i].command);
    for (const SrFlag *f = verb->flags; f && f->name; f++, flags++)
        flag_is_everywhere(verb, f, result.out);
    CHECK(flags < SR_FLAGS_MAX);
    return flags;
}

TEST(test_every_verb_and_flag) {
    int flags = 0;
    for (int f = 0; f < SR_COUNT(names); f++) {
        RUN("manual", names[f]);
        CHECK_INT(result.code, 0);
        CHECK(strlen(result.out) < sizeof form[f] - 1); // not cut off
        snprintf(form[f], sizeof form[f], "%s", result.out);
    }
    for (int i = 0; sr_verb_at(i); i++)
        flags += verb_is_everywhere(sr_verb_at(i));
    CHECK(flags > 60);
    RUN("manual", "fisch");
    CHECK_INT(result.code, 2);
    RUN("manual", "man", "knnn");
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "did you mean 'knn'"));
}

// The list of verbs begins with the commonest and names every verb once.
TEST(test_overview) {
    char line[256];
    RUN("--help");
    CHECK_INT(result.code, 0);
    const char *last = strstr(result.out, "The commonest verbs:\n  init ");
    CHECK(last && strstr(last, "\nEvaluate a trunk:\n  compare "));
    for (int i = 0; sr_verb_at(i); i++) {
        snprintf(line, sizeof line, "\n  %-11s %s\n", sr_verb_at(i)->name, sr_verb_at(i)->summary);
        const char *at = strstr(result.out, line);
        if (!at || strstr(at + 1, line))
            fail_msg("--help should have one line for %s", sr_verb_at(i)->name);
        CHECK(strlen(line) < 84);
    }
    program_run(&result, 1, (const char *const[]){NULL});
    CHECK_INT(result.code, 2);
    CHECK_STR(result.out, "");
    int lines = 0;
    for (const char *p = result.err; *p; p++)
        lines += *p == '\n';
    CHECK(lines >= 8 && lines <= 12);
}

// `help VERB` and `VERB --help` print the same page, with lines that fit a terminal.
TEST(test_help) {
    static char page[1 << 16];
    for (int i = 0; sr_verb_at(i); i++) {
        RUN(sr_verb_at(i)->name, "--help");
        CHECK_INT(result.code, 0);
        snprintf(page, sizeof page, "%.60000s", result.out);
        RUN("help", sr_verb_at(i)->name);
        CHECK_STR(result.out, page);
        CHECK(strstr(page, "\nusage: sslrun ") && strstr(page, "\nExamples:\n"));
        CHECK(strstr(page, sr_verb_at(i)->summary));
    }
    RUN("help", "knnn");
    CHECK_INT(result.code, 2);
    RUN("manual", "words", "knn", "--help");
    CHECK_STR(result.out, "--help\n");
}

// The installed page is shown on a terminal, by whatever `man` is in the path.
TEST(test_help_by_man) {
    static const char man[] = "#!/bin/sh\necho \"man got $*\"\n";
    char dir[64], name[128], path[8192];
    const char *before = getenv("PATH");
    temp_dir_make(dir);
    fixture_write(dir, "man", man, sizeof man - 1);
    snprintf(name, sizeof name, "%s/man", dir);
    CHECK(chmod(name, 0755) == 0);
    snprintf(path, sizeof path, "%s:%s", dir, before ? before : "");
    snprintf(form[0], sizeof form[0], "%s", before ? before : "");
    setenv("PATH", path, 1);
    program_run_terminal(&result, 100, (const char *const[]){"help", "knn", NULL});
    CHECK(strstr(result.out, "man got sslrun-knn") && !strstr(result.out, "usage:"));
    RUN("help", "knn");
    CHECK(!strstr(result.out, "man got") && strstr(result.out, "usage:"));
    setenv("PATH", form[0], 1);
    temp_dir_remove(dir);
}

static void write_completion(const char *dir, const char *shell) {
    char path[256];
    RUN("manual", shell);
    snprintf(path, sizeof path, "%s/%s", dir, shell);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(result.out, f) >= 0 && fclose(f) == 0);
}

// Gives what a line of the shell prints, with the program in its path and $D the folder.
static void shell(const char *dir, const char *line, char *out, int n) {
    char self[PROGRAM_SELF], whole[4096];
    program_folder(self);
    snprintf(whole, sizeof whole, "D='%s' PATH='%s':$PATH; export PATH; { %s; } >$D/out 2>&1", dir,
             self, line);
    CHECK_INT(system(whole), 0);
    program_read(dir, "out", out, n);
}

// bash completes verbs, flags, layers of a trunk, keys and configurations.
TEST(test_bash_completes) {
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

TEST(test_fish_and_zsh_read) {
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
TEST(test_words) {
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
    // A part is no configuration by itself.
    shell(
        dir,
        "sslrun manual words train o && sslrun manual words train photos +c && sslrun manual words "
        "train photo",
        out, sizeof out);
    CHECK_STR(out, "+config/optimizer=muon\nphotos\n");
    temp_dir_remove(dir);
}

// The pages of the documents are those that the program writes.
TEST(test_reference) {
    static const char *const pages[] = {"keys", "verbs"};
    for (int i = 0; i < SR_COUNT(pages); i++) {
        char path[64], *page = NULL;
        size_t bytes = 0;
        RUN("manual", pages[i]);
        CHECK_INT(result.code, 0);
        CHECK(strlen(result.out) < sizeof result.out - 1); // not cut off
        snprintf(path, sizeof path, "docs/reference/%s.md", pages[i]);
        CHECK_OK(sr_file_read(path, sizeof result.out, &page, &bytes));
        if (strcmp(page, result.out) != 0)
            fail_msg("%s is not what `sslrun manual %s` writes; make docs", path, pages[i]);
        sr_free(page);
    }
    // A key without effect stands under its reason, and in no section.
    RUN("manual", "keys");
    CHECK(strstr(result.out, "\n## OPTIMIZER\n") && !strstr(result.out, "\n## SLURM\n"));
    CHECK(strstr(result.out, "\n* `SLURM`: sslrun submits no cluster jobs\n"));
    CHECK(!strstr(result.out, "\nSLURM"));
}

SR_TESTS(manual_verb, unit(test_every_verb_and_flag), unit(test_overview), unit(test_help),
         unit(test_help_by_man), unit(test_bash_completes), unit(test_fish_and_zsh_read),
         unit(test_words), unit(test_reference))
