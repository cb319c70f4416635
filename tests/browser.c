// Drives chromium over a pipe that carries JSON texts, each with a final zero byte: the Chrome
// DevTools Protocol (browser.h).
#include "tests/browser.h"

#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "tests/check.h"
#include "tests/temp_dir.h"

#define PROGRAM "/usr/bin/chromium"
enum { PATIENCE_MS = 60000, HEIGHT = 2000 };

void browser_need(void) {
    if (access(PROGRAM, X_OK) != 0)
        SKIP("there is no " PROGRAM, "apt-get install chromium");
}

// ---- the pipe -----------------------------------------------------------------------------------

static void note_error(Browser *b, const json_t *event) {
    char *text = json_dumps(event, JSON_COMPACT);
    size_t used = strlen(b->errors);
    snprintf(b->errors + used, sizeof b->errors - used, "%s\n", text ? text : "?");
    free(text);
}

static bool has_text(const json_t *params, const char *key, const char *value) {
    const char *text = json_string_value(json_object_get(params, key));
    return text && strcmp(text, value) == 0;
}

static void take_event(Browser *b, const json_t *message) {
    const char *method = json_string_value(json_object_get(message, "method"));
    const json_t *params = json_object_get(message, "params");
    if (!method)
        return;
    bool thrown = strcmp(method, "Runtime.exceptionThrown") == 0;
    bool said =
        strcmp(method, "Runtime.consoleAPICalled") == 0 && has_text(params, "type", "error");
    bool logged = strcmp(method, "Log.entryAdded") == 0 &&
                  has_text(json_object_get(params, "entry"), "level", "error");
    if (thrown || said || logged)
        note_error(b, params);
    b->loaded |= strcmp(method, "Page.loadEventFired") == 0;
}

// Returns the next message. The caller frees it.
static json_t *receive(Browser *b) {
    char *end;
    while (!(end = b->n ? memchr(b->text, 0, b->n) : NULL)) {
        struct pollfd p = {.fd = b->from, .events = POLLIN};
        CHECK(poll(&p, 1, PATIENCE_MS) == 1);
        b->text = realloc(b->text, b->n + 65536);
        CHECK(b->text != NULL);
        ssize_t got = read(b->from, b->text + b->n, 65536);
        CHECK(got > 0);
        b->n += (size_t)got;
    }
    json_t *message = json_loads(b->text, 0, NULL);
    size_t taken = (size_t)(end - b->text) + 1;
    memmove(b->text, end + 1, b->n - taken);
    b->n -= taken;
    CHECK(message != NULL);
    return message;
}

static void send_text(Browser *b, const char *text) {
    for (size_t at = 0, n = strlen(text) + 1; at < n;) {
        ssize_t part = write(b->to, text + at, n - at);
        CHECK(part > 0);
        at += (size_t)part;
    }
}

// Sends a command and returns the whole answer. Takes over params (NULL: none); the caller frees
// the answer.
static json_t *ask(Browser *b, const char *method, json_t *params) {
    int id = ++b->commands;
    json_t *answer = NULL;
    json_t *request =
        json_pack("{s:i, s:s, s:s*, s:o}", "id", id, "method", method, "sessionId",
                  *b->session ? b->session : NULL, "params", params ? params : json_object());
    char *text = json_dumps(request, JSON_COMPACT);
    json_decref(request);
    send_text(b, text);
    free(text);
    for (;;) {
        answer = receive(b);
        const json_t *of = json_object_get(answer, "id");
        if (of && json_integer_value(of) == id)
            break;
        take_event(b, answer);
        json_decref(answer);
    }
    return answer;
}

// Sends a command and returns the "result" of its answer. The caller frees it.
static json_t *command(Browser *b, const char *method, json_t *params) {
    json_t *answer = ask(b, method, params);
    json_t *result = json_incref(json_object_get(answer, "result"));
    if (!result)
        fail_msg("%s: %s", method, json_dumps(answer, JSON_COMPACT));
    json_decref(answer);
    return result;
}

static void order(Browser *b, const char *method, json_t *params) {
    json_decref(command(b, method, params));
}

// Sends a command and copies the text under `key` of its answer.
static void ask_text(Browser *b, const char *method, json_t *params, const char *key, char *out,
                     size_t n) {
    json_t *result = command(b, method, params);
    const char *text = json_string_value(json_object_get(result, key));
    snprintf(out, n, "%s", text ? text : "");
    json_decref(result);
}

static json_t *with_text(const char *key, const char *value) {
    return json_pack("{s:s}", key, value);
}

// ---- the browser --------------------------------------------------------------------------------

// Becomes the browser, which reads descriptor 3 and writes 4.
static void become_browser(const Browser *b, int in, int out) {
    char profile[96];
    int null = open("/dev/null", O_RDWR);
    snprintf(profile, sizeof profile, "--user-data-dir=%s", b->dir);
    in = fcntl(in, F_DUPFD, 10);
    out = fcntl(out, F_DUPFD, 10);
    dup2(in, 3);
    dup2(out, 4);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    execl(PROGRAM, PROGRAM, "--headless", "--no-sandbox", "--disable-gpu",
          "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
          "--remote-debugging-pipe", profile, (char *)NULL);
    _exit(127);
}

void browser_start(Browser *b) {
    int there[2], back[2];
    *b = (Browser){.session = ""};
    temp_dir_make(b->dir);
    CHECK(pipe2(there, O_CLOEXEC) == 0 && pipe2(back, O_CLOEXEC) == 0);
    b->pid = fork();
    if (b->pid == 0)
        become_browser(b, there[0], back[1]);
    CHECK(b->pid > 0);
    close(there[0]);
    close(back[1]);
    b->to = there[1];
    b->from = back[0];
}

