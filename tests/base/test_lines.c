// Tests reading line by line: lines across the edge of the buffer, too long ones, a last line
// without an end, and the end of a long file.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/lines.h"
#include "tests/check.h"
#include "tests/temp_dir.h"

static char dir[64], path[96];

static int set_up(void **state) {
    (void)state;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/lines", dir);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    temp_dir_remove(dir);
    return 0;
}

// Expects the line; NULL: the end.
static void expect(SrLines *lines, const char *line) {
    char *got;
    size_t n;
    CHECK_OK(sr_lines_next(lines, &got, &n));
    if (!line) {
        CHECK(got == NULL);
        return;
    }
    CHECK_STR(got, line);
    CHECK_INT(n, strlen(line));
}

TEST(test_lines) {
    SrLines lines;
    CHECK_OK(sr_file_write(path, "one\n\nthree\nincomplete", 21));
    CHECK_OK(sr_lines_open(&lines, path, 1000));
    expect(&lines, "one");
    expect(&lines, "");
    expect(&lines, "three");
    expect(&lines, NULL);
    expect(&lines, NULL);
    sr_lines_close(&lines);
    CHECK_OK(sr_lines_open(&lines, path, 13)); // "ee", then the incomplete line
    expect(&lines, "ee");
    expect(&lines, NULL);
    sr_lines_close(&lines);
    CHECK_OK(sr_file_write(path, "", 0));
    CHECK_OK(sr_lines_open(&lines, path, 1000));
    expect(&lines, NULL);
    sr_lines_close(&lines);
    CHECK_FAILS(sr_lines_open(&lines, dir, 1000), SR_ERR_IO, "not a regular file");
    sr_lines_close(&lines);
}

// Lines of all lengths up to the longest, with one that is too long between two others.
TEST(test_long_lines) {
    SrLines lines;
    size_t bytes = 0, room = 8 * SR_LINES_MAX;
    char *text = calloc(1, room), *line = calloc(1, SR_LINES_MAX);
    CHECK(text && line);
    const size_t lengths[] = {
        0, 1, 40000, 40000, SR_LINES_MAX - 1, SR_LINES_MAX, 3, 3 * SR_LINES_MAX, SR_LINES_MAX - 1,
        5};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        memset(text + bytes, 'a' + (int)i, lengths[i]);
        bytes += lengths[i];
        text[bytes++] = '\n';
    }
    CHECK(bytes < room);
    CHECK_OK(sr_file_write(path, text, bytes));
    int64_t before = sr_mem_bytes();
    sr_mem_peak_reset();
    CHECK_OK(sr_lines_open(&lines, path, room));
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        memset(line, 0, SR_LINES_MAX);
        if (lengths[i] >= SR_LINES_MAX) // with its end it does not fit
            continue;
        memset(line, 'a' + (int)i, lengths[i]);
        expect(&lines, line);
    }
    expect(&lines, NULL);
    CHECK(sr_mem_peak() - before < SR_LINES_MAX + 4096);
    sr_lines_close(&lines);
    free(text);
    free(line);
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
SR_TESTS(lines, in_folder(test_lines), in_folder(test_long_lines))
