// Golden cases of several replicas: tensors "r<k>.<name>" belong to replica k; sslrun computes
// the rows of all replicas at once.
#ifndef SR_TESTS_GOLDEN_WORLD_H
#define SR_TESTS_GOLDEN_WORLD_H

#include "tests/golden/golden.h"

// Returns values.world_size, or the number of replicas that have a loss.
int golden_world(const SrGoldenCase *c);

// Copies the rows of a replica, (blocks, floats / blocks), into those of all replicas, (blocks,
// world, floats / blocks), or back (in: false). A block is a view, or a crop whose queue rows are
// consecutive.
void golden_world_move(int world, float *all, float *own, int replica, int blocks, int64_t floats,
                       bool in);

// Returns "r<replica>.<what><step>" in the case's arena.
const char *golden_replica_name(SrGoldenCase *c, int replica, const char *what, int step);

// Sets *out to the mean over replicas of the recorded losses "r<k>.loss<step>".
SrStatus golden_world_loss(SrGoldenCase *c, int step, double *out);

#endif
