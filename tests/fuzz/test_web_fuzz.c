// Tests requests drawn by a grammar (web_grammar.h) against a server of `sslrun web`. Each
// well-formed request gets the status that the documented rules require. None reveals the token
// or a foreign file, ends the server, or shuts others out.
//
// SSLRUN_WEB_FUZZ_SECONDS sets the duration (`make web-fuzz`), SSLRUN_WEB_FUZZ_SEED repeats a
// run.
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "tests/check.h"
#include "tests/cli/web.h"
#include "tests/data/fixture.h"
#include "tests/fuzz/web_grammar.h"
#include "tests/program.h"

enum {
    SHORT = 1500,
    HELD = 90,
    LOOKS = 250
}; // requests; connections held open; requests between checks of the server

typedef struct {
    Web web;
    uint64_t seed, number; // of the present request
    WebRequest request;
    int held[HELD];   // -1: none
    int64_t by_rules; // requests whose status the rules determine
} Fuzz;

// Fails the test. Seed and number suffice to repeat the request.
static void finding(const Fuzz *f, const char *what) {
    char shown[1200], err[4096];
    size_t n = 0;
    for (size_t i = 0; i < f->request.n && n < sizeof shown - 5; i++) {
        unsigned char c = (unsigned char)f->request.bytes[i];
        n += (size_t)snprintf(shown + n, sizeof shown - n, c < 32 || c > 126 ? "\\x%02x" : "%c", c);
    }
    program_read(f->web.dir, "err", err, sizeof err);
    fail_msg("%s\nseed %llu, request %llu: %s\nanswer: %.600s\nstderr: %.3000s", what,
             (unsigned long long)f->seed, (unsigned long long)f->number, shown, web_answer, err);
}

static void must(const Fuzz *f, bool holds, const char *what) {
    if (!holds)
        finding(f, what);
}

// ---- one request --------------------------------------------------------------------------------

// Sends all bytes. Returns false if the other side has closed, as it does after refusing a body.
static bool send_all(int fd, const char *bytes, size_t n) {
    while (n > 0) {
        ssize_t part = send(fd, bytes, n, MSG_NOSIGNAL);
        if (part <= 0)
            return false;
        bytes += part;
        n -= (size_t)part;
    }
    return true;
}

static bool send_request(const WebRequest *r, int fd) {
    size_t at = 0;
    for (int i = 0; i < WEB_GRAMMAR_CUTS && r->delivery == WEB_PIECES; i++) {
        if (!send_all(fd, r->bytes + at, r->cut[i] - at))
            return false;
        at = r->cut[i];
        program_sleep_ms(0.3);
    }
    if (r->delivery == WEB_GONE || r->delivery == WEB_HELD)
        return send_all(fd, r->bytes, r->cut[0]);
    return send_all(fd, r->bytes + at, r->n - at);
}

// Reads the whole answer, or the first event of a stream. Returns false if neither came within a
// minute.
static bool read_answer(const WebRequest *r, int fd) {
    size_t got = 0;
    double until = sr_clock() + 60;
    web_answer[0] = '\0';
    while (got < sizeof web_answer - 1) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (sr_clock() > until)
            return false;
        if (poll(&p, 1, 1000) == 0)
            continue;
        ssize_t part = recv(fd, web_answer + got, sizeof web_answer - 1 - got, 0);
        if (part <= 0)
            return true;
        got += (size_t)part;
        web_answer[got] = '\0';
        if (r->is_stream && strstr(web_answer, "text/event-stream") && strstr(web_answer, "data:"))
            return true;
    }
    return true;
}

static void hold(Fuzz *f, int fd) {
    int *slot = &f->held[f->number % HELD];
    if (*slot >= 0)
        close(*slot);
    *slot = fd;
}

static bool holds_text(const WebRequest *r, const char *text) {
    return memmem(r->bytes, r->n, text, strlen(text)) != NULL;
}

static void judge(const Fuzz *f) {
    static const int known[] = {200, 303, 400, 403, 404, 405, 409, 411,
                                413, 414, 415, 417, 431, 501, 503, 505};
    const WebRequest *r = &f->request;
    int status = 0;
    bool is_known = false;
    if (sscanf(web_answer, "HTTP/1.%*d %d", &status) == 1 && status == 100 &&
        strstr(web_answer, "\r\n\r\n"))
        sscanf(strstr(web_answer, "\r\n\r\n") + 4, "HTTP/1.%*d %d", &status);
    for (int i = 0; i < SR_COUNT(known); i++)
        is_known = is_known || status == known[i];
    must(f, is_known || status == 0 || status == 100, "a status that the server never gives");
    must(f, !strstr(web_answer, "SECRET"), "a file from outside was given");
    must(f, holds_text(r, WEB_TOKEN) || !strstr(web_answer, WEB_TOKEN), "the token was given away");
    must(f, status != 409 || holds_text(r, WEB_TOKEN), "acted without the token");
    if (status == 200 || status == 303 || status == 403 || status == 409) {
        must(f, strstr(web_answer, "X-Frame-Options: DENY\r\n"), "frames are allowed");
        must(f, strstr(web_answer, "X-Content-Type-Options: nosniff\r\n"), "types are guessed");
        must(f, strstr(web_answer, "Content-Security-Policy: "), "there is no policy");
    }
    if (strstr(web_answer, "REPORT-OF-ONE"))
        must(f, strstr(web_answer, "sandbox allow-scripts;"), "a report outside the sandbox");
    if (r->status && status != r->status) {
        char what[80];
        snprintf(what, sizeof what, "the rules ask for %d, the answer is %d", r->status, status);
        finding(f, what);
    }
}

