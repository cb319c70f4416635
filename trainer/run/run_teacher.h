// The teacher of a run with DISTILLATION.CACHED_VIEWS, which has a graph of its own, and the file
// of its outputs.
#ifndef SR_TRAINER_RUN_RUN_TEACHER_H
#define SR_TRAINER_RUN_RUN_TEACHER_H

#include "trainer/run/run_parts.h"

// Opens teacher and file once the teacher's parameters have their values; nothing to do for a run
// without such a teacher.  Compiles the teacher unless the file is complete.
SrStatus sr_run_teacher_open(SrRun *run);
void sr_run_teacher_close(SrRun *run);
// Loads batch `at` of the epoch for a replica of this rank, as sr_feed_next does.  Gives the step
// the teacher's outputs for that batch.
SrStatus sr_run_teacher_load(SrRun *run, int64_t at, int replica, SrFeedTarget *to, int *rows,
                             const int64_t **labels, double *wait_s);
// Returns the size of the file.  0: there is none, or the number of images is unknown.
size_t sr_run_teacher_bytes(const SrRun *run);

#endif
