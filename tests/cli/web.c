// Starts a server of `sslrun web` for tests and talks to it (web.h).
#include "tests/cli/web.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static ProgramResult result; // two texts: too large for the stack of a test
char web_answer[1 << 18];

void web_need(void) {
    program_run(&result, 1, (const char *const[]){"--version", NULL});
    if (!strstr(result.out, "web page by libmicrohttpd"))
        SKIP("this build has no `sslrun web`", "apt-get install libmicrohttpd-dev && make test");
}

void web_begin(Web *w) { web_begin_at(w, "127.0.0.1"); }

void web_begin_at(Web *w, const char *address) {
    char out[512], form[64];
    w->address = address;
    temp_dir_make(w->dir);
    snprintf(w->runs, sizeof w->runs, "%s/runs", w->dir);
    mkdir(w->runs, 0700);
    w->pid = program_start(w->dir, 1,
                           (const char *const[]){"web", w->runs, "--port", "0", "--token",
                                                 WEB_TOKEN, "--address", address, NULL});
    w->port = 0;
    snprintf(form, sizeof form, "http://%s:%%d/", address);
    for (int i = 0; i < 2400 && w->port == 0; i++) { // a minute, for busy machines
        program_sleep_ms(25);
        program_read(w->dir, "out", out, sizeof out);
        sscanf(out, form, &w->port);
    }
    CHECK(w->port > 0);
}

void web_end(Web *w) {
    CHECK(kill(w->pid, SIGTERM) == 0);
    CHECK_INT(program_wait(w->pid, NULL), 0);
    temp_dir_remove(w->dir);
}

int web_try_dial(const Web *w) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)w->port)};
    struct timeval patience = {20, 0};
    inet_pton(AF_INET, w->address, &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    CHECK(fd >= 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    close(fd);
    return -1;
}

int web_dial(const Web *w) {
    int fd = web_try_dial(w);
    CHECK(fd >= 0);
    return fd;
}

int web_ask(const Web *w, const void *request, size_t n) {
    int fd = web_dial(w), status = 0;
    size_t got = 0;
    ssize_t part;
    CHECK(send(fd, request, n, MSG_NOSIGNAL) == (ssize_t)n);
    shutdown(fd, SHUT_WR);
    while (got < sizeof web_answer - 1 &&
           (part = recv(fd, web_answer + got, sizeof web_answer - 1 - got, 0)) > 0)
        got += (size_t)part;
    web_answer[got] = '\0';
    close(fd);
    sscanf(web_answer, "HTTP/1.1 %d", &status);
    return status;
}

int web_get(const Web *w, const char *path) {
    char request[2048];
    int n = snprintf(request, sizeof request,
                     "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", path);
    return web_ask(w, request, (size_t)n);
}

int web_post(const Web *w, const char *path, const char *more) {
    char request[2048];
    int n = snprintf(request, sizeof request,
                     "POST %s HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n%s"
                     "Content-Type: application/x-www-form-urlencoded\r\n"
                     "Content-Length: 0\r\n\r\n",
                     path, w->port, more);
    return web_ask(w, request, (size_t)n);
}

int web_send(const Web *w, const char *request) { return web_ask(w, request, strlen(request)); }

void web_has(const char *text) {
    if (!strstr(web_answer, text))
        fail_msg("no \"%s\" in: %.2000s", text, web_answer);
}

void web_write_run(const char *folder, const char *name, int iter, double loss) {
    char path[160], line[256];
    snprintf(path, sizeof path, "%s/stdout.json", name);
    snprintf(line, sizeof line, WEB_RUN_LINE, iter, loss);
    fixture_write(folder, path, line, strlen(line));
}

int web_count_fds(const Web *w) {
    char path[64];
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)w->pid);
    DIR *d = opendir(path);
    CHECK(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

bool web_becomes(const Web *w, const char *text) {
    for (int i = 0; i < 600; i++) {
        if (web_get(w, "/?token=" WEB_TOKEN) == 200 && strstr(web_answer, text))
            return true;
        program_sleep_ms(100);
    }
    return false;
}