static void ask(Fuzz *f) {
    WebRequest *r = &f->request;
    struct linger at_once = {1, 0};
    int fd = web_try_dial(&f->web);
    web_answer[0] = '\0';
    must(f, fd >= 0, "the server cannot be reached");
    bool sent = send_request(r, fd);
    if (r->delivery == WEB_HELD) {
        hold(f, fd);
        return;
    }
    if (r->delivery == WEB_GONE) {
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(fd);
        return;
    }
    shutdown(fd, SHUT_WR);
    must(f, read_answer(r, fd), "no answer within a minute");
    close(fd);
    // The server may refuse a body before reading it; the connection is then reset before the
    // answer is read.
    if (!sent || !*web_answer)
        r->status =
            r->n > 4000 || strstr(r->bytes, "\r\n\r\n") != r->bytes + r->n - 4 ? 0 : r->status;
    f->by_rules += r->status != 0;
    judge(f);
}

// ---- the server ---------------------------------------------------------------------------------

static long resident_kb(const Web *w) {
    char name[64], status[4096];
    snprintf(name, sizeof name, "/proc/%d", (int)w->pid);
    program_read(name, "status", status, sizeof status);
    const char *line = strstr(status, "VmRSS:");
    return line ? strtol(line + 6, NULL, 10) : 0;
}

// A well-behaved reader gets in, whatever the other connections hold.
static void look_at_server(Fuzz *f) {
    int status;
    must(f, waitpid(f->web.pid, &status, WNOHANG) == 0, "the server has ended");
    must(f, web_get(&f->web, "/run?id=one") == 200, "a reader is shut out");
    must(f, web_count_fds(&f->web) < 2 * HELD + 100, "descriptors are left open");
}

static void begin(Fuzz *f) {
    char path[160], target[160];
    web_begin(&f->web);
    web_write_run(f->web.runs, "one", 1, 1);
    web_write_run(f->web.runs, "deep/two", 1, 1);
    web_write_run(f->web.dir, "secret", 1, 1);
    fixture_write(f->web.runs, "one/report.html", "REPORT-OF-ONE", 13);
    fixture_write(f->web.dir, "secret/report.html", "SECRET", 6);
    snprintf(target, sizeof target, "%s/secret", f->web.dir);
    snprintf(path, sizeof path, "%s/linked", f->web.runs);
    CHECK(symlink(target, path) == 0);
    for (int i = 0; i < HELD; i++)
        f->held[i] = -1;
}

static void end(Fuzz *f) {
    for (int i = 0; i < HELD; i++)
        if (f->held[i] >= 0)
            close(f->held[i]);
    for (int i = 0; i < 100 && web_count_fds(&f->web) > 20; i++)
        program_sleep_ms(100);
    must(f, web_count_fds(&f->web) <= 20, "descriptors are left open at the end");
    printf("web fuzz: %llu requests, %lld judged by the rules, %ld kB resident at the end\n",
           (unsigned long long)f->number, (long long)f->by_rules, resident_kb(&f->web));
    web_end(&f->web); // a leak found by a sanitizer gives an exit code other than 0
}

TEST(test_requests_by_grammar) {
    static Fuzz f;
    const char *seconds = getenv("SSLRUN_WEB_FUZZ_SECONDS"), *seed = getenv("SSLRUN_WEB_FUZZ_SEED");
    double until = sr_clock() + (seconds ? atof(seconds) : 0), said = sr_clock();
    web_need();
    f.seed = seed ? strtoull(seed, NULL, 10) : seconds ? (uint64_t)time(NULL) : 1;
    printf("web fuzz: seed %llu\n", (unsigned long long)f.seed);
    fflush(stdout);
    begin(&f);
    for (f.number = 0; seconds ? sr_clock() < until : f.number < SHORT; f.number++) {
        web_grammar_draw(&f.request, f.seed, f.number, WEB_TOKEN);
        ask(&f);
        if (f.number % LOOKS == 0)
            look_at_server(&f);
        if (sr_clock() - said > 60) {
            said = sr_clock();
            printf("web fuzz: %llu requests, %ld kB resident\n", (unsigned long long)f.number,
                   resident_kb(&f.web));
            fflush(stdout);
        }
    }
    look_at_server(&f);
    CHECK(f.by_rules > (int64_t)f.number / 10);
    end(&f);
}

SR_TESTS(web_fuzz, unit(test_requests_by_grammar))
