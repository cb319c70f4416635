// Child processes that take the next piece of work from a counter in shared memory.
#include "measure/probes/children.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"

enum { MOST_CHILDREN = 256, NO_MEMORY = 1 };

typedef struct {
    atomic_llong *next; // shared: the first piece that no child has taken
    int64_t n;
    SrChildBody body;
    void *arg;
} Work;

// Undoes what belongs to the parent: its handlers of signals, a file for a crash, and standard
// error, to which a C++ library writes before it ends the process.
static void leave_parent(pid_t parent) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE, SIGSEGV, SIGABRT};
    for (int i = 0; i < SR_COUNT(numbers); i++)
        signal(numbers[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    close(STDERR_FILENO);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(NO_MEMORY);
}

static _Noreturn void take_pieces(const Work *w) {
    int64_t i;
    while ((i = atomic_fetch_add(w->next, 1)) < w->n)
        if (!w->body(w->arg, i))
            _exit(NO_MEMORY);
    _exit(0);
}

// Starts up to n children.  Returns how many started; errno tells why the next one did not.
static int start(const Work *w, int n, pid_t *pid) {
    pid_t parent = getpid();
    for (int i = 0; i < n; i++) {
        pid[i] = fork();
        if (pid[i] < 0)
            return i;
        if (pid[i] == 0) {
            leave_parent(parent);
            take_pieces(w);
        }
    }
    return n;
}

// Waits for a child.  Returns its status as waitpid() gives it.
static int await(pid_t pid) {
    int how = -1;
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
        ;
    return how;
}

static SrStatus explain(int how, const char *what) {
    if (!WIFSIGNALED(how))
        return sr_out_of_memory("%s", what);
    SR_FAIL(SR_ERR_MEMORY,
            "a process for %s was ended by signal %d (%s), as happens where memory is out", what,
            WTERMSIG(how), strsignal(WTERMSIG(how)));
}

SrStatus sr_in_children(int64_t n, int children, SrChildBody body, void *arg, const char *what) {
    pid_t pid[MOST_CHILDREN];
    int failed = 0;
    if (n == 0)
        return SR_OK;
    Work w = {sr_map_shared(sizeof *w.next), n, body, arg};
    SR_TRY_MEMORY(w.next, "%s", what);
    int started = start(&w, (int)SR_MIN(n, SR_MIN(children, MOST_CHILDREN)), pid);
    int error = errno;
    for (int i = 0; i < started; i++) {
        int how = await(pid[i]);
        if (how != 0) { // the others stop after their piece
            atomic_store(w.next, n);
            failed = how;
        }
    }
    sr_unmap(w.next, sizeof *w.next);
    if (started == 0)
        SR_FAIL(SR_ERR_MEMORY, "a process for %s: %s", what, strerror(error));
    return failed ? explain(failed, what) : SR_OK;
}
