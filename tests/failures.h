// Calls a function again and again, each time with another of its steps failing.
#ifndef SR_TESTS_FAILURES_H
#define SR_TESTS_FAILURES_H

#include <stdint.h>

#include "base/status.h"

// Makes the first allocation of `run` fail, then the second, until a call needs no more. Fails the
// test if a call ends otherwise than well, where it can do without, or with SR_ERR_MEMORY, or if
// it leaves a block. Returns how many allocations were made to fail.
int64_t fail_allocations(SrStatus (*run)(void *arg), void *arg);

// Lets `run`, which writes the file `path`, write no more than 0, 1/pieces, 2/pieces, ... of the
// file's bytes. Fails the test if such a call does not end with SR_ERR_IO and a message that names
// the file, or if it leaves anything in the file's folder. Without the file it writes it once.
void fail_writes(SrStatus (*run)(void *arg), void *arg, const char *path, int pieces);

#endif
