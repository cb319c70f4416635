// Facts that an analyser cannot see from one source file, included before each source by
// tests/analyze/analyze.py.  Nothing here is part of a build.
//
// A failed call returns its status, and memory of base/mem.h behaves as the C library's does.
// base/status.c and base/mem.c define these functions and are analysed without this header.
#ifndef SR_TESTS_ANALYZE_FACTS_H
#define SR_TESTS_ANALYZE_FACTS_H

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/status.h"

#define sr_fail(status, ...) (sr_fail(status, __VA_ARGS__), (status))
#define sr_fail_prefix(status, ...) (sr_fail_prefix(status, __VA_ARGS__), (status))
#define sr_out_of_memory(...) (sr_out_of_memory(__VA_ARGS__), SR_ERR_MEMORY)
#define sr_alloc malloc
#define sr_calloc calloc
#define sr_realloc realloc
#define sr_free free
#define sr_strdup strdup

#endif
