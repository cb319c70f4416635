// Schedules simulated ranks and plays their launcher (conductor.h).
#include "tests/histories/conductor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "cli/program.h"
#include "tests/histories/network.h"
#include "tests/histories/rank_library.h"

enum { LONGEST_MS = 120000 };   // a rank that computes longer hangs
enum { MOST_MOMENTS = 200000 }; // a start that takes more is caught in a circle
enum { PATIENCE = 64 };         // moments between the launcher's SIGTERM and SIGKILL
enum { EVENTS = NETWORK_MOVES + WIRE_RANKS };

typedef enum { CALLING, WAITING, GONE } State;

typedef struct {
    pid_t pid;
    int line;
    int err; // end of a pipe from its stderr, which a full disk does not reach
    State state;
    WireCall call;
    int64_t operation; // that a waiting rank needs
    bool stopped;      // it left the library in order
    double speed;
} Rank;

typedef struct {
    const Start *start;
    Outcome *out;
    SrRng rng;
    Rank rank[WIRE_RANKS];
    Network *network;
    double message_speed[WIRE_RANKS][WIRE_RANKS + 1]; // [from][to + 1]
    int faults;                                       // that have struck
    bool struck[CONDUCT_FAULTS];
    bool ending; // the launcher ends the job
    int kill_at; // moment of its SIGKILL
} Conductor;

// One thing that may happen next: a rank goes on, or a message moves.
typedef struct {
    int rank; // -1: a message moves
    NetworkMove move;
    double weight;
} Event;

static void defect(Conductor *c, const char *text) {
    if (!*c->out->defect)
        snprintf(c->out->defect, sizeof c->out->defect, "%s", text);
}

static void note(Conductor *c, const char *what, int rank, int64_t a, int64_t b) {
    int64_t words[] = {rank, a, b};
    c->out->hash = sr_hash_more(c->out->hash, what, strlen(what));
    c->out->hash = sr_hash_more(c->out->hash, words, sizeof words);
    if (c->start->show)
        printf("%6d  rank %d %s %lld %lld\n", c->out->moments, rank, what, (long long)a,
               (long long)b);
}

// ---- processes

_Noreturn static void be_rank(Conductor *c, int r, int line, int err) {
    int argc = 0, null = open("/dev/null", O_WRONLY);
    if (dup2(err, STDERR_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
        _exit(127);
    close(null);
    close(err);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int k = 0; k < r; k++) {
        close(c->rank[k].line);
        close(c->rank[k].err);
    }
    while (c->start->argv[argc])
        argc++;
    rank_library_join(line, r, c->start->ranks);
    const SrCommLibrary *library = c->start->ranks > 1 ? &rank_library : NULL;
    exit(sr_program(library, argc, (char **)c->start->argv));
}

// Writes to DIR/err.N what a rank that is gone wrote to stderr.
static void keep_err(const Conductor *c, int r) {
    char path[512], text[1 << 12];
    snprintf(path, sizeof path, "%s/err.%d", c->start->dir, r);
    FILE *f = fopen(path, "w");
    for (ssize_t n; f && (n = read(c->rank[r].err, text, sizeof text)) > 0;)
        fwrite(text, 1, (size_t)n, f);
    if (f)
        fclose(f);
    close(c->rank[r].err);
}

static void begin_ending(Conductor *c, int code);

static void reap(Conductor *c, int r) {
    Rank *rank = &c->rank[r];
    int status = 0;
    waitpid(rank->pid, &status, 0);
    close(rank->line);
    keep_err(c, r);
    rank->state = GONE;
    c->out->self[r] = WIFEXITED(status);
    c->out->exit[r] = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (c->network)
        network_bury(c->network, r);
    note(c, "is gone", r, c->out->exit[r], rank->stopped);
    bool alone = c->start->ranks == 1;
    if (!rank->stopped && !alone)
        begin_ending(c, c->out->exit[r]);
    if (c->out->code == 0)
        c->out->code = c->out->exit[r];
}

// Waits for the next message of a rank, or its end; false: it is gone.
static bool hear(Conductor *c, int r, WireCall *call) {
    struct pollfd one = {c->rank[r].line, POLLIN, 0};
    if (poll(&one, 1, LONGEST_MS) == 0) {
        defect(c, "a rank neither communicates nor ends");
        kill(c->rank[r].pid, SIGKILL);
    }
    if (recv(c->rank[r].line, call, sizeof *call, 0) == sizeof *call)
        return true;
    reap(c, r);
    return false;
}

static void go_on(Conductor *c, int r, WireAnswer answer) {
    Rank *rank = &c->rank[r];
    send(rank->line, &answer, sizeof answer, MSG_NOSIGNAL);
    rank->state = CALLING;
    if (hear(c, r, &rank->call))
        note(c, wire_name(rank->call.kind), r, (int64_t)rank->call.bytes, rank->call.channel);
}

// Returns when the rank has handled a signal, or is gone.
static void ping(Conductor *c, int r, int64_t fail_alloc) {
    WireAnswer answer = {.ping = true, .fail_alloc = fail_alloc};
    WireCall pong;
    send(c->rank[r].line, &answer, sizeof answer, MSG_NOSIGNAL);
    hear(c, r, &pong);
}

static bool launch(Conductor *c, int r) {
    int pair[2], err[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0 ||
        pipe2(err, O_CLOEXEC) != 0 || fcntl(err[0], F_SETFL, O_NONBLOCK) != 0)
        abort();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        close(err[0]);
        be_rank(c, r, pair[1], err[1]);
    }
    if (pid < 0)
        abort();
    close(pair[1]);
    close(err[1]);
    c->rank[r].err = err[0];
    c->rank[r].pid = pid;
    c->rank[r].line = pair[0];
    return hear(c, r, &c->rank[r].call);
}

