// Gives a step the outputs of its teacher where the teacher has a graph of its own
// (DISTILLATION.CACHED_VIEWS): runs the teacher on the batch's images, or takes what a file holds.
// Both go through half precision, so that the step sees the same bits.  The teacher runs in
// evaluation mode.
#ifndef SR_TRAINER_RUN_TEACHER_FEED_H
#define SR_TRAINER_RUN_TEACHER_FEED_H

#include "trainer/model/train_graph.h"
#include "trainer/run/feed.h"
#include "trainer/run/teacher_cache.h"

typedef struct {
    const SrTrainGraph *graph;              // borrowed; its teacher.graph is set
    SrPlan *step;                           // plan of the images' graph, borrowed
    SrPlanOptions options;                  // of the teacher's plan, except outputs
    SrPlan *plan;                           // the teacher's.  NULL: it was not needed so far
    int outputs[SR_MAX_OUTPUTS], n_outputs; // indices of the outputs that the step reads
    int64_t values;                         // numbers of these outputs in a batch
    uint16_t *half;                         // (values) outputs of the last batch
} SrTeacherFeed;

SrStatus sr_teacher_feed_open(SrTeacherFeed *feed, const SrTrainGraph *graph, SrPlan *step);
void sr_teacher_feed_close(SrTeacherFeed *feed); // legal for a zeroed struct
// Target that gets the images of a batch.
SrFeedTarget sr_teacher_feed_target(const SrTeacherFeed *feed);
// Runs the teacher on the images in its target; returns its outputs (values), valid until the next
// call.
const uint16_t *sr_teacher_feed_run(SrTeacherFeed *feed);
// Writes outputs to the inputs of the step.
void sr_teacher_feed_give(const SrTeacherFeed *feed, const uint16_t *values);
// Hashes the teacher: its graph, and all its parameters.
SrStatus sr_teacher_feed_hash(const SrTeacherFeed *feed, uint64_t *hash);

#endif
