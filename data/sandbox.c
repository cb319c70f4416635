// A decoder process and what goes over its socket: a question (sizes, then the file's bytes) and an
// answer (a status and sizes, then a message or pixels).  The answer is checked against the
// question, because the process may say anything.
#include "data/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "data/image_form.h"
#include "data/sandbox_lock.h"
#include "gen/build.h"

enum { SECONDS = 60, MESSAGE_BYTES = 512 };

typedef struct {
    int socket;
    pid_t pid;
} Process;

typedef struct {
    uint64_t bytes; // of the file that follows
    int H, W, channels, reduce;
} Question;

typedef struct {
    uint64_t bytes; // of the pixels that follow
    int H, W, channels;
    SrStatus status;
    char message[MESSAGE_BYTES]; // of a status that is not SR_OK
} Answer;

static atomic_bool used;

const char *sr_sandbox_name(void) { return SR_SECCOMP ? "libseccomp" : "nothing"; }

bool sr_sandbox_used(void) { return atomic_load(&used); }

void sr_sandbox_leave(void) { atomic_store(&used, false); }

SrStatus sr_sandbox_use(void) {
    if (!SR_SECCOMP)
        SR_FAIL(SR_ERR_CONFIG, "a sandbox for decoders needs libseccomp, which this build does not "
                               "have; install libseccomp-dev and build again");
    atomic_store(&used, true);
    return SR_OK;
}

typedef enum { MOVED, GONE, SILENT } Moved;

// Moves all bytes over the socket, in the direction of `move`.  GONE: the other side is; SILENT: it
// did nothing for SECONDS.
static Moved transfer(ssize_t (*move)(int, void *, size_t, int), int socket, void *data, size_t n) {
    for (char *at = data; n > 0;) {
        ssize_t moved = move(socket, at, n, MSG_NOSIGNAL);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return moved < 0 && errno == EAGAIN ? SILENT : GONE;
        at += moved;
        n -= (size_t)moved;
    }
    return MOVED;
}

static ssize_t give(int socket, void *data, size_t n, int flags) {
    return send(socket, data, n, flags);
}

static ssize_t take(int socket, void *data, size_t n, int flags) {
    return recv(socket, data, n, flags);
}

// ---- the process

// Inside the process the socket is descriptor 0, and send and recv are not allowed.
static ssize_t write_0(int socket, void *data, size_t n, int flags) {
    (void)flags;
    return write(socket, data, n);
}

static ssize_t read_0(int socket, void *data, size_t n, int flags) {
    (void)flags;
    return read(socket, data, n);
}

static size_t pixel_bytes(int h, int w, int channels) {
    SrImage image = {.H = h, .W = w, .channels = channels};
    return sr_image_samples(&image) * (channels > 0 ? sizeof(float) : 1);
}

// Answers one question.  False: the program has closed the socket.
static bool serve(SrDecode decode, SrImagePool *pool) {
    Question q;
    Answer a = {.status = SR_ERR_MEMORY, .message = "out of memory for an image"};
    sr_image_pool_reset(pool);
    if (transfer(read_0, 0, &q, sizeof q) != MOVED)
        return false;
    void *file = sr_image_pool_take(pool, q.bytes);
    if (!file || transfer(read_0, 0, file, q.bytes) != MOVED)
        return false;
    SrImage image = {
        .H = q.H, .W = q.W, .channels = q.channels, .encoded = file, .encoded_bytes = q.bytes};
    a.status = decode(&image, q.reduce, pool);
    if (a.status != SR_OK) {
        strncpy(a.message, sr_status_message(), sizeof a.message - 1);
        return transfer(write_0, 0, &a, sizeof a) == MOVED;
    }
    a.H = image.H, a.W = image.W, a.channels = image.f ? image.channels : 0;
    a.bytes = pixel_bytes(a.H, a.W, a.channels);
    void *pixels = image.f ? (void *)image.f : (void *)image.rgb;
    return transfer(write_0, 0, &a, sizeof a) == MOVED &&
           transfer(write_0, 0, pixels, a.bytes) == MOVED;
}

// Closes everything but the socket, locks itself and decodes until the program closes the socket.
// Signals to the program's group are the program's to answer, and its handlers stay outside.
static _Noreturn void run(int socket, SrDecode decode) {
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE};
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};
    SrImagePool *pool;
    for (int i = 0; i < SR_COUNT(ignored); i++)
        signal(ignored[i], SIG_IGN);
    for (int i = 0; i < SR_COUNT(deadly); i++)
        signal(deadly[i], SIG_DFL);
    if (dup2(socket, 0) < 0 || syscall(SYS_close_range, 1U, ~0U, 0U) != 0 ||
        sr_image_pool_new(&pool) != SR_OK)
        _exit(1);
