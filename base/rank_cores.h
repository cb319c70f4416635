// The cores of this machine, shared out among the ranks on it.
#ifndef SR_BASE_RANK_CORES_H
#define SR_BASE_RANK_CORES_H

// Threads this rank should compute with: the cores of the node over its ranks, at least 1, or what
// OMP_NUM_THREADS says.  Open MPI binds a rank to one core or one socket where nobody asked for it; such
// a binding is widened to the rank's share first.  A binding that was asked for (mpirun --bind-to, srun
// --cpu-bind) stays.  0 with one rank: nothing to share.  Before the first thread is started.
int sr_rank_cores(void);

#endif
