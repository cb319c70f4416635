// The page of one verb in three forms: text for a terminal, roff for man, and Markdown.
#ifndef SR_CLI_HELP_VERB_PAGE_H
#define SR_CLI_HELP_VERB_PAGE_H

#include "base/text/text.h"
#include "cli/verb.h"

typedef enum { SR_PAGE_TEXT, SR_PAGE_MAN, SR_PAGE_MARKDOWN } SrPageForm;

void sr_verb_page(const SrVerb *verb, SrPageForm form, SrText *out);
// Adds text for troff: backslashes, hyphens, and a dot or quote that begins a line are escaped.
void sr_roff_add(const char *text, SrText *out);
// "--batch N", "--out FILE" or "--json".
void sr_flag_term(const SrFlag *flag, SrText *out);

#endif
