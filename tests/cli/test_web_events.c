// Tests pages of sslrun web that change while they are read: every reader gets the changes, and
// readers who leave cost nothing.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "tests/check.h"
#include "tests/cli/web.h"
#include "tests/program.h"

static bool wait_for(int fd, const char *text, double seconds) {
    size_t got = 0;
    double until = sr_clock() + seconds;
    while (sr_clock() < until && got < sizeof web_answer - 1) {
        ssize_t part = recv(fd, web_answer + got, sizeof web_answer - 1 - got, 0);
        if (part <= 0)
            return false;
        got += (size_t)part;
        web_answer[got] = '\0';
        if (strstr(web_answer, text))
            return true;
    }
    return false;
}

// With 50 runs and 10 readers, changes arrive, memory stays small, and no descriptor is left
// open.
TEST(test_events_and_memory) {
    enum { RUNS = 50, READERS = 10 };
    static const char request[] = "GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    Web w;
    int fd[READERS];
    char name[64], status[4096];
    web_need();
    web_begin(&w);
    for (int i = 0; i < RUNS; i++) {
        snprintf(name, sizeof name, "run%d", i);
        web_write_run(w.runs, name, i, i);
    }
    CHECK_INT(web_get(&w, "/"), 200);
    int fds = web_count_fds(&w);
    for (int i = 0; i < READERS; i++) {
        fd[i] = web_dial(&w);
        CHECK(send(fd[i], request, sizeof request - 1, MSG_NOSIGNAL) > 0);
        CHECK(wait_for(fd[i], "50 runs", 30));
    }
    web_write_run(w.runs, "run7", 99, 77.125);
    for (int i = 0; i < READERS; i++) {
        if (!wait_for(fd[i], "77.1250", 30))
            fail_msg("reader %d was not told: %.300s", i, web_answer);
        web_has("data: ");
    }
    snprintf(name, sizeof name, "/proc/%d", (int)w.pid);
    program_read(name, "status", status, sizeof status);
    long kb = strtol(strstr(status, "VmHWM:") + 6, NULL, 10);
    if (!PROGRAM_SANITIZED && kb > 30000)
        fail_msg("%ld kB with %d runs and %d readers", kb, RUNS, READERS);
    for (int i = 0; i < READERS; i++)
        close(fd[i]);
    for (int i = 0; i < 300 && web_count_fds(&w) > fds; i++)
        program_sleep_ms(100);
    CHECK(web_count_fds(&w) <= fds);
    web_end(&w);
}

