// A library that sets the clock of a program when it is preloaded; tests/cli/test_clock.c uses it.
//
// SR_CLOCK names a file with a number of seconds, which are added to the time of day as long as the
// file holds them; without the file it is the system's.  A second number is added once more at each
// look at the clock.  The monotonic clock
// stays, as it does where somebody sets the clock of a machine.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long ahead(void) {
    static long long looks;
    char text[64], *end;
    const char *path = getenv("SR_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    long long seconds = strtoll(text, &end, 10);
    return seconds + strtoll(end, NULL, 10) * __atomic_fetch_add(&looks, 1, __ATOMIC_RELAXED);
}

int clock_gettime(clockid_t id, struct timespec *out) {
    int failed = (int)syscall(SYS_clock_gettime, id, out);
    if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        out->tv_sec += ahead();
    return failed;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
