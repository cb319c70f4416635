// Invariants: truths that no input, no file and no failing system can change.  Only a mistake in
// this program makes one false.  What comes from outside is checked with an SrStatus instead.
#ifndef SR_BASE_ASSERT_H
#define SR_BASE_ASSERT_H

// SR_ASSERT(truth) prints file, line and the truth that is false, and aborts.  Builds with
// SR_DEBUG=1 (make debug, and every build with a sanitizer) check it; others compile it without
// evaluating it.
#ifndef SR_DEBUG
#define SR_DEBUG 0
#endif

#if SR_DEBUG
_Noreturn void sr_assert_failed(const char *truth, const char *file, int line);
#define SR_ASSERT(truth) ((truth) ? (void)0 : sr_assert_failed(#truth, __FILE__, __LINE__))
#else
#define SR_ASSERT(truth) ((void)sizeof(!(truth)))
#endif

#endif
