// Ranks over a message-passing library, or one rank without it.  This file decides the order in
// which numbers are added; the library only moves bytes, except in sums that ask it to add.
#include "base/ranks/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/parallel.h"

enum { HOST_BYTES = 64, MESSAGE_BYTES = 1024, LINES_BYTES = 512, SHORT_SUM = 4096 };
enum { PIECE_FLOATS = 1 << 13 }; // piece of a long sum; pieces of several ranks fit a cache

static const SrCommLibrary *lib; // NULL: one rank
static int my_rank, ranks = 1;
static char (*hosts)[HOST_BYTES]; // (ranks)
static char *scratch;             // parts of all ranks in a short sum; grows in the first step
static size_t scratch_bytes;

// ---- this process

// Returns the number of processes that a launcher put into the environment; 0: not launched.
static int launched_as(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    int n = 0;
    for (int i = 0; i < SR_COUNT(names); i++) {
        const char *text = getenv(names[i]);
        n = text ? SR_MAX(n, atoi(text)) : n;
    }
    return n;
}

static SrStatus gather_hosts(void) {
    char mine[HOST_BYTES] = "";
    gethostname(mine, sizeof mine - 1);
    hosts = sr_calloc((size_t)ranks, HOST_BYTES);
    SR_TRY_MEMORY(hosts, "%d ranks", ranks);
    return lib->all_gather(mine, HOST_BYTES, hosts);
}

SrStatus sr_comm_start(const SrCommLibrary *library) {
    int launched = launched_as();
    if (!library && launched > 1)
        SR_FAIL(SR_ERR_CONFIG,
                "mpirun or srun started %d processes, but this program was built without MPI; "
                "install libopenmpi-dev and build again",
                launched);
    if (!library || !library->launched())
        return SR_OK;
    SR_TRY(library->start(&my_rank, &ranks));
    if (ranks < launched && ranks == 1)
        SR_FAIL(SR_ERR_CONFIG,
                "%d processes were started, but they are not connected by MPI; start them with "
                "mpirun, or with srun --mpi=pmix",
                launched);
    lib = library;
    return gather_hosts();
}

void sr_comm_stop(void) {
    if (lib)
        lib->stop();
    sr_free(hosts);
    sr_free(scratch);
    hosts = NULL;
    scratch = NULL;
    scratch_bytes = 0;
    lib = NULL;
    my_rank = 0;
    ranks = 1;
}

void sr_comm_abort(int code) {
    if (lib && ranks > 1)
        lib->abort(code);
    _exit(code);
}

void sr_comm_give_way(void) {
    if (lib && ranks > 1)
        lib->give_way();
}

int sr_comm_rank(void) { return my_rank; }
int sr_comm_size(void) { return ranks; }

const char *sr_comm_host(int rank) { return hosts ? hosts[rank] : "this machine"; }

int sr_comm_node_ranks(void) {
    int n = 0;
    for (int r = 0; r < ranks; r++)
        n += !hosts || strcmp(hosts[r], hosts[my_rank]) == 0;
    return n;
}

int sr_comm_node_rank(void) {
    int n = 0;
    for (int r = 0; r < my_rank; r++)
        n += strcmp(hosts[r], hosts[my_rank]) == 0;
    return n;
}

// ---- moving bytes

static bool alone(void) { return ranks == 1; }

// Ends all ranks where a call has no way to return the library's error.
static void must(SrStatus status) {
    if (status == SR_OK)
        return;
    sr_log(SR_LOG_ERROR, "rank %d on %s: %s", my_rank, sr_comm_host(my_rank), sr_status_message());
    sr_comm_abort(1);
}

// `mine` may be this rank's part of `all`.
void sr_comm_all_gather(const void *mine, size_t bytes, void *all) {
    char *place = (char *)all + (size_t)my_rank * bytes;
    if (!alone())
        must(lib->all_gather(mine, bytes, all));
    else if (bytes && mine != place)
        memmove(place, mine, bytes);
}

void sr_comm_broadcast(void *data, size_t bytes, int root) {
    SR_ASSERT(root >= 0 && root < ranks);
    if (!alone() && bytes)
        lib->broadcast(data, bytes, root);
}

