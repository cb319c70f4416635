// Tests the log file: levels, marks, appending, lines kept until the file is known. No test reads
// what goes to stderr.
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/run/meters/metrics.h"

TEST(test_file_gets_marked_lines) {
    char dir[64], path[128], *text;
    size_t bytes;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/log.txt", dir);
    sr_log_set_level(SR_LOG_WARN);
    CHECK_OK(sr_log_open(path));
    sr_log(SR_LOG_DEBUG, "not wanted");
    sr_info("quiet on the terminal alone");
    sr_warn("slow %d", 5);
    sr_log_close();
    sr_warn("no file is open");
    CHECK_OK(sr_log_open(path)); // a second open appends
    sr_log(SR_LOG_ERROR, "broken\033[2J");
    sr_log_live("a live line leaves no trace in the file");
    sr_log_close();
    sr_log_close();
    sr_log_set_level(SR_LOG_INFO);
    CHECK_OK(sr_file_read(path, 10000, &text, &bytes));
    const char *second = strstr(text, "slow 5\n") + 7;
    CHECK_STR(strstr(second, "error: "), "error: broken?[2J\n");
    CHECK(strstr(text, " quiet on the terminal alone\n"));
    CHECK(strncmp(strstr(text, "warning: "), "warning: slow 5\n", 16) == 0);
    CHECK(!strstr(text, "wanted") && !strstr(text, "no file") && !strstr(text, "live"));
    // Lines start with a date such as 2024-01-31 23:59:59.
    CHECK(text[4] == '-' && text[10] == ' ' && text[13] == ':');
    sr_free(text);
    temp_dir_remove(dir);
}

// Lines logged before the file is known are kept and become its first lines; lines for the file
// alone are kept too.
TEST(test_kept_lines) {
    char dir[64], path[128], *text;
    size_t bytes;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/log.txt", dir);
    sr_warn("before anything is kept");
    sr_log_keep();
    sr_log_file("a heading");
    sr_warn("early");
    CHECK_OK(sr_log_open(path));
    sr_warn("late");
    sr_log_close();
    sr_log_keep();
    for (int i = 0; i < 100; i++)
        sr_log_file("%s %1000d", "bounded", i);
    CHECK_OK(sr_log_open(path));
    sr_log_close();
    CHECK_OK(sr_file_read(path, 1 << 20, &text, &bytes));
    const char *heading = strstr(text, "a heading\n"), *early = strstr(text, "warning: early\n");
    CHECK(heading && early && strstr(early, "warning: late\n") && heading < early);
    CHECK(!strstr(text, "anything") && text[4] == '-');
    CHECK(strstr(text, "bounded") && bytes < 70000);
    sr_free(text);
    temp_dir_remove(dir);
}

TEST(test_unwritable) {
    CHECK_FAILS(sr_log_open("/nonexistent/folder/log.txt"), SR_ERR_IO,
                "/nonexistent/folder/log.txt");
    sr_info("still works");
}

// The log file and the metrics refuse a link, which could lead the lines of a run into another
// file of a shared folder.
TEST(test_link_is_refused) {
    char dir[64], path[128], target[128];
    SrMetrics metrics;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/log.txt", dir);
    snprintf(target, sizeof target, "%s/elsewhere", dir);
    CHECK_OK(sr_file_write(target, "", 0));
    CHECK(symlink("elsewhere", path) == 0);
    CHECK_FAILS(sr_log_open(path), SR_ERR_IO, "is a symbolic link");
    CHECK_FAILS(sr_metrics_open(&metrics, dir, "log.txt"), SR_ERR_IO, "is a symbolic link");
    temp_dir_remove(dir);
}

SR_TESTS(log, unit(test_link_is_refused), unit(test_file_gets_marked_lines), unit(test_kept_lines),
         unit(test_unwritable))
