// Draws and carries out the disturbances of a simulated run (fault.h).
#include "tests/histories/fault.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/compiler.h"

enum { MOST_ALLOCATIONS = 400, LOG_BYTES = 1 << 14, CHECKPOINT_BYTES = 1 << 18 };

// Rank 0 alone writes files, so most failures of a disk meet that rank.
Fault fault_draw(SrRng *rng, int ranks, int moments) {
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    Fault f = {.kind = (FaultKind)sr_rng_below(rng, FAULT_KINDS)};
    f.moment = (int)sr_rng_below(rng, (uint32_t)moments + 1);
    f.rank = (int)sr_rng_below(rng, (uint32_t)ranks);
    f.other = (f.rank + 1 + (int)sr_rng_below(rng, (uint32_t)ranks - 1)) % ranks;
    f.signal = signals[sr_rng_below(rng, SR_COUNT(signals))];
    if (f.kind == FAULT_MEMORY)
        f.n = 1 + sr_rng_below(rng, MOST_ALLOCATIONS);
    if (f.kind == FAULT_DISK) // the lengths of log files depend on the clock: none ends in between
        f.n = sr_rng_below(rng, 2) ? 0 : sr_rng_below(rng, CHECKPOINT_BYTES) + LOG_BYTES;
    if (f.kind == FAULT_DISK || f.kind == FAULT_FILES)
        f.rank = sr_rng_below(rng, 2) ? 0 : f.rank;
    return f;
}

static void limit(pid_t pid, __rlimit_resource_t what, rlim_t most) {
    struct rlimit both;
    if (prlimit(pid, what, NULL, &both) == 0) {
        both.rlim_cur = most;
        prlimit(pid, what, &both, NULL);
    }
}

void fault_strike(const Fault *f, pid_t pid) {
    if (f->kind == FAULT_KILL)
        kill(pid, SIGKILL);
    if (f->kind == FAULT_SIGNAL)
        kill(pid, f->signal);
    if (f->kind == FAULT_DISK)
        limit(pid, RLIMIT_FSIZE, (rlim_t)f->n);
    if (f->kind == FAULT_FILES)
        limit(pid, RLIMIT_NOFILE, 0);
}

void fault_text(const Fault *f, char text[96]) {
    char what[64] = "";
    switch (f->kind) {
    case FAULT_NONE:
    case FAULT_KINDS: snprintf(text, 96, "nothing fails"); return;
    case FAULT_KILL: snprintf(what, sizeof what, "is killed"); break;
    case FAULT_CUT: snprintf(what, sizeof what, "loses the connection to rank %d", f->other); break;
    case FAULT_SIGNAL: snprintf(what, sizeof what, "receives signal %d", f->signal); break;
    case FAULT_DISK:
        snprintf(what, sizeof what, "writes no file beyond %lld bytes", (long long)f->n);
        break;
    case FAULT_FILES: snprintf(what, sizeof what, "opens no more files"); break;
    case FAULT_MEMORY:
        snprintf(what, sizeof what, "gets no memory in allocation %lld", (long long)f->n);
        break;
    }
    snprintf(text, 96, "at moment %d rank %d %s", f->moment, f->rank, what);
}