// ---- the launcher

static void kill_all(Conductor *c) {
    for (int r = 0; r < c->start->ranks; r++)
        if (c->rank[r].state != GONE) {
            WireCall last;
            kill(c->rank[r].pid, SIGKILL);
            while (c->rank[r].state != GONE)
                hear(c, r, &last);
        }
}

static void begin_ending(Conductor *c, int code) {
    if (c->ending)
        return;
    c->ending = true;
    c->out->code = code;
    c->kill_at = c->out->moments + (int)sr_rng_below(&c->rng, PATIENCE);
    for (int r = 0; r < c->start->ranks; r++)
        if (c->rank[r].pid > 0 && c->rank[r].state != GONE) {
            kill(c->rank[r].pid, SIGTERM);
            ping(c, r, 0);
        }
}

// ---- faults

static void strike(Conductor *c, const Fault *f) {
    Rank *rank = &c->rank[f->rank];
    note(c, "is struck", f->rank, f->kind, f->n);
    if (f->kind == FAULT_CUT)
        network_cut(c->network, f->rank, f->other);
    if (rank->state == GONE)
        return;
    fault_strike(f, rank->pid);
    ping(c, f->rank, f->kind == FAULT_MEMORY ? f->n : 0);
}

static void strike_due(Conductor *c) {
    for (int i = 0; i < c->start->n_faults; i++)
        if (!c->struck[i] && c->start->faults[i].moment <= c->out->moments) {
            c->struck[i] = true;
            strike(c, &c->start->faults[i]);
        }
}

// ---- the schedule

static bool can_go(const Conductor *c, int r) {
    const Rank *rank = &c->rank[r];
    return rank->state == CALLING ||
           (rank->state == WAITING && (network_complete(c->network, rank->operation, r) ||
                                       network_lost(c->network, rank->operation, r)));
}

static void wait_for(Conductor *c, int r, int64_t operation) {
    c->rank[r].operation = operation;
    c->rank[r].state = WAITING;
}

static void finish_wait(Conductor *c, int r) {
    Rank *rank = &c->rank[r];
    bool complete = network_complete(c->network, rank->operation, r);
    if (complete)
        network_leave(c->network, rank->operation, r);
    rank->stopped = complete && rank->call.kind == WIRE_STOP;
    go_on(c, r, (WireAnswer){.done = complete, .lost = !complete});
}

static void enter(Conductor *c, int r) {
    Rank *rank = &c->rank[r];
    int64_t operation = network_enter(c->network, r, &rank->call);
    if (operation == 0) {
        defect(c, network_difference(c->network));
        kill_all(c);
    } else if (rank->call.kind >= WIRE_EXCHANGE) {
        // A library may read the buffer before begin_* returns, or at any later moment.
        if (sr_rng_below(&c->rng, 2))
            network_move(c->network, &(NetworkMove){operation, r, -1});
        go_on(c, r, (WireAnswer){.operation = operation});
    } else
        wait_for(c, r, operation);
}

static void ask_done(Conductor *c, int r) {
    const WireCall *call = &c->rank[r].call;
    bool complete = network_complete(c->network, call->operation, r);
    if (complete)
        network_leave(c->network, call->operation, r);
    if (complete || !call->wait)
        go_on(c, r, (WireAnswer){.done = complete});
    else
        wait_for(c, r, call->operation);
}

