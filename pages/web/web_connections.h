// Connections of the live page (web_server.h): which ones hold a place, and which one has to
// leave.  This file knows no HTTP.
//
// A new reader gets a place as long as one of SR_WEB_PLACES is free.  If its address has more than
// its share, another connection of the address is shut down.  If too many connections stay, one of
// the busiest address is shut down.  The oldest one without a complete request goes first, then
// the oldest event stream, then the oldest answer.  A request that is incomplete after
// SR_WEB_DEADLINE_S is shut down even if it still receives bytes.
#ifndef SR_PAGES_WEB_WEB_CONNECTIONS_H
#define SR_PAGES_WEB_WEB_CONNECTIONS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum {
    SR_WEB_PLACES = 128,         // places, including those of connections that are leaving
    SR_WEB_MOST = 64,            // most connections that stay
    SR_WEB_MOST_ADDRESS = 32,    // most of them from one address
    SR_WEB_STREAMS = 48,         // most event streams
    SR_WEB_STREAMS_ADDRESS = 24, // most of them from one address
};
#define SR_WEB_DEADLINE_S 5.0 // seconds for head and body of a request

// Phases of a connection, in the order in which connections have to leave.
typedef enum { SR_WEB_ASKING, SR_WEB_STREAM, SR_WEB_ANSWERED } SrWebPhase;

typedef struct {
    bool taken;
    int fd;           // socket; the caller closes it after sr_web_place_leave
    uint32_t address; // IPv4
    SrWebPhase phase;
    double since;       // sr_clock() at the start of the phase
    atomic_bool leaves; // the socket was shut down
} SrWebPlace;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t keeper; // thread that shuts down late requests
    bool ends;
    SrWebPlace place[SR_WEB_PLACES];
} SrWebConnections;

// Starts the thread that shuts down late requests; sr_web_connections_stop joins it.
SrStatus sr_web_connections_start(SrWebConnections *all);
void sr_web_connections_stop(SrWebConnections *all);

// Returns a place for a new connection; another one may have to leave.  NULL: all places are taken.
SrWebPlace *sr_web_place_take(SrWebConnections *all, int fd, uint32_t address, double now);
// Begins the next phase; a stream beyond the limit makes the oldest one leave.
void sr_web_place_set(SrWebConnections *all, SrWebPlace *place, SrWebPhase phase, double now);
void sr_web_place_leave(SrWebConnections *all, SrWebPlace *place);
// Shuts down requests that are older than SR_WEB_DEADLINE_S; returns their number.
int sr_web_connections_sweep(SrWebConnections *all, double now);

#endif
