// Server of the live page by libmicrohttpd: which requests are allowed, and their answers.  Each
// connection has a thread, because an event stream waits.  A thread has a stack of STACK_BYTES,
// of which only used pages take memory.
//
// A request is judged by its head alone: host, method, address, content type, origin and token.
// No body is parsed: run and token stand in the address, and a body is an error.
#include "pages/web/web_server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/own_file.h"
#include "pages/runs/run_report.h"
#include "pages/web/web_connections.h"
#include "pages/web/web_page.h"

enum { STACK_BYTES = 1 << 19, ID_BYTES = 4096, TOKEN_BYTES = 256 };
#define LOOK_S 1.0   // seconds between two checks of the runs
#define ALIVE_S 10.0 // seconds between two signs of life of a stream

struct SrWebServer {
    struct MHD_Daemon *daemon;
    char dir[4096];
    char token[TOKEN_BYTES];          // filled up with zeros
    char reports[SR_WEB_TOKEN_BYTES]; // required value of REPORTS_COOKIE
    bool local;                       // address is 127.0.0.1: reading needs no token
    int port;
    atomic_bool ends;
    SrWebConnections connections;
};

// Cookie that opens reports to a reader from another machine who has shown the token.  A report
// may come from a stranger, so that neither its address nor anything it can read may hold the
// token.
#define REPORTS_COOKIE "sslrun_reports"

// ---- who may ask --------------------------------------------------------------------------------

// Compares a secret in constant time: all bytes are compared, even after a difference.  given NULL:
// false.
static bool same_secret(const char *own, size_t bytes, const char *given) {
    unsigned char differ = !given || strlen(given) >= bytes;
    char padded[TOKEN_BYTES] = "";
    if (!differ)
        memcpy(padded, given, strlen(given));
    for (size_t i = 0; i < bytes; i++)
        differ |= (unsigned char)(own[i] ^ padded[i]);
    return !differ;
}

// Returns an argument of the address; NULL: missing, or it contains a zero byte, which would hide
// the rest.
static const char *argument(struct MHD_Connection *c, const char *key) {
    const char *value = NULL;
    size_t n = 0;
    if (MHD_lookup_connection_value_n(c, MHD_GET_ARGUMENT_KIND, key, strlen(key), &value, &n) !=
            MHD_YES ||
        !value || strlen(value) != n)
        return NULL;
    return value;
}

static bool shows_token(const SrWebServer *s, struct MHD_Connection *c) {
    const char *header = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "X-Token");
    return same_secret(s->token, sizeof s->token, header ? header : argument(c, "token"));
}

static enum MHD_Result count_hosts(void *arg, enum MHD_ValueKind kind, const char *key,
                                   const char *value) {
    (void)kind, (void)value;
    *(int *)arg += strcasecmp(key, "Host") == 0;
    return MHD_YES;
}

// True: a name of this machine, with or without a port, such as "localhost:8321", but not
// "localhost:x@evil.example".
static bool is_own_name(const char *host) {
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (int i = 0; i < SR_COUNT(names); i++) {
        size_t n = strlen(names[i]);
        if (strncasecmp(host, names[i], n) != 0)
            continue;
        if (host[n] == '\0' || (host[n] == ':' && strspn(host + n + 1, "0123456789") <= 5 &&
                                host[n + 1 + strspn(host + n + 1, "0123456789")] == '\0'))
            return true;
    }
    return false;
}

// True: the Host header names this machine.  A stranger's page whose name resolves to this
// machine (DNS rebinding) must not read ours.
static bool host_is_ours(const SrWebServer *s, struct MHD_Connection *c) {
    const char *host = NULL;
    size_t n = 0;
    if (!s->local)
        return true;
    return MHD_lookup_connection_value_n(c, MHD_HEADER_KIND, "Host", 4, &host, &n) == MHD_YES &&
           host && strlen(host) == n && is_own_name(host);
}

