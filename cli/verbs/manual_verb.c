// sslrun manual FORM: writes manual pages, lists of keys and verbs, and completions for shells.
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/version.h"
#include "cli/args/args.h"
#include "cli/help/completions.h"
#include "cli/help/manual_keys.h"
#include "cli/help/overview.h"
#include "cli/help/verb_page.h"
#include "cli/help/words.h"
#include "cli/verb.h"

// ---- pages --------------------------------------------------------------------------------------

static void add_man_verb(const SrVerb *verb, SrText *out) {
    sr_text_add(out, ".TP\n.BR sslrun\\-");
    sr_text_printf(out, "%s (1)\n", verb->name);
    sr_roff_add(verb->summary, out);
    sr_text_add(out, "\n");
}

// Writes the page of the program, which refers to those of the verbs.
static void write_man(SrText *out) {
    sr_text_add(
        out, ".TH SSLRUN 1 \"\" \"sslrun " SR_VERSION "\" \"User Commands\"\n"
             ".SH NAME\nsslrun \\- self\\-supervised learning for images on a CPU\n"
             ".SH SYNOPSIS\n.B sslrun\n.I VERB\n.RI [ ARGUMENT\n.IR ... ]\n.br\n.B sslrun\n"
             ".I CONFIG\n.RI [ KEY=VALUE\n.IR ... ]\n"
             ".SH DESCRIPTION\nsslrun reads VISSL's YAML, names layers as torchvision does, trains "
             "trunks with\nSwAV, SimCLR, MoCo, DINO, BYOL and others, and says how good they got.\n"
             "A configuration in place of a verb is trained.\n.SH VERBS\n");
    for (int group = 0; group < SR_VERB_GROUPS; group++) {
        sr_text_printf(out, ".SS %s\n", sr_verb_group_title((SrVerbGroup)group));
        for (int i = 0; sr_verb_at(i); i++)
            if (sr_verb_at(i)->group == (SrVerbGroup)group)
                add_man_verb(sr_verb_at(i), out);
    }
    sr_text_add(
        out,
        ".SH OPTIONS\nEvery verb takes these.\n.TP\n.BR \\-q \", \" \\-\\-quiet\nprints warnings "
        "and "
        "results alone.\n.TP\n.BR \\-v \", \" \\-\\-verbose\nprints what is inferred, too.\n.TP\n"
        ".BR \\-h \", \" \\-\\-help\nexplains the verb.\n"
        ".SH EXIT STATUS\n0: done; 1: failed; 2: wrong usage or configuration; 128 and the "
        "signal's number:\nstopped by a signal, with the state saved once there is one.\n"
        ".SH ENVIRONMENT\n.TP\n.B OMP_NUM_THREADS\nthreads that compute.\n.TP\n.B SR_CPU\n"
        "the highest instruction set to use: plain, avx2, avx512, avx512bf16 or amx on x86-64, "
        "plain, neon or neonbf16 on aarch64, or amx-emulated for the numbers of tile registers "
        "without them.\n.TP\n.B SR_BAR_AFTER\nseconds after which a long "
        "computation shows a bar (2).\n"
        ".TP\n.B SR_BAR_EVERY\nseconds between two lines of progress in a log, where no bar is "
        "drawn (60).\n"
        ".TP\n.B NO_COLOR\nno colours on a terminal.\n"
        ".SH SEE ALSO\n.B sslrun list keys\nand\n.B sslrun describe KEY\nexplain the keys of a "
        "configuration.\n");
}

// Writes docs/reference/verbs.md.
static void write_verbs(SrText *out) {
    sr_text_add(
        out,
        "# Every verb\n\nWritten by `make docs` from the descriptors of the verbs; "
        "`sslrun help VERB` says the same. The commands of the examples work in a "
        "folder that holds `photos/` and `new-photos/`, both with one sub-folder per class.\n");
    for (int group = 0; group < SR_VERB_GROUPS; group++) {
        sr_text_printf(out, "\n## %s\n\n", sr_verb_group_title((SrVerbGroup)group));
        for (int i = 0; sr_verb_at(i); i++)
            if (sr_verb_at(i)->group == (SrVerbGroup)group)
                sr_verb_page(sr_verb_at(i), SR_PAGE_MARKDOWN, out);
    }
    while (out->len > 1 && out->s[out->len - 2] == '\n')
        out->s[--out->len] = '\0';
}

