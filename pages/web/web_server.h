// Server of the live page of runs below a folder, by libmicrohttpd.  Builds without that library
// use web_none.c.
//
// Readers on this machine need no token.  Other readers need it, and stop and continue always do.
// Answers come only from files below the folder and follow no link.  Only stop and continue change
// anything.
#ifndef SR_PAGES_WEB_WEB_SERVER_H
#define SR_PAGES_WEB_WEB_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct SrWebServer SrWebServer;

typedef struct {
    const char *dir;     // folder whose runs are shown
    const char *address; // "127.0.0.1"; another one requires token_given
    int port;            // 0: any free port
    const char *token;   // at least 16 letters
    bool token_given;    // the user chose the token
} SrWebOptions;

// Starts the server.  SR_ERR_CONFIG: this build has no libmicrohttpd.
SrStatus sr_web_start(const SrWebOptions *options, SrWebServer **out);
int sr_web_port(const SrWebServer *server);
void sr_web_stop(SrWebServer *server); // waits until connections have ended; NULL is legal
const char *sr_web_library(void);      // "libmicrohttpd 0.9.75" or "nothing"

#define SR_WEB_TOKEN_BYTES 33
SrStatus sr_web_draw_token(char token[SR_WEB_TOKEN_BYTES]); // from the system's random source

#endif
