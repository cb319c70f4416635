// sslrun manual man|keys|bash|zsh|fish: writes the manual page, the list of keys and completions
// for shells, from the tables of verbs, flags and keys.
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "cli/args.h"
#include "cli/verb.h"
#include "cli/words.h"
#include "trainer/config/schema.h"

// ---- what the tables hold -----------------------------------------------------------------------

typedef void (*EachFlag)(const SrFlag *flag, SrText *out);

static void each_flag(const SrVerb *verb, EachFlag fn, SrText *out) {
    SrFlag flags[SR_FLAGS_MAX];
    int n = sr_args_flags_of(verb->run, flags);
    for (int i = 0; i < n; i++)
        fn(&flags[i], out);
}

static const char *value_of(const SrFlag *flag) {
    return flag->number ? " N" : flag->text ? " TEXT" : "";
}

// ---- the page -----------------------------------------------------------------------------------

// Escapes text for troff: backslashes, a dot or a quote at the start of a line, and hyphens,
// which would become dashes.
static void add_roff(const char *s, SrText *out) {
    for (const char *c = s; *c; c++) {
        bool starts = c == s || c[-1] == '\n';
        if (starts && (*c == '.' || *c == '\''))
            sr_text_add(out, "\\&");
        if (*c == '\\')
            sr_text_add(out, "\\e");
        else if (*c == '-')
            sr_text_add(out, "\\-");
        else
            sr_text_addn(out, c, 1);
    }
}

static void man_flag(const SrFlag *flag, SrText *out) {
    sr_text_add(out, ".TP\n.B ");
    add_roff(flag->name, out);
    add_roff(value_of(flag), out);
    sr_text_add(out, "\n");
    add_roff(flag->help, out);
    sr_text_add(out, "\n");
}

static void man_verb(const SrVerb *verb, SrText *out) {
    sr_text_add(out, ".SS ");
    add_roff(verb->name, out);
    sr_text_add(out, "\n.nf\n");
    add_roff(verb->usage, out);
    sr_text_add(out, "\n.fi\n.PP\n");
    add_roff(verb->help, out);
    sr_text_add(out, "\n");
    each_flag(verb, man_flag, out);
}

static SrStatus write_man(SrText *out) {
    sr_text_add(
        out, ".TH SSLRUN 1 \"\" \"sslrun " SR_VERSION "\" \"User Commands\"\n"
             ".SH NAME\nsslrun \\- self\\-supervised learning for images on a CPU\n"
             ".SH SYNOPSIS\n.B sslrun\n.RI [ VERB ]\n.RI [ CONFIG ]\n.RI [ KEY=VALUE\n.IR ... ]\n"
             ".SH DESCRIPTION\nsslrun reads VISSL's YAML, names layers as torchvision does, trains "
             "trunks with\nSwAV, SimCLR, MoCo, DINO, BYOL and others, and says how good they got.\n"
             ".SH VERBS\n");
    for (int i = 0; sr_verb_at(i); i++)
        man_verb(sr_verb_at(i), out);
    sr_text_add(
        out,
        ".SH EXIT STATUS\n0: done; 1: failed; 2: wrong usage or configuration; 128 and the "
        "signal's number:\nstopped by a signal, with the state saved once there is one.\n"
        ".SH ENVIRONMENT\n.TP\n.B OMP_NUM_THREADS\nthreads that compute.\n.TP\n.B SR_CPU\n"
        "the highest instruction set to use: plain, avx2, avx512, avx512bf16, amx, or amx-emulated "
        "for the "
        "numbers of tile registers without them.\n.TP\n.B SR_BAR_AFTER\nseconds before what takes "
        "long "
        "shows a bar (2).\n"
        ".TP\n.B NO_COLOR\nno colours on a terminal.\n"
        ".SH SEE ALSO\n.B sslrun list keys\nand\n.B sslrun describe KEY\nexplain the keys of a "
        "configuration.\n");
    return SR_OK;
}

// ---- keys ---------------------------------------------------------------------------------------

