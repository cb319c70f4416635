// What verbs share: CONFIG, KEY=VALUE overrides and --flags from a command line.
#ifndef SR_CLI_ARGS_H
#define SR_CLI_ARGS_H

#include <stdbool.h>

#include "base/status.h"
#include "base/text.h"
#include "trainer/config/config.h"

#define SR_ARGS_MAX 256

// A flag of one verb; a table ends with {0}.
typedef struct {
    const char *name; // "--json"
    bool *on;         // set by its presence, or
    int *number;      // by the number that follows ("--steps 10", "--steps=10")
    const char *help;
    const char **text; // or by the word that follows ("--mode eval", "--mode=eval")
} SrFlag;

typedef struct {
    const char *names[SR_ARGS_MAX]; // what is neither flag nor override, in order
    int n_names;
    const char *overrides[SR_ARGS_MAX]; // KEY=VALUE, +KEY=VALUE, ~KEY
    int n_overrides;
} SrArgs;

// argv: the arguments after the verb.  Unknown flag: SR_ERR_CONFIG with the nearest.  --help among them prints the flags
// and ends the program.
SrStatus sr_args_parse(int argc, char **argv, const SrFlag *flags, SrArgs *out);
// The flags that a verb would take, without its running: its first act is sr_args_parse, which then only copies the table.
// Their pointers are not to be followed.  Returns how many.
#define SR_FLAGS_MAX 24
int sr_args_flags_of(SrStatus (*run)(int argc, char **argv), SrFlag out[SR_FLAGS_MAX]);
bool sr_args_ask_help(int argc, char **argv); // --help or -h anywhere
// Images that the command line names itself, as `what` ("--data"), are told of in its words.
SrStatus sr_args_check_images(const char *what, const char *path);
// For verbs that read no configuration: KEY=VALUE among the arguments is SR_ERR_CONFIG.
SrStatus sr_args_no_overrides(const SrArgs *args, const char *verb);
// VISSL's "config=pretrain/swav/x" names the configuration: such an override becomes a name.
void sr_args_take_config(SrArgs *args);
// The configuration a verb was given; exactly one name is expected.
SrStatus sr_args_load_config(const SrArgs *args, const char *verb, SrConfig **out);
// The command line of this process, for sr_args_command, before anything is taken from it; the words stay the caller's.
void sr_args_remember(int argc, char **argv);
// It again, as a line for a shell, without the argument `leave_out` (NULL: none) and what else there is of it.
void sr_args_command(const char *leave_out, SrText *out);
// The same as words, at most SR_ARGS_MAX, borrowed from argv; returns how many.
int sr_args_words(const char *leave_out, const char *words[SR_ARGS_MAX]);
// How this program was called, for the commands it proposes.
const char *sr_args_program(void);
// Prints text to stdout and empties it.
SrStatus sr_args_print(SrText *text);
// The same for a line about `path`, which the verb has written: where standard output fails, a warning says that the
// file is whole, and the verb has done what it was asked for.
SrStatus sr_args_print_done(SrText *text, const char *path);

#endif
