// Two checkpoints, tensor by tensor.
#ifndef SR_TESTS_CHECKPOINT_PAIR_H
#define SR_TESTS_CHECKPOINT_PAIR_H

// Every tensor of both files (parameters, statistics, queues, momentum, counters) has the same bits, and the
// runs stand at the same place.  `at_least` tensors.
void check_same_checkpoint(const char *a, const char *b, int at_least);
// Running statistics differ by at most `statistics` of their tensor's largest, other floats by `others`, tensors near
// zero as if their largest were 0.01: what only rounding tells apart, which relu's gradient lets grow.
void check_close_checkpoint(const char *a, const char *b, int at_least, double statistics,
                            double others);

#endif
