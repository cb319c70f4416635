// run.json in a run folder: the process that trains there, its configuration and machine, and the
// command that continues the run.  Pages about the run read it; training does not.
#ifndef SR_PAGES_RUNS_RUN_RECORD_H
#define SR_PAGES_RUNS_RUN_RECORD_H

#include "base/text/text.h"
#include "trainer/config/config.h"

#define SR_RUN_RECORD "run.json"

typedef struct {
    SrArena arena;
    const char *command; // command that continues the run, as a line for a shell
    SrStrings words;     // words of that command
    const char *folder;  // folder in which the command has to run
    const char *config, *version, *machine, *kernels;
    int threads;          // 0: not recorded
    int ranks;            // number of ranks; 1 also if it is not recorded
    int64_t pid, started; // process that trains or trained; its start, seconds since 1970
    SrStrings changed;    // "KEY: was -> is" for keys that differ from the file
} SrRunRecord;

// Writes run.json; a failure is only a warning, because it should not end a run.
// words, command: the command without flags that start from scratch.
void sr_run_record_write(const SrConfig *config, const char *const *words, int n_words,
                         const char *command);
// Reads run.json.  A missing or damaged file gives "" and 0, but ranks 1.  Call
// sr_run_record_deinit after it.
SrStatus sr_run_record_read(const char *run, SrRunRecord *out);
void sr_run_record_deinit(SrRunRecord *record);

// True: a process trains in this folder now, as the lock that a run holds shows (sr_file_lock).
bool sr_run_is_live(const char *run);

#endif
