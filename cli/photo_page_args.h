// Output of verbs that can write a page of photos.
#ifndef SR_CLI_PHOTO_PAGE_ARGS_H
#define SR_CLI_PHOTO_PAGE_ARGS_H

#include "cli/args.h"

// Ends a verb whose lines are in `out`: prints them, or, if a page was written without --json, the
// page's name.  Frees `out` and returns status.
SrStatus sr_photo_page_print(SrStatus status, const char *page, bool json, SrText *out);

#endif
