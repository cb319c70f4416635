// The live page's list of runs.  Several seeds of one sweep are one row that opens to its seeds.
#ifndef SR_PAGES_WEB_WEB_LIST_H
#define SR_PAGES_WEB_WEB_LIST_H

#include "pages/runs/run_registry.h"

// Appends the list of all runs; token: as in web_page.h.
SrStatus sr_web_list(const SrRegistry *registry, const char *token, SrText *out);

#endif