void sr_comm_share_rows(void *rows, size_t row_bytes, int64_t first, int64_t each, int64_t n) {
    SR_ASSERT(first >= 0 && each > 0 && first <= n);
    char *at = (char *)rows + (size_t)first * row_bytes;
    size_t bytes = (size_t)each * row_bytes;
    if (first + each * ranks <= n)
        sr_comm_all_gather(at + (size_t)my_rank * bytes, bytes, at);
    else // the last ranks have fewer or none
        for (int r = 0; r < ranks && first + r * each < n; r++)
            sr_comm_broadcast(at + (size_t)r * bytes,
                              (size_t)SR_MIN(each, n - first - r * each) * row_bytes, r);
}

// ---- short reductions: every rank gathers all parts and adds them up

// The other ranks wait in this call, so that no error can be returned.
static void *room(size_t bytes) {
    if (bytes > scratch_bytes) {
        sr_free(scratch);
        scratch = sr_alloc(bytes);
        scratch_bytes = scratch ? bytes : 0;
    }
    if (!scratch)
        must(sr_out_of_memory("%zu bytes for the parts of all ranks", bytes));
    return scratch;
}

// Reduces parts (count, n) by the fixed tree; the result stands in the first row.
static void reduce(double *parts, int count, int64_t n, SrCommOp op) {
    for (int step = 1; step < count; step *= 2)
        for (int r = 0; r + step < count; r += 2 * step) {
            double *a = parts + r * n, *b = parts + (r + step) * n;
            for (int64_t i = 0; i < n; i++)
                a[i] = op == SR_COMM_SUM ? a[i] + b[i] : SR_MAX(a[i], b[i]);
        }
}

// Reduces within groups of consecutive ranks: each rank gathers all parts and reduces those of
// its group.
static SrStatus among(double *values, int64_t n, SrCommOp op, int group) {
    int first = my_rank / group * group;
    for (int64_t at = 0; !alone() && at < n; at += SHORT_SUM) {
        int64_t piece = SR_MIN(n - at, SHORT_SUM);
        double *parts = room((size_t)piece * (size_t)ranks * sizeof *parts);
        double *own = parts + first * piece;
        SR_TRY(lib->all_gather(values + at, (size_t)piece * sizeof *parts, parts));
        reduce(own, SR_MIN(group, ranks - first), piece, op);
        memcpy(values + at, own, (size_t)piece * sizeof *own);
    }
    return SR_OK;
}

void sr_comm_all_reduce_f64(double *values, int64_t n, SrCommOp op) {
    must(among(values, n, op, ranks));
}

SrStatus sr_comm_sum_among(double *values, int64_t n, int group) {
    return among(values, n, SR_COMM_SUM, group);
}

int sr_comm_max(int number) {
    double value = number;
    sr_comm_all_reduce_f64(&value, 1, SR_COMM_MAX);
    return (int)value;
}

// ---- agreement between ranks

SrStatus sr_comm_agree(SrStatus status) {
    char message[MESSAGE_BYTES];
    double first = status == SR_OK ? -ranks : -my_rank;
    if (alone())
        return status;
    sr_comm_all_reduce_f64(&first, 1, SR_COMM_MAX);
    int rank = (int)-first;
    if (rank == ranks)
        return SR_OK;
    int code = (int)status;
    snprintf(message, sizeof message, "%s", sr_status_message());
    sr_comm_broadcast(message, sizeof message, rank);
    sr_comm_broadcast(&code, sizeof code, rank);
    SR_FAIL((SrStatus)code, "%s", message);
}

// Returns the first rank whose text differs from rank 0's; 0: none.
static int first_other(const char *text) {
    uint64_t mine = sr_hash_text(text);
    uint64_t *all = room((size_t)ranks * sizeof *all);
    must(lib->all_gather(&mine, sizeof mine, all));
    for (int r = 1; r < ranks; r++)
        if (all[r] != all[0])
            return r;
    return 0;
}

SrStatus sr_comm_check_same(const char *what, const char *text) {
    int r = alone() ? 0 : first_other(text);
    if (r > 0)
        SR_FAIL(SR_ERR_CONFIG,
                "rank %d on %s and rank 0 on %s differ in %s; these must be equal on every machine",
                r, sr_comm_host(r), sr_comm_host(0), what);
    return SR_OK;
}

static bool is_break(char c) { return c == '\n' || c == '\0'; }

