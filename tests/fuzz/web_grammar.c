// Draws one request from choices, and determines its status if all choices are well-formed.
//
// The expected status follows the documented rules and not the server's code: hosts first, then
// methods, then the requirements of each path.
#include "tests/fuzz/web_grammar.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/rng.h"

typedef enum {
    NONE,
    RIGHT,
    WRONG,
    ZERO
} Secret; // ZERO: holds a zero byte, which counts as no token

typedef struct {
    const char *text;
    bool is_good; // well-formed HTTP, so that the rules determine the answer
} Choice;

// State of drawing one request, and what the rules need to know of it.
typedef struct {
    SrRng rng;
    WebRequest *out;
    const char *token, *method, *path;
    bool is_good;                        // all choices so far were well-formed
    int hosts;                           // number of Host headers
    bool host_is_ours, site_is_ours;     // by Host; by Origin and Sec-Fetch-Site
    bool type_is_form, has_body, has_id; // has_id: not empty, without a zero byte, not too long
    bool id_is_argument;                 // present without a zero byte
    const char *run;                     // run that the id names; NULL: none
    Secret in_address, in_header;
} Draw;

static uint32_t below(Draw *d, uint32_t n) { return sr_rng_below(&d->rng, n); }
static bool one_in(Draw *d, uint32_t n) { return below(d, n) == 0; }

static void add_bytes(Draw *d, const char *bytes, size_t n) {
    n = SR_MIN(n, sizeof d->out->bytes - d->out->n);
    memcpy(d->out->bytes + d->out->n, bytes, n);
    d->out->n += n;
}

static void add(Draw *d, const char *text) { add_bytes(d, text, strlen(text)); }

SR_PRINTF(2, 3) static void add_f(Draw *d, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    add(d, text);
}

static void add_repeated(Draw *d, char c, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        add_bytes(d, &c, 1);
}

// Chooses one of n. Half of the malformed choices are drawn again, so that most requests reach
// the rules.
static const char *choose(Draw *d, const Choice *of, int n) {
    const Choice *c = &of[below(d, (uint32_t)n)];
    if (!c->is_good && one_in(d, 2))
        c = &of[below(d, (uint32_t)n)];
    d->is_good = d->is_good && c->is_good;
    return c->text;
}

// ---- the first line -----------------------------------------------------------------------------

static void add_method(Draw *d) {
    static const Choice rare[] = {{"PUT", true},
                                  {"DELETE", true},
                                  {"OPTIONS", true},
                                  {"PATCH", true},
                                  {"TRACE", true},
                                  {"get", true},
                                  {"CONNECT", false},
                                  {"", false},
                                  {"GET\t", false},
                                  {"P\x01ST", false},
                                  {"GETGETGETGETGETGETGETGETGETGETGET", true}};
    uint32_t k = below(d, 20);
    d->method = k < 8 ? "GET" : k < 9 ? "HEAD" : k < 17 ? "POST" : choose(d, rare, SR_COUNT(rare));
    add(d, d->method);
}

static void add_path(Draw *d) {
    static const Choice paths[] = {{"/", true},          {"/run", true},
                                   {"/report", true},    {"/events", true},
                                   {"/stop", true},      {"/continue", true},
                                   {"/stop", true},      {"/continue", true},
                                   {"/nothing", true},   {"//etc/passwd", true},
                                   {"/stop/", true},     {"/../secret/report.html", true},
                                   {"/STOP", true},      {"*", true},
                                   {"", false},          {"http://localhost/stop", false},
                                   {"/%73top", false},   {"/stop%00", false},
                                   {"/\xFF\xFE", false}, {"/run;id=one", true}};
    d->path = choose(d, paths, SR_COUNT(paths));
    add(d, d->path);
}

