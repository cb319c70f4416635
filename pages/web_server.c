// See the header.  A thread a connection, because an event stream waits; a reader costs a stack of 512 KiB, touched as
// far as needed.
#include "pages/web_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "pages/run_report.h"
#include "pages/web_page.h"

enum { CONNECTIONS = 64, STACK_BYTES = 1 << 19, FIELD_BYTES = 4096, MAX_BODY = 16384 };
#define LOOK_S 1.0   // between two looks at the runs
#define ALIVE_S 10.0 // between two signs of life of a stream

struct SrWebServer {
    struct MHD_Daemon *daemon;
    char dir[4096], token[256], host[64];
    bool local; // 127.0.0.1
    int port;
    volatile bool ends;
};

// ---- who asks -----------------------------------------------------------------------------------

// The same time whatever is wrong with it.
static bool same_token(const SrWebServer *s, const char *token) {
    size_t n = strlen(s->token), m = token ? strlen(token) : 0;
    unsigned char differ = n != m;
    for (size_t i = 0; i < n; i++)
        differ |= (unsigned char)(s->token[i] ^ (m ? token[i % m] : 0));
    return !differ;
}

// NULL too for a value with a zero byte in it, whose rest would be overlooked.
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
    return same_token(s, header ? header : argument(c, "token"));
}

// A page of somebody else's whose name was made to lead here must not read ours.
static bool host_is_ours(const SrWebServer *s, struct MHD_Connection *c) {
    const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (int i = 0; s->local && host && i < SR_COUNT(names); i++) {
        size_t n = strlen(names[i]);
        if (strncmp(host, names[i], n) == 0 && (host[n] == ':' || host[n] == '\0'))
            return true;
    }
    return !s->local;
}

// ---- answers ------------------------------------------------------------------------------------

static enum MHD_Result answer(struct MHD_Connection *c, unsigned code, const char *type,
                              struct MHD_Response *r) {
    static const char *const headers[][2] = {
        {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Content-Security-Policy",
         "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src "
         "data:; "
         "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"}};
    if (!r)
        return MHD_NO;
    for (int i = 0; i < SR_COUNT(headers); i++)
        MHD_add_response_header(r, headers[i][0], headers[i][1]);
    MHD_add_response_header(r, "Content-Type", type);
    enum MHD_Result result = MHD_queue_response(c, code, r);
    MHD_destroy_response(r);
    return result;
}

