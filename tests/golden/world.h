// Cases of several replicas: tensors "r<k>.<name>" belong to replica k, and ours are of the whole world.
#ifndef SR_TESTS_GOLDEN_WORLD_H
#define SR_TESTS_GOLDEN_WORLD_H

#include "tests/golden/golden.h"

// values.world_size, or as many as have a loss.
int golden_world(const SrGoldenCase *c);

// The rows of a replica, (blocks, floats / blocks), to their places in the world's (blocks, world, floats / blocks),
// or from there (in: false).  Blocks are views, or crops whose queues lie behind each other.
void golden_world_move(int world, float *all, float *own, int replica, int blocks, int64_t floats,
                       bool in);

// "r<replica>.<what><step>".
const char *golden_replica_name(SrGoldenCase *c, int replica, const char *what, int step);

// The mean over replicas of their recorded losses "r<k>.loss<step>".
SrStatus golden_world_loss(SrGoldenCase *c, int step, double *out);

#endif
