// sslrun help [VERB]: lists all verbs, or shows the manual page of one.
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/args/args.h"
#include "cli/help/overview.h"
#include "cli/help/verb_page.h"
#include "cli/verb.h"

extern char **environ;

// Runs `man`, without its output if `silent`; true: it succeeded.
static bool run_man(const char *const *argv, bool silent) {
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int code = -1;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    for (int fd = STDOUT_FILENO; silent && fd <= STDERR_FILENO; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
    bool started = posix_spawnp(&pid, "man", &actions, NULL, (char *const *)argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return started && waitpid(pid, &code, 0) == pid && WIFEXITED(code) && WEXITSTATUS(code) == 0;
}

// Shows the installed page of a verb on a terminal; false: there is no page or no terminal.
static bool show_page(const SrVerb *verb) {
    char page[64];
    snprintf(page, sizeof page, "sslrun-%s", verb->name);
    return isatty(STDOUT_FILENO) && run_man((const char *const[]){"man", "-w", page, NULL}, true) &&
           run_man((const char *const[]){"man", page, NULL}, false);
}

static SrStatus run_verb(int argc, char **argv) {
    SrArgs args;
    const SrVerb *verb;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, NULL, NULL, &args));
    if (args.n_names > 1 || args.n_overrides)
        SR_FAIL(SR_ERR_CONFIG, "sslrun help: give one verb, or nothing for the list of all");
    if (args.n_names == 0) {
        sr_overview(&out);
        return sr_args_print(&out);
    }
    SR_TRY(sr_verb_find(args.names[0], &verb));
    if (show_page(verb))
        return SR_OK;
    sr_verb_page(verb, SR_PAGE_TEXT, &out);
    return sr_args_print(&out);
}

const SrVerb sr_verb_help = {
    .name = "help",
    .group = SR_VERB_CHECK,
    .args = "[VERB]",
    .summary = "shows the manual of a verb, or the list of all verbs",
    .help = "On a terminal the installed manual page sslrun-VERB(1) is shown. Otherwise the same "
            "page is printed as text, as `sslrun VERB --help` prints it.",
    .examples = {{"sslrun help knn", "Explains `sslrun knn`."}},
    .run = run_verb,
};
