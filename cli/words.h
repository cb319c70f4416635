// What may stand at the end of a command line: for the completions of shells, which ask for it with
// `sslrun manual words WORD...`, the line so far without the program's name.
#ifndef SR_CLI_WORDS_H
#define SR_CLI_WORDS_H

#include "base/status.h"
#include "base/text.h"

// words: at least one, the last of which is to be completed and may be empty.  Adds a candidate a line, each beginning with
// what is there already: verbs, configurations, folders of runs, flags, keys, layers of the trunk that the line names.
// A line that makes no sense has none.  Files are the shell's to find.
SrStatus sr_words(const char *const *words, int n, SrText *out);

#endif