// A well-behaved reader gets in, even if a hundred others hold requests that never end and event
// streams.
TEST(test_a_new_reader_gets_in) {
    enum { MANY = 100 };
    static const char *const requests[] = {"GET / HTTP/1.1\r\nHo",
                                           "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                           "POST /stop HTTP/1.1\r\nHost: localhost\r\n"};
    Web w;
    int fd[MANY];
    web_need();
    web_begin(&w);
    web_write_run(w.runs, "one", 1, 1);
    for (int k = 0; k < SR_COUNT(requests); k++) {
        for (int i = 0; i < MANY; i++) {
            fd[i] = web_dial(&w);
            send(fd[i], requests[k], strlen(requests[k]), MSG_NOSIGNAL);
        }
        CHECK_INT(web_get(&w, "/run?id=one"), 200);
        int stream = web_dial(&w);
        send(stream, requests[1], strlen(requests[1]), MSG_NOSIGNAL);
        CHECK(wait_for(stream, ">1 run<", 30));
        close(stream);
        for (int i = 0; i < MANY; i++)
            close(fd[i]);
    }
    web_end(&w);
}

// A request whose bytes trickle in is closed after a while.
TEST(test_slow_request_is_closed) {
    static const char head[] = "GET / HTTP/1.1\r\nX: ";
    Web w;
    web_need();
    web_begin(&w);
    int fd = web_dial(&w), closed = 0;
    CHECK(send(fd, head, sizeof head - 1, MSG_NOSIGNAL) > 0);
    for (int i = 0; i < 300 && !closed; i++) {
        program_sleep_ms(200);
        send(fd, "x", 1, MSG_NOSIGNAL);
        ssize_t got = recv(fd, web_answer, sizeof web_answer, MSG_DONTWAIT);
        closed = got == 0 || (got < 0 && errno != EAGAIN);
    }
    CHECK(closed);
    close(fd);
    web_end(&w);
}

// A carriage return in any value ends a line of an event stream, so it must not reach one.
TEST(test_carriage_return) {
    static const char request[] = "GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    Web w;
    web_need();
    web_begin(&w);
    web_write_run(w.runs, "a\rid: 7", 1, 1);
    int fd = web_dial(&w);
    CHECK(send(fd, request, sizeof request - 1, MSG_NOSIGNAL) > 0);
    CHECK(wait_for(fd, ">1 run<", 30));
    for (const char *at = web_answer; (at = strchr(at, '\r')); at++)
        CHECK_INT(at[1], '\n');
    close(fd);
    web_end(&w);
}

// Reads everything that was sent to a reader; returns false if the stream has ended.
static bool drain(int fd) {
    ssize_t part;
    while ((part = recv(fd, web_answer, sizeof web_answer, MSG_DONTWAIT)) > 0)
        ;
    return part < 0;
}

// Repeats this for SSLRUN_WEB_MINUTES: a run changes each second, readers come and go.
TEST(test_readers_for_minutes) {
    enum { RUNS = 50, READERS = 10 };
    static const char request[] = "GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    const char *minutes = getenv("SSLRUN_WEB_MINUTES");
    Web w;
    int fd[READERS], most[2] = {0, 0}; // in each half of the time
    char name[64], status[4096];
    web_need();
    if (!minutes)
        SKIP("readers for minutes are part of another target", "make web-long");
    web_begin(&w);
    for (int i = 0; i < RUNS; i++) {
        snprintf(name, sizeof name, "run%d", i);
        web_write_run(w.runs, name, i, i);
    }
    CHECK_INT(web_get(&w, "/"), 200);
    int fds = web_count_fds(&w), turns = (int)(atof(minutes) * 60);
    for (int i = 0; i < READERS; i++) {
        fd[i] = web_dial(&w);
        CHECK(send(fd[i], request, sizeof request - 1, MSG_NOSIGNAL) > 0);
    }
    for (int turn = 0; turn < turns; turn++) {
        int reader = turn % READERS;
        snprintf(name, sizeof name, "run%d", turn % RUNS);
        web_write_run(w.runs, name, turn, turn);
        close(fd[reader]);
        fd[reader] = web_dial(&w);
        CHECK(send(fd[reader], request, sizeof request - 1, MSG_NOSIGNAL) > 0);
        program_sleep_ms(1000);
        for (int i = 0; i < READERS; i++)
            CHECK(drain(fd[i]));
        int half = 2 * turn / turns;
        most[half] = SR_MAX(most[half], web_count_fds(&w));
    }
    snprintf(name, sizeof name, "/proc/%d", (int)w.pid);
    program_read(name, "status", status, sizeof status);
    long kb = strtol(strstr(status, "VmHWM:") + 6, NULL, 10);
    for (int i = 0; i < READERS; i++)
        close(fd[i]);
    for (int i = 0; i < 300 && web_count_fds(&w) > fds; i++)
        program_sleep_ms(100);
    printf("%d s, %d runs, %d readers: %ld kB at most, %d descriptors before, %d at most in the "
           "first half, %d in the second, %d after\n",
           turns, RUNS, READERS, kb, fds, most[0], most[1], web_count_fds(&w));
    CHECK(PROGRAM_SANITIZED || kb < 30000);
    CHECK(most[1] <= most[0] + READERS && web_count_fds(&w) <= fds);
    web_end(&w);
}

SR_TESTS(web_events, unit(test_events_and_memory), unit(test_a_new_reader_gets_in),
         unit(test_slow_request_is_closed), unit(test_carriage_return),
         unit(test_readers_for_minutes))
