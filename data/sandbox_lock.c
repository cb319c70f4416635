// The filter of system calls, by libseccomp.  Every other call fails, and does nothing: decoders
// and the C library ask for the number of processors or the size of the memory, and live with an
// error.
#include "data/sandbox_lock.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>

#include "base/compiler.h"

// Memory may not become executable.  It is anonymous, since no file is open.
static bool allow_memory(scmp_filter_ctx filter) {
    const struct scmp_arg_cmp no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, no_code) == 0 &&
           seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_code) == 0;
}

// libde265 decodes HEIC in a thread of its own.  The flags of clone3 are in memory, which a filter
// cannot see: without it the C library takes clone.
static bool allow_threads(scmp_filter_ctx filter) {
    const struct scmp_arg_cmp thread = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);
    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, thread) == 0 &&
           seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
}

bool sr__sandbox_lock(void) {
    static const int allowed[] = {
        SCMP_SYS(read),         SCMP_SYS(write),         SCMP_SYS(exit),
        SCMP_SYS(exit_group),   SCMP_SYS(brk),           SCMP_SYS(munmap),
        SCMP_SYS(mremap),       SCMP_SYS(madvise),       SCMP_SYS(futex),
        SCMP_SYS(rseq),         SCMP_SYS(sched_yield),   SCMP_SYS(set_robust_list),
        SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask)};
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    bool ok = filter && allow_memory(filter) && allow_threads(filter);
    for (int i = 0; ok && i < SR_COUNT(allowed); i++)
        ok = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0) == 0;
    ok = ok && seccomp_load(filter) == 0;
    if (filter)
        seccomp_release(filter);
    return ok;
}