static void add_id(Draw *d) {
    static const struct {
        const char *text, *run;
        bool is_argument;
    } ids[] = {{"one", "one", true},         {"one", "one", true},
               {"%6fne", "one", true},       {"deep%2Ftwo", "deep/two", true},
               {"missing", NULL, true},      {"..%2Fsecret", NULL, true},
               {"linked", NULL, true},       {"one%00", NULL, false},
               {"one%00.", NULL, false},     {".%2Fone", NULL, true},
               {"%3Cscript%3E", NULL, true}, {"one+", NULL, true}};
    uint32_t k = below(d, SR_COUNT(ids) + 3);
    add(d, "id=");
    d->id_is_argument = true;
    if (k < SR_COUNT(ids)) {
        add(d, ids[k].text);
        d->run = ids[k].run;
        d->has_id = d->id_is_argument = ids[k].is_argument;
    } else if (k == SR_COUNT(ids)) {
        uint32_t n = 1 + below(d, 9000);
        add_repeated(d, 'x', n);
        d->has_id = n < 4096;
    } else if (k == SR_COUNT(ids) + 1) {
        for (uint32_t i = below(d, 40); i > 0; i--)
            add_f(d, "%%%02x", 1 + below(d, 255));
        d->is_good = false;
    } // otherwise the id is empty
}

// Adds a token, right or wrong. Returns which kind it is.
static Secret add_token(Draw *d, bool escaped) {
    char text[256];
    size_t n = strlen(d->token);
    snprintf(text, sizeof text, "%s", d->token);
    switch (below(d, escaped ? 9 : 8)) {
    case 0: text[below(d, (uint32_t)n)] = '\0'; break; // a prefix of the token
    case 1: snprintf(text, sizeof text, "%sx", d->token); break;
    case 2: snprintf(text, sizeof text, "%s%s", d->token, d->token); break;
    case 3: text[below(d, (uint32_t)n)] ^= 0x20; break;
    case 4: snprintf(text, sizeof text, "%s%s", d->token + 1, "0"); break;
    case 8: add_f(d, "%s%%00", text); return ZERO;
    default: add(d, text); return RIGHT;
    }
    add(d, text);
    return WRONG;
}

static void add_query(Draw *d) {
    bool id = !one_in(d, 5), token = one_in(d, 2), first = one_in(d, 2);
    if (id || token)
        add(d, "?");
    if (id && first)
        add_id(d);
    if (token) {
        add(d, id && first ? "&token=" : "token=");
        d->in_address = add_token(d, true);
    }
    if (id && !first) {
        add(d, token ? "&" : "");
        add_id(d);
    }
    if ((id || token) && one_in(d, 20)) {
        static const char *const more[] = {"&id=deep%2Ftwo", "&token=", "&&&", "&=",  "&token",
                                           "&x=%",           "#part",   "%%%", "&id", "?"};
        add(d, more[below(d, SR_COUNT(more))]);
        d->is_good = false;
    }
}

// ---- headers ------------------------------------------------------------------------------------

static void add_host(Draw *d) {
    static const struct {
        const char *text;
        bool is_ours;
    } hosts[] = {{"127.0.0.1", true},
                 {"localhost", true},
                 {"localhost:8321", true},
                 {"LOCALHOST:1", true},
                 {"127.0.0.1:65535", true},
                 {"[::1]:8321", true},
                 {"127.0.0.1", true},
                 {"localhost", true},
                 {"127.0.0.1:1", true},
                 {"LocalHost", true},
                 {"evil.example", false},
                 {"127.0.0.1.evil.example", false},
                 {"localhost:evil.example", false},
                 {"127.0.0.1:x@evil.example", false},
                 {"localhost@evil.example", false},
                 {"localhost:1234567", false},
                 {"[::1", false},
                 {"localhost:80:80", false},
                 {"0.0.0.0", false},
                 {"evil.example:127.0.0.1", false}};
    uint32_t k = below(d, 40);
    d->hosts = k == 0 ? 0 : k == 1 ? 2 : 1;
    for (int i = 0; i < d->hosts; i++) {
        uint32_t h = one_in(d, 3) ? below(d, SR_COUNT(hosts)) : below(d, 10);
        add_f(d, "%s: %s\r\n", one_in(d, 8) ? "hOST" : "Host", hosts[h].text);
        d->host_is_ours = hosts[h].is_ours;
    }
}

