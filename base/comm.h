// Ranks: the processes of one run, and everything that crosses between them.  Nothing above this header
// knows a message-passing library; without one, or started without mpirun or srun, there is one rank
// and every call is what it is for one.
//
// All calls but the first group are collective: every rank makes them in the same order, from its main
// thread.  What is summed is summed by a fixed binary tree over the ranks, ((0+1)+(2+3))+..., which goes
// on where each rank's own tree ends (trainer/run/grad_sums.h): bits do not depend on how many ranks
// share the work.
#ifndef SR_BASE_COMM_H
#define SR_BASE_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum { SR_COMM_SUM, SR_COMM_MAX } SrCommOp;

// ---- the library behind it (base/comm_mpi.c)

// Blocking calls and their started twins; counts in bytes, or in floats where the name says so.
typedef struct SrCommLibrary {
    const char *name;       // for --version
    bool (*launched)(void); // by mpirun or srun, as one of several processes or alone
    SrStatus (*start)(int *rank, int *size);
    void (*stop)(void);
    void (*abort)(int code); // ends every rank; does not return
    void (*all_gather)(const void *mine, size_t bytes, void *all); // mine may be its place in `all`
    void (*broadcast)(void *data, size_t bytes, int root);
    // What is begun on different channels may be begun in another order on each rank.
    // Block r of `send` goes to rank r; block r of `receive` is rank r's.
    void (*begin_exchange)(int channel, const void *send, void *receive, size_t bytes,
                           void **request);
    void (*begin_gather)(int channel, void *all, size_t bytes,
                         void **request); // mine stands in its place
    void (*begin_sum)(int channel, float *values, int64_t n,
                      void **request); // in the library's own order
    bool (*done)(void **request, bool wait);
} SrCommLibrary;

// ---- this process

// Joins the run's other ranks where the process was launched as one of them.  library: NULL where the
// build has none; SR_ERR_CONFIG where it was launched as one of several all the same.
SrStatus sr_comm_start(const SrCommLibrary *library);
void sr_comm_stop(void);            // at the end of every rank's work
void sr_comm_abort(int code);       // ends all ranks at once with this exit code
int sr_comm_rank(void);             // 0 .. size-1
int sr_comm_size(void);             // ranks
int sr_comm_node_ranks(void);       // of them on this machine
int sr_comm_node_rank(void);        // this one's place among those
const char *sr_comm_host(int rank); // the name of its machine

// ---- collective calls

void sr_comm_all_reduce_f64(double *values, int64_t n, SrCommOp op); // in place
// Over groups of so many neighbours, 0 .. ranks-1 the first; ranks divides sr_comm_size().
void sr_comm_sum_among(double *values, int64_t n, int ranks);
void sr_comm_all_gather(const void *mine, size_t bytes, void *all); // all: size * bytes, rank order
void sr_comm_broadcast(void *data, size_t bytes, int root);
// Of n rows those from `first` on: `each` of every rank, in rank order, as far as there are; each has filled its own.
void sr_comm_share_rows(void *rows, size_t row_bytes, int64_t first, int64_t each, int64_t n);
// The largest of the ranks' numbers: how they agree to stop.
int sr_comm_max(int number);
// The status of the first rank that has none of SR_OK, with its message, on all ranks.
SrStatus sr_comm_agree(SrStatus status);
// SR_OK if the text is the same on all ranks; else SR_ERR_CONFIG that says `what` differs, and where.
SrStatus sr_comm_check_same(const char *what, const char *text);
// The same, and the message quotes the first line that differs.
SrStatus sr_comm_check_same_lines(const char *what, const char *text);

// ---- long sums, begun and looked after while other work goes on

// Ranks begin them in one order, and may look after each as they like.
#define SR_COMM_CHANNELS 256
typedef struct {
    float *values;   // (n) summed in place
    float *scratch;  // (n)
    int64_t n;       // a multiple of sr_comm_size()
    bool descending; // the tree counts ranks from the last down
    bool library;    // let the library sum, in its own order
    int channel;     // its own among those under way, below SR_COMM_CHANNELS
    int stage;       // 0: nothing under way
    void *request;
} SrCommSum;

int64_t sr_comm_padded(int64_t n); // the next multiple of sr_comm_size()
void sr_comm_sum_begin(SrCommSum *sum);
bool sr_comm_sum_poll(SrCommSum *sum); // moves it on; true once it is done
void sr_comm_sum_end(SrCommSum *sum);  // waits

#endif