// Waits for the end of the browser, which still writes into its profile, before the profile is
// removed.
void browser_stop(Browser *b) {
    b->session[0] = '\0';
    order(b, "Browser.close", NULL);
    waitpid(b->pid, NULL, 0);
    close(b->to);
    close(b->from);
    free(b->text);
    temp_dir_remove(b->dir);
}

// ---- pages --------------------------------------------------------------------------------------

static void new_page(Browser *b) {
    char target[128];
    b->session[0] = b->errors[0] = '\0';
    ask_text(b, "Target.createTarget", with_text("url", "about:blank"), "targetId", target,
             sizeof target);
    json_t *attach = json_pack("{s:s, s:b}", "targetId", target, "flatten", 1);
    char session[64];
    ask_text(b, "Target.attachToTarget", attach, "sessionId", session, sizeof session);
    snprintf(b->session, sizeof b->session, "%s", session);
}

static void set_width(Browser *b, int width) {
    order(b, "Emulation.setDeviceMetricsOverride",
          json_pack("{s:i, s:i, s:i, s:b}", "width", width, "height", HEIGHT, "deviceScaleFactor",
                    1, "mobile", 0));
}

void browser_open(Browser *b, const char *url, int width, bool script) {
    char failure[256];
    new_page(b);
    set_width(b, width);
    order(b, "Emulation.setScriptExecutionDisabled", json_pack("{s:b}", "value", !script));
    order(b, "Page.enable", NULL);
    order(b, "Runtime.enable", NULL);
    order(b, "Log.enable", NULL);
    b->loaded = false;
    ask_text(b, "Page.navigate", with_text("url", url), "errorText", failure, sizeof failure);
    CHECK_STR(failure, "");
    while (!b->loaded) {
        json_t *event = receive(b);
        take_event(b, event);
        json_decref(event);
    }
}

// Evaluates an expression. Returns false, with the answer as text, if it has no value: it throws,
// or another page replaced its page.
static bool evaluate(Browser *b, const char *expression, char *out, size_t n) {
    char source[4096];
    snprintf(source, sizeof source, "String(%s)", expression);
    json_t *answer = ask(b, "Runtime.evaluate", with_text("expression", source));
    const json_t *result = json_object_get(answer, "result");
    const json_t *value = json_object_get(json_object_get(result, "result"), "value");
    bool good = json_is_string(value) && !json_object_get(result, "exceptionDetails");
    char *whole = good ? NULL : json_dumps(answer, JSON_COMPACT);
    snprintf(out, n, "%s", good ? json_string_value(value) : whole);
    free(whole);
    json_decref(answer);
    return good;
}

void browser_ask(Browser *b, const char *expression, char *out, size_t n) {
    if (!evaluate(b, expression, out, n))
        fail_msg("%s: %s", expression, out);
}

bool browser_becomes(Browser *b, const char *expression, double seconds) {
    const struct timespec nap = {0, 50000000};
    char text[512], both[4000];
    snprintf(both, sizeof both, "!!(%s)", expression);
    for (double until = sr_clock() + seconds; sr_clock() < until;) {
        if (evaluate(b, both, text, sizeof text) && strcmp(text, "true") == 0)
            return true;
        nanosleep(&nap, NULL);
    }
    return false;
}

static void mouse(Browser *b, const char *type) {
    order(b, "Input.dispatchMouseEvent",
          json_pack("{s:s, s:s, s:i, s:f, s:f}", "type", type, "button", "left", "clickCount", 1,
                    "x", b->x, "y", b->y));
}

void browser_press(Browser *b, const char *selector) {
    char expression[512], where[64];
    snprintf(expression, sizeof expression,
             "(function(){var r=document.querySelector('%s').getBoundingClientRect();"
             "return (r.left+r.right)/2+' '+(r.top+r.bottom)/2})()",
             selector);
    browser_ask(b, expression, where, sizeof where);
    CHECK(sscanf(where, "%lf %lf", &b->x, &b->y) == 2);
    mouse(b, "mousePressed");
}

void browser_release(Browser *b) { mouse(b, "mouseReleased"); }

void browser_click(Browser *b, const char *selector) {
    browser_press(b, selector);
    browser_release(b);
}

void browser_key(Browser *b, const char *key) {
    order(b, "Input.dispatchKeyEvent", json_pack("{s:s, s:s}", "type", "rawKeyDown", "key", key));
    order(b, "Input.dispatchKeyEvent", json_pack("{s:s, s:s}", "type", "keyUp", "key", key));
}

void browser_type(Browser *b, const char *text) {
    order(b, "Input.insertText", with_text("text", text));
}

// ---- pictures -----------------------------------------------------------------------------------

static int digit(char c) {
    static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(set, c) : NULL;
    return at ? (int)(at - set) : -1;
}

void browser_picture(Browser *b, const char *path) {
    json_t *result = command(b, "Page.captureScreenshot", with_text("format", "png"));
    const char *text = json_string_value(json_object_get(result, "data"));
    FILE *file = fopen(path, "wb");
    CHECK(text && file);
    unsigned bits = 0;
    for (int i = 0; digit(text[i]) >= 0; i++) {
        bits = bits << 6 | (unsigned)digit(text[i]);
        if (i % 4)
            fputc((int)(bits >> (6 - 2 * (i % 4)) & 255), file);
    }
    CHECK(fclose(file) == 0);
    json_decref(result);
}
