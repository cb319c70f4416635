// The live page of the runs below a folder, served by libmicrohttpd; web_none.c takes its place in
// builds without.
//
// Reading on this machine is free; from any other address, and for stop and continue, the token is
// asked for. Answers come from files below the folder alone, follow no link, and change nothing but
// by stop and continue.
#ifndef SR_PAGES_WEB_SERVER_H
#define SR_PAGES_WEB_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct SrWebServer SrWebServer;

typedef struct {
    const char *dir;
    const char *address; // "127.0.0.1"; any other only where token_given
    int port;            // 0: any free one
    const char *token;   // at least 16 letters
    bool token_given;    // by the user, who has it from elsewhere
} SrWebOptions;

// SR_ERR_CONFIG where this was built without libmicrohttpd.
SrStatus sr_web_start(const SrWebOptions *options, SrWebServer **out);
int sr_web_port(const SrWebServer *server);
void sr_web_stop(SrWebServer *server); // waits for readers to be told goodbye; NULL is fine
const char *sr_web_library(void);      // "libmicrohttpd 0.9.75", or "nothing"

#define SR_WEB_TOKEN_BYTES 33
SrStatus sr_web_draw_token(char token[SR_WEB_TOKEN_BYTES]); // from the system's randomness

#endif
