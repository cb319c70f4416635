// Tests status messages: the last one wins, prefixes stack, long ones are cut, and threads have
// their own.
#include <pthread.h>

#include "base/mem.h"
#include "tests/check.h"

TEST(test_message_may_quote_itself) {
    CHECK_INT(sr_fail(SR_ERR_IO, "disk %d", 3), SR_ERR_IO);
    CHECK_STR(sr_status_message(), "disk 3");
    CHECK_INT(sr_fail(SR_ERR_RUN, "after: %s", sr_status_message()), SR_ERR_RUN);
    CHECK_STR(sr_status_message(), "after: disk 3");
    CHECK_INT(sr_fail_prefix(SR_ERR_CONFIG, "key %s", "A.B"), SR_ERR_CONFIG);
    CHECK_STR(sr_status_message(), "key A.B: after: disk 3");
}

TEST(test_long_messages_are_cut) {
    char s[6000];
    memset(s, 'x', sizeof s - 1);
    s[sizeof s - 1] = '\0';
    sr_fail(SR_ERR_IO, "%s", s);
    CHECK_INT(strlen(sr_status_message()), 4095);
    sr_fail_prefix(SR_ERR_IO, "why");
    CHECK_INT(strlen(sr_status_message()), 4095);
    CHECK(strncmp(sr_status_message(), "why: xxx", 8) == 0);
}

TEST(test_one_line_without_controls) {
    sr_fail(SR_ERR_CONFIG, "unknown key 'a\nb\033[2J\177'; caf\xc3\xa9");
    CHECK_STR(sr_status_message(), "unknown key 'a?b?[2J?'; caf\xc3\xa9");
    sr_fail(SR_ERR_CONFIG, "c1 '\xc2\x9b' '\x9b'");
    CHECK_STR(sr_status_message(), "c1 '?\?' '?'");
}

static SrStatus inner(SrStatus status) {
    return status == SR_OK ? SR_OK : sr_fail(status, "inner");
}

static SrStatus tries(SrStatus first, int *reached) {
    SR_TRY(inner(first));
    ++*reached;
    return SR_OK;
}

static SrStatus cleans_up(SrStatus first, int *cleaned) {
    SrStatus status = SR_OK;
    SR_TRY_GOTO(inner(first));
done:
    ++*cleaned;
    return status;
}

TEST(test_try) {
    int reached = 0, cleaned = 0;
    CHECK_OK(tries(SR_OK, &reached));
    CHECK_FAILS(tries(SR_ERR_MEMORY, &reached), SR_ERR_MEMORY, "inner");
    CHECK_INT(reached, 1);
    CHECK_OK(cleans_up(SR_OK, &cleaned));
    CHECK_FAILS(cleans_up(SR_ERR_IO, &cleaned), SR_ERR_IO, "inner");
    CHECK_INT(cleaned, 2);
}

TEST(test_exit_codes) {
    const int expected[] = {[SR_OK] = 0,         [SR_ERR_CONFIG] = 2, [SR_ERR_IO] = 1,
                            [SR_ERR_MEMORY] = 1, [SR_ERR_RUN] = 1,    [SR_ERR_INTERRUPT] = 130};
    for (int i = 0; i < SR_COUNT(expected); i++)
        CHECK_INT(sr_status_exit_code((SrStatus)i), expected[i]);
}

static void *other_thread(void *seen) {
    snprintf(seen, 32, "[%s]", sr_status_message());
    sr_fail(SR_ERR_IO, "theirs");
    return NULL;
}

TEST(test_threads_have_their_own) {
    char seen[32];
    pthread_t thread;
    sr_fail(SR_ERR_IO, "ours");
    CHECK_INT(pthread_create(&thread, NULL, other_thread, seen), 0);
    pthread_join(thread, NULL);
    CHECK_STR(seen, "[]");
    CHECK_STR(sr_status_message(), "ours");
}

SR_TESTS(status, unit(test_message_may_quote_itself), unit(test_long_messages_are_cut),
         unit(test_one_line_without_controls), unit(test_try), unit(test_exit_codes),
         unit(test_threads_have_their_own))
