// Comparison of two checkpoints, tensor by tensor.
#ifndef SR_TESTS_CHECKPOINT_PAIR_H
#define SR_TESTS_CHECKPOINT_PAIR_H

// Fails unless every tensor (parameters, statistics, queues, momentum, counters) has the same
// bits in both files, the positions are equal, and there are at least at_least tensors.
void check_same_checkpoint(const char *a, const char *b, int at_least);
// Compares checkpoints that may differ by rounding, which the gradient of relu can amplify.
// Running statistics may differ by `statistics` of their tensor's largest number, other floats by
// `others`. A tensor near zero counts as if its largest were 0.01.
void check_close_checkpoint(const char *a, const char *b, int at_least, double statistics,
                            double others);

#endif
