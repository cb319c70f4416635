// A library that lets the n-th call of one kind fail in the program that preloads it;
// tests/torture/torture.py uses it.
//
// SR_INJECT is "KIND:N:ACTION" or "KIND:N:ACTION:on".  Call N of that kind (counted from 1) ends
// with the errno ACTION; "on": so does every later one.  The ACTION "short" lets a read or write
// move half of its bytes.  SR_INJECT_COUNTS names a file that gets the number of calls of each
// kind at the end, and whether the fault happened.  SR_INJECT_POINTS names a file that gets, for
// each call that is the first from its chain of callers, its kind and number: the points at which
// a fault can make a difference.
//
// System calls are trapped by a seccomp filter, so that calls inside libraries count too.
// Allocations and new threads are counted where the program calls the C library.  A child that the
// program forks counts on, in memory that both share.  The program must not start itself again,
// because a filter survives execve() and its handler does not.
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef __x86_64__
#error "the filter and the registers here are those of x86-64"
#endif

typedef enum {
    ALLOC,
    THREAD,
    MMAP,
    OPEN,
    READ,
    WRITE,
    FSYNC,
    RENAME,
    CLOSE,
    UNLINK,
    CREATE, // of folders and links, and changes of a file's length
    STAT,
    KINDS
} Kind;

static const char *const names[KINDS] = {"alloc", "thread", "mmap",  "open",   "read",   "write",
                                         "fsync", "rename", "close", "unlink", "create", "stat"};

static const struct {
    int number;
    Kind kind;
} traps[] = {
    {SYS_mmap, MMAP},        {SYS_open, OPEN},        {SYS_openat, OPEN},  {SYS_read, READ},
    {SYS_pread64, READ},     {SYS_write, WRITE},      {SYS_writev, WRITE}, {SYS_pwrite64, WRITE},
    {SYS_fsync, FSYNC},      {SYS_fdatasync, FSYNC},  {SYS_msync, FSYNC},  {SYS_rename, RENAME},
    {SYS_renameat, RENAME},  {SYS_renameat2, RENAME}, {SYS_close, CLOSE},  {SYS_unlink, UNLINK},
    {SYS_unlinkat, UNLINK},  {SYS_rmdir, UNLINK},     {SYS_mkdir, CREATE}, {SYS_symlink, CREATE},
    {SYS_ftruncate, CREATE}, {SYS_newfstatat, STAT},  {SYS_statx, STAT}};
enum { N_TRAPS = sizeof traps / sizeof *traps };

static Kind chosen = KINDS;
static long at;
static int action; // errno
static bool halves, stays;
static atomic_bool armed;
static char counts_path[4096], points_path[4096];

// ---- points -------------------------------------------------------------------------------------

enum { FRAMES = 12, POINTS = 1 << 16 };

// State that the process and its children share.
typedef struct {
    atomic_long counts[KINDS];
    atomic_bool happened;
    atomic_flag busy;      // a thread adds a point
    uint64_t seen[POINTS]; // hashes of chains of callers, by open addressing
    struct {
        Kind kind;
        long n;
    } points[POINTS / 2];
    int n_points;
} Shared;

static Shared *shared;
static _Thread_local bool inside; // a call that the unwinder itself makes is no point