static void add_site(Draw *d) {
    static const struct {
        const char *text;
        bool is_ours;
    } sites[] = {{"Origin: null\r\n", true},
                 {"Sec-Fetch-Site: same-origin\r\n", true},
                 {"Sec-Fetch-Site: none\r\n", true},
                 {"Origin: http://evil.example\r\n", false},
                 {"Origin: http://localhost.evil.example\r\n", false},
                 {"Origin: evil\r\n", false},
                 {"Sec-Fetch-Site: cross-site\r\n", false},
                 {"Sec-Fetch-Site: same-site\r\n", false},
                 {"Origin: null\r\nSec-Fetch-Site: cross-site\r\n", false}};
    d->site_is_ours = true;
    if (one_in(d, 3)) {
        uint32_t k = below(d, SR_COUNT(sites));
        add(d, sites[k].text);
        d->site_is_ours = sites[k].is_ours;
    }
}

static void add_more_headers(Draw *d) {
    static const Choice more[] = {{"Cookie: sslrun_reports=0; a=b\r\n", true},
                                  {"Cookie: ===;;=\"\r\n", false},
                                  {"Range: bytes=0-\r\n", true},
                                  {"If-None-Match: *\r\n", true},
                                  {"Accept-Encoding: gzip\r\n", true},
                                  {"Connection: close\r\n", true},
                                  {"Connection: keep-alive\r\n", true},
                                  {"Connection: Upgrade\r\nUpgrade: websocket\r\n", false},
                                  {"Expect: 100-continue\r\n", false},
                                  {"Expect: 200-ok\r\n", false},
                                  {"No colon at all\r\n", false},
                                  {": no name\r\n", false},
                                  {"X: folded\r\n over\r\n\tlines\r\n", false},
                                  {"X-Token : spaced\r\n", false},
                                  {"X: \x01\x7f\xff\r\n", false},
                                  {"X: bare\rreturn\r\n", false},
                                  {"\r\n", false},
                                  {"\n", false}};
    for (uint32_t i = below(d, 4); i > 0; i--)
        add(d, choose(d, more, SR_COUNT(more)));
    if (one_in(d, 30)) { // may exceed the server's memory for a request
        uint32_t n = below(d, 60000);
        add(d, "X-Long: ");
        add_repeated(d, 'y', n);
        add(d, "\r\n");
    }
    uint32_t many = one_in(d, 60) ? below(d, 500) : 0;
    for (uint32_t i = 0; i < many; i++)
        add_f(d, "X%u: %u\r\n", i, i);
    // Beyond that, 431 is a correct answer too.
    d->is_good = d->is_good && many < 50 && d->out->n < 12000;
}

// ---- bodies -------------------------------------------------------------------------------------

// Text of a body, in its own buffer.
typedef struct {
    char s[24000];
    size_t n;
} Body;

static void put(Body *b, const char *text) {
    size_t n = SR_MIN(strlen(text), sizeof b->s - b->n);
    memcpy(b->s + b->n, text, n);
    b->n += n;
}

static void fill_form(Draw *d, Body *b) {
    static const char *const parts[] = {"id=one", "token=",  "&",  "=",    "%00", "%", "%zz",   "+",
                                        "id",     "token=x", "&&", "\r\n", "one", ";", "id=%6f"};
    for (uint32_t i = below(d, 12); i > 0; i--)
        put(b, parts[below(d, SR_COUNT(parts))]);
    if (one_in(d, 3)) {
        put(b, "id=one&token=");
        put(b, d->token);
    }
}

static void fill_parts(Draw *d, Body *b, const char *boundary) {
    static const char *const heads[] = {
        "Content-Disposition: form-data\r\n", // a part without a name
        "Content-Disposition: form-data; name=\"id\"\r\n",
        "Content-Disposition: form-data; name=\"token\"\r\n",
        "Content-Disposition: form-data; name=\r\n",
        "Content-Disposition: form-data; name=\"\"\r\n",
        "Content-Disposition: form-data; filename=\"x\"\r\n",
        "Content-Disposition: form-data; name=\"id\"; filename=\"a\"\r\nContent-Type: a/b\r\n",
        "Content-Disposition: attachment; name=\"id\r\n",
        "Content-Type: multipart/mixed; boundary=inner000\r\n",
        "Content-Transfer-Encoding: base64\r\n",
        "",
        "garbage\r\n"};
    for (uint32_t i = below(d, 5); i > 0; i--) {
        put(b, "--");
        put(b, one_in(d, 6) ? "otherotherother" : boundary);
        put(b, one_in(d, 10) ? "\n" : "\r\n");
        for (uint32_t k = 1 + below(d, 2); k > 0; k--)
            put(b, heads[below(d, SR_COUNT(heads))]);
        put(b, one_in(d, 10) ? "" : "\r\n");
        for (uint32_t k = one_in(d, 20) ? below(d, 18000) : below(d, 20); k > 0; k--)
            put(b, one_in(d, 30) ? "--" : "z");
        put(b, "\r\n");
    }
    put(b, "--");
    put(b, boundary);
    put(b, one_in(d, 5) ? "" : "--\r\n");
}

