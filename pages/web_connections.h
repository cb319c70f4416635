// The connections of the live page (web_server.h): who holds a place, since when, and who has to
// leave. No HTTP here.
//
// Invariant: a new reader always gets in. Where an address holds more than its share, or all places
// are taken, the oldest connection that still owes its request is shut down, else the oldest event
// stream, else the oldest answer. A request that is not whole after SR_WEB_DEADLINE_S is shut down,
// whatever trickles in.
#ifndef SR_PAGES_WEB_CONNECTIONS_H
#define SR_PAGES_WEB_CONNECTIONS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum {
    SR_WEB_PLACES = 128,         // slots; those of connections that are leaving count too
    SR_WEB_MOST = 64,            // connections that stay
    SR_WEB_MOST_ADDRESS = 32,    // of them from one address
    SR_WEB_STREAMS = 48,         // event streams
    SR_WEB_STREAMS_ADDRESS = 24, // of them from one address
};
#define SR_WEB_DEADLINE_S 5.0 // for head and body of a request

// In the order in which they have to leave.
typedef enum { SR_WEB_ASKING, SR_WEB_STREAM, SR_WEB_ANSWERED } SrWebPhase;

typedef struct {
    bool taken;
    int fd;           // of the caller, who closes it after sr_web_place_leave
    uint32_t address; // IPv4
    SrWebPhase phase;
    double since;       // seconds of sr_clock() at which the phase began
    atomic_bool leaves; // the socket was shut down
} SrWebPlace;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t keeper; // shuts down what is late
    bool ends;
    SrWebPlace place[SR_WEB_PLACES];
} SrWebConnections;

// Starts the thread that looks for late requests; sr_web_connections_stop joins it.
SrStatus sr_web_connections_start(SrWebConnections *all);
void sr_web_connections_stop(SrWebConnections *all);

// A place for a new connection, which others may have to leave. NULL: SR_WEB_PLACES are taken.
SrWebPlace *sr_web_place_take(SrWebConnections *all, int fd, uint32_t address, double now);
// The next phase begins; a stream too many makes the oldest one leave.
void sr_web_place_set(SrWebConnections *all, SrWebPlace *place, SrWebPhase phase, double now);
void sr_web_place_leave(SrWebConnections *all, SrWebPlace *place);
// Shuts down requests that are older than SR_WEB_DEADLINE_S; returns their number.
int sr_web_connections_sweep(SrWebConnections *all, double now);

#endif
