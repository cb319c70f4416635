// State of the whole process that a test may set: threads, the locale, the log, failing
// allocations, the request to stop, the working folder. process_state_restore runs after every
// test of SR_TESTS and also renews the machine of tests/machine.h. A test that fails midway
// therefore affects no later one.
#ifndef SR_TESTS_PROCESS_STATE_H
#define SR_TESTS_PROCESS_STATE_H

void process_state_remember(void);       // called before the first test
int process_state_restore(void **state); // a teardown of cmocka; returns 0

#endif