static enum MHD_Result answer_words(struct MHD_Connection *c, unsigned code, const char *words) {
    return answer(
        c, code, "text/plain; charset=utf-8",
        MHD_create_response_from_buffer(strlen(words), (void *)words, MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result answer_page(struct MHD_Connection *c, SrStatus status, SrText *page) {
    enum MHD_Result result;
    if (status != SR_OK || page->failed)
        result = answer_words(c, status == SR_ERR_CONFIG ? 404 : 500,
                              status == SR_OK ? "out of memory" : sr_status_message());
    else
        result = answer(c, 200, "text/html; charset=utf-8",
                        MHD_create_response_from_buffer(page->len, page->s ? page->s : (void *)"",
                                                        MHD_RESPMEM_MUST_COPY));
    sr_text_deinit(page);
    return result;
}

// ---- pages --------------------------------------------------------------------------------------

typedef struct {
    SrRegistry registry;
    char run[4096]; // of the id that was asked for
} Found;

static SrStatus find(const SrWebServer *s, const char *id, Found *out) {
    out->run[0] = '\0';
    SR_TRY(sr_registry_scan(s->dir, &out->registry));
    return id ? sr_registry_find(&out->registry, id, out->run) : SR_OK;
}

static enum MHD_Result give_page(const SrWebServer *s, struct MHD_Connection *c, const char *id,
                                 const char *token) {
    Found f;
    SrText page = SR_TEXT_INIT;
    SrStatus status = find(s, id, &f);
    if (status == SR_OK)
        status = id ? sr_web_run(f.run, id, token, &page) : sr_web_index(&f.registry, token, &page);
    sr_registry_deinit(&f.registry);
    return answer_page(c, status, &page);
}

// The file itself, opened without following a link.
static enum MHD_Result give_report(const SrWebServer *s, struct MHD_Connection *c, const char *id) {
    Found f;
    char path[4200];
    struct stat st;
    SrStatus status = id ? find(s, id, &f) : sr_fail(SR_ERR_CONFIG, "which run?");
    if (id)
        sr_registry_deinit(&f.registry);
    if (status != SR_OK)
        return answer_words(c, 404, sr_status_message());
    snprintf(path, sizeof path, "%s/" SR_REPORT_FILE, f.run);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        if (fd >= 0)
            close(fd);
        return answer_words(c, 404, "this run has no report yet: it comes with its first epoch");
    }
    return answer(c, 200, "text/html; charset=utf-8",
                  MHD_create_response_from_fd((size_t)st.st_size, fd));
}

// ---- server-sent events -------------------------------------------------------------------------

typedef struct {
    const SrWebServer *server;
    char id[FIELD_BYTES]; // "": the table of all
    bool token;
    SrText event;      // what is being sent
    size_t sent;       // of it
    uint64_t last_sum; // of what was sent last
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

// "data: " before each line, an empty one behind; nothing where nothing has changed.
static void next_event(Stream *st) {
    SrText page = SR_TEXT_INIT;
    st->event.len = st->sent = 0;
    st->looked = sr_clock();
    if (look(st, &page) == SR_OK && !page.failed && sum_of(&page) != st->last_sum) {
        char *save = NULL;
        st->last_sum = sum_of(&page);
        for (char *line = strtok_r(page.s, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
            sr_text_printf(&st->event, "data: %s\n", line);
        sr_text_add(&st->event, "\n");
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
        if (st->server->ends)
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

static enum MHD_Result give_events(const SrWebServer *s, struct MHD_Connection *c, const char *id,
                                   bool token) {
    Found f;
    SrStatus status = find(s, id, &f);
    sr_registry_deinit(&f.registry);
    if (status != SR_OK)
        return answer_words(c, 404, sr_status_message());
    Stream *st = sr_calloc(1, sizeof *st);
    if (!st)
        return MHD_NO;
    *st = (Stream){.server = s, .token = token, .looked = -LOOK_S};
    snprintf(st->id, sizeof st->id, "%s", id ? id : "");
    return answer(
        c, 200, "text/event-stream",
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, stream_read, st, stream_free));
}

// ---- stop and continue --------------------------------------------------------------------------

// The body of a POST: two fields, as a form or a script sends them.
typedef struct {
    struct MHD_PostProcessor *fields;
    char id[FIELD_BYTES], token[256];
    size_t bytes;
    bool bad;
} Post;

static enum MHD_Result keep_field(void *arg, enum MHD_ValueKind kind, const char *key,
                                  const char *file, const char *type, const char *encoding,
                                  const char *data, uint64_t at, size_t n) {
    Post *p = arg;
    (void)kind, (void)file, (void)type, (void)encoding;
    char *to = strcmp(key, "id") == 0 ? p->id : strcmp(key, "token") == 0 ? p->token : NULL;
    size_t room = to == p->id ? sizeof p->id : sizeof p->token;
    if (!to)
        return MHD_YES;
    if (at + n >= room || memchr(data, 0, n)) {
        p->bad = true;
        return MHD_NO;
    }
    memcpy(to + at, data, n);
    to[at + n] = '\0';
    return MHD_YES;
}

static enum MHD_Result take_body(Post *p, const char *data, size_t n) {
    p->bytes += n;
    if (p->bytes > MAX_BODY)
        p->bad = true;
    if (!p->bad && p->fields && MHD_post_process(p->fields, data, n) != MHD_YES)
        p->bad = true;
    return MHD_YES;
}

// Back to the page it came from, as a form expects.
static enum MHD_Result act(const SrWebServer *s, struct MHD_Connection *c, const char *url,
                           const Post *p) {
    Found f;
    bool stop = strcmp(url, "/stop") == 0;
    if (!stop && strcmp(url, "/continue") != 0)
        return answer_words(c, 404, "nothing lies here");
    if (p->bad || !*p->id)
        return answer_words(c, 400, "id and token are expected");
    if (!same_token(s, p->token))
        return answer_words(c, 403, "the token is wrong");
    SrStatus status = find(s, p->id, &f);
    if (status == SR_OK)
        status = stop ? sr_run_ask_stop(f.run) : sr_run_start_again(f.run);
    sr_registry_deinit(&f.registry);
    if (status != SR_OK)
        return answer_words(c, status == SR_ERR_CONFIG ? 409 : 500, sr_status_message());
    struct MHD_Response *r = MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    char where[512];
    snprintf(where, sizeof where, "/?token=%s", s->token);
    MHD_add_response_header(r, "Location", where);
    return answer(c, 303, "text/plain", r);
}

// ---- all ----------------------------------------------------------------------------------------

static enum MHD_Result give(const SrWebServer *s, struct MHD_Connection *c, const char *url) {
    const char *id = argument(c, "id");
    bool token = shows_token(s, c);
    if (!s->local && !token)
        return answer_words(c, 403, "the token is asked for: ?token=...");
    if (argument(c, "token") && !token)
        return answer_words(c, 403, "the token is wrong");
    if (strcmp(url, "/") == 0)
        return give_page(s, c, NULL, token ? s->token : NULL);
    if (strcmp(url, "/run") == 0 && id)
        return give_page(s, c, id, token ? s->token : NULL);
    if (strcmp(url, "/report") == 0)
        return give_report(s, c, id);
    if (strcmp(url, "/events") == 0)
        return give_events(s, c, id, token);
    return answer_words(c, 404, "nothing lies here");
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *data_bytes, void **state) {
    const SrWebServer *s = arg;
    bool post = strcmp(method, "POST") == 0;
    (void)version;
    if (!*state) { // the head alone is there
        Post *p = sr_calloc(1, sizeof *p);
        if (!p)
            return MHD_NO;
        *state = p;
        if (post)
            p->fields = MHD_create_post_processor(c, 4096, keep_field, p);
        return MHD_YES;
    }
    if (*data_bytes) {
        enum MHD_Result result = take_body(*state, data, *data_bytes);
        *data_bytes = 0;
        return result;
    }
    if (!host_is_ours(s, c))
        return answer_words(c, 403, "this page is read as 127.0.0.1 or localhost");
    if (post)
        return act(s, c, url, *state);
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return answer_words(c, 405, "GET or POST");
    return give(s, c, url);
}

static void ended(void *arg, struct MHD_Connection *c, void **state,
                  enum MHD_RequestTerminationCode why) {
    (void)arg, (void)c, (void)why;
    Post *p = *state;
    if (p && p->fields)
        MHD_destroy_post_processor(p->fields);
    sr_free(p);
    *state = NULL;
}

// What strangers send wrong is no news.
static void hush(void *arg, const char *fmt, va_list args) { (void)arg, (void)fmt, (void)args; }

static SrStatus check(const SrWebOptions *o, struct sockaddr_in *address) {
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)o->port)};
    if (inet_pton(AF_INET, o->address, &address->sin_addr) != 1)
        SR_FAIL(SR_ERR_CONFIG, "--address %s: an address such as 127.0.0.1 is expected",
                o->address);
    if (strlen(o->token) < 16)
        SR_FAIL(SR_ERR_CONFIG,
                "--token: at least 16 letters are expected, so that nobody guesses it");
    for (const char *t = o->token; *t; t++)
        if (!((*t >= '0' && *t <= '9') || (*t >= 'a' && *t <= 'z') || (*t >= 'A' && *t <= 'Z')))
            SR_FAIL(SR_ERR_CONFIG, "--token: letters and digits alone are expected");
    if (strcmp(o->address, "127.0.0.1") != 0 && !o->token_given)
        SR_FAIL(SR_ERR_CONFIG,
                "--address %s: others than this machine are let in with a token alone; give one "
                "with --token",
                o->address);
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
    if (!s)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for the web page");
    s->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_ERROR_LOG |
            MHD_USE_POLL,
        (uint16_t)o->port, NULL, NULL, handle, s, MHD_OPTION_EXTERNAL_LOGGER, hush, NULL,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, 30u, MHD_OPTION_THREAD_STACK_SIZE,
        (size_t)STACK_BYTES, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768,
        MHD_OPTION_NOTIFY_COMPLETED, ended, NULL, MHD_OPTION_END);
    if (!s->daemon) {
        sr_free(s);
        SR_FAIL(SR_ERR_IO, "cannot listen on %s:%d: the port may be taken; --port names another",
                o->address, o->port);
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    s->port = info ? info->port : o->port;
    *out = s;
    return SR_OK;
}

int sr_web_port(const SrWebServer *s) { return s->port; }

void sr_web_stop(SrWebServer *s) {
    if (!s)
        return;
    s->ends = true;
    MHD_stop_daemon(s->daemon);
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
