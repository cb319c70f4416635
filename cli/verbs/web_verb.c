// sslrun web [DIR]: serves a live page of the runs below a folder.
#include <signal.h>
#include <stdio.h>

#include "cli/args/args.h"
#include "cli/verb.h"
#include "pages/web/web_server.h"

enum { PORT = 8321 };

// Blocks the signals before the server starts its threads, which inherit this.  Only this thread
// waits for them.
static void block(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, set, NULL);
    signal(SIGPIPE, SIG_IGN);
    struct sigaction forget = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
    sigaction(SIGCHLD, &forget, NULL); // continued runs leave no zombies
}

static SrStatus serve(const SrWebOptions *o) {
    SrWebServer *server;
    sigset_t set;
    int number;
    block(&set);
    SR_TRY(sr_web_start(o, &server));
    printf("http://%s:%d/?token=%s\n", o->address, sr_web_port(server), o->token);
    printf("Ctrl-C ends the page; runs continue.  Without the token, the page can be read on this "
           "machine only.\n");
    // Without its address and token nobody could use the page.
    bool shown = fflush(stdout) == 0 && !ferror(stdout);
    if (shown)
        sigwait(&set, &number);
    sr_web_stop(server);
    return shown ? SR_OK : sr_fail(SR_ERR_IO, "cannot write the page's address to standard output");
}

typedef struct {
    int port;
    const char *address, *token;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_NUMBER(Options, port, "--port", "port to listen on (8321; 0: any free one)"),
    SR_FLAG_TEXT(Options, address, "--address", "A", "address other than 127.0.0.1; needs --token"),
    SR_FLAG_TEXT(Options, token, "--token", "WORD", "letters and digits instead of a drawn token"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.port = PORT, .address = "127.0.0.1"};
    char drawn[SR_WEB_TOKEN_BYTES];
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    if (args.n_names > 1 || args.n_overrides)
        SR_FAIL(SR_ERR_CONFIG, "sslrun web takes one folder of runs");
    if (o.port > 65535)
        SR_FAIL(SR_ERR_CONFIG, "--port: expected a number from 0 to 65535");
    SR_TRY(sr_web_draw_token(drawn));
    return serve(&(SrWebOptions){.dir = args.n_names ? args.names[0] : "runs",
                                 .address = o.address,
                                 .port = o.port,
                                 .token = o.token ? o.token : drawn,
                                 .token_given = o.token != NULL});
}

const SrVerb sr_verb_web = {
    .name = "web",
    .group = SR_VERB_LOOK,
    .args = "[DIR]",
    .summary = "serves a live page of the runs below a folder",
    .help = "The page follows runs while they train and shows their reports. With the token of the "
            "printed address, runs can be stopped and continued from the page. DIR is `runs` by "
            "default. Only this machine can read the page unless --address says otherwise.",
    .examples = {{"sslrun web runs", "Shows the runs below runs/ at http://127.0.0.1:8321."}},
    .exit = "0: ended by Ctrl-C; 2: wrong usage, or a build without libmicrohttpd.",
    .flags = flags,
    .run = run_verb,
};
