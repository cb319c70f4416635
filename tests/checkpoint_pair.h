// Two checkpoints, tensor by tensor.
#ifndef SR_TESTS_CHECKPOINT_PAIR_H
#define SR_TESTS_CHECKPOINT_PAIR_H

// Every tensor of both files (parameters, statistics, queues, momentum, counters) has the same bits, and the
// runs stand at the same place.  `at_least` tensors.
void check_same_checkpoint(const char *a, const char *b, int at_least);

#endif
