// Centre of a teacher's scores in DINO and iBOT, which prevents a collapse to one output (DINO,
// arXiv:2104.14294, equation 4).
#ifndef SR_LOSSES_SHARED_TEACHER_CENTER_H
#define SR_LOSSES_SHARED_TEACHER_CENTER_H

#include "losses/loss.h"

// Moves the centre after the update: center <- keep * center + (1 - keep) * mean of the scores
// over all rows.  entry: table index of the centre (1, K).  scores: node (rows, K) or (N, L, K),
// with the rows of all replicas.  Each column is summed in double in the order of its rows,
// whatever the number of threads.
void sr_teacher_center_move(const SrLossStep *step, SrNodeId scores, int entry, double keep);

#endif
