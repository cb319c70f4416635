// Runs the program as a user runs it: the binary next to the test binary, with captured output.
#ifndef SR_TESTS_PROGRAM_H
#define SR_TESTS_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

// Checks of peak_bytes allow for a sanitizer, whose shadow memory and quarantine are resident
// too.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
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

// Runs the program and waits. args: without the program's name, NULL at the end. threads:
// OMP_NUM_THREADS; 0: unchanged.
void program_run(ProgramResult *result, int threads, const char *const *args);
// Starts the program without waiting. Output goes to <dir>/out and <dir>/err.
pid_t program_start(const char *dir, int threads, const char *const *args);
// Programs started from now on ignore SIGHUP, as under nohup. Initially false.
extern bool program_nohup;
// Runs the program on a terminal of that many columns. result->out holds stdout and stderr
// together, as they were drawn. Skips the test if there are no pseudo-terminals.
void program_run_terminal(ProgramResult *result, int columns, const char *const *args);
// Starts the program as that many ranks under mpirun; 0: without mpirun. Requires
// program_need_ranks first.
pid_t program_start_ranks(const char *dir, int ranks, int threads, const char *const *args);
// Returns the process of a rank below mpirun; 0: it does not exist.
pid_t program_rank(pid_t mpirun, int rank);
// Sends a signal to a rank below mpirun; the test fails if there is none.
void program_kill_rank(pid_t mpirun, int rank, int signal);
// Skips the test if the program was built without MPI, or there is no mpirun.
void program_need_ranks(void);
// Skips the test if /usr/bin/python3 has no numpy.
void program_need_numpy(void);
// Packs n pictures of noise in two classes into small tar shards, <dir>/shards, by `sslrun pack`.
void program_pack(const char *dir, int n);

// Programs started from now on load that library of the build first; NULL: none.  Skips the test
// where the program is static, and under a sanitizer, whose runtime must be loaded before any other
// library.
void program_preload(const char *library);

void program_sleep_ms(double ms);
double program_now_ms(void); // time of a monotonic clock
// Waits for a run's first line in the folder's stdout.json, at most a minute.
void program_wait_for_progress(const char *dir);
enum { PROGRAM_SELF = 2000 };
void program_self(char out[PROGRAM_SELF]);     // path of the running test binary
void program_folder(char out[PROGRAM_SELF]);   // its folder, where the build's programs are
void program_path(char out[4096]);             // path of the program
int program_wait(pid_t pid, long *peak_bytes); // exit code, or 128 + signal; peak_bytes may be NULL
// Reads at most n - 1 bytes of a file; "" if it is missing.
void program_read(const char *dir, const char *name, char *text, int n);

#endif
