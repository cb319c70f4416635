// Divides the cores of this machine among its ranks.
#ifndef SR_BASE_RANKS_RANK_CORES_H
#define SR_BASE_RANKS_RANK_CORES_H

// Returns the number of threads for this rank, at least 1; 0: there is one rank only.  The number
// is OMP_NUM_THREADS if set, else the machine's cores divided by its ranks.  Open MPI binds ranks
// to one core or socket by default: such a binding is first widened to the rank's share.  A
// binding on request (mpirun --bind-to, srun --cpu-bind) stays.  Call it before the first thread
// starts.
int sr_rank_cores(void);

#endif
