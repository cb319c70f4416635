// A server of `sslrun web` over a folder of runs, as its tests start it, and what they ask it.
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
    char dir[64], runs[96]; // a folder of the test, and the runs in it
    pid_t pid;
    int port;
    const char *address; // that it listens on
} Web;

void web_need(void); // skips the test where the program was built without the server
void web_begin(Web *w);
void web_begin_at(Web *w, const char *address);
void web_end(Web *w);
int web_dial(const Web *w);     // a connection
int web_try_dial(const Web *w); // -1: the server does not answer

// The last answer, headers and all, as text.
extern char web_answer[1 << 18];
// Everything until the other side closes; returns the status, 0 without one.
int web_ask(const Web *w, const void *request, size_t n);
int web_get(const Web *w, const char *path);
// An empty form, as the page's buttons send it. more: header lines, each with its end.
int web_post(const Web *w, const char *path, const char *more);
int web_send(const Web *w, const char *request);
void web_has(const char *text); // the last answer has it
// The index, with the token, has the text within a minute.
bool web_becomes(const Web *w, const char *text);

// stdout.json of a run below the folder, with one line.
void web_write_run(const char *folder, const char *name, int iter, double loss);
int web_count_fds(const Web *w); // descriptors that the server holds open

#endif
