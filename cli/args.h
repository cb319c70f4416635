// Command lines of the verbs: CONFIG, KEY=VALUE overrides and --flags.
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
    bool *on;         // set to true by the flag's presence, or
    int *number;      // set to the number that follows ("--steps 10", "--steps=10")
    const char *help;
    const char **text; // or set to the word that follows ("--mode eval", "--mode=eval")
} SrFlag;

typedef struct {
    const char *names[SR_ARGS_MAX]; // words that are neither flags nor overrides, in order
    int n_names;
    const char *overrides[SR_ARGS_MAX]; // KEY=VALUE, +KEY=VALUE, ~KEY
    int n_overrides;
} SrArgs;

// Parses the arguments after the verb.  SR_ERR_CONFIG: unknown flag; the message names the nearest.
// --help prints the flags and ends the program.
SrStatus sr_args_parse(int argc, char **argv, const SrFlag *flags, SrArgs *out);
// Copies the flags that a verb takes and returns their number.  It calls the verb, whose first
// action is sr_args_parse; that call copies the table and makes the verb return.  The pointers in
// `out` are dangling: never follow them.
#define SR_FLAGS_MAX 24
int sr_args_flags_of(SrStatus (*run)(int argc, char **argv), SrFlag out[SR_FLAGS_MAX]);
bool sr_args_ask_help(int argc, char **argv); // --help or -h anywhere
// Checks a path to images from the command line.  what: the argument that named it, such as
// "--data", for messages.
SrStatus sr_args_check_images(const char *what, const char *path);
// Refuses KEY=VALUE with SR_ERR_CONFIG, for verbs that read no configuration.
SrStatus sr_args_no_overrides(const SrArgs *args, const char *verb);
// Turns VISSL's override "config=pretrain/swav/x" into the name of the configuration.
void sr_args_take_config(SrArgs *args);
// Loads the configuration that the verb was given; exactly one name is expected.
SrStatus sr_args_load_config(const SrArgs *args, const char *verb, SrConfig **out);
// Stores the command line of this process for sr_args_command; call it before arguments are
// removed.  The words stay the caller's.
void sr_args_remember(int argc, char **argv);
// Writes that command line as a line for a shell, without the argument `leave_out`; NULL: whole.
void sr_args_command(const char *leave_out, SrText *out);
// Returns the words of that command line, at most SR_ARGS_MAX, and their number.  argv owns them.
int sr_args_words(const char *leave_out, const char *words[SR_ARGS_MAX]);
// Returns the name by which this program was called, for the commands that it suggests.
const char *sr_args_program(void);
// Prints text to stdout and empties it.
SrStatus sr_args_print(SrText *text);
// Prints a line about the file `path` that the verb has written.  If stdout fails, a warning says
// that the file is complete, and the status is still SR_OK.
SrStatus sr_args_print_done(SrText *text, const char *path);

#endif
