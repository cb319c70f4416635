// Pages in chromium without a screen, where Debian's package is installed, driven over its debugging pipe: one browser, any
// number of pages one after the other.  Everything fails the test where there is no answer.
#ifndef SR_TESTS_BROWSER_H
#define SR_TESTS_BROWSER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct {
    pid_t pid;
    int to, from;              // the pipe's ends
    int commands;              // sent so far
    char dir[64], session[64]; // its profile; the page in front
    char *text;                // what came and was not taken yet
    size_t n;
    bool loaded;
    char errors[4096]; // what pages said of errors since browser_open, "" if nothing
} Browser;

void browser_need(void); // skips the test where there is no browser
void browser_start(Browser *b);
void browser_stop(Browser *b);

// A new page of that width; without `script` the page's own scripts do not run.  Returns once it is loaded.
void browser_open(Browser *b, const char *url, int width, bool script);
// An expression's value as text; it works without `script` too.
void browser_ask(Browser *b, const char *expression, char *out, size_t n);
// Asked again and again until it is true.
bool browser_becomes(Browser *b, const char *expression, double seconds);
// A mouse's click into the middle of what the selector finds first.
void browser_click(Browser *b, const char *selector);
// What the window shows, as a PNG.
void browser_picture(Browser *b, const char *path);

#endif
