// sslrun web: shows runs, changes while they train, stops and continues them for whom the token was shown to, and gives
// nothing to anybody else.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "tests/browser.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define TOKEN "0123456789abcdefTOKEN"
#define RUN_LINE                                                                                  \
    "{\"ep\": 0, \"iter\": %d, \"loss\": %g, \"btime(ms)\": 10, \"images_per_s\": 7, \"eta_s\": " \
    "9}\n"

typedef struct {
    char dir[64], runs[96];
    pid_t pid;
    int port;
} Web;

static ProgramResult result; // two 64 kB texts: too large for the stack of a test
static char answer[1 << 18];

static void nap(int ms) {
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

static bool there_is_a_server(void) {
    program_run(&result, 1, (const char *const[]){"--version", NULL});
    return strstr(result.out, "web page by libmicrohttpd") != NULL;
}

static void begin(Web *w) {
    char out[512];
    temp_dir_make(w->dir);
    snprintf(w->runs, sizeof w->runs, "%s/runs", w->dir);
    mkdir(w->runs, 0700);
    w->pid = program_start(
        w->dir, 1, (const char *const[]){"web", w->runs, "--port", "0", "--token", TOKEN, NULL});
    w->port = 0;
    for (int i = 0; i < 400 && w->port == 0; i++) {
        nap(25);
        program_read(w->dir, "out", out, sizeof out);
        sscanf(out, "http://127.0.0.1:%d/", &w->port);
    }
    CHECK(w->port > 0);
}

static void end(Web *w) {
    CHECK(kill(w->pid, SIGTERM) == 0);
    CHECK_INT(program_wait(w->pid, NULL), 0);
    temp_dir_remove(w->dir);
}

static int dial(const Web *w) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)w->port)};
    struct timeval patience = {20, 0};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    return fd;
}

// Everything until the other side closes; returns the status, 0 without one.
static int ask(const Web *w, const void *request, size_t n) {
    int fd = dial(w), status = 0;
    size_t got = 0;
    ssize_t part;
    CHECK(send(fd, request, n, MSG_NOSIGNAL) == (ssize_t)n);
    shutdown(fd, SHUT_WR);
    while (got < sizeof answer - 1 &&
           (part = recv(fd, answer + got, sizeof answer - 1 - got, 0)) > 0)
        got += (size_t)part;
    answer[got] = '\0';
    close(fd);
    sscanf(answer, "HTTP/1.1 %d", &status);
    return status;
}

static int get(const Web *w, const char *path) {
    char request[2048];
    int n = snprintf(request, sizeof request,
                     "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", path);
    return ask(w, request, (size_t)n);
}

static int post(const Web *w, const char *path, const char *body) {
    char request[2048];
    int n = snprintf(request, sizeof request,
                     "POST %s HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\nContent-Type: "
                     "application/x-www-form-urlencoded\r\nContent-Length: %zu\r\n\r\n%s",
                     path, w->port, strlen(body), body);
    return ask(w, request, (size_t)n);
}

static void has(const char *text) {
    if (!strstr(answer, text))
        fail_msg("no \"%s\" in: %.2000s", text, answer);
}

static void write_run(const char *folder, const char *name, int iter, double loss) {
    char path[160], line[256];
    snprintf(path, sizeof path, "%s/stdout.json", name);
    snprintf(line, sizeof line, RUN_LINE, iter, loss);
    fixture_write(folder, path, line, strlen(line));
}

