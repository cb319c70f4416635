// sslrun web gives nothing to strangers: names that lead out of the folder, wrong tokens and hosts, requests that are none.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rng.h"
#include "tests/check.h"
#include "tests/cli/web.h"
#include "tests/data/fixture.h"
#include "tests/program.h"

static ProgramResult result; // two texts: too large for the stack of a test

// What is asked for by another name, another token, another host, or through a link gets nothing.
static void test_nothing_for_strangers(void **state) {
    (void)state;
    static const char *const names[] = {"/run?id=..%2Fsecret",
                                        "/run?id=%2Fetc",
                                        "/report?id=one%2F..%2F..%2Fsecret",
                                        "/run?id=linked",
                                        "/run?id=by%2Flink",
                                        "/run?id=",
                                        "/run",
                                        "/report",
                                        "/report?id=file-link",
                                        "/run?id=one%00",
                                        "/../secret/report.html",
                                        "/events?id=..",
                                        "/stop?id=one&token=" WEB_TOKEN,
                                        "//etc/passwd",
                                        "/%2e%2e/secret",
                                        "/report?id=./one"};
    Web w;
    char path[160], target[160];
    web_need();
    web_begin(&w);
    web_write_run(w.dir, "secret", 1, 9.87);
    fixture_write(w.dir, "secret/report.html", "SECRET", 6);
    web_write_run(w.runs, "one", 1, 1);
    web_write_run(w.runs, "file-link", 1, 1);
    snprintf(target, sizeof target, "%s/secret", w.dir);
    snprintf(path, sizeof path, "%s/linked", w.runs);
    CHECK(symlink(target, path) == 0);
    snprintf(target, sizeof target, "%s/secret/report.html", w.dir);
    snprintf(path, sizeof path, "%s/file-link/report.html", w.runs);
    CHECK(symlink(target, path) == 0);
    for (int i = 0; i < SR_COUNT(names); i++) {
        int status = web_get(&w, names[i]);
        if (status != 404 && status != 400)
            fail_msg("%s gave %d: %.300s", names[i], status, web_answer);
        CHECK(!strstr(web_answer, "SECRET") && !strstr(web_answer, "9.87"));
    }
    CHECK_INT(web_get(&w, "/"), 200);
    web_has("1 runs");
    CHECK_INT(web_get(&w, "/?token=wrong"), 403);
    CHECK_INT(web_get(&w, "/?token="), 403);
    CHECK_INT(web_post(&w, "/stop", "id=one&token=wrong"), 403);
    CHECK_INT(web_post(&w, "/continue", "id=one"), 403);
    CHECK_INT(web_post(&w, "/continue", ""), 400);
    CHECK_INT(web_post(&w, "/stop", "id=one&token=" WEB_TOKEN), 409);     // nothing trains there
    CHECK_INT(web_post(&w, "/continue", "id=one&token=" WEB_TOKEN), 409); // and nobody knows how
    CHECK_INT(web_post(&w, "/continue", "id=..%2Fsecret&token=" WEB_TOKEN), 409);
    CHECK_INT(web_post(&w, "/", "id=one&token=" WEB_TOKEN), 404);
    static const char rebound[] =
        "GET / HTTP/1.1\r\nHost: evil.example:80\r\nConnection: close\r\n\r\n";
    CHECK_INT(web_ask(&w, rebound, sizeof rebound - 1), 403);
    static const char deleted[] =
        "DELETE / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    CHECK_INT(web_ask(&w, deleted, sizeof deleted - 1), 405);
    web_end(&w);
    program_run(&result, 1,
                (const char *const[]){"web", "/tmp", "--address", "0.0.0.0", "--port", "0", NULL});
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "with a token alone"));
    program_run(&result, 1, (const char *const[]){"web", "/tmp", "--token", "short", NULL});
    CHECK_INT(result.code, 2);
    program_run(&result, 1, (const char *const[]){"web", "/no/such/folder", NULL});
    CHECK_INT(result.code, 2);
}