// True: our page, or no page, made the request.  Browsers send the origin "null" for pages
// without referrer, such as ours; then Sec-Fetch-Site decides.  If a browser sends neither, the
// token protects.
static bool origin_is_ours(struct MHD_Connection *c) {
    const char *origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin");
    const char *site = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Sec-Fetch-Site");
    const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");
    if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return false;
    if (!origin || strcmp(origin, "null") == 0)
        return true;
    const char *name = strstr(origin, "://");
    return name && host && strcasecmp(name + 3, host) == 0;
}

typedef struct {
    unsigned code; // HTTP status; 0: allowed
    const char *words;
} Refusal;

static Refusal judge_post(const SrWebServer *s, struct MHD_Connection *c, const char *url) {
    const char *type = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Type");
    const char *id = argument(c, "id");
    if (strcmp(url, "/stop") != 0 && strcmp(url, "/continue") != 0)
        return (Refusal){404, "there is no page at this address"};
    if (type && strcasecmp(type, "application/x-www-form-urlencoded") != 0)
        return (Refusal){415, "expected no body, or an empty form"};
    if (!origin_is_ours(c))
        return (Refusal){403, "the request comes from a page of another site"};
    if (!shows_token(s, c))
        return (Refusal){403, "the token is wrong"};
    if (!id || !*id || strlen(id) >= ID_BYTES)
        return (Refusal){400, "expected id=RUN in the address"};
    return (Refusal){0, NULL};
}

// Judges a request by its head alone.
static Refusal judge(const SrWebServer *s, struct MHD_Connection *c, const char *method,
                     const char *url) {
    int hosts = 0;
    MHD_get_connection_values(c, MHD_HEADER_KIND, count_hosts, &hosts);
    if (hosts != 1)
        return (Refusal){400, "expected one Host header"};
    if (!host_is_ours(s, c))
        return (Refusal){403, "this page answers only at 127.0.0.1 or localhost"};
    if (strcmp(method, "POST") == 0)
        return judge_post(s, c, url);
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return (Refusal){405, "expected GET or POST"};
    return (Refusal){0, NULL};
}

// ---- answers ------------------------------------------------------------------------------------

// Returns the connection's place; NULL: none was free.
static SrWebPlace *place_of(struct MHD_Connection *c) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

#define PAGE_POLICY                                                               \
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; " \
    "img-src data:; base-uri 'none'; frame-ancestors 'none'"
// Policy of reports, which may come with a stranger's run: a report gets its own origin and
// cannot reach our pages.
#define REPORT_POLICY "sandbox allow-scripts; " PAGE_POLICY "; form-action 'none'"
#define OWN_POLICY PAGE_POLICY "; connect-src 'self'; form-action 'self'"

static enum MHD_Result answer_under(const char *policy, struct MHD_Connection *c, unsigned code,
                                    const char *type, struct MHD_Response *r) {
    const char *const headers[][2] = {
        {"Cache-Control", "no-store"},       {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},         {"Referrer-Policy", "no-referrer"},
        {"Content-Security-Policy", policy}, {"Content-Type", type}};
    if (!r)
        return MHD_NO;
    for (int i = 0; i < SR_COUNT(headers); i++)
        MHD_add_response_header(r, headers[i][0], headers[i][1]);
    enum MHD_Result result = MHD_queue_response(c, code, r);
    MHD_destroy_response(r);
    return result;
}

static enum MHD_Result answer(struct MHD_Connection *c, unsigned code, const char *type,
                              struct MHD_Response *r) {
    return answer_under(OWN_POLICY, c, code, type, r);
}

static enum MHD_Result answer_words(struct MHD_Connection *c, unsigned code, const char *words) {
    return answer(
        c, code, "text/plain; charset=utf-8",
        MHD_create_response_from_buffer(strlen(words), (void *)words, MHD_RESPMEM_MUST_COPY));
}