// Quotes both lines at the first byte that differs, without leading blanks.
static void differing_lines(const char *a, const char *b, char out[LINES_BYTES]) {
    size_t at = 0, n[2] = {0, 0};
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        at = a[i] == '\n' ? i + 1 : at;
    a += at;
    b += at;
    a += strspn(a, " ");
    b += strspn(b, " ");
    while (!is_break(a[n[0]]))
        n[0]++;
    while (!is_break(b[n[1]]))
        n[1]++;
    snprintf(out, LINES_BYTES, "\"%.*s\" and \"%.*s\"", (int)SR_MIN(n[0], LINES_BYTES / 3), a,
             (int)SR_MIN(n[1], LINES_BYTES / 3), b);
}

SrStatus sr_comm_check_same_lines(const char *what, const char *text) {
    char lines[LINES_BYTES] = "";
    int r = alone() ? 0 : first_other(text);
    if (r == 0)
        return SR_OK;
    size_t bytes = strlen(text) + 1;
    sr_comm_broadcast(&bytes, sizeof bytes, 0);
    char *first = room(bytes);
    if (my_rank == 0)
        memcpy(first, text, bytes);
    sr_comm_broadcast(first, bytes, 0);
    differing_lines(text, first, lines);
    sr_comm_broadcast(lines, sizeof lines, r);
    SR_FAIL(SR_ERR_CONFIG,
            "rank %d on %s and rank 0 on %s differ in %s: %s; these must be equal on every machine",
            r, sr_comm_host(r), sr_comm_host(0), what, lines);
}

// ---- long sums
//
// Rank r sums slice r: it receives that slice from every rank, adds the slices by the tree, and
// sends the sum to all.  Each rank sends and receives 2 (P - 1) / P of the vector, as in a ring,
// but the order of the sum is always the tree's.

int64_t sr_comm_padded(int64_t n) { return (n + ranks - 1) / ranks * ranks; }

typedef struct {
    float *slices; // (ranks, n), in rank order or descending
    int64_t n;
    bool descending;
    float *out; // (n)
} Slices;

static float *slice_of(const Slices *s, int r) {
    return s->slices + (s->descending ? ranks - 1 - r : r) * s->n;
}

// Sums one piece by the tree while it is in the cache, and writes the root to `out`.
static void add_piece(void *arg, int64_t piece, int thread) {
    const Slices *s = arg;
    int64_t from = piece * PIECE_FLOATS, to = SR_MIN(s->n, from + PIECE_FLOATS);
    (void)thread;
    for (int step = 1; step < ranks; step *= 2)
        for (int r = 0; r + step < ranks; r += 2 * step) {
            const float *a = slice_of(s, r), *b = slice_of(s, r + step);
            float *sum = 2 * step < ranks ? slice_of(s, r) : s->out;
            for (int64_t i = from; i < to; i++)
                sum[i] = a[i] + b[i];
        }
}

enum { IDLE, EXCHANGING, GATHERING, SUMMING };

void sr_comm_sum_begin(SrCommSum *s) {
    s->stage = IDLE;
    if (alone() || s->n == 0)
        return;
    s->stage = s->library ? SUMMING : EXCHANGING;
    if (s->library)
        lib->begin_sum(s->channel, s->values, s->n, &s->request);
    else
        lib->begin_exchange(s->channel, s->values, s->scratch,
                            (size_t)(s->n / ranks) * sizeof(float), &s->request);
}

static bool advance(SrCommSum *s, bool wait) {
    if (s->stage == IDLE)
        return true;
    if (!lib->done(&s->request, wait))
        return false;
    int64_t slice = s->n / ranks;
    if (s->stage != EXCHANGING) {
        s->stage = IDLE;
        return true;
    }
    Slices slices = {s->scratch, slice, s->descending, s->values + my_rank * slice};
    sr_parallel_for((slice + PIECE_FLOATS - 1) / PIECE_FLOATS, add_piece, &slices);
    s->stage = GATHERING;
    lib->begin_gather(s->channel, s->values, (size_t)slice * sizeof(float), &s->request);
    return false;
}

bool sr_comm_sum_poll(SrCommSum *s) { return advance(s, false); }

void sr_comm_sum_end(SrCommSum *s) {
    while (!advance(s, true))
        ;
}