#if SR_SECCOMP
    if (!sr__sandbox_lock())
        _exit(1);
#endif
    while (serve(decode, pool))
        ;
    _exit(0);
}

// ---- the program

static void end_process(void *arg) {
    Process *p = arg;
    if (p->pid > 0) {
        close(p->socket);
        kill(p->pid, SIGKILL);
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    sr_free(p);
}

static SrStatus start(Process *p, SrDecode decode) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        SR_FAIL(SR_ERR_MEMORY, "a socket to a decoder: %s", strerror(errno));
    struct timeval limit = {.tv_sec = SECONDS};
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    pid_t pid = fork();
    if (pid == 0)
        run(pair[1], decode);
    close(pair[1]);
    if (pid > 0) {
        *p = (Process){pair[0], pid};
        return SR_OK;
    }
    close(pair[0]);
    SR_FAIL(SR_ERR_MEMORY, "a process to decode images: %s", strerror(errno));
}

// Reports how the process ended; the next image starts another one.  The system ends processes by
// SIGKILL when memory is short, which no image is to blame for.
static SrStatus ended(Process *p, Moved why) {
    int how = 0;
    if (why == SILENT)
        kill(p->pid, SIGKILL);
    while (waitpid(p->pid, &how, 0) < 0 && errno == EINTR)
        ;
    close(p->socket);
    *p = (Process){-1, 0};
    if (why == SILENT)
        SR_FAIL(SR_ERR_IO, "its decoder gave no answer for %d seconds", SECONDS);
    if (WIFEXITED(how))
        SR_FAIL(SR_ERR_CONFIG, "this system allows no filter of system calls, which a sandbox for "
                               "decoders needs: leave out DATA.SANDBOX or --sandbox");
    if (WTERMSIG(how) == SIGKILL)
        SR_FAIL(SR_ERR_MEMORY, "the system ended a decoder, probably for want of memory");
    SR_FAIL(SR_ERR_IO, "its decoder ended by signal %d (%s), inside the sandbox", WTERMSIG(how),
            strsignal(WTERMSIG(how)));
}

// Checks the answer against the question: the size is the header's, or that of a reduced JPEG.
static bool plausible(const Question *q, const Answer *a) {
    return a->channels == q->channels && a->H >= 1 && a->W >= 1 && a->H <= q->H && a->W <= q->W &&
           a->bytes == pixel_bytes(a->H, a->W, a->channels);
}

// Takes the pixels into the pool.
static SrStatus take_pixels(Process *p, const Answer *a, SrImage *image, SrImagePool *pool) {
    SrImage out;
    if (a->channels > 0)
        SR_TRY(sr_image_new_floats(pool, a->H, a->W, a->channels, &out));
    else
        SR_TRY(sr_image_new(pool, a->H, a->W, &out));
    Moved moved = transfer(take, p->socket, out.f ? (void *)out.f : (void *)out.rgb, a->bytes);
    if (moved != MOVED)
        return ended(p, moved);
    *image = out;
    return SR_OK;
}

static SrStatus ask(Process *p, SrImage *image, int reduce, SrImagePool *pool) {
    Question q = {image->encoded_bytes, image->H, image->W, image->channels, reduce};
    Answer a;
    Moved moved = transfer(give, p->socket, &q, sizeof q);
    if (moved == MOVED)
        moved = transfer(give, p->socket, (void *)(uintptr_t)image->encoded, q.bytes);
    if (moved == MOVED)
        moved = transfer(take, p->socket, &a, sizeof a);
    if (moved != MOVED)
        return ended(p, moved);
    if (a.status == SR_OK && plausible(&q, &a))
        return take_pixels(p, &a, image, pool);
    if (a.status == SR_ERR_IO || a.status == SR_ERR_MEMORY || a.status == SR_ERR_CONFIG) {
        a.message[MESSAGE_BYTES - 1] = '\0';
        SR_FAIL(a.status, "%s", a.message);
    }
    kill(p->pid, SIGSYS); // no decoder of ours says that
    return ended(p, GONE);
}

SrStatus sr__sandbox_decode(SrDecode decode, SrImage *image, int reduce, SrImagePool *pool) {
    Process *p = sr_image_pool_companion(pool);
    if (!p) {
        p = sr_calloc(1, sizeof *p);
        SR_TRY_MEMORY(p, "a decoder process");
        sr_image_pool_attach(pool, p, end_process);
    }
    if (p->pid == 0)
        SR_TRY(start(p, decode));
    return ask(p, image, reduce, pool);
}
