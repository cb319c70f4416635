// The centre of a teacher's scores (DINO, arXiv:2104.14294, equation 4), against collapse to one output; of DINO and iBOT.
#ifndef SR_LOSSES_TEACHER_CENTER_H
#define SR_LOSSES_TEACHER_CENTER_H

#include "losses/loss.h"

// The parameter `entry` (1, K) <- keep itself + (1 - keep) the mean of the node `scores` (rows, K), the rows of all
// replicas; after the update.  Sums are double, a column's in the order of its rows.
void sr_teacher_center_move(const SrLossStep *step, SrNodeId scores, int entry, double keep);

#endif
