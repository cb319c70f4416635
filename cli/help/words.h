// Candidates for the last word of a command line.  Completions of shells ask for them by
// `sslrun manual words WORD...`, where the words are the line so far without the program's name.
#ifndef SR_CLI_HELP_WORDS_H
#define SR_CLI_HELP_WORDS_H

#include "base/status.h"
#include "base/text/text.h"

// Adds candidates for the last of n words, one per line; n >= 1, and the last word may be empty.
// Each candidate begins with the last word.  Candidates are verbs, configurations, run folders,
// flags, keys, and layers of the trunk that the line names.  A wrong line has none.  The shell
// completes files itself.
SrStatus sr_words(const char *const *words, int n, SrText *out);

#endif
