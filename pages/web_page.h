// The live page as HTML: all runs below a folder, and one of them. No sockets here (web_server.h).
#ifndef SR_PAGES_WEB_PAGE_H
#define SR_PAGES_WEB_PAGE_H

#include "pages/run_registry.h"

// The address of a run's report, which never holds the token: what a report links to and runs may
// be a stranger's.
void sr_web_report_address(const char *name, SrText *out);
// token: what stop and continue need, put into their forms; NULL: the reader did not show it, and
// gets no forms.
SrStatus sr_web_index(const SrRegistry *registry, const char *token, SrText *out);
SrStatus sr_web_run(const char *run, const char *name, const char *token, SrText *out);
// The part of either that changes, for server-sent events: run NULL, the table of all.
SrStatus sr_web_live(const SrRegistry *registry, const char *run, const char *name,
                     const char *token, SrText *out);

#endif
