// HTML of the live page: the table of runs below a folder, and the page of one run.  Sockets are in
// web_server.h.
#ifndef SR_PAGES_WEB_WEB_PAGE_H
#define SR_PAGES_WEB_WEB_PAGE_H

#include "pages/runs/run_registry.h"

// Writes the address of a run's report.  The address never holds the token, because links and
// scripts of a report may come from a stranger.
void sr_web_report_address(const char *name, SrText *out);
// token: goes into the forms for stop and continue; NULL: the reader has not shown it and gets no
// forms.
SrStatus sr_web_index(const SrRegistry *registry, const char *token, SrText *out);
SrStatus sr_web_run(const char *run, const char *name, const char *token, SrText *out);
// Writes the part that changes, for server-sent events.  run NULL: the table of all runs.
SrStatus sr_web_live(const SrRegistry *registry, const char *run, const char *name,
                     const char *token, SrText *out);

#endif