// Makes a redirection; NULL: out of memory.
static struct MHD_Response *lead_to(const char *where) {
    struct MHD_Response *r = MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    if (r)
        MHD_add_response_header(r, "Location", where);
    return r;
}

// ---- pages --------------------------------------------------------------------------------------

typedef struct {
    SrRegistry registry;
    char run[4096]; // path of the run with the requested id
} Found;

static SrStatus find(const SrWebServer *s, const char *id, Found *out) {
    out->run[0] = '\0';
    SR_TRY(sr_registry_scan(s->dir, &out->registry));
    return id ? sr_registry_find(&out->registry, id, out->run) : SR_OK;
}

// Makes an answer of a page, and takes over its text.
static struct MHD_Response *page_of(const SrWebServer *s, bool token, SrText *page) {
    char cookie[128];
    struct MHD_Response *r = MHD_create_response_from_buffer(
        page->len, page->s ? page->s : (void *)"", MHD_RESPMEM_MUST_COPY);
    if (r && token && !s->local) {
        snprintf(cookie, sizeof cookie,
                 REPORTS_COOKIE "=%s; Path=/report; HttpOnly; SameSite=Strict", s->reports);
        MHD_add_response_header(r, "Set-Cookie", cookie);
    }
    return r;
}

static enum MHD_Result give_page(const SrWebServer *s, struct MHD_Connection *c, const char *id,
                                 bool token) {
    Found f;
    SrText page = SR_TEXT_INIT;
    const char *shown = token ? s->token : NULL;
    enum MHD_Result result;
    SrStatus status = find(s, id, &f);
    if (status == SR_OK)
        status = id ? sr_web_run(f.run, id, shown, &page) : sr_web_index(&f.registry, shown, &page);
    sr_registry_deinit(&f.registry);
    if (status != SR_OK || page.failed)
        result = answer_words(c, status == SR_ERR_CONFIG ? 404 : 500,
                              status == SR_OK ? "out of memory" : sr_status_message());
    else
        result = answer(c, 200, "text/html; charset=utf-8", page_of(s, token, &page));
    sr_text_deinit(&page);
    return result;
}

// Redirects to a report's address without the token, which the report could read otherwise.
static enum MHD_Result lead_to_report(struct MHD_Connection *c, const char *id) {
    SrText where = SR_TEXT_INIT;
    sr_web_report_address(id, &where);
    enum MHD_Result result = where.failed ? MHD_NO : answer(c, 303, "text/plain", lead_to(where.s));
    sr_text_deinit(&where);
    return result;
}

// Sends the report's file, opened without following a link.
static enum MHD_Result give_report(const SrWebServer *s, struct MHD_Connection *c, const char *id) {
    Found f;
    char path[4200];
    size_t bytes;
    SrStatus status =
        id ? find(s, id, &f) : sr_fail(SR_ERR_CONFIG, "no run is named; expected id=RUN");
    if (id)
        sr_registry_deinit(&f.registry);
    if (status != SR_OK)
        return answer_words(c, 404, sr_status_message());
    snprintf(path, sizeof path, "%s/" SR_REPORT_FILE, f.run);
    int fd;
    if (sr_file_open_own(path, &fd, &bytes) != SR_OK)
        return answer_words(c, 404, "this run has no report yet; its first epoch writes one");
    struct MHD_Response *r = MHD_create_response_from_fd(bytes, fd);
    if (!r)
        close(fd); // a response would own it
    return answer_under(REPORT_POLICY, c, 200, "text/html; charset=utf-8", r);
}

// ---- server-sent events -------------------------------------------------------------------------

typedef struct {
    const SrWebServer *server;
    const SrWebPlace *place;
    char id[ID_BYTES]; // "": the table of all runs
    bool token;
    SrText event;      // event that is being sent
    size_t sent;       // bytes of it that were sent
    uint64_t last_sum; // hash of the last event
    double looked, said;
} Stream;

