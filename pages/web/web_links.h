// Addresses and forms of the live page.
#ifndef SR_PAGES_WEB_WEB_LINKS_H
#define SR_PAGES_WEB_WEB_LINKS_H

#include "base/text/text.h"

// Appends s for an address: escapes all but letters, digits and a few marks.
void sr_web_address(const char *s, SrText *out);
// Appends "PAGE?id=NAME", with the token if it is not NULL.
void sr_web_link(const char *page, const char *name, const char *token, SrText *out);
// Appends a button that posts `action` ("stop", "continue") for a run; nothing without a token.
void sr_web_form(const char *action, const char *name, const char *token, SrText *out);

#endif