static SrStatus write_keys_below(const SrYaml *map, const char *prefix, SrArena *arena,
                                 SrText *out) {
    for (int i = 0; map->type == SR_YAML_MAP && i < map->n; i++) {
        SrText said = SR_TEXT_INIT;
        const char *key =
            *prefix ? sr_arena_printf(arena, "%s.%s", prefix, map->keys[i]) : map->keys[i];
        if (!key)
            SR_FAIL(SR_ERR_MEMORY, "out of memory for the keys");
        SrStatus status = sr_manual_describe(key, &sr_manual_verbs, &said);
        if (status == SR_OK && (map->items[i]->type != SR_YAML_MAP || map->items[i]->n == 0))
            sr_text_printf(out, "%s", said.s ? said.s : "");
        sr_text_deinit(&said);
        SR_TRY(status);
        SR_TRY(write_keys_below(map->items[i], key, arena, out));
    }
    return SR_OK;
}

static SrStatus write_keys(SrText *out) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *defaults;
    sr_text_add(out,
                "# Every key of a configuration\n\nWritten by `make docs` from the option tables; "
                "`sslrun describe KEY` says the same.\n\n```\n");
    SrStatus status = sr__schema_defaults(&arena, &defaults);
    if (status == SR_OK)
        status = write_keys_below(defaults, "", &arena, out);
    sr_text_add(out, "```\n");
    sr_arena_deinit(&arena);
    return status;
}

// ---- completions --------------------------------------------------------------------------------

static void word(const SrFlag *flag, SrText *out) { sr_text_printf(out, " %s", flag->name); }

// Writes a completion that asks `sslrun manual words` for candidates; the shell completes files
// itself.
static SrStatus write_bash(SrText *out) {
    sr_text_add(
        out, "# bash completion of sslrun, written by `sslrun manual bash`\n"
             "_sslrun() {\n    local cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} flags=\n"
             "    local IFS=$'\\n'\n    COMPREPLY=()\n    case $verb in\n");
    for (int i = 0; sr_verb_at(i); i++) {
        sr_text_printf(out, "    %s) flags=\"--help", sr_verb_at(i)->name);
        each_flag(sr_verb_at(i), word, out);
        sr_text_add(out, "\" ;;\n");
    }
    sr_text_add(
        out,
        "    esac\n"
        "    if [[ $COMP_CWORD -gt 1 && $cur == -* ]]; then\n"
        "        COMPREPLY=($(IFS=' '; compgen -W \"$flags\" -- \"$cur\"))\n        return\n    "
        "fi\n"
        "    COMPREPLY=($(sslrun manual words \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null))\n"
        "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
        "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
        "        COMPREPLY+=($(compgen -f -X '!*.y*ml' -- \"$cur\") $(compgen -d -S / -- "
        "\"$cur\"))\n"
        "    elif [[ ${COMP_WORDS[COMP_CWORD-1]} != --layer && $cur != [A-Z]*.* ]]; then\n"
        "        COMPREPLY+=($(compgen -f -- \"$cur\"))\n    fi\n}\n"
        "complete -o filenames -F _sslrun sslrun\n");
    return SR_OK;
}

// Appends text in single quotes, in which only a single quote needs an escape.
static void add_quoted(const char *s, SrText *out) {
    sr_text_add(out, "'");
    for (; *s; s++)
        if (*s == '\'')
            sr_text_add(out, "'\\''");
        else if (*s != '\n')
            sr_text_addn(out, s, 1);
    sr_text_add(out, "'");
}

static void zsh_flag(const SrFlag *flag, SrText *out) {
    char line[512];
    snprintf(line, sizeof line, "%s[", flag->name);
    for (const char *c = flag->help; *c && strlen(line) < sizeof line - 8; c++)
        if (!strchr("[]:", *c))
            strncat(line, c, 1);
    strcat(line, flag->text ? "]:text:_sslrun_words" : flag->number ? "]:number:" : "]");
    sr_text_add(out, " ");
    add_quoted(line, out);
}

