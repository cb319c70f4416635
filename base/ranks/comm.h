// Communication between ranks, the processes of one run.  Other rooms know no message-passing
// library.  Without such a library, or without mpirun or srun, there is one rank and every call
// still works.
//
// The calls from "collective calls" on are collective: every rank makes them in the same order,
// from its main thread.  Those without a status end all ranks where the library fails.  Sums follow
// a fixed binary tree over the ranks, ((0+1)+(2+3))+... The tree continues each rank's own tree
// (trainer/run/ranks/grad_sums.h), so that the bits of a sum do not depend on the number of ranks.
#ifndef SR_BASE_RANKS_COMM_H
#define SR_BASE_RANKS_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum { SR_COMM_SUM, SR_COMM_MAX } SrCommOp;

// ---- the message-passing library (base/ranks/comm_mpi.c)

// Blocking calls, and begin_* calls that `done` completes.  `bytes` counts bytes, `n` floats.
typedef struct SrCommLibrary {
    const char *name;       // for --version
    bool (*launched)(void); // true: mpirun or srun started this process, even if it is the only one
    SrStatus (*start)(int *rank, int *size);
    void (*stop)(void);
    void (*abort)(int code); // ends every rank; does not return
    void (*give_way)(void);  // returns after a second, in which the other ranks go on
    // `mine` may point to its own place in `all`.
    // SR_ERR_IO: the library could not do it; its message says why.
    SrStatus (*all_gather)(const void *mine, size_t bytes, void *all);
    void (*broadcast)(void *data, size_t bytes, int root);
    // Ranks may begin operations on different channels in different orders.
    // begin_exchange: block r of `send` goes to rank r; block r of `receive` comes from rank r.
    // begin_gather: this rank's block already stands in its place in `all`.
    // begin_sum: the library chooses the order of the sum.
    void (*begin_exchange)(int channel, const void *send, void *receive, size_t bytes,
                           void **request);
    void (*begin_gather)(int channel, void *all, size_t bytes, void **request);
    void (*begin_sum)(int channel, float *values, int64_t n, void **request);
    bool (*done)(void **request, bool wait); // true: complete; wait: blocks until it is
} SrCommLibrary;

// ---- this process

// Joins the other ranks of the run if a launcher started this process as one of several.
// library: NULL if the build has none.  SR_ERR_CONFIG: one of several processes, but no library.
SrStatus sr_comm_start(const SrCommLibrary *library);
void sr_comm_stop(void);            // at the end of every rank's work
void sr_comm_abort(int code);       // ends all ranks at once with this exit code
void sr_comm_give_way(void);        // gives the other ranks a second, for instance to report
int sr_comm_rank(void);             // 0 .. size-1
int sr_comm_size(void);             // number of ranks
int sr_comm_node_ranks(void);       // number of ranks on this machine
int sr_comm_node_rank(void);        // this rank's place among them, from 0
const char *sr_comm_host(int rank); // name of the rank's machine

// ---- collective calls

void sr_comm_all_reduce_f64(double *values, int64_t n, SrCommOp op); // in place
// Sums within groups of `ranks` consecutive ranks; `ranks` divides sr_comm_size().  In place.
// SR_ERR_IO: the ranks could not reach each other.
SrStatus sr_comm_sum_among(double *values, int64_t n, int ranks);
void sr_comm_all_gather(const void *mine, size_t bytes, void *all); // all: size * bytes, rank order
void sr_comm_broadcast(void *data, size_t bytes, int root);
// Shares rows that the ranks have computed.  From row `first` on, each rank in turn has filled
// `each` rows; the last ranks have fewer where the n rows end.  After the call every rank has all
// of them.
void sr_comm_share_rows(void *rows, size_t row_bytes, int64_t first, int64_t each, int64_t n);
// Returns the largest number that any rank passes.
int sr_comm_max(int number);
// Returns, on all ranks, the status and message of the first rank that failed; SR_OK: none failed.
SrStatus sr_comm_agree(SrStatus status);
// Checks that a text is equal on all ranks.  SR_ERR_CONFIG says that `what` differs, and on which
// rank.
SrStatus sr_comm_check_same(const char *what, const char *text);
// Checks a text as above; the message also quotes the first line that differs.
SrStatus sr_comm_check_same_lines(const char *what, const char *text);

// ---- long sums that progress while the caller does other work

// All ranks begin them in the same order.  Each rank may poll them in any order.
#define SR_COMM_CHANNELS 256
typedef struct {
    float *values;   // (n) summed in place
    float *scratch;  // (n) the caller's
    int64_t n;       // a multiple of sr_comm_size()
    bool descending; // the tree counts ranks from the last down
    bool library;    // the library sums, in an order that it chooses
    int channel;     // below SR_COMM_CHANNELS; no other unfinished sum has it
    int stage;       // 0: not begun
    void *request;   // request of the library
} SrCommSum;

int64_t sr_comm_padded(int64_t n); // n rounded up to a multiple of sr_comm_size()
void sr_comm_sum_begin(SrCommSum *sum);
bool sr_comm_sum_poll(SrCommSum *sum); // continues the sum; true: finished
void sr_comm_sum_end(SrCommSum *sum);  // waits until it is finished

#endif
