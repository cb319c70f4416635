// Operations of simulated ranks and their messages (network.h).
#include "tests/histories/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "base/ranks/comm.h"

// Communicators, in which calls are matched.
enum { WORLD, GATHERS, CHANNELS, COMMUNICATORS = CHANNELS + SR_COMM_CHANNELS };

// One rank's part of an operation.
typedef struct {
    bool entered, sent, left;
    const void *send; // in the rank's memory
    void *receive;    // in the rank's memory
    char *data;       // what it sent.  NULL: nothing
} Part;

typedef struct {
    int64_t number;
    WireCall call; // as the first rank made it
    int communicator, first;
    int64_t turn; // calls of the communicator before this one
    Part part[WIRE_RANKS];
    bool arrived[WIRE_RANKS][WIRE_RANKS]; // [from][to]
} Operation;

struct Network {
    int ranks;
    pid_t pids[WIRE_RANKS];
    bool cut[WIRE_RANKS][WIRE_RANKS], dead[WIRE_RANKS];
    int64_t turn[COMMUNICATORS][WIRE_RANKS];
    Operation *live[NETWORK_MOVES];
    int n_live;
    int64_t operations;
    uint64_t hash;
    char difference[256];
};

bool network_is_allowed(void) {
    char from = 1, to = 0;
    struct iovec here = {&to, 1}, there = {&from, 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

Network *network_new(int ranks, const pid_t *pids) {
    Network *n = calloc(1, sizeof *n);
    if (!n)
        abort();
    n->ranks = ranks;
    n->hash = SR_HASH_START;
    memcpy(n->pids, pids, (size_t)ranks * sizeof *pids);
    return n;
}

static void forget(Operation *op) {
    for (int r = 0; r < WIRE_RANKS; r++)
        free(op->part[r].data);
    free(op);
}

void network_free(Network *n) {
    for (int i = 0; n && i < n->n_live; i++)
        forget(n->live[i]);
    free(n);
}

// ---- memory of the ranks

// A rank that dies at this moment takes its memory with it: the bytes no longer matter.
static void read_rank(const Network *n, int rank, const void *from, void *to, size_t bytes) {
    struct iovec here = {to, bytes}, there = {(void *)from, bytes};
    if (bytes && process_vm_readv(n->pids[rank], &here, 1, &there, 1, 0) != (ssize_t)bytes)
        memset(to, 0, bytes);
}

static void write_rank(const Network *n, int rank, const void *from, void *to, size_t bytes) {
    struct iovec here = {(void *)from, bytes}, there = {to, bytes};
    if (bytes && process_vm_writev(n->pids[rank], &here, 1, &there, 1, 0) < 0)
        return;
}

// Fills a block that is still to come with NaN.
static void spoil(const Network *n, int rank, void *to, size_t bytes) {
    void *nan = malloc(bytes + 1);
    if (!nan)
        abort();
    memset(nan, 0xff, bytes);
    write_rank(n, rank, nan, to, bytes);
    free(nan);
}

// ---- operations

static int communicator_of(const WireCall *call) {
    if (call->kind == WIRE_ALL_GATHER)
        return GATHERS;
    return call->kind == WIRE_BROADCAST || call->kind == WIRE_STOP ? WORLD
                                                                   : CHANNELS + call->channel;
}

static Operation *find(const Network *n, int64_t number) {
    for (int i = 0; i < n->n_live; i++)
        if (n->live[i]->number == number)
            return n->live[i];
    abort();
}

static Operation *find_turn(const Network *n, int communicator, int64_t turn) {
    for (int i = 0; i < n->n_live; i++)
        if (n->live[i]->communicator == communicator && n->live[i]->turn == turn)
            return n->live[i];
    return NULL;
}

static Operation *add(Network *n, int rank, int communicator, const WireCall *call) {
    Operation *op = calloc(1, sizeof *op);
    if (!op || n->n_live == NETWORK_MOVES)
        abort();
    op->number = ++n->operations;
    op->call = *call;
    op->communicator = communicator;
    op->first = rank;
    op->turn = n->turn[communicator][rank];
    n->live[n->n_live++] = op;
    return op;
}

static bool sends(const Operation *op, int rank) {
    return op->call.kind != WIRE_BROADCAST || op->call.root == rank;
}

// Bytes that a rank gives to an operation.
static size_t sent_bytes(const Network *n, const Operation *op) {
    return op->call.bytes * (op->call.kind == WIRE_EXCHANGE ? (size_t)n->ranks : 1);
}

static bool differs(Network *n, const Operation *op, int rank, const WireCall *call) {
    const WireCall *other = &op->call;
    if (other->kind == call->kind && other->bytes == call->bytes && other->root == call->root)
        return false;
    snprintf(n->difference, sizeof n->difference,
             "rank %d calls %s of %zu bytes, root %d, where rank %d calls %s of %zu bytes, root %d",
             rank, wire_name(call->kind), call->bytes, call->root, op->first,
             wire_name(other->kind), other->bytes, other->root);
    return true;
}

int64_t network_enter(Network *n, int rank, const WireCall *call) {
    int communicator = communicator_of(call);
    Operation *op = find_turn(n, communicator, n->turn[communicator][rank]);
    if (!op)
        op = add(n, rank, communicator, call);
    else if (differs(n, op, rank, call))
        return 0;
    n->turn[communicator][rank]++;
    op->part[rank] = (Part){.entered = true, .send = call->send, .receive = call->receive};
    for (int r = 0; r < n->ranks; r++)
        if (call->kind == WIRE_EXCHANGE || (call->kind == WIRE_GATHER && r != rank))
            spoil(n, rank, (char *)call->receive + (size_t)r * call->bytes, call->bytes);
    return op->number;
}

const char *network_difference(const Network *n) { return n->difference; }

// Sums the parts in the order of ranks, so that all ranks get the same bits.
static void deliver_sum(const Network *n, Operation *op, int rank) {
    int64_t count = (int64_t)(op->call.bytes / sizeof(float));
    float *sum = malloc(op->call.bytes + 1);
    if (!sum)
        abort();
    memcpy(sum, op->part[0].data, op->call.bytes);
    for (int r = 1; r < n->ranks; r++)
        for (int64_t i = 0; i < count; i++)
            sum[i] += ((const float *)op->part[r].data)[i];
    write_rank(n, rank, sum, op->part[rank].receive, op->call.bytes);
    free(sum);
}

// The root of a broadcast needs no message from the others.
bool network_complete(const Network *n, int64_t number, int rank) {
    const Operation *op = find(n, number);
    if (sends(op, rank) && !op->part[rank].sent)
        return false;
    for (int r = 0; r < n->ranks; r++)
        if (sends(op, r) && !op->arrived[r][rank])
            return false;
    return true;
}

bool network_lost(const Network *n, int64_t number, int rank) {
    const Operation *op = find(n, number);
    for (int r = 0; r < n->ranks; r++)
        if (n->cut[r][rank] && sends(op, r) && !op->arrived[r][rank])
            return true;
    return false;
}

void network_leave(Network *n, int64_t number, int rank) {
    Operation *op = find(n, number);
    if (op->call.kind == WIRE_SUM)
        deliver_sum(n, op, rank);
    op->part[rank].left = true;
    for (int r = 0; r < n->ranks; r++)
        if (!op->part[r].left && !n->dead[r])
            return;
    for (int i = 0; i < n->n_live; i++)
        if (n->live[i] == op) { // the others keep their order
            memmove(n->live + i, n->live + i + 1, (size_t)(n->n_live - i - 1) * sizeof *n->live);
            n->n_live--;
            break;
        }
    forget(op);
}

// ---- moves

static bool can_send(const Network *n, const Operation *op, int r) {
    return op->part[r].entered && !op->part[r].sent && !n->dead[r] && sends(op, r);
}

static bool can_arrive(const Network *n, const Operation *op, int from, int to) {
    return op->part[from].sent && op->part[to].entered && !op->arrived[from][to] && !n->dead[to] &&
           !n->cut[from][to];
}

int network_moves(const Network *n, NetworkMove moves[NETWORK_MOVES]) {
    int count = 0;
    for (int i = 0; i < n->n_live; i++)
        for (int from = 0; from < n->ranks; from++)
            for (int to = -1; to < n->ranks && count < NETWORK_MOVES; to++)
                if (to < 0 ? can_send(n, n->live[i], from) : can_arrive(n, n->live[i], from, to))
                    moves[count++] = (NetworkMove){n->live[i]->number, from, to};
    return count;
}

static void send_part(Network *n, Operation *op, int rank) {
    Part *part = &op->part[rank];
    size_t bytes = sent_bytes(n, op);
    part->data = malloc(bytes + 1);
    if (!part->data)
        abort();
    read_rank(n, rank, part->send, part->data, bytes);
    if (op->call.kind != WIRE_BROADCAST) // which may hold the time at which the run began
        n->hash = sr_hash_long(n->hash, part->data, bytes);
    if (op->call.kind == WIRE_SUM)
        spoil(n, rank, part->receive, bytes);
    part->sent = true;
}

// Writes a part to its place at the receiver.
static void arrive(const Network *n, Operation *op, int from, int to) {
    const WireCall *call = &op->call;
    const Part *part = &op->part[from];
    char *place = op->part[to].receive;
    op->arrived[from][to] = true;
    if (call->kind == WIRE_ALL_GATHER || call->kind == WIRE_GATHER)
        write_rank(n, to, part->data, place + (size_t)from * call->bytes, call->bytes);
    else if (call->kind == WIRE_EXCHANGE)
        write_rank(n, to, part->data + (size_t)to * call->bytes, place + (size_t)from * call->bytes,
                   call->bytes);
    else if (call->kind == WIRE_BROADCAST && to != from)
        write_rank(n, to, part->data, place, call->bytes);
}

void network_move(Network *n, const NetworkMove *move) {
    Operation *op = find(n, move->operation);
    if (move->to < 0)
        send_part(n, op, move->from);
    else
        arrive(n, op, move->from, move->to);
}

void network_cut(Network *n, int a, int b) { n->cut[a][b] = n->cut[b][a] = true; }

void network_bury(Network *n, int rank) { n->dead[rank] = true; }

uint64_t network_hash(const Network *n) { return n->hash; }
