// Params of queue_scores, which compares rows with a queue of earlier rows.
#ifndef SR_KERNELS_MEMORY_QUEUE_SCORES_H
#define SR_KERNELS_MEMORY_QUEUE_SCORES_H

typedef struct { // queue_scores
    int size;    // rows Q of the queue
} SrQueueScoresParams;

#endif