static uint64_t sum_of(const SrText *t) {
    uint64_t sum = 1469598103934665603u;
    for (size_t i = 0; i < t->len; i++)
        sum = (sum ^ (unsigned char)t->s[i]) * 1099511628211u;
    return sum;
}

static SrStatus look(Stream *st, SrText *out) {
    Found f;
    const SrWebServer *s = st->server;
    const char *token = st->token ? s->token : NULL, *id = *st->id ? st->id : NULL;
    SrStatus status = find(s, id, &f);
    if (status == SR_OK)
        status = sr_web_live(&f.registry, id ? f.run : NULL, id, token, out);
    sr_registry_deinit(&f.registry);
    return status;
}

// Writes the next event if something has changed: "data: " before each line, and an empty line at
// the end.  A carriage return ends a line too, as it does for readers of event streams.
static void next_event(Stream *st) {
    SrText page = SR_TEXT_INIT;
    sr_text_restart(&st->event);
    st->sent = 0;
    st->looked = sr_clock();
    if (look(st, &page) == SR_OK && !page.failed && page.len && sum_of(&page) != st->last_sum) {
        char *save = NULL;
        st->last_sum = sum_of(&page);
        for (char *line = strtok_r(page.s, "\r\n", &save); line;
             line = strtok_r(NULL, "\r\n", &save))
            sr_text_printf(&st->event, "data: %s\n", line);
        sr_text_add(&st->event, "\n");
        if (st->event.failed) { // the next look sends the page whole
            sr_text_restart(&st->event);
            st->last_sum = 0;
        }
    } else if (st->looked - st->said > ALIVE_S) {
        sr_text_add(&st->event, ": still here\n\n");
    }
    if (st->event.len)
        st->said = st->looked;
    sr_text_deinit(&page);
}

static ssize_t stream_read(void *arg, uint64_t at, char *buffer, size_t room) {
    Stream *st = arg;
    const struct timespec nap = {0, 50000000};
    (void)at;
    while (st->sent == st->event.len) {
        if (atomic_load(&st->server->ends) || atomic_load(&st->place->leaves))
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (sr_clock() - st->looked >= LOOK_S)
            next_event(st);
        else
            nanosleep(&nap, NULL);
    }
    size_t n = SR_MIN(room, st->event.len - st->sent);
    memcpy(buffer, st->event.s + st->sent, n);
    st->sent += n;
    return (ssize_t)n;
}

static void stream_free(void *arg) {
    Stream *st = arg;
    sr_text_deinit(&st->event);
    sr_free(st);
}

static enum MHD_Result give_events(SrWebServer *s, struct MHD_Connection *c, const char *id,
                                   bool token) {
    Found f;
    SrStatus status = find(s, id, &f);
    sr_registry_deinit(&f.registry);
    if (status != SR_OK)
        return answer_words(c, 404, sr_status_message());
    Stream *st = sr_calloc(1, sizeof *st);
    if (!st)
        return MHD_NO;
    *st = (Stream){.server = s, .place = place_of(c), .token = token, .looked = -LOOK_S};
    snprintf(st->id, sizeof st->id, "%s", id ? id : "");
    sr_web_place_set(&s->connections, place_of(c), SR_WEB_STREAM, sr_clock());
    struct MHD_Response *r =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, stream_read, st, stream_free);
    if (!r)
        stream_free(st); // a response would own it
    return answer(c, 200, "text/event-stream", r);
}

// ---- stop and continue --------------------------------------------------------------------------

// Stops or continues a run and redirects to the page of the form.
static enum MHD_Result act(const SrWebServer *s, struct MHD_Connection *c, const char *url) {
    Found f;
    char where[TOKEN_BYTES + 16];
    SrStatus status = find(s, argument(c, "id"), &f);
    if (status == SR_OK)
        status = strcmp(url, "/stop") == 0 ? sr_run_ask_stop(f.run) : sr_run_start_again(f.run);
    sr_registry_deinit(&f.registry);
    if (status != SR_OK)
        return answer_words(c, status == SR_ERR_CONFIG ? 409 : 500, sr_status_message());
    snprintf(where, sizeof where, "/?token=%s", s->token);
    return answer(c, 303, "text/plain", lead_to(where));
}

