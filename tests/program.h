// The program itself, run as a person runs it: the binary beside the test binary, output captured.
#ifndef SR_TESTS_PROGRAM_H
#define SR_TESTS_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

// Bounds on peak_bytes are for the program alone: a sanitizer's shadow and quarantine are resident too.
#ifdef __SANITIZE_ADDRESS__
enum { PROGRAM_SANITIZED = 1 };
#else
enum { PROGRAM_SANITIZED = 0 };
#endif
#define PROGRAM_SANITIZED_REASON "sanitizers change what this test looks at"

typedef struct {
    int code;        // exit code, or 128 + signal
    long peak_bytes; // largest resident size
    char out[1 << 18], err[1 << 16];
} ProgramResult;

// args: without the program's name, NULL at the end.  threads: OMP_NUM_THREADS, 0 to leave it.
void program_run(ProgramResult *result, int threads, const char *const *args);
// Started and not waited for; what it prints goes to <dir>/out and <dir>/err.
pid_t program_start(const char *dir, int threads, const char *const *args);
// Whether programs that are started ignore SIGHUP, as under nohup; false at first.
extern bool program_nohup;
// Runs in a terminal of so many columns: stdout and stderr together are in result->out, as they were drawn.  Skips the
// test where there are no pseudo-terminals.
void program_run_terminal(ProgramResult *result, int columns, const char *const *args);
// The same as so many ranks, under mpirun; 0: without it.  Only after program_need_ranks.
pid_t program_start_ranks(const char *dir, int ranks, int threads, const char *const *args);
// The process of that rank below mpirun; 0: it is not there.
pid_t program_rank(pid_t mpirun, int rank);
// Skips the test where the program was built without MPI, or there is no mpirun.
void program_need_ranks(void);
// Skips the test where /usr/bin/python3 has no numpy.
void program_need_numpy(void);
// n pictures of noise in two classes as tar shards of a few each, <dir>/shards, by `sslrun pack`.
void program_pack(const char *dir, int n);

void program_sleep_ms(double ms);
double program_now_ms(void); // of a clock that only goes on
// Waits for a run's first line in stdout.json of its folder, a minute at most.
void program_wait_for_progress(const char *dir);
void program_path(char out[4096]);             // of the program
int program_wait(pid_t pid, long *peak_bytes); // exit code, or 128 + signal; peak_bytes may be NULL
// The file's text, at most n - 1 bytes; "" if it is missing.
void program_read(const char *dir, const char *name, char *text, int n);

#endif
