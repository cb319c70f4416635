// Lists of all verbs: what `sslrun --help` and `sslrun` alone print.
#ifndef SR_CLI_HELP_OVERVIEW_H
#define SR_CLI_HELP_OVERVIEW_H

#include "base/text/text.h"
#include "cli/verb.h"

const char *sr_verb_group_title(SrVerbGroup group); // "Evaluate a trunk"
const SrVerb *sr_verb_common(int place); // verb of that place among the commonest; NULL: none
void sr_overview(SrText *out);           // every verb by group, the commonest first
void sr_overview_brief(SrText *out);     // about ten lines: the commonest verbs

#endif