// Remembers call n of its kind if no call came from the same chain of callers before.
static void note_point(Kind kind, long n) {
    void *frames[FRAMES];
    if (inside)
        return;
    inside = true;
    int depth = backtrace(frames, FRAMES);
    uint64_t hash = 14695981039346656037u ^ (uint64_t)kind;
    for (int i = 0; i < depth; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * 1099511628211u;
    hash += hash == 0;
    while (atomic_flag_test_and_set(&shared->busy))
        ;
    size_t i = hash % POINTS;
    while (shared->seen[i] && shared->seen[i] != hash)
        i = (i + 1) % POINTS;
    if (!shared->seen[i] && shared->n_points < POINTS / 2) {
        shared->seen[i] = hash;
        shared->points[shared->n_points].kind = kind;
        shared->points[shared->n_points++].n = n;
    }
    atomic_flag_clear(&shared->busy);
    inside = false;
}

static bool hits(Kind kind) {
    if (!armed)
        return false;
    long n = atomic_fetch_add(&shared->counts[kind], 1) + 1;
    if (*points_path)
        note_point(kind, n);
    if (kind != chosen || (stays ? n < at : n != at))
        return false;
    shared->happened = true;
    return true;
}

// ---- calls of the C library ---------------------------------------------------------------------

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t m, size_t n);
void *__libc_realloc(void *old, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

static void *no_memory(void) {
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t n) { return hits(ALLOC) ? no_memory() : __libc_malloc(n); }
void *calloc(size_t m, size_t n) { return hits(ALLOC) ? no_memory() : __libc_calloc(m, n); }
void *realloc(void *old, size_t n) { return hits(ALLOC) ? no_memory() : __libc_realloc(old, n); }

void *aligned_alloc(size_t alignment, size_t n) {
    return hits(ALLOC) ? no_memory() : __libc_memalign(alignment, n);
}

int posix_memalign(void **out, size_t alignment, size_t n) {
    if (hits(ALLOC))
        return ENOMEM;
    *out = __libc_memalign(alignment, n);
    return *out ? 0 : ENOMEM;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *argument) {
    typedef int (*Create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (hits(THREAD))
        return EAGAIN;
    return ((Create)dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, body, argument);
}

// A thread that blocked SIGSYS would be killed by its first trapped call.
static const sigset_t *without_trap(int how, const sigset_t *set, sigset_t *copy) {
    if (!set || how == SIG_UNBLOCK)
        return set;
    *copy = *set;
    sigdelset(copy, SIGSYS);
    return copy;
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
    typedef int (*Mask)(int, const sigset_t *, sigset_t *);
    sigset_t copy;
    return ((Mask)dlsym(RTLD_NEXT, "pthread_sigmask"))(how, without_trap(how, set, &copy), old);
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
    typedef int (*Mask)(int, const sigset_t *, sigset_t *);
    sigset_t copy;
    return ((Mask)dlsym(RTLD_NEXT, "sigprocmask"))(how, without_trap(how, set, &copy), old);
}

// ---- system calls -------------------------------------------------------------------------------

// Makes a system call from one place, which the filter lets through.  Returns the kernel's result.
long sr_inject_call(long number, long a, long b, long c, long d, long e, long f);
extern const char sr_inject_end[];
__asm__(".text\n"
        ".globl sr_inject_call\n"
        ".hidden sr_inject_call\n"
        "sr_inject_call:\n"
        "mov %rdi, %rax\n"
        "mov %rsi, %rdi\n"
        "mov %rdx, %rsi\n"
        "mov %rcx, %rdx\n"
        "mov %r8, %r10\n"
        "mov %r9, %r8\n"
        "mov 8(%rsp), %r9\n"
        "syscall\n"
        ".globl sr_inject_end\n"
        ".hidden sr_inject_end\n"
        "sr_inject_end:\n"
        "ret\n");

// Tells whether a descriptor is a file, pipe or terminal.  A write to an eventfd, by which threads
// of a library wake each other, cannot fail in a kernel.
static bool is_real(long fd) {
    struct stat st;
    long status = sr_inject_call(SYS_fstat, fd, (long)&st, 0, 0, 0, 0);
    return status != 0 || (st.st_mode & S_IFMT) != 0;
}

static void on_trap(int sig, siginfo_t *info, void *context) {
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    int saved = errno;
    long number = info->si_syscall, bytes = r[REG_RDX];
    Kind kind = KINDS;
    bool fails = false;
    (void)sig;
    for (int i = 0; i < N_TRAPS; i++)
        if (traps[i].number == number)
            kind = traps[i].kind;
    // The program's last words and our own file stay possible.
    bool moves = kind == WRITE || kind == READ;
    if (kind < KINDS && !(kind == WRITE && r[REG_RDI] == STDERR_FILENO) &&
        (!moves || is_real(r[REG_RDI])))
        fails = hits(kind);
    if (fails && halves && bytes > 1)
        bytes /= 2;
    long result = fails && !halves && kind != CLOSE
                      ? -action
                      : sr_inject_call(number, r[REG_RDI], r[REG_RSI], bytes, r[REG_R10], r[REG_R8],
                                       r[REG_R9]);
    if (fails && kind == CLOSE)
        result = -action; // the file is closed all the same, as on Linux
    r[REG_RAX] = result;
    errno = saved;
}

// Traps the calls of `traps` unless they come from sr_inject_call.
static bool install_filter(void) {
    struct sock_filter f[N_TRAPS + 8];
    int n = 0;
    uint64_t own = (uint64_t)(uintptr_t)sr_inject_end;
    const uint32_t ip = offsetof(struct seccomp_data, instruction_pointer);
    f[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < N_TRAPS; i++)
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)traps[i].number,
                                              (uint8_t)(N_TRAPS - i), 0);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip);
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)own, 0, 3);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip + 4);
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(own >> 32), 0, 1);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    struct sock_fprog program = {(unsigned short)n, f};
    struct sigaction on = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
    return sigaction(SIGSYS, &on, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// ---- the process --------------------------------------------------------------------------------

__attribute__((constructor)) static void begin(void) {
    const char *fault = getenv("SR_INJECT"), *counted = getenv("SR_INJECT_COUNTS");
    const char *listed = getenv("SR_INJECT_POINTS");
    void *first; // loads the unwinder before calls are counted
    char kind[16] = "", what[16] = "", on[8] = "";
    if (!counted || strlen(counted) >= sizeof counts_path)
        return;
    strcpy(counts_path, counted);
    if (listed && strlen(listed) < sizeof points_path && backtrace(&first, 1) > 0)
        strcpy(points_path, listed);
    if (fault && sscanf(fault, "%15[^:]:%ld:%15[^:]:%7s", kind, &at, what, on) >= 3) {
        for (int k = 0; k < KINDS; k++)
            if (strcmp(kind, names[k]) == 0)
                chosen = (Kind)k;
        halves = strcmp(what, "short") == 0;
        action = halves ? 0 : atoi(what);
        stays = strcmp(on, "on") == 0;
    }
    unsetenv("LD_PRELOAD"); // for programs that this one starts
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || !install_filter())
        _exit(99);
    armed = true;
}

// Writes a text as a whole file, past the filter.
static void write_file(const char *path, const char *text, size_t n) {
    long fd = sr_inject_call(SYS_open, (long)path, O_WRONLY | O_CREAT | O_TRUNC, 0644, 0, 0, 0);
    for (long done = 0, k = 1; fd >= 0 && k > 0 && (size_t)done < n; done += k)
        k = sr_inject_call(SYS_write, fd, (long)text + done, (long)n - done, 0, 0, 0);
    if (fd >= 0)
        sr_inject_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

__attribute__((destructor)) static void end(void) {
    static char text[POINTS / 2 * 20];
    int n = 0;
    if (!armed)
        return;
    armed = false;
    for (int i = 0; i < shared->n_points; i++)
        n += sprintf(text + n, "%s %ld\n", names[shared->points[i].kind], shared->points[i].n);
    if (*points_path)
        write_file(points_path, text, (size_t)n);
    n = 0;
    for (int k = 0; k < KINDS; k++)
        n += sprintf(text + n, "%s %ld\n", names[k], shared->counts[k]);
    n += sprintf(text + n, "happened %d\n", shared->happened);
    write_file(counts_path, text, (size_t)n);
}
