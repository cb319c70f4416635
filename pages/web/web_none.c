// Replaces web_server.c in builds without libmicrohttpd: starting the server fails with a message
// that says so.
#include "pages/web/web_server.h"

#include <stddef.h>

SrStatus sr_web_start(const SrWebOptions *options, SrWebServer **out) {
    (void)options;
    *out = NULL;
    SR_FAIL(SR_ERR_CONFIG, "sslrun web: this program was built without libmicrohttpd; install "
                           "libmicrohttpd-dev and build again");
}

int sr_web_port(const SrWebServer *server) { return (void)server, 0; }
void sr_web_stop(SrWebServer *server) { (void)server; }
const char *sr_web_library(void) { return "nothing"; }
SrStatus sr_web_draw_token(char token[SR_WEB_TOKEN_BYTES]) { return token[0] = '\0', SR_OK; }
