// State of the whole process that a test may set: threads, the locale, the log, failing allocations, the request
// to stop, the working folder.  Every test of SR_TESTS ends in process_state_restore, which also renews tests/machine.h's machine, so
// a test that fails in the middle leaves nothing for those that follow.
#ifndef SR_TESTS_PROCESS_STATE_H
#define SR_TESTS_PROCESS_STATE_H

void process_state_remember(void);       // before the first test
int process_state_restore(void **state); // a teardown of cmocka; 0

#endif
