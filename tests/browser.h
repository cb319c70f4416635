// A page in chromium without a screen, where Debian's package is installed.
#ifndef SR_TESTS_BROWSER_H
#define SR_TESTS_BROWSER_H

#include <stdbool.h>

typedef struct {
    char *dom;         // after the page's scripts have run
    char errors[4096]; // what the console said of errors, "" if nothing
} BrowserPage;

bool browser_is_there(void);
void browser_open(BrowserPage *page, const char *url,
                  int width); // fails the test if there is no answer
void browser_close(BrowserPage *page);

#endif
