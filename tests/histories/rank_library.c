// Sends the calls of a simulated rank to the conductor (rank_library.h).
#include "tests/histories/rank_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/histories/wire.h"

static int line = -1, my_rank, ranks;

const char *wire_name(WireKind kind) {
    static const char *const names[] = {"start",    "abort",  "give_way",   "done",
                                        "pong",     "stop",   "all_gather", "broadcast",
                                        "exchange", "gather", "sum"};
    return names[kind];
}

static void say(const WireCall *call) {
    if (send(line, call, sizeof *call, MSG_NOSIGNAL) != sizeof *call)
        _exit(1);
}

static WireAnswer ask(const WireCall *call) {
    WireAnswer answer;
    say(call);
    for (;;) {
        if (recv(line, &answer, sizeof answer, 0) != sizeof answer)
            _exit(1);
        if (!answer.ping)
            return answer;
        if (answer.fail_alloc > 0)
            sr_mem_fail_at(answer.fail_alloc);
        say(&(WireCall){.kind = WIRE_PONG});
    }
}

void rank_library_join(int socket, int rank, int size) {
    line = socket;
    my_rank = rank;
    ranks = size;
}

static bool launched(void) { return true; }

static SrStatus start(int *rank, int *size) {
    ask(&(WireCall){.kind = WIRE_START});
    *rank = my_rank;
    *size = ranks;
    return SR_OK;
}

static void end_all(int code) {
    ask(&(WireCall){.kind = WIRE_ABORT, .code = code});
    _exit(code);
}

static void give_way(void) { ask(&(WireCall){.kind = WIRE_GIVE_WAY}); }

// Ends all ranks with the library's own line, as MPI does on MPI_COMM_WORLD.
static void must(WireAnswer answer, const char *what) {
    if (!answer.lost)
        return;
    fprintf(stderr, "MPI: rank %d lost the connection to a rank in %s\n", my_rank, what);
    end_all(1);
}

static void stop(void) { must(ask(&(WireCall){.kind = WIRE_STOP}), "stop"); }

static SrStatus all_gather(const void *mine, size_t bytes, void *all) {
    WireCall call = {.kind = WIRE_ALL_GATHER, .bytes = bytes, .send = mine, .receive = all};
    if (ask(&call).lost)
        SR_FAIL(SR_ERR_IO,
                "MPI could not gather the parts of all ranks: the connection to a rank was lost");
    return SR_OK;
}

static void broadcast(void *data, size_t bytes, int root) {
    WireCall call = {
        .kind = WIRE_BROADCAST, .bytes = bytes, .root = root, .send = data, .receive = data};
    must(ask(&call), "broadcast");
}

static void begin(WireCall call, void **request) {
    WireAnswer answer = ask(&call);
    *request = (void *)(intptr_t)answer.operation;
}

static void begin_exchange(int channel, const void *send, void *receive, size_t bytes,
                           void **request) {
    begin((WireCall){.kind = WIRE_EXCHANGE,
                     .channel = channel,
                     .bytes = bytes,
                     .send = send,
                     .receive = receive},
          request);
}

static void begin_gather(int channel, void *all, size_t bytes, void **request) {
    begin((WireCall){.kind = WIRE_GATHER,
                     .channel = channel,
                     .bytes = bytes,
                     .send = (char *)all + (size_t)my_rank * bytes,
                     .receive = all},
          request);
}

static void begin_sum(int channel, float *values, int64_t n, void **request) {
    begin((WireCall){.kind = WIRE_SUM,
                     .channel = channel,
                     .bytes = (size_t)n * sizeof *values,
                     .send = values,
                     .receive = values},
          request);
}

static bool done(void **request, bool wait) {
    WireAnswer answer =
        ask(&(WireCall){.kind = WIRE_DONE, .operation = (int64_t)(intptr_t)*request, .wait = wait});
    must(answer, "an exchange");
    return answer.done;
}

const SrCommLibrary rank_library = {
    .name = "a simulation",
    .launched = launched,
    .start = start,
    .stop = stop,
    .abort = end_all,
    .give_way = give_way,
    .all_gather = all_gather,
    .broadcast = broadcast,
    .begin_exchange = begin_exchange,
    .begin_gather = begin_gather,
    .begin_sum = begin_sum,
    .done = done,
};