static void run(Conductor *c, int r) {
    Rank *rank = &c->rank[r];
    c->out->moments++;
    if (rank->state == WAITING) {
        finish_wait(c, r);
        return;
    }
    if (rank->call.kind == WIRE_ABORT)
        begin_ending(c, rank->call.code);
    if (rank->state == GONE) // the launcher's signal was faster
        return;
    if (rank->call.kind == WIRE_DONE)
        ask_done(c, r);
    else if (rank->call.kind >= WIRE_STOP)
        enter(c, r);
    else
        go_on(c, r, (WireAnswer){0});
}

static int events(Conductor *c, Event list[EVENTS], double *total) {
    static NetworkMove moves[NETWORK_MOVES];
    int n = 0, n_moves = network_moves(c->network, moves);
    *total = 0;
    for (int r = 0; r < c->start->ranks; r++)
        if (can_go(c, r)) {
            bool sleeps = c->rank[r].state == CALLING && c->rank[r].call.kind == WIRE_GIVE_WAY;
            list[n++] = (Event){r, {0}, c->rank[r].speed * (sleeps ? 1.0 / 64 : 1)};
        }
    for (int i = 0; i < n_moves; i++)
        list[n++] = (Event){-1, moves[i], c->message_speed[moves[i].from][moves[i].to + 1]};
    for (int i = 0; i < n; i++)
        *total += list[i].weight;
    return n;
}

static void take(Conductor *c, const Event *e) {
    if (e->rank >= 0) {
        run(c, e->rank);
        return;
    }
    note(c, e->move.to < 0 ? "sends" : "reaches", e->move.from, e->move.operation, e->move.to);
    network_move(c->network, &e->move);
}

// Says in which calls the ranks wait for each other for ever.
static void describe_hang(Conductor *c) {
    char text[320] = "no rank can go on:";
    for (int r = 0; r < c->start->ranks; r++) {
        const Rank *rank = &c->rank[r];
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, " rank %d %s%s", r,
                 rank->state == GONE ? "is gone" : "waits in ",
                 rank->state == GONE ? "" : wire_name(rank->call.kind));
    }
    defect(c, text);
}

static bool any_lives(const Conductor *c) {
    for (int r = 0; r < c->start->ranks; r++)
        if (c->rank[r].state != GONE)
            return true;
    return false;
}

static void play(Conductor *c) {
    Event list[EVENTS];
    while (any_lives(c)) {
        double total;
        strike_due(c);
        int n = events(c, list, &total), i = 0;
        bool late = c->ending && c->out->moments >= c->kill_at;
        if (c->out->moments > MOST_MOMENTS)
            defect(c, "the ranks call for ever");
        if (n == 0 && !c->ending && any_lives(c))
            describe_hang(c);
        if (n == 0 || late || *c->out->defect) {
            kill_all(c);
            return;
        }
        for (double at = sr_rng_uniform(&c->rng) * total - list[0].weight; at >= 0 && i + 1 < n;)
            at -= list[++i].weight;
        take(c, &list[i]);
    }
}

// ---- one start

// Some ranks and some connections are much slower than others.
static double draw_speed(SrRng *rng) {
    static const double speeds[] = {1, 1, 1, 1.0 / 8, 1.0 / 64};
    return speeds[sr_rng_below(rng, SR_COUNT(speeds))];
}

static void draw_speeds(Conductor *c) {
    double all = 4 * draw_speed(&c->rng);
    for (int r = 0; r < WIRE_RANKS; r++)
        c->rank[r].speed = draw_speed(&c->rng);
    for (int from = 0; from < WIRE_RANKS; from++)
        for (int to = 0; to <= WIRE_RANKS; to++)
            c->message_speed[from][to] = all * draw_speed(&c->rng);
}

void conduct(const Start *start, Outcome *out) {
    Conductor c = {.start = start, .out = out};
    pid_t pids[WIRE_RANKS];
    *out = (Outcome){.hash = SR_HASH_START};
    c.rng = sr_rng(start->seed, SR_RNG_TEST, 1, 0, 0, 0);
    draw_speeds(&c);
    for (int r = 0; r < start->ranks; r++) {
        launch(&c, r);
        pids[r] = c.rank[r].pid;
    }
    if (start->ranks > 1) {
        c.network = network_new(start->ranks, pids);
        play(&c);
        uint64_t sent = network_hash(c.network);
        out->hash = sr_hash_more(out->hash, &sent, sizeof sent);
    }
    network_free(c.network);
}
