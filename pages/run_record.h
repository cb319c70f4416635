// run.json in a run folder: who trains there, from what, and with which command to go on. For pages
// about the run; the run itself reads nothing of it.
#ifndef SR_PAGES_RUN_RECORD_H
#define SR_PAGES_RUN_RECORD_H

#include "base/text.h"
#include "trainer/config/config.h"

#define SR_RUN_RECORD "run.json"

typedef struct {
    SrArena arena;
    const char *command; // to go on, as a line for a shell
    SrStrings words;     // the same as words
    const char *folder;  // it is given in
    const char *config, *version, *machine, *kernels;
    int threads;
    int ranks;            // processes of one training; 1 where the record does not say
    int64_t pid, started; // process that trains, or trained; seconds since 1970
    SrStrings changed;    // "KEY: was -> is" of what the command line changed in the file
} SrRunRecord;

// words: the command without what would restart the run. A write that fails is a warning: no reason
// to end a run.
void sr_run_record_write(const SrConfig *config, const char *const *words, int n_words,
                         const char *command);
// A folder without one: all "" and 0.  Free with sr_run_record_deinit.
SrStatus sr_run_record_read(const char *run, SrRunRecord *out);
void sr_run_record_deinit(SrRunRecord *record);

// Does a process train in this folder now?  By the lock that a run holds on it (sr_file_lock).
bool sr_run_is_live(const char *run);

#endif