static void test_pages(void **state) {
    (void)state;
    Web w;
    if (!there_is_a_server())
        skip();
    begin(&w);
    write_run(w.runs, "deep/below/one", 3, 1.25);
    write_run(w.runs, "<b>two", 3, 2.5);
    fixture_write(w.runs, "<b>two/report.html", "the report", 10);
    CHECK_INT(get(&w, "/"), 200);
    has("deep/below/one");
    has("1.2500");
    has("&lt;b&gt;two");
    has("2 runs");
    has("Content-Security-Policy: default-src 'none'");
    CHECK(!strstr(answer, "<button>")); // no token was shown
    CHECK_INT(get(&w, "/?token=" TOKEN), 200);
    has("<button>continue</button>");
    CHECK_INT(get(&w, "/run?id=deep%2Fbelow%2Fone"), 200);
    has("<path class=\"curve\"");
    CHECK_INT(get(&w, "/report?id=%3Cb%3Etwo"), 200);
    has("the report");
    CHECK_INT(get(&w, "/report?id=deep%2Fbelow%2Fone"), 404);
    end(&w);
}

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
                                        "/stop?id=one&token=" TOKEN,
                                        "//etc/passwd",
                                        "/%2e%2e/secret",
                                        "/report?id=./one"};
    Web w;
    char path[160], target[160];
    if (!there_is_a_server())
        skip();
    begin(&w);
    write_run(w.dir, "secret", 1, 9.87);
    fixture_write(w.dir, "secret/report.html", "SECRET", 6);
    write_run(w.runs, "one", 1, 1);
    write_run(w.runs, "file-link", 1, 1);
    snprintf(target, sizeof target, "%s/secret", w.dir);
    snprintf(path, sizeof path, "%s/linked", w.runs);
    CHECK(symlink(target, path) == 0);
    snprintf(target, sizeof target, "%s/secret/report.html", w.dir);
    snprintf(path, sizeof path, "%s/file-link/report.html", w.runs);
    CHECK(symlink(target, path) == 0);
    for (int i = 0; i < SR_COUNT(names); i++) {
        int status = get(&w, names[i]);
        if (status != 404 && status != 400)
            fail_msg("%s gave %d: %.300s", names[i], status, answer);
        CHECK(!strstr(answer, "SECRET") && !strstr(answer, "9.87"));
    }
    CHECK_INT(get(&w, "/"), 200);
    has("1 runs");
    CHECK_INT(get(&w, "/?token=wrong"), 403);
    CHECK_INT(get(&w, "/?token="), 403);
    CHECK_INT(post(&w, "/stop", "id=one&token=wrong"), 403);
    CHECK_INT(post(&w, "/continue", "id=one"), 403);
    CHECK_INT(post(&w, "/continue", ""), 400);
    CHECK_INT(post(&w, "/stop", "id=one&token=" TOKEN), 409);     // nothing trains there
    CHECK_INT(post(&w, "/continue", "id=one&token=" TOKEN), 409); // and nobody knows how
    CHECK_INT(post(&w, "/continue", "id=..%2Fsecret&token=" TOKEN), 409);
    CHECK_INT(post(&w, "/", "id=one&token=" TOKEN), 404);
    static const char rebound[] =
        "GET / HTTP/1.1\r\nHost: evil.example:80\r\nConnection: close\r\n\r\n";
    CHECK_INT(ask(&w, rebound, sizeof rebound - 1), 403);
    static const char deleted[] =
        "DELETE / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    CHECK_INT(ask(&w, deleted, sizeof deleted - 1), 405);
    end(&w);
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
    if (!there_is_a_server())
        skip();
    begin(&w);
    write_run(w.runs, "one", 1, 1);
    for (int i = 0; i < SR_COUNT(names); i++) {
        for (int k = 0; k < 100; k++)
            CHECK_INT(get(&w, names[i]), 404);
        long before = resident_kb(&w);
        for (int k = 0; k < TIMES; k++)
            CHECK_INT(get(&w, names[i]), 404);
        long more = resident_kb(&w) - before;
        if (!PROGRAM_SANITIZED && more > TIMES)
            fail_msg("%s: %ld kB more after %d times", names[i], more, TIMES);
    }
    end(&w);
}