// ---- all ----------------------------------------------------------------------------------------

static bool may_read_reports(const SrWebServer *s, struct MHD_Connection *c) {
    const char *cookie = MHD_lookup_connection_value(c, MHD_COOKIE_KIND, REPORTS_COOKIE);
    return s->local || same_secret(s->reports, sizeof s->reports, cookie);
}

static enum MHD_Result give(SrWebServer *s, struct MHD_Connection *c, const char *url) {
    const char *id = argument(c, "id");
    bool token = shows_token(s, c), report = strcmp(url, "/report") == 0;
    if (argument(c, "token") && !token)
        return answer_words(c, 403, "the token is wrong");
    if (!s->local && !token && !(report && may_read_reports(s, c)))
        return answer_words(c, 403, "this page needs its token: ?token=...");
    if (strcmp(url, "/") == 0)
        return give_page(s, c, NULL, token);
    if (strcmp(url, "/run") == 0 && id)
        return give_page(s, c, id, token);
    if (report && id && argument(c, "token") && may_read_reports(s, c))
        return lead_to_report(c, id);
    if (report)
        return give_report(s, c, id);
    if (strcmp(url, "/events") == 0)
        return give_events(s, c, id, token);
    return answer_words(c, 404, "there is no page at this address");
}

// Handles a request.  libmicrohttpd calls it with the head, with each part of a body, and at the
// end.
// *state tells which: NULL with the head, then one of our values.
static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *data_bytes, void **state) {
    static char head, body;
    SrWebServer *s = arg;
    bool post = strcmp(method, "POST") == 0, first = !*state;
    (void)version, (void)data;
    if (!place_of(c))
        return MHD_NO;
    if (*data_bytes) {
        *state = &body;
        *data_bytes = 0;
        return MHD_YES;
    }
    // A refused POST is answered before its body is read.
    Refusal refusal = first == post ? judge(s, c, method, url) : (Refusal){0, NULL};
    if (first)
        *state = &head;
    if (first && !refusal.code)
        return MHD_YES;
    sr_web_place_set(&s->connections, place_of(c), SR_WEB_ANSWERED, sr_clock());
    if (refusal.code)
        return answer_words(c, refusal.code, refusal.words);
    if (post && *state == &body)
        return answer_words(c, 400, "expected no body: id and token belong in the address");
    return post ? act(s, c, url) : give(s, c, url);
}

// Ends a request.  The connection may carry another one, whose time begins now.
static void ended(void *arg, struct MHD_Connection *c, void **state,
                  enum MHD_RequestTerminationCode why) {
    SrWebServer *s = arg;
    (void)why;
    if (place_of(c))
        sr_web_place_set(&s->connections, place_of(c), SR_WEB_ASKING, sr_clock());
    *state = NULL;
}

// Handles the beginning or the end of a connection.  The listening thread makes both calls and
// closes the socket after the second.
static void notified(void *arg, struct MHD_Connection *c, void **place,
                     enum MHD_ConnectionNotificationCode what) {
    SrWebServer *s = arg;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*place)
            sr_web_place_leave(&s->connections, *place);
        return;
    }
    int fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    const struct sockaddr *from =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    uint32_t address = ((const struct sockaddr_in *)from)->sin_addr.s_addr;
    *place = sr_web_place_take(&s->connections, fd, address, sr_clock());
}

// Drops the library's log, which reports malformed requests of strangers.
static void hush(void *arg, const char *fmt, va_list args) { (void)arg, (void)fmt, (void)args; }

