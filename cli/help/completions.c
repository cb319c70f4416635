// Writes the completions of three shells.
#include "cli/help/completions.h"

#include <stdio.h>
#include <string.h>

#include "cli/verb.h"

typedef void (*EachFlag)(const SrFlag *flag, SrText *out);

static void each_flag(const SrVerb *verb, EachFlag fn, SrText *out) {
    for (const SrFlag *f = verb->flags; f && f->name; f++)
        fn(f, out);
}

// ---- bash ---------------------------------------------------------------------------------------

static void word(const SrFlag *flag, SrText *out) { sr_text_printf(out, " %s", flag->name); }

// Writes a completion that asks `sslrun manual words` for candidates; the shell completes files
// itself.
void sr_completion_bash(SrText *out) {
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
}

// ---- zsh ----------------------------------------------------------------------------------------

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
    strcat(line, flag->kind == SR_FLAG_IS_TEXT     ? "]:text:_sslrun_words"
                 : flag->kind == SR_FLAG_IS_NUMBER ? "]:number:"
                                                   : "]");
    sr_text_add(out, " ");
    add_quoted(line, out);
}

void sr_completion_zsh(SrText *out) {
    sr_text_add(out, "#compdef sslrun\n# zsh completion of sslrun, written by `sslrun manual zsh`\n"
                     "_sslrun_words() {\n  local -a found\n"
                     "  found=(${(f)\"$(sslrun manual words \"${(@)words[2,CURRENT]}\" "
                     "2>/dev/null)\"})\n"
                     "  compadd -Q -S '' -- $found\n  _files\n}\n"
                     "_sslrun() {\n  if (( CURRENT == 2 )); then\n    local -a verbs\n    verbs=(");
    for (int i = 0; sr_verb_at(i); i++) {
        char line[512];
        snprintf(line, sizeof line, "%s:%s", sr_verb_at(i)->name, sr_verb_at(i)->summary);
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
}

// ---- fish ---------------------------------------------------------------------------------------

static const char *fish_verb;
static void fish_flag(const SrFlag *flag, SrText *out) {
    sr_text_printf(out, "complete -c sslrun -n '__fish_seen_subcommand_from %s' -l %s%s -d ",
                   fish_verb, flag->name + 2,
                   flag->kind == SR_FLAG_IS_TEXT     ? " -r -a '(__sslrun_words)'"
                   : flag->kind == SR_FLAG_IS_NUMBER ? " -x"
                                                     : "");
    add_quoted(flag->help, out);
    sr_text_add(out, "\n");
}

void sr_completion_fish(SrText *out) {
    sr_text_add(out,
                "# fish completion of sslrun, written by `sslrun manual fish`\n"
                "function __sslrun_words\n    set -l line (commandline -opc) (commandline -ct)\n"
                "    sslrun manual words $line[2..-1] 2>/dev/null\nend\n"
                "complete -c sslrun -n 'not __fish_use_subcommand' -a '(__sslrun_words)'\n"
                "complete -c sslrun -n __fish_use_subcommand -a '(__sslrun_words)'\n");
    for (int i = 0; sr_verb_at(i); i++) {
        fish_verb = sr_verb_at(i)->name;
        sr_text_printf(out, "complete -c sslrun -n __fish_use_subcommand -a %s -d ", fish_verb);
        add_quoted(sr_verb_at(i)->summary, out);
        sr_text_add(out, "\n");
        each_flag(sr_verb_at(i), fish_flag, out);
    }
}