// Writes a body. Returns its Content-Type; NULL: none.
static const char *fill_body(Draw *d, Body *b) {
    static const char form[] = "application/x-www-form-urlencoded";
    d->type_is_form = true;
    switch (below(d, 8)) {
    case 0: fill_form(d, b); return form;
    case 1:
        fill_parts(d, b, "xxxxxxxx");
        d->type_is_form = false;
        return "multipart/form-data; boundary=xxxxxxxx";
    case 2:
        fill_parts(d, b, "x");
        d->type_is_form = false;
        return "multipart/form-data; boundary=\"x";
    case 3:
        fill_form(d, b);
        d->type_is_form = false;
        return one_in(d, 2) ? "application/json" : "text/plain";
    case 4: fill_form(d, b); return NULL;
    case 5: return form;
    default: return NULL;
    }
}

static void add_chunks(Draw *d, const Body *b) {
    size_t at = 0;
    add(d, "Transfer-Encoding: chunked\r\n\r\n");
    while (at < b->n) {
        uint32_t n = SR_MIN(1 + below(d, 3000), (uint32_t)(b->n - at));
        add_f(d, one_in(d, 2) ? "%x\r\n" : "%X;ext=1\r\n", n);
        add_bytes(d, b->s + at, n);
        add(d, "\r\n");
        at += n;
    }
    add(d, "0\r\n\r\n");
    d->has_body = b->n > 0;
}

// Adds lengths that do not fit the body, or contradict each other.
static void add_bad_length(Draw *d, const Body *b) {
    static const char *const bad[] = {
        "Content-Length: -1\r\n\r\n",
        "Content-Length: 99999999999999999999999\r\n\r\n",
        "Content-Length: 18446744073709551615\r\n\r\n",
        "Content-Length: 5\r\nContent-Length: 500\r\n\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "Content-Length: 0x10\r\n\r\n",
        "Content-Length:\r\n\r\n",
        "Content-Length: 30000\r\n\r\n",
        "Content-Length: 1\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        "Transfer-Encoding: chunked\r\n\r\n-5\r\n",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nab\r\n",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nabcdeXX",
        "Transfer-Encoding: chunked\r\n\r\n0\r\nTrailer: x\r\nid: one\r\n\r\n",
        "Transfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: identity\r\n\r\n"};
    add(d, bad[below(d, SR_COUNT(bad))]);
    add_bytes(d, b->s, b->n);
    d->is_good = false;
}

static void add_body(Draw *d) {
    static Body b;
    b.n = 0;
    const char *type = fill_body(d, &b);
    if (type)
        add_f(d, "Content-Type: %s\r\n", type);
    if (one_in(d, 12)) {
        add_bad_length(d, &b);
    } else if (b.n && one_in(d, 4)) {
        add_chunks(d, &b);
    } else {
        if (b.n || one_in(d, 2))
            add_f(d, "Content-Length: %zu\r\n", b.n);
        add(d, "\r\n");
        add_bytes(d, b.s, b.n);
        d->has_body = b.n > 0;
    }
}

// ---- the expected status

static Secret shown(const Draw *d) { return d->in_header != NONE ? d->in_header : d->in_address; }

static int status_of_post(const Draw *d) {
    if (strcmp(d->path, "/stop") != 0 && strcmp(d->path, "/continue") != 0)
        return 404;
    if (!d->type_is_form)
        return 415;
    if (!d->site_is_ours || shown(d) != RIGHT)
        return 403;
    if (!d->has_id || d->has_body)
        return 400;
    return 409; // no such run, or nothing trains there, or its command is unknown
}