static int count_fds(pid_t pid) {
    char path[64];
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *d = opendir(path);
    CHECK(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
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
    if (!there_is_a_server())
        skip();
    begin(&w);
    write_run(w.runs, "one", 1, 1);
    CHECK_INT(get(&w, "/"), 200);
    int fds = count_fds(w.pid);
    for (int i = 0; i < requests; i++) {
        size_t n = spoil(&rng, request, sizeof request);
        int fd = dial(&w);
        struct linger at_once = {1, 0};
        if (send(fd, request, n, MSG_NOSIGNAL) < 0)
            answer[0] = '\0';
        // Every tenth waits for its answer, the others are gone before.
        shutdown(fd, SHUT_WR);
        if (i % 10 == 0)
            while (recv(fd, answer, sizeof answer, 0) > 0)
                ;
        else
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(fd);
    }
    CHECK_INT(get(&w, "/run?id=one"), 200);
    for (int i = 0; i < 100 && count_fds(w.pid) > fds; i++)
        nap(50);
    CHECK(count_fds(w.pid) <= fds + 1);
    end(&w);
}

static bool wait_for(int fd, const char *text, double seconds) {
    size_t got = 0;
    double until = sr_clock() + seconds;
    while (sr_clock() < until && got < sizeof answer - 1) {
        ssize_t part = recv(fd, answer + got, sizeof answer - 1 - got, 0);
        if (part <= 0)
            return false;
        got += (size_t)part;
        answer[got] = '\0';
        if (strstr(answer, text))
            return true;
    }
    return false;
}

// 50 runs and 10 readers: what changes arrives, memory stays small, no descriptor is left.
static void test_events_and_memory(void **state) {
    (void)state;
    enum { RUNS = 50, READERS = 10 };
    static const char request[] = "GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    Web w;
    int fd[READERS];
    char name[64], status[4096];
    if (!there_is_a_server())
        skip();
    begin(&w);
    for (int i = 0; i < RUNS; i++) {
        snprintf(name, sizeof name, "run%d", i);
        write_run(w.runs, name, i, i);
    }
    CHECK_INT(get(&w, "/"), 200);
    int fds = count_fds(w.pid);
    for (int i = 0; i < READERS; i++) {
        fd[i] = dial(&w);
        CHECK(send(fd[i], request, sizeof request - 1, MSG_NOSIGNAL) > 0);
        CHECK(wait_for(fd[i], "50 runs", 30));
    }
    write_run(w.runs, "run7", 99, 77.125);
    for (int i = 0; i < READERS; i++) {
        if (!wait_for(fd[i], "77.1250", 30))
            fail_msg("reader %d was not told: %.300s", i, answer);
        has("data: ");
    }
    snprintf(name, sizeof name, "/proc/%d", (int)w.pid);
    program_read(name, "status", status, sizeof status);
    long kb = strtol(strstr(status, "VmHWM:") + 6, NULL, 10);
    if (!PROGRAM_SANITIZED && kb > 30000)
        fail_msg("%ld kB with %d runs and %d readers", kb, RUNS, READERS);
    for (int i = 0; i < READERS; i++)
        close(fd[i]);
    for (int i = 0; i < 300 && count_fds(w.pid) > fds; i++)
        nap(100);
    CHECK(count_fds(w.pid) <= fds);
    end(&w);
}

// Everything a reader was sent is taken; false once the stream has ended.
static bool drain(int fd) {
    ssize_t part;
    while ((part = recv(fd, answer, sizeof answer, MSG_DONTWAIT)) > 0)
        ;
    return part < 0;
}

// SSLRUN_WEB_MINUTES of the same: a run changes each second, readers come and go.
static void test_readers_for_minutes(void **state) {
    (void)state;
    enum { RUNS = 50, READERS = 10 };
    static const char request[] = "GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    const char *minutes = getenv("SSLRUN_WEB_MINUTES");
    Web w;
    int fd[READERS], most[2] = {0, 0}; // in each half of the time
    char name[64], status[4096];
    if (!minutes || !there_is_a_server())
        skip();
    begin(&w);
    for (int i = 0; i < RUNS; i++) {
        snprintf(name, sizeof name, "run%d", i);
        write_run(w.runs, name, i, i);
    }
    CHECK_INT(get(&w, "/"), 200);
    int fds = count_fds(w.pid), turns = (int)(atof(minutes) * 60);
    for (int i = 0; i < READERS; i++) {
        fd[i] = dial(&w);
        CHECK(send(fd[i], request, sizeof request - 1, MSG_NOSIGNAL) > 0);
    }
    for (int turn = 0; turn < turns; turn++) {
        int reader = turn % READERS;
        snprintf(name, sizeof name, "run%d", turn % RUNS);
        write_run(w.runs, name, turn, turn);
        close(fd[reader]);
        fd[reader] = dial(&w);
        CHECK(send(fd[reader], request, sizeof request - 1, MSG_NOSIGNAL) > 0);
        nap(1000);
        for (int i = 0; i < READERS; i++)
            CHECK(drain(fd[i]));
        int half = 2 * turn / turns;
        most[half] = SR_MAX(most[half], count_fds(w.pid));
    }
    snprintf(name, sizeof name, "/proc/%d", (int)w.pid);
    program_read(name, "status", status, sizeof status);
    long kb = strtol(strstr(status, "VmHWM:") + 6, NULL, 10);
    for (int i = 0; i < READERS; i++)
        close(fd[i]);
    for (int i = 0; i < 300 && count_fds(w.pid) > fds; i++)
        nap(100);
    printf("%d s, %d runs, %d readers: %ld kB at most, %d descriptors before, %d at most in the "
           "first half, %d in the second, %d after\n",
           turns, RUNS, READERS, kb, fds, most[0], most[1], count_fds(w.pid));
    CHECK(PROGRAM_SANITIZED || kb < 30000);
    CHECK(most[1] <= most[0] + READERS && count_fds(w.pid) <= fds);
    end(&w);
}

static bool becomes(const Web *w, const char *text) {
    for (int i = 0; i < 600; i++) {
        if (get(w, "/?token=" TOKEN) == 200 && strstr(answer, text))
            return true;
        nap(100);
    }
    return false;
}

// A run is stopped from the page, its state saved, and continued into the same folder.
static void test_stop_and_continue(void **state) {
    (void)state;
    Web w;
    char key[160], folder[160], log[1 << 16] = "";
    if (!there_is_a_server())
        skip();
    begin(&w);
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s/long", w.runs);
    pid_t run =
        program_start(w.dir, 1,
                      (const char *const[]){"tests/cli/tiny.yaml", key, "OPTIMIZER.num_epochs=400",
                                            "LOG_FREQUENCY=1", NULL});
    CHECK(becomes(&w, "<button>stop</button>"));
    snprintf(folder, sizeof folder, "%s/long", w.runs);
    for (int i = 0; i < 600 && !strstr(log, "\"iter\": 3");
         i++) { // there is something to go on from
        program_read(folder, "stdout.json", log, sizeof log);
        nap(100);
    }
    CHECK_INT(post(&w, "/continue", "id=long&token=" TOKEN), 409); // it trains already
    CHECK_INT(post(&w, "/stop", "id=long&token=" TOKEN), 303);
    CHECK_INT(program_wait(run, NULL), 143);
    CHECK(becomes(&w, "<button>continue</button>"));
    CHECK_INT(post(&w, "/continue", "id=long&token=" TOKEN), 303);
    log[0] = '\0';
    for (int i = 0; i < 600 && !strstr(log, "going on from "); i++) {
        program_read(folder, "log.txt", log, sizeof log);
        nap(100);
    }
    CHECK(strstr(log, "going on from "));
    CHECK_INT(post(&w, "/stop", "id=long&token=" TOKEN), 303);
    CHECK(becomes(&w, "<button>continue</button>"));
    end(&w);
}

// ---- in a real browser --------------------------------------------------------------------------

static void write_curve(const Web *w) {
    char lines[1024] = "";
    for (int i = 0; i < 4; i++) {
        size_t used = strlen(lines);
        snprintf(lines + used, sizeof lines - used, RUN_LINE, i, 2.0 - i / 4.0);
    }
    fixture_write(w->runs, "one/stdout.json", lines, strlen(lines));
}

static void open_index(Browser *b, const Web *w, int width, bool script) {
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/?token=" TOKEN, w->port);
    browser_open(b, url, width, script);
}

// Wide tables scroll inside their frame; the page itself never does.
static void look_at_pages(Browser *b, const Web *w, int width, bool script) {
    char text[32], url[128];
    open_index(b, w, width, script);
    browser_ask(b, "document.querySelectorAll('#tip').length", text, sizeof text);
    CHECK_STR(text, script ? "1" : "0");
    CHECK(browser_becomes(b, "document.querySelector('button').innerText == 'continue'", 20));
    browser_ask(b, "document.documentElement.scrollWidth == innerWidth", text, sizeof text);
    CHECK_STR(text, "true");
    snprintf(url, sizeof url, "http://127.0.0.1:%d/run?id=one", w->port);
    browser_open(b, url, width, script);
    CHECK(browser_becomes(
        b, "document.querySelector('path.curve').getBoundingClientRect().width > 100", 20));
    browser_ask(b, "document.documentElement.scrollWidth == innerWidth", text, sizeof text);
    CHECK_STR(text, "true");
    if (*b->errors)
        fail_msg("at %d pixels: %s", width, b->errors);
}

// Narrow and wide, with and without script: with it what changes appears without a reload, without it the page asks again.
static void test_pages_in_a_browser(void **state) {
    (void)state;
    static const int widths[] = {400, 1600};
    Web w;
    Browser b;
    if (!there_is_a_server() || !browser_is_there())
        skip();
    begin(&w);
    browser_start(&b);
    write_curve(&w);
    for (int i = 0; i < 2 * SR_COUNT(widths); i++)
        look_at_pages(&b, &w, widths[i / 2], i % 2);
    for (int script = 0; script < 2; script++) {
        write_run(w.runs, "one", 3, 1.25);
        open_index(&b, &w, 800, script);
        CHECK(browser_becomes(&b, "document.body.innerText.includes('1.2500')", 20));
        browser_ask(&b, "window.before = 1", answer, sizeof answer);
        write_run(w.runs, "one", 4, 77.5 + script);
        CHECK(browser_becomes(&b,
                              script ? "document.body.innerText.includes('78.5000')"
                                     : "document.body.innerText.includes('77.5000')",
                              20));
        browser_ask(&b, "window.before", answer, sizeof answer);
        CHECK_STR(answer, script ? "1" : "undefined");
        CHECK_STR(b.errors, "");
    }
    browser_stop(&b);
    end(&w);
}

// For documents: SSLRUN_PICTURES names a folder, and what is looked at is kept there.
static void keep_picture(Browser *b, const Web *w) {
    const char *folder = getenv("SSLRUN_PICTURES");
    char path[512], url[128];
    if (!folder)
        return;
    snprintf(url, sizeof url, "http://127.0.0.1:%d/run?id=long&token=" TOKEN, w->port);
    browser_open(b, url, 1100, true);
    CHECK(browser_becomes(b, "document.getElementById('live').dataset.updates > 3", 60));
    snprintf(path, sizeof path, "%s/web.png", folder);
    browser_picture(b, path);
}

// Numbers of a run that trains arrive; the buttons stop it and let it go on.
static void test_training_in_a_browser(void **state) {
    (void)state;
    static const char number[] = "parseFloat(document.querySelector('.bar').nextSibling.data)";
    Web w;
    Browser b;
    char key[160], expression[256];
    if (!there_is_a_server() || !browser_is_there())
        skip();
    begin(&w);
    browser_start(&b);
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s/long", w.runs);
    pid_t run =
        program_start(w.dir, 1,
                      (const char *const[]){"tests/cli/tiny.yaml", key, "OPTIMIZER.num_epochs=4000",
                                            "LOG_FREQUENCY=1", NULL});
    CHECK(becomes(&w, "<button>stop</button>"));
    open_index(&b, &w, 1600, true);
    CHECK(browser_becomes(&b, "document.querySelector('.bar')", 60));
    snprintf(expression, sizeof expression, "(window.first = window.first || %s) && %s > first",
             number, number);
    CHECK(browser_becomes(&b, expression, 60)); // epochs go by
    CHECK(browser_becomes(&b, "document.getElementById('live').dataset.updates > 1", 60));
    keep_picture(&b, &w);
    open_index(&b, &w, 1600, true);
    browser_click(&b, "button");
    CHECK_INT(program_wait(run, NULL), 143);
    CHECK(browser_becomes(&b, "document.querySelector('button').innerText == 'continue'", 60));
    browser_click(&b, "button");
    CHECK(browser_becomes(&b, "document.querySelector('button').innerText == 'stop'", 60));
    snprintf(expression, sizeof expression, "(window.first = window.first || %s) && %s > first",
             number, number);
    CHECK(browser_becomes(&b, expression, 60));
    browser_click(&b, "button");
    CHECK(browser_becomes(&b, "document.querySelector('button').innerText == 'continue'", 60));
    CHECK_STR(b.errors, "");
    browser_stop(&b);
    end(&w);
}

SR_TESTS(web_verb, unit(test_pages), unit(test_nothing_for_strangers),
         unit(test_refusals_keep_nothing), unit(test_malformed_requests),
         unit(test_events_and_memory), unit(test_readers_for_minutes), unit(test_stop_and_continue),
         unit(test_pages_in_a_browser), unit(test_training_in_a_browser))
