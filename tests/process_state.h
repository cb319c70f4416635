// What belongs to the whole process and a test may set: the processor's level and cache, emulated tiles, the
// convolutions' designs, threads, the locale, the log, failing allocations, the working folder.  Every test of SR_TESTS ends in
// process_state_restore, so that one that fails in the middle leaves nothing behind for those after it.
#ifndef SR_TESTS_PROCESS_STATE_H
#define SR_TESTS_PROCESS_STATE_H

void process_state_remember(void);       // before the first test
int process_state_restore(void **state); // a teardown of cmocka; 0

#endif
