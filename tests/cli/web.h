// A server of `sslrun web` over a folder of runs, for its tests, and requests to it.
#ifndef SR_TESTS_CLI_WEB_H
#define SR_TESTS_CLI_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define WEB_TOKEN "0123456789abcdefTOKEN"
#define WEB_RUN_LINE                                                                              \
    "{\"ep\": 0, \"iter\": %d, \"loss\": %g, \"btime(ms)\": 10, \"images_per_s\": 7, \"eta_s\": " \
    "9}\n"

typedef struct {
    char dir[64], runs[96]; // the test's folder, and the folder of runs in it
    pid_t pid;
    int port;
    const char *address; // address to listen on
} Web;

void web_need(void); // skips the test if the program was built without the server
void web_begin(Web *w);
void web_begin_at(Web *w, const char *address);
void web_end(Web *w);
int web_dial(const Web *w);     // returns a connection; fails the test if there is none
int web_try_dial(const Web *w); // returns a connection; -1: the server does not answer

// The last answer with its headers, as text.
extern char web_answer[1 << 18];
// Sends a request and reads until the server closes. Returns the HTTP status; 0: none.
int web_ask(const Web *w, const void *request, size_t n);
int web_get(const Web *w, const char *path);
// Posts an empty form, as the page's buttons do. more: header lines, each with its line end.
int web_post(const Web *w, const char *path, const char *more);
int web_send(const Web *w, const char *request);
void web_has(const char *text); // fails unless the last answer contains it
// Returns whether the index, read with the token, contains the text within a minute.
bool web_becomes(const Web *w, const char *text);

// Writes stdout.json, with one line, of a run below the folder.
void web_write_run(const char *folder, const char *name, int iter, double loss);
int web_count_fds(const Web *w); // descriptors that the server has open

#endif