static long resident_kb(const Web *w) {
    char name[64], status[4096];
    snprintf(name, sizeof name, "/proc/%d", (int)w->pid);
    program_read(name, "status", status, sizeof status);
    return strtol(strstr(status, "VmRSS:") + 6, NULL, 10);
}

// What is refused is forgotten: 700 of each wrong name leave nothing behind.
static void test_refusals_keep_nothing(void **state) {
    (void)state;
    enum { TIMES = 700 };
    static const char *const names[] = {"/events?id=..", "/run?id=..", "/report?id=.."};
    Web w;
    web_need();
    web_begin(&w);
    web_write_run(w.runs, "one", 1, 1);
    for (int i = 0; i < SR_COUNT(names); i++) {
        for (int k = 0; k < 100; k++)
            CHECK_INT(web_get(&w, names[i]), 404);
        long before = resident_kb(&w);
        for (int k = 0; k < TIMES; k++)
            CHECK_INT(web_get(&w, names[i]), 404);
        long more = resident_kb(&w) - before;
        if (!PROGRAM_SANITIZED && more > TIMES)
            fail_msg("%s: %ld kB more after %d times", names[i], more, TIMES);
    }
    web_end(&w);
}

// Of a well-formed request some bytes are changed, cut or repeated.
static size_t spoil(SrRng *rng, char *out, size_t room) {
    static const char *const bases[] = {
        "GET /run?id=one HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "POST /stop HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
        "application/x-www-form-urlencoded\r\n"
        "Content-Length: 40\r\nConnection: close\r\n\r\nid=one&token=zzzzzzzzzzzzzzzzzzzzzzzzzzz",
        "POST /continue HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; "
        "boundary=x\r\n"
        "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\n--x\r\n\r\n0\r\n\r\n",
        "GET /report?id=%2e%2e%2f%00&token=&token HTTP/1.0\r\nX-Token: a\r\nRange: "
        "bytes=0-\r\n\r\n"};
    const char *base = bases[sr_rng_below(rng, SR_COUNT(bases))];
    size_t n = strlen(base);
    memcpy(out, base, n);
    for (uint32_t k = sr_rng_below(rng, 8) + 1; k > 0; k--) {
        size_t at = sr_rng_below(rng, (uint32_t)n), len = sr_rng_below(rng, 24);
        switch (sr_rng_below(rng, 3)) {
        case 0: out[at] = (char)sr_rng_u32(rng); break;
        case 1: n = at + 1; break;
        default:
            if (at + len < n && n + len < room) {
                memmove(out + at + len, out + at, n - at);
                n += len;
            }
        }
    }
    return n;
}

static void test_malformed_requests(void **state) {
    (void)state;
    int requests =
        getenv("SSLRUN_LONG") ? 10000 : 1000; // ten thousand take minutes on a busy machine
    Web w;
    char request[1024];
    SrRng rng = sr_rng(5, SR_RNG_TEST, 0, 0, 0, 0);
    web_need();
    web_begin(&w);
    web_write_run(w.runs, "one", 1, 1);
    CHECK_INT(web_get(&w, "/"), 200);
    int fds = web_count_fds(&w);
    for (int i = 0; i < requests; i++) {
        size_t n = spoil(&rng, request, sizeof request);
        int fd = web_dial(&w);
        struct linger at_once = {1, 0};
        if (send(fd, request, n, MSG_NOSIGNAL) < 0)
            web_answer[0] = '\0';
        // Every tenth waits for its web_answer, the others are gone before.
        shutdown(fd, SHUT_WR);
        if (i % 10 == 0)
            while (recv(fd, web_answer, sizeof web_answer, 0) > 0)
                ;
        else
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(fd);
    }
    CHECK_INT(web_get(&w, "/run?id=one"), 200);
    for (int i = 0; i < 100 && web_count_fds(&w) > fds; i++)
        program_sleep_ms(50);
    CHECK(web_count_fds(&w) <= fds + 1);
    web_end(&w);
}

SR_TESTS(web_requests, unit(test_nothing_for_strangers), unit(test_refusals_keep_nothing),
         unit(test_malformed_requests))
