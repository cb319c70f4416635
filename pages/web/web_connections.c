// Places of connections, and the choice of the connection that has to leave.
#include "pages/web/web_connections.h"

#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/compiler.h"

static bool stays(const SrWebPlace *p) { return p->taken && !atomic_load(&p->leaves); }

// Counts connections that stay, or only streams; address NULL: from any address.
static int count(const SrWebConnections *all, bool streams, const uint32_t *address) {
    int n = 0;
    for (int i = 0; i < SR_WEB_PLACES; i++) {
        const SrWebPlace *p = &all->place[i];
        n += stays(p) && (!streams || p->phase == SR_WEB_STREAM) &&
             (!address || p->address == *address);
    }
    return n;
}

// Returns the address with the most connections.
static uint32_t busiest(const SrWebConnections *all, bool streams) {
    uint32_t found = 0;
    for (int i = 0, most = 0; i < SR_WEB_PLACES; i++) {
        const SrWebPlace *p = &all->place[i];
        int n = stays(p) ? count(all, streams, &p->address) : 0;
        if (n > most) {
            most = n;
            found = p->address;
        }
    }
    return found;
}

// Shuts the socket down: the thread that waits on it wakes up and closes the connection.
static void shut(SrWebPlace *p) {
    atomic_store(&p->leaves, true);
    shutdown(p->fd, SHUT_RDWR);
}

static bool goes_before(const SrWebPlace *a, const SrWebPlace *b) {
    return a->phase != b->phase ? a->phase < b->phase : a->since < b->since;
}

// Makes one connection of the address leave, but never `newest`.
static void make_room(SrWebConnections *all, bool streams, uint32_t address,
                      const SrWebPlace *newest) {
    SrWebPlace *first = NULL;
    for (int i = 0; i < SR_WEB_PLACES; i++) {
        SrWebPlace *p = &all->place[i];
        if (p == newest || !stays(p) || p->address != address ||
            (streams && p->phase != SR_WEB_STREAM))
            continue;
        if (!first || goes_before(p, first))
            first = p;
    }
    if (first)
        shut(first);
}

static void keep_bounds(SrWebConnections *all, bool streams, const SrWebPlace *newest) {
    int most = streams ? SR_WEB_STREAMS : SR_WEB_MOST;
    int most_address = streams ? SR_WEB_STREAMS_ADDRESS : SR_WEB_MOST_ADDRESS;
    if (count(all, streams, &newest->address) > most_address)
        make_room(all, streams, newest->address, newest);
    else if (count(all, streams, NULL) > most)
        make_room(all, streams, busiest(all, streams), newest);
}

SrWebPlace *sr_web_place_take(SrWebConnections *all, int fd, uint32_t address, double now) {
    SrWebPlace *p = NULL;
    pthread_mutex_lock(&all->lock);
    for (int i = 0; i < SR_WEB_PLACES && !p; i++)
        p = all->place[i].taken ? NULL : &all->place[i];
    if (p) {
        p->taken = true;
        p->fd = fd;
        p->address = address;
        p->phase = SR_WEB_ASKING;
        p->since = now;
        atomic_store(&p->leaves, false);
        keep_bounds(all, false, p);
    }
    pthread_mutex_unlock(&all->lock);
    return p;
}

void sr_web_place_set(SrWebConnections *all, SrWebPlace *p, SrWebPhase phase, double now) {
    pthread_mutex_lock(&all->lock);
    p->phase = phase;
    p->since = now;
    if (phase == SR_WEB_STREAM)
        keep_bounds(all, true, p);
    pthread_mutex_unlock(&all->lock);
}

void sr_web_place_leave(SrWebConnections *all, SrWebPlace *p) {
    pthread_mutex_lock(&all->lock);
    p->taken = false;
    pthread_mutex_unlock(&all->lock);
}

static int sweep(SrWebConnections *all, double now) {
    int n = 0;
    for (int i = 0; i < SR_WEB_PLACES; i++) {
        SrWebPlace *p = &all->place[i];
        if (!stays(p) || p->phase != SR_WEB_ASKING || now - p->since < SR_WEB_DEADLINE_S)
            continue;
        shut(p);
        n++;
    }
    return n;
}

int sr_web_connections_sweep(SrWebConnections *all, double now) {
    pthread_mutex_lock(&all->lock);
    int n = sweep(all, now);
    pthread_mutex_unlock(&all->lock);
    return n;
}

static void *keep(void *arg) {
    SrWebConnections *all = arg;
    pthread_mutex_lock(&all->lock);
    while (!all->ends) {
        struct timespec at;
        clock_gettime(CLOCK_MONOTONIC, &at);
        at.tv_sec++;
        pthread_cond_timedwait(&all->wake, &all->lock, &at);
        sweep(all, sr_clock());
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

// Waits by the monotonic clock: setting the system's clock would stop the keeper for as long, or
// make it spin.
static void init_wake(pthread_cond_t *wake) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

SrStatus sr_web_connections_start(SrWebConnections *all) {
    memset(all->place, 0, sizeof all->place);
    all->ends = false;
    pthread_mutex_init(&all->lock, NULL);
    init_wake(&all->wake);
    int error = pthread_create(&all->keeper, NULL, keep, all);
    if (error == 0)
        return SR_OK;
    pthread_cond_destroy(&all->wake);
    pthread_mutex_destroy(&all->lock);
    SR_FAIL(SR_ERR_MEMORY, "cannot start a thread for the web page: %s", strerror(error));
}

void sr_web_connections_stop(SrWebConnections *all) {
    pthread_mutex_lock(&all->lock);
    all->ends = true;
    pthread_cond_signal(&all->wake);
    pthread_mutex_unlock(&all->lock);
    pthread_join(all->keeper, NULL);
    pthread_cond_destroy(&all->wake);
    pthread_mutex_destroy(&all->lock);
}
