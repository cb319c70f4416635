// Searches names and their help for words, as apropos does.
#ifndef SR_TRAINER_CONFIG_MANUAL_SEARCH_H
#define SR_TRAINER_CONFIG_MANUAL_SEARCH_H

#include "base/text/text.h"

typedef struct {
    const char *name, *help; // help: NULL or "": none
} SrManualName;

// Lists the names that hold all words of the query, and then those whose name and help hold them
// together.  Case, underscores, hyphens and dots do not count: "batch size" finds
// BATCHSIZE_PER_REPLICA.  Returns how many there are; at most SR_SEARCH_SHOWN are listed, one per
// line with the first sentence of the help.
enum { SR_SEARCH_SHOWN = 20 };
int sr_manual_search(const char *query, const SrManualName *names, int n, SrText *out);

#endif