static SrStatus check(const SrWebOptions *o, struct sockaddr_in *address) {
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)o->port)};
    if (inet_pton(AF_INET, o->address, &address->sin_addr) != 1)
        SR_FAIL(SR_ERR_CONFIG, "--address %s: expected an address such as 127.0.0.1", o->address);
    if (strlen(o->token) >= TOKEN_BYTES)
        SR_FAIL(SR_ERR_CONFIG, "--token: expected at most %d letters", TOKEN_BYTES - 1);
    if (strlen(o->token) < 16)
        SR_FAIL(SR_ERR_CONFIG,
                "--token: expected at least 16 letters, so that nobody can guess it");
    for (const char *t = o->token; *t; t++)
        if (!((*t >= '0' && *t <= '9') || (*t >= 'a' && *t <= 'z') || (*t >= 'A' && *t <= 'Z')))
            SR_FAIL(SR_ERR_CONFIG, "--token: expected only letters and digits");
    if (strcmp(o->address, "127.0.0.1") != 0 && !o->token_given)
        SR_FAIL(SR_ERR_CONFIG,
                "--address %s: other machines may connect only with a token; give one with --token",
                o->address);
    return SR_OK;
}

// Listens on the port.  SR_ERR_IO: the port is in use.
static SrStatus listen_on(SrWebServer *s, const SrWebOptions *o,
                          const struct sockaddr_in *address) {
    s->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_ERROR_LOG |
            MHD_USE_POLL,
        (uint16_t)o->port, NULL, NULL, handle, s, MHD_OPTION_EXTERNAL_LOGGER, hush, NULL,
        MHD_OPTION_SOCK_ADDR, (const struct sockaddr *)address, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)SR_WEB_PLACES, MHD_OPTION_CONNECTION_TIMEOUT, 30u, MHD_OPTION_THREAD_STACK_SIZE,
        (size_t)STACK_BYTES, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768,
        MHD_OPTION_NOTIFY_COMPLETED, ended, s, MHD_OPTION_NOTIFY_CONNECTION, notified, s,
        MHD_OPTION_END);
    if (!s->daemon)
        SR_FAIL(SR_ERR_IO, "cannot listen on %s:%d: the port may be taken; --port names another",
                o->address, o->port);
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    s->port = info ? info->port : o->port;
    return SR_OK;
}

SrStatus sr_web_start(const SrWebOptions *o, SrWebServer **out) {
    struct sockaddr_in address;
    SrRegistry found;
    *out = NULL;
    SR_TRY(check(o, &address));
    SR_TRY(sr_registry_scan(o->dir, &found));
    SrWebServer *s = sr_calloc(1, sizeof *s);
    if (s) {
        snprintf(s->dir, sizeof s->dir, "%s", found.root);
        snprintf(s->token, sizeof s->token, "%s", o->token);
        s->local = strcmp(o->address, "127.0.0.1") == 0;
    }
    sr_registry_deinit(&found);
    SR_TRY_MEMORY(s, "the web page");
    SrStatus status = sr_web_draw_token(s->reports);
    if (status == SR_OK)
        status = sr_web_connections_start(&s->connections);
    if (status != SR_OK) {
        sr_free(s);
        return status;
    }
    status = listen_on(s, o, &address);
    if (status != SR_OK) {
        sr_web_connections_stop(&s->connections);
        sr_free(s);
        return status;
    }
    *out = s;
    return SR_OK;
}

int sr_web_port(const SrWebServer *s) { return s->port; }

void sr_web_stop(SrWebServer *s) {
    if (!s)
        return;
    atomic_store(&s->ends, true);
    MHD_stop_daemon(s->daemon);
    sr_web_connections_stop(&s->connections);
    sr_free(s);
}

const char *sr_web_library(void) {
    static char text[64];
    snprintf(text, sizeof text, "libmicrohttpd %s", MHD_get_version());
    return text;
}

SrStatus sr_web_draw_token(char token[SR_WEB_TOKEN_BYTES]) {
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        SR_FAIL(SR_ERR_IO, "the system gives no random numbers for a token");
    for (int i = 0; i < 16; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return SR_OK;
}