static int status_of_get(const Draw *d) {
    bool address = d->in_address == RIGHT || d->in_address == WRONG;
    if (address && shown(d) != RIGHT)
        return 403;
    if (strcmp(d->path, "/") == 0)
        return 200;
    if (strcmp(d->path, "/run") == 0)
        return d->run ? 200 : 404;
    if (strcmp(d->path, "/report") == 0)
        return d->id_is_argument && address           ? 303
               : d->run && strcmp(d->run, "one") == 0 ? 200
                                                      : 404;
    if (strcmp(d->path, "/events") == 0)
        return d->run || !d->id_is_argument ? 200 : 404;
    return 404;
}

static int status_of(const Draw *d) {
    if (d->hosts != 1) // HTTP/1.1 itself requires one
        return 400;
    if (!d->host_is_ours)
        return 403;
    if (strcmp(d->method, "POST") == 0)
        return status_of_post(d);
    if (strcmp(d->method, "GET") != 0 && strcmp(d->method, "HEAD") != 0)
        return 405;
    return status_of_get(d);
}

// ---- whole requests

static void add_request(Draw *d) {
    static const Choice versions[] = {{"HTTP/1.0", false}, {"HTTP/2.0", false}, {"HTTP/1.9", false},
                                      {"HTTP/", false},    {"", false},         {"http/1.1", false},
                                      {"HTTP/1.1 ", false}};
    d->method = d->path = "";
    d->run = NULL;
    d->hosts = 0;
    d->host_is_ours = d->has_id = d->id_is_argument = d->has_body = false;
    d->in_address = d->in_header = NONE;
    add_method(d);
    add(d, " ");
    add_path(d);
    add_query(d);
    add_f(d, " %s\r\n", one_in(d, 15) ? choose(d, versions, SR_COUNT(versions)) : "HTTP/1.1");
    add_host(d);
    if (one_in(d, 4)) {
        add(d, "X-Token: ");
        d->in_header = add_token(d, false);
        add(d, "\r\n");
    }
    add_site(d);
    add_more_headers(d);
    add_body(d);
}

// Changes, removes or repeats some bytes.
static void spoil(Draw *d) {
    WebRequest *r = d->out;
    for (uint32_t k = 1 + below(d, 6); k > 0 && r->n > 0; k--) {
        size_t at = below(d, (uint32_t)r->n), n = below(d, 24);
        n = SR_MIN(n, r->n - at);
        switch (below(d, 3)) {
        case 0: r->bytes[at] = (char)sr_rng_u32(&d->rng); break;
        case 1:
            memmove(r->bytes + at, r->bytes + at + n, r->n - at - n);
            r->n -= n;
            break;
        default:
            if (r->n + n <= sizeof r->bytes) {
                memmove(r->bytes + at + n, r->bytes + at, r->n - at);
                r->n += n;
            }
        }
    }
}

static void cut(Draw *d) {
    WebRequest *r = d->out;
    uint32_t k = below(d, 40);
    r->delivery = k < 6 ? WEB_PIECES : k < 10 ? WEB_GONE : k < 12 ? WEB_HELD : WEB_WHOLE;
    for (int i = 0; i < WEB_GRAMMAR_CUTS; i++) {
        size_t from = i ? r->cut[i - 1] : 0;
        r->cut[i] = from + below(d, (uint32_t)(r->n - from) + 1);
    }
}

void web_grammar_draw(WebRequest *out, uint64_t seed, uint64_t number, const char *token) {
    Draw d = {.rng = sr_rng(seed, SR_RNG_TEST, 0, number, 0, 0), .out = out, .token = token};
    d.is_good = true;
    out->n = 0;
    out->status = 0;
    add_request(&d);
    if (d.is_good)
        out->status = status_of(&d);
    out->is_stream = strstr(d.path, "/events") != NULL;
    if (one_in(&d, 10)) { // several requests without waiting for answers
        out->status = 0;
        for (uint32_t i = 1 + below(&d, 4); i > 0; i--) {
            add_request(&d);
            out->is_stream = out->is_stream || strstr(d.path, "/events");
        }
    }
    if (one_in(&d, 6)) {
        spoil(&d);
        out->status = 0;
        out->is_stream = true; // it may have become a stream
    }
    cut(&d);
}
