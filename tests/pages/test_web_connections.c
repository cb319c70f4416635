// Tests places for connections of the web server: which one is closed so that a new reader gets
// in.
#include "pages/web/web_connections.h"

#include <sys/socket.h>
#include <unistd.h>

#include "tests/check.h"

enum { OWN = 1, OTHER = 2 }; // addresses of readers

static SrWebConnections all;
static int ends[SR_WEB_PLACES][2];

static void begin(void) {
    CHECK_OK(sr_web_connections_start(&all));
    for (int i = 0; i < SR_WEB_PLACES; i++)
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends[i]) == 0);
}

static void finish(void) {
    sr_web_connections_stop(&all);
    for (int i = 0; i < SR_WEB_PLACES; i++) {
        close(ends[i][0]);
        close(ends[i][1]);
    }
}

static SrWebPlace *take(int i, uint32_t address, double now) {
    SrWebPlace *p = sr_web_place_take(&all, ends[i][0], address, now);
    CHECK(p != NULL);
    return p;
}

// Returns whether connection i was shut down, as its other end sees it.
static bool is_shut(int i) {
    char byte;
    return recv(ends[i][1], &byte, 1, MSG_DONTWAIT) == 0;
}

// Times of the test lie far ahead of the server's own clock, which must not affect them.
#define START 1e12

TEST(test_late_requests_leave) {
    begin();
    SrWebPlace *late = take(0, OWN, START), *answered = take(1, OWN, START);
    take(2, OWN, START + 3);
    sr_web_place_set(&all, answered, SR_WEB_ANSWERED, START + 1);
    CHECK_INT(sr_web_connections_sweep(&all, START + SR_WEB_DEADLINE_S - 1), 0);
    CHECK_INT(sr_web_connections_sweep(&all, START + SR_WEB_DEADLINE_S), 1);
    CHECK(is_shut(0) && !is_shut(1) && !is_shut(2));
    CHECK(late->leaves);
    sr_web_place_set(&all, answered, SR_WEB_ASKING,
                     START + 20); // the next request on the connection
    CHECK_INT(sr_web_connections_sweep(&all, START + 21), 1);
    CHECK(is_shut(2) && !is_shut(1));
    finish();
}

// Each address has a share of places: beyond it, its oldest request is closed, and not its
// streams or requests of others.
TEST(test_share_of_an_address) {
    begin();
    take(0, OTHER, START);
    sr_web_place_set(&all, take(1, OWN, START), SR_WEB_STREAM, START);
    for (int i = 2; i < SR_WEB_MOST_ADDRESS + 1; i++)
        take(i, OWN, START + i);
    for (int i = 0; i <= SR_WEB_MOST_ADDRESS; i++)
        CHECK(!is_shut(i));
    take(SR_WEB_MOST_ADDRESS + 1, OWN, START + 100);
    for (int i = 0; i <= SR_WEB_MOST_ADDRESS + 1; i++)
        CHECK_INT(is_shut(i), i == 2);
    finish();
}

// All places are taken by addresses that keep to their shares: the address with most connections
// gives one up.
TEST(test_all_places_taken) {
    begin();
    for (int i = 0; i < SR_WEB_MOST; i++)
        take(i, 10 + (uint32_t)(i < 20 ? 0 : i), START + i);
    take(SR_WEB_MOST, OWN, START + 100);
    for (int i = 0; i <= SR_WEB_MOST; i++)
        CHECK_INT(is_shut(i), i == 0);
    finish();
}

TEST(test_streams_are_bounded) {
    begin();
    for (int i = 0; i <= SR_WEB_STREAMS_ADDRESS; i++)
        sr_web_place_set(&all, take(i, OWN, START), SR_WEB_STREAM, START + i);
    for (int i = 0; i <= SR_WEB_STREAMS_ADDRESS; i++)
        CHECK_INT(is_shut(i), i == 0);
    int n = SR_WEB_STREAMS_ADDRESS + 1;
    for (uint32_t k = 0; n <= SR_WEB_STREAMS + 1; n++, k++) // others, each from its own address
        sr_web_place_set(&all, take(n, 100 + k, START), SR_WEB_STREAM, START + n);
    CHECK(is_shut(1) && !is_shut(2)); // the first stream of the busiest address
    finish();
}

// Closed connections give their place back, and those being closed do not count against new ones.
TEST(test_places_come_back) {
    begin();
    SrWebPlace *p[SR_WEB_PLACES];
    for (int i = 0; i < SR_WEB_PLACES; i++)
        p[i] = take(i, OWN, START + i);
    CHECK(sr_web_place_take(&all, ends[0][0], OWN, START) == NULL);
    for (int i = 0; i < SR_WEB_PLACES; i++)
        CHECK_INT(is_shut(i), i < SR_WEB_PLACES - SR_WEB_MOST_ADDRESS);
    sr_web_place_leave(&all, p[3]);
    CHECK(take(3, OWN, START + 500) == p[3] && !p[3]->leaves);
    finish();
}

SR_TESTS(web_connections, unit(test_late_requests_leave), unit(test_share_of_an_address),
         unit(test_all_places_taken), unit(test_streams_are_bounded), unit(test_places_come_back))
