// sslrun web gives nothing to strangers: paths that lead out of the folder, wrong tokens and
// hosts, malformed requests.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "tests/check.h"
#include "tests/cli/web.h"
#include "tests/data/fixture.h"
#include "tests/program.h"

static ProgramResult result; // two texts: too large for the stack of a test

// A request with another path, another token, another host, or through a link gets nothing.
TEST(test_nothing_for_strangers) {
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
    web_has(">1 run<");
    CHECK_INT(web_get(&w, "/?token=wrong"), 403);
    CHECK_INT(web_get(&w, "/?token="), 403);
    CHECK_INT(web_post(&w, "/stop?id=one&token=wrong", ""), 403);
    CHECK_INT(web_post(&w, "/continue?id=one", ""), 403);
    CHECK_INT(web_post(&w, "/continue", ""), 403);
    CHECK_INT(web_post(&w, "/continue?token=" WEB_TOKEN, ""), 400);
    CHECK_INT(web_post(&w, "/stop?id=one&token=" WEB_TOKEN, ""), 409);     // nothing trains there
    CHECK_INT(web_post(&w, "/continue?id=one&token=" WEB_TOKEN, ""), 409); // no command is known
    CHECK_INT(web_post(&w, "/continue?id=..%2Fsecret&token=" WEB_TOKEN, ""), 409);
    CHECK_INT(web_post(&w, "/?id=one&token=" WEB_TOKEN, ""), 404);
    CHECK_INT(web_send(&w, "DELETE / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
              405);
    web_end(&w);
    program_run(&result, 1,
                (const char *const[]){"web", "/tmp", "--address", "0.0.0.0", "--port", "0", NULL});
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "only with a token"));
    program_run(&result, 1, (const char *const[]){"web", "/tmp", "--token", "short", NULL});
    CHECK_INT(result.code, 2);
    program_run(&result, 1, (const char *const[]){"web", "/no/such/folder", NULL});
    CHECK_INT(result.code, 2);
}

// The whole token is compared: a prefix of it, or a longer text, is wrong.
TEST(test_whole_token) {
    static const char token[] = WEB_TOKEN;
    static const char *const more[] = {"0", WEB_TOKEN, "%00", "%20"};
    Web w;
    char path[256], header[128];
    web_need();
    web_begin(&w);
    web_write_run(w.runs, "one", 1, 1);
    for (size_t n = 0; n < sizeof token - 1; n++) {
        snprintf(path, sizeof path, "/stop?id=one&token=%.*s", (int)n, token);
        CHECK_INT(web_post(&w, path, ""), 403);
        snprintf(header, sizeof header, "X-Token: %.*s\r\n", (int)n, token);
        CHECK_INT(web_post(&w, "/stop?id=one", header), 403);
    }
    for (int i = 0; i < SR_COUNT(more); i++) {
        snprintf(path, sizeof path, "/stop?id=one&token=%s%s", token, more[i]);
        CHECK_INT(web_post(&w, path, ""), 403);
    }
    CHECK_INT(web_post(&w, "/stop?id=one", "X-Token: " WEB_TOKEN "\r\n"), 409);
    CHECK_INT(web_post(&w, "/stop?id=one%00&token=" WEB_TOKEN, ""), 400);
    CHECK_INT(web_post(&w, "/stop?id=%00&token=" WEB_TOKEN, ""), 400);
    web_end(&w);
}

static int ask_host(const Web *w, const char *method, const char *hosts) {
    char request[512];
    snprintf(request, sizeof request, "%s HTTP/1.1\r\n%sConnection: close\r\n\r\n", method, hosts);
    return web_send(w, request);
}

// Another host name for this machine is the page of another site that reaches the server.
TEST(test_hosts_and_origins) {
    static const char *const ours[] = {"127.0.0.1", "localhost:8321", "LOCALHOST", "[::1]:1"};
    static const char *const foreign[] = {"evil.example",           "127.0.0.1:x@evil.example",
                                          "localhost:evil.example", "127.0.0.1.evil.example",
                                          "localhost:1:2",          "localhost:123456"};
    static const char *const sites[] = {
        "Origin: http://evil.example\r\n", "Origin: http://localhost.evil.example\r\n",
        "Sec-Fetch-Site: cross-site\r\n", "Origin: null\r\nSec-Fetch-Site: same-site\r\n"};
    static const char get[] = "GET /", post[] = "POST /stop?id=one&token=" WEB_TOKEN;
    Web w;
    char host[128];
    web_need();
    web_begin(&w);
    web_write_run(w.runs, "one", 1, 1);
    for (int i = 0; i < SR_COUNT(ours); i++) {
        snprintf(host, sizeof host, "Host: %s\r\n", ours[i]);
        CHECK_INT(ask_host(&w, get, host), 200);
        CHECK_INT(ask_host(&w, post, host), 409);
    }
    for (int i = 0; i < SR_COUNT(foreign); i++) {
        snprintf(host, sizeof host, "Host: %s\r\n", foreign[i]);
        CHECK_INT(ask_host(&w, get, host), 403);
        CHECK_INT(ask_host(&w, post, host), 403);
    }
    CHECK_INT(ask_host(&w, get, ""), 400);
    CHECK_INT(ask_host(&w, get, "Host: localhost\r\nHost: localhost\r\n"), 400);
    CHECK_INT(ask_host(&w, post, "Host: localhost\r\nhost: evil.example\r\n"), 400);
    for (int i = 0; i < SR_COUNT(sites); i++)
        CHECK_INT(web_post(&w, "/stop?id=one&token=" WEB_TOKEN, sites[i]), 403);
    snprintf(host, sizeof host, "Origin: http://localhost:%d\r\n", w.port);
    CHECK_INT(web_post(&w, "/stop?id=one&token=" WEB_TOKEN, host), 409);
    CHECK_INT(web_post(&w, "/stop?id=one&token=" WEB_TOKEN, "Sec-Fetch-Site: same-origin\r\n"),
              409);
    web_end(&w);
}

