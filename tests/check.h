// CHECK macros on top of cmocka that print both expressions and both values. A test file holds
// static functions `static void test_x(void **state)` and ends with SR_TESTS(stem, unit(test_x),
// ...); the build finds the files.
#ifndef SR_TESTS_CHECK_H
#define SR_TESTS_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka's header needs those above.
#include <cmocka.h>

#include "base/status.h"
#include "tests/process_state.h"
#include "tests/skip.h"

#undef skip
#define skip() SKIP("this machine is not what the test needs", NULL)

typedef struct {
    const char *name;
    const struct CMUnitTest *tests;
    int n;
} SrTestGroup;

// Begins a test that needs no state of cmocka's.
#define TEST(name) static void name(void **state __attribute__((unused)))
#define unit(f) cmocka_unit_test_teardown(f, process_state_restore)
#define SR_TESTS(stem, ...)                                         \
    static const struct CMUnitTest stem##_tests_[] = {__VA_ARGS__}; \
    extern const SrTestGroup sr_tests_##stem;                       \
    const SrTestGroup sr_tests_##stem = {#stem, stem##_tests_,      \
                                         (int)(sizeof stem##_tests_ / sizeof stem##_tests_[0])};

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition))                                                   \
            fail_msg("%s:%d: %s is false", __FILE__, __LINE__, #condition); \
    } while (0)
#define CHECK_OK(call)                                                                 \
    do {                                                                               \
        SrStatus check_ = (call);                                                      \
        if (check_ != SR_OK)                                                           \
            fail_msg("%s:%d: %s: %s", __FILE__, __LINE__, #call, sr_status_message()); \
    } while (0)
// Fails unless the call returns this status and its message contains `text`.
#define CHECK_FAILS(call, expected, text)                                                     \
    do {                                                                                      \
        SrStatus check_ = (call);                                                             \
        if (check_ != (expected) || !strstr(sr_status_message(), text))                       \
            fail_msg("%s:%d: %s gave %d \"%s\", expected %d with \"%s\"", __FILE__, __LINE__, \
                     #call, (int)check_, sr_status_message(), (int)(expected), text);         \
    } while (0)
#define CHECK_INT(a, b)                                                                    \
    do {                                                                                   \
        long long a_ = (long long)(a), b_ = (long long)(b);                                \
        if (a_ != b_)                                                                      \
            fail_msg("%s:%d: %s is %lld, %s is %lld", __FILE__, __LINE__, #a, a_, #b, b_); \
    } while (0)
#define CHECK_STR(a, b)                                                           \
    do {                                                                          \
        const char *a_ = (a), *b_ = (b);                                          \
        if (!a_ || !b_ || strcmp(a_, b_) != 0)                                    \
            fail_msg("%s:%d: %s is \"%s\", %s is \"%s\"", __FILE__, __LINE__, #a, \
                     a_ ? a_ : "NULL", #b, b_ ? b_ : "NULL");                     \
    } while (0)
#define CHECK_NEAR(a, b, tolerance)                                                                \
    do {                                                                                           \
        double a_ = (a), b_ = (b);                                                                 \
        if (!(fabs(a_ - b_) <= (tolerance)))                                                       \
            fail_msg("%s:%d: %s is %.9g, %s is %.9g, off by %.3g", __FILE__, __LINE__, #a, a_, #b, \
                     b_, fabs(a_ - b_));                                                           \
    } while (0)

#endif