static SrStatus save_page(const char *dir, const char *name, SrText *page) {
    char path[4096];
    SrStatus status = sr_file_join(path, sizeof path, dir, name);
    if (status == SR_OK)
        status = sr_file_write_text(path, page);
    sr_text_deinit(page);
    return status;
}

// Writes sslrun.1 and sslrun-VERB.1 for every verb into a folder.
static SrStatus write_pages(const char *dir) {
    SrText page = SR_TEXT_INIT;
    write_man(&page);
    SR_TRY(sr_file_mkdirs(dir));
    SR_TRY(save_page(dir, "sslrun.1", &page));
    for (int i = 0; sr_verb_at(i); i++) {
        char name[64];
        snprintf(name, sizeof name, "sslrun-%s.1", sr_verb_at(i)->name);
        sr_verb_page(sr_verb_at(i), SR_PAGE_MAN, &page);
        SR_TRY(save_page(dir, name, &page));
    }
    return SR_OK;
}

// ---- all ----------------------------------------------------------------------------------------

static const struct {
    const char *name;
    void (*write)(SrText *out);
} forms[] = {{"man", write_man},
             {"verbs", write_verbs},
             {"bash", sr_completion_bash},
             {"zsh", sr_completion_zsh},
             {"fish", sr_completion_fish}};

static SrStatus write(const SrArgs *args, SrText *out) {
    const char *form = args->n_names ? args->names[0] : "";
    const SrVerb *verb;
    if (args->n_names == 2 && strcmp(form, "man") == 0) {
        SR_TRY(sr_verb_find(args->names[1], &verb));
        sr_verb_page(verb, SR_PAGE_MAN, out);
        return SR_OK;
    }
    if (args->n_names == 2 && strcmp(form, "pages") == 0)
        return write_pages(args->names[1]);
    if (args->n_names == 1 && strcmp(form, "keys") == 0)
        return sr_manual_keys(out);
    for (int i = 0; args->n_names == 1 && i < SR_COUNT(forms); i++)
        if (strcmp(form, forms[i].name) == 0) {
            forms[i].write(out);
            return SR_OK;
        }
    SR_FAIL(SR_ERR_CONFIG,
            "sslrun manual: give man, man VERB, pages DIR, keys, verbs, bash, zsh or "
            "fish");
}

static SrStatus run_verb(int argc, char **argv) {
    SrArgs args;
    SrText out = SR_TEXT_INIT;
    if (argc > 1 &&
        strcmp(argv[0], "words") == 0) { // words of another verb, which may include flags
        SR_TRY(sr_words((const char *const *)argv + 1, argc - 1, &out));
        return sr_args_print(&out);
    }
    SR_TRY(sr_args_parse(argc, argv, NULL, NULL, &args));
    SR_TRY(sr_args_no_overrides(&args, "manual"));
    SrStatus status = write(&args, &out);
    if (status == SR_OK)
        return sr_args_print(&out);
    sr_text_deinit(&out);
    return status;
}

const SrVerb sr_verb_manual = {
    .name = "manual",
    .group = SR_VERB_CHECK,
    .args = "man [VERB]\npages DIR\nkeys|verbs\nbash|zsh|fish\nwords WORD...",
    .summary = "writes manual pages, reference pages and completions of shells",
    .help = "`man` writes the manual page of the program or of a verb, `pages` all of them into a "
            "folder. `keys` and `verbs` write docs/reference/keys.md and verbs.md. `bash`, `zsh` "
            "and `fish` write completions, which ask `words` for what may end a line.",
    .examples = {{"sslrun manual man knn", "Prints the manual page of `sslrun knn`."},
                 {"sslrun manual bash >sslrun.bash",
                  "Writes the completion of bash, for `source sslrun.bash`."}},
    .run = run_verb,
};
