// sslrun web [DIR]: serves a live page of the runs below a folder.
#include <signal.h>
#include <stdio.h>

#include "cli/args.h"
#include "cli/verb.h"
#include "pages/web_server.h"

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
    printf("Ctrl-C ends the page; runs go on.  Without the token the page can be read on this "
           "machine alone.\n");
    fflush(stdout);
    sigwait(&set, &number);
    sr_web_stop(server);
    return SR_OK;
}

static SrStatus run_verb(int argc, char **argv) {
    char drawn[SR_WEB_TOKEN_BYTES];
    const char *token = NULL, *address = "127.0.0.1";
    int port = PORT;
    const SrFlag flags[] = {
        {.name = "--port", .number = &port, .help = "to listen on (8321; 0: any free one)"},
        {.name = "--address", .text = &address, .help = "other than 127.0.0.1, with --token alone"},
        {.name = "--token", .text = &token, .help = "in place of a drawn one; letters and digits"},
        {0}};
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    if (args.n_names > 1 || args.n_overrides)
        SR_FAIL(SR_ERR_CONFIG, "sslrun web takes one folder of runs");
    if (port > 65535)
        SR_FAIL(SR_ERR_CONFIG, "--port: 0 to 65535");
    SR_TRY(sr_web_draw_token(drawn));
    return serve(&(SrWebOptions){.dir = args.n_names ? args.names[0] : "runs",
                                 .address = address,
                                 .port = port,
                                 .token = token ? token : drawn,
                                 .token_given = token != NULL});
}

const SrVerb sr_verb_web = {
    .name = "web",
    .usage = "sslrun web [DIR] [--port N] [--token WORD] [--address A]",
    .help = "Shows the runs below a folder (runs) as a live page, where they can be stopped and "
            "continued.",
    .run = run_verb,
};