// Bodies are never parsed: a multipart body whose part has no name must not end the server, since
// any page can send one without a token.
TEST(test_bodies) {
    static const char *const parts[] = {"Content-Disposition: form-data\r\n",
                                        "Content-Disposition: form-data; filename=\"x\"\r\n",
                                        "Content-Type: text/plain\r\n"};
    static const char *const paths[] = {"/", "/stop", "/stop?id=one&token=" WEB_TOKEN};
    static const int answers[] = {404, 415, 415};
    Web w;
    char body[256], request[1024];
    web_need();
    web_begin(&w);
    web_write_run(w.runs, "one", 1, 1);
    for (int i = 0; i < SR_COUNT(parts) * SR_COUNT(paths); i++) {
        int n = snprintf(body, sizeof body, "--xxxxxxxx\r\n%s\r\nhello\r\n--xxxxxxxx--\r\n",
                         parts[i / SR_COUNT(paths)]);
        snprintf(request, sizeof request,
                 "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; "
                 "boundary=xxxxxxxx\r\nContent-Length: %d\r\n\r\n%s",
                 paths[i % SR_COUNT(paths)], n, body);
        CHECK_INT(web_send(&w, request), answers[i % SR_COUNT(paths)]);
    }
    CHECK_INT(web_send(&w, "POST /stop?id=one&token=" WEB_TOKEN " HTTP/1.1\r\nHost: localhost\r\n"
                           "Connection: close\r\nContent-Length: 6\r\n\r\nid=one"),
              400);
    CHECK_INT(web_get(&w, "/"), 200);
    web_has("X-Frame-Options: DENY\r\n");
    web_has("X-Content-Type-Options: nosniff\r\n");
    web_has("frame-ancestors 'none'");
    web_end(&w);
}

// The lock file may name any process; only the process that holds this file locked is asked to
// stop.
TEST(test_stop_spares_others) {
    Web w;
    char path[160], number[32];
    web_need();
    web_begin(&w);
    web_write_run(w.runs, "one", 1, 1);
    pid_t bystander = fork();
    if (bystander == 0) {
        signal(SIGTERM, SIG_DFL);
        for (;;)
            pause();
    }
    int n = snprintf(number, sizeof number, "%ld\n", (long)bystander);
    fixture_write(w.runs, "one/.lock", number, (size_t)n);
    snprintf(path, sizeof path, "%s/one/.lock", w.runs);
    int lock = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0);
    CHECK_INT(web_post(&w, "/stop?id=one&token=" WEB_TOKEN, ""), 409);
    web_has("belongs to another machine");
    CHECK_INT(waitpid(bystander, NULL, WNOHANG), 0);
    kill(bystander, SIGKILL);
    int how;
    CHECK_INT(waitpid(bystander, &how, 0), bystander);
    CHECK_INT(WTERMSIG(how), SIGKILL); // it had not been ended by SIGTERM
    close(lock);
    web_end(&w);
}

static long resident_kb(const Web *w) {
    char name[64], status[4096];
    snprintf(name, sizeof name, "/proc/%d", (int)w->pid);
    program_read(name, "status", status, sizeof status);
    return strtol(strstr(status, "VmRSS:") + 6, NULL, 10);
}

// Refused requests leave nothing: 700 of each kind do not increase memory.
TEST(test_refusals_keep_nothing) {
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

// Changes, cuts or repeats some bytes of a well-formed request.
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

TEST(test_malformed_requests) {
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
        // Every tenth connection waits for its answer, the others are closed before.
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

SR_TESTS(web_requests, unit(test_nothing_for_strangers), unit(test_whole_token),
         unit(test_hosts_and_origins), unit(test_bodies), unit(test_stop_spares_others),
         unit(test_refusals_keep_nothing), unit(test_malformed_requests))
