// Web pages in headless chromium, if Debian's package is installed, driven over its debugging
// pipe: one browser, any number of pages one after the other. Every function fails the test if
// the browser does not answer.
#ifndef SR_TESTS_BROWSER_H
#define SR_TESTS_BROWSER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct {
    pid_t pid;
    int to, from;              // ends of the pipe
    int commands;              // number of commands sent
    char dir[64], session[64]; // its profile; its present page
    char *text;                // received text that was not used yet
    size_t n;
    bool loaded;
    double x, y;       // where the mouse was pressed
    char errors[4096]; // error messages of pages since browser_open; "": none
} Browser;

void browser_need(void); // skips the test if there is no browser
void browser_start(Browser *b);
void browser_stop(Browser *b);

// Opens a new page of that width and returns when it is loaded. Without `script` the page's own
// scripts do not run.
void browser_open(Browser *b, const char *url, int width, bool script);
// Copies the value of an expression as text; works without `script` too.
void browser_ask(Browser *b, const char *expression, char *out, size_t n);
// Evaluates an expression repeatedly until it is true. Returns false after that many seconds.
bool browser_becomes(Browser *b, const char *expression, double seconds);
// Presses, or presses and releases, the mouse in the middle of the first element that the selector
// finds.
void browser_press(Browser *b, const char *selector);
void browser_release(Browser *b); // where the mouse was pressed
void browser_click(Browser *b, const char *selector);
// Presses a key by its name, such as "ArrowRight" or "/", and types text where the focus is.
void browser_key(Browser *b, const char *key);
void browser_type(Browser *b, const char *text);
// Writes a PNG of the window.
void browser_picture(Browser *b, const char *path);

#endif