static SrStatus write_zsh(SrText *out) {
    sr_text_add(out, "#compdef sslrun\n# zsh completion of sslrun, written by `sslrun manual zsh`\n"
                     "_sslrun_words() {\n  local -a found\n"
                     "  found=(${(f)\"$(sslrun manual words \"${(@)words[2,CURRENT]}\" "
                     "2>/dev/null)\"})\n"
                     "  compadd -Q -S '' -- $found\n  _files\n}\n"
                     "_sslrun() {\n  if (( CURRENT == 2 )); then\n    local -a verbs\n    verbs=(");
    for (int i = 0; sr_verb_at(i); i++) {
        char line[512];
        snprintf(line, sizeof line, "%s:%s", sr_verb_at(i)->name, sr_verb_at(i)->help);
        sr_text_add(out, "\n      ");
        add_quoted(line, out);
    }
    sr_text_add(out, ")\n    _describe verb verbs\n    _sslrun_words\n    return\n  fi\n"
                     "  case $words[2] in\n");
    for (int i = 0; sr_verb_at(i); i++) {
        sr_text_printf(out, "  %s) _arguments", sr_verb_at(i)->name);
        each_flag(sr_verb_at(i), zsh_flag, out);
        sr_text_add(out, " '*:word:_sslrun_words' ;;\n");
    }
    sr_text_add(out, "  *) _sslrun_words ;;\n  esac\n}\n_sslrun \"$@\"\n");
    return SR_OK;
}

static const char *fish_verb;
static void fish_flag(const SrFlag *flag, SrText *out) {
    sr_text_printf(out, "complete -c sslrun -n '__fish_seen_subcommand_from %s' -l %s%s -d ",
                   fish_verb, flag->name + 2,
                   flag->text     ? " -r -a '(__sslrun_words)'"
                   : flag->number ? " -x"
                                  : "");
    add_quoted(flag->help, out);
    sr_text_add(out, "\n");
}

static SrStatus write_fish(SrText *out) {
    sr_text_add(out,
                "# fish completion of sslrun, written by `sslrun manual fish`\n"
                "function __sslrun_words\n    set -l line (commandline -opc) (commandline -ct)\n"
                "    sslrun manual words $line[2..-1] 2>/dev/null\nend\n"
                "complete -c sslrun -n 'not __fish_use_subcommand' -a '(__sslrun_words)'\n"
                "complete -c sslrun -n __fish_use_subcommand -a '(__sslrun_words)'\n");
    for (int i = 0; sr_verb_at(i); i++) {
        fish_verb = sr_verb_at(i)->name;
        sr_text_printf(out, "complete -c sslrun -n __fish_use_subcommand -a %s -d ", fish_verb);
        add_quoted(sr_verb_at(i)->help, out);
        sr_text_add(out, "\n");
        each_flag(sr_verb_at(i), fish_flag, out);
    }
    return SR_OK;
}

// ---- all ----------------------------------------------------------------------------------------

static const struct {
    const char *name;
    SrStatus (*write)(SrText *out);
} forms[] = {{"man", write_man},
             {"keys", write_keys},
             {"bash", write_bash},
             {"zsh", write_zsh},
             {"fish", write_fish}};

static SrStatus run_verb(int argc, char **argv) {
    const SrFlag flags[] = {{0}};
    SrArgs args;
    SrText out = SR_TEXT_INIT;
    if (argc > 1 &&
        strcmp(argv[0], "words") == 0) { // words of another verb, which may include flags
        SR_TRY(sr_words((const char *const *)argv + 1, argc - 1, &out));
        return sr_args_print(&out);
    }
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    SR_TRY(sr_args_no_overrides(&args, "manual"));
    for (int i = 0; args.n_names == 1 && i < SR_COUNT(forms); i++)
        if (strcmp(args.names[0], forms[i].name) == 0) {
            SrStatus status = forms[i].write(&out);
            if (status == SR_OK)
                return sr_args_print(&out);
            sr_text_deinit(&out);
            return status;
        }
    SR_FAIL(SR_ERR_CONFIG, "sslrun manual: one of man, keys, bash, zsh and fish is expected");
}

const SrVerb sr_verb_manual = {
    .name = "manual",
    .usage = "sslrun manual man|keys|bash|zsh|fish | words WORD...",
    .help = "Prints the manual page, the keys as Markdown, the completion of a shell, or the words "
            "that may end a line.",
    .run = run_verb,
};
