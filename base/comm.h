// Everything that is global in the mathematics goes through these five functions: synchronised
// batch-norm statistics, Sinkhorn's sums, queues, meters, gradients.  Today there is one process; a
// message-passing implementation replaces comm.c without a change to its callers.
#ifndef SR_BASE_COMM_H
#define SR_BASE_COMM_H

#include <stddef.h>
#include <stdint.h>

typedef enum { SR_COMM_SUM, SR_COMM_MAX } SrCommOp;

int sr_comm_rank(void); // 0 .. size-1
int sr_comm_size(void);
void sr_comm_all_reduce_f64(double *values, int64_t n, SrCommOp op); // in place
void sr_comm_all_reduce_f32(float *values, int64_t n, SrCommOp op);
void sr_comm_all_gather(const void *mine, size_t bytes, void *all); // all: size * bytes, rank order
void sr_comm_broadcast(void *data, size_t bytes, int root);
void sr_comm_barrier(void);

#endif
