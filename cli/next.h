// Suggests the next commands after a verb has made something.
#ifndef SR_CLI_NEXT_H
#define SR_CLI_NEXT_H

#include "base/text/text.h"
#include "cli/args/args.h"
#include "trainer/run/run_parts.h"

// Adds a command of this program and what it does: "  sslrun web runs\n      shows ...".
//   words  words after the program's name, NULL at the end; they are quoted for a shell
// The first command follows a line "next:".  A verb that this build lacks adds nothing.
void sr_next_add(SrText *next, const char *what, const char *const *words);
#define SR_NEXT(next, what, ...) sr_next_add(next, what, (const char *const[]){__VA_ARGS__, NULL})

// Adds the command line of this process with these words after it, NULL at the end: the same
// options hold.
void sr_next_add_again(SrText *next, const char *what, const char *const *more);
#define SR_NEXT_AGAIN(next, what, ...) \
    sr_next_add_again(next, what, (const char *const[]){__VA_ARGS__, NULL})
// Adds `verb` for the configuration and the overrides of this command.  verb NULL: training, by the
// configuration's name alone.
void sr_next_add_config(SrText *next, const char *what, const char *verb, const SrConfig *config,
                        const SrArgs *args);

// Adds the live page of the folder that holds the run.
void sr_next_add_web(SrText *next, const char *run);
// Adds what can be done with a trained run: `compare` where it began from weights, `linear` where
// one folder of images has classes, and `similar` where its images are files.
void sr_next_add_trained(SrText *next, const SrRun *run);
// Prints the commands as remarks, which -q leaves out, and empties the text.
void sr_next_say(SrText *next);

#endif
