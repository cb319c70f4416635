// Command lines of the verbs: CONFIG, KEY=VALUE overrides and --flags.
#ifndef SR_CLI_ARGS_ARGS_H
#define SR_CLI_ARGS_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/text/text.h"
#include "trainer/config/config.h"

#define SR_ARGS_MAX 256

typedef enum {
    SR_FLAG_IS_ON,     // sets a bool to true
    SR_FLAG_IS_NUMBER, // sets an int to the number that follows ("--steps 10", "--steps=10")
    SR_FLAG_IS_TEXT, // sets a const char * to the word that follows ("--mode eval", "--mode=eval")
} SrFlagKind;

// A flag of a verb.  The macros below write the rows of a table, which ends with {0}.
typedef struct {
    const char *name; // "--json"
    SrFlagKind kind;
    size_t offset;     // of the field that the flag sets in the verb's options
    const char *value; // what the help calls the value ("N", "FILE"); NULL: SR_FLAG_IS_ON
    const char *help;
} SrFlag;

// One row: a flag that sets `field` of the struct `Type`, whose type is checked by the compiler.
#define SR_FLAG_ON(Type, field, name, help) \
    { name, SR_FLAG_IS_ON, SR_FLAG_OFFSET(Type, field, bool), NULL, help }
// Flag of verbs that decode the images of a folder (data/sandbox.h).
#define SR_SANDBOX_FLAG(Type, field)     \
    SR_FLAG_ON(Type, field, "--sandbox", \
               "decode images in locked processes of their own, for images of strangers")
#define SR_FLAG_NUMBER(Type, field, name, help) \
    { name, SR_FLAG_IS_NUMBER, SR_FLAG_OFFSET(Type, field, int), "N", help }
#define SR_FLAG_TEXT(Type, field, name, value, help) \
    { name, SR_FLAG_IS_TEXT, SR_FLAG_OFFSET(Type, field, const char *), value, help }
#define SR_FLAG_OFFSET(Type, field, of) _Generic(((Type *)0)->field, of : offsetof(Type, field))

typedef struct {
    const char *names[SR_ARGS_MAX]; // words that are neither flags nor overrides, in order
    int n_names;
    const char *overrides[SR_ARGS_MAX]; // KEY=VALUE, +KEY=VALUE, ~KEY
    int n_overrides;
} SrArgs;

// Parses the arguments after the verb.  SR_ERR_CONFIG: unknown flag; the message names the nearest.
//   flags    the verb's table; NULL: it takes no flags
//   options  the verb's struct with its defaults; flags overwrite fields.  NULL without flags
SrStatus sr_args_parse(int argc, char **argv, const SrFlag *flags, void *options, SrArgs *out);
#define SR_FLAGS_MAX 24
bool sr_args_ask_help(int argc, char **argv); // --help or -h anywhere
// Checks a path to images from the command line.  what: the argument that named it, such as
// "--data", for messages.
SrStatus sr_args_check_images(const char *what, const char *path);
// Refuses KEY=VALUE with SR_ERR_CONFIG, for verbs that read no configuration.
SrStatus sr_args_no_overrides(const SrArgs *args, const char *verb);
// Adds an override that the verb makes itself.  The caller keeps the text.
SrStatus sr_args_override(SrArgs *args, const char *text);
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
