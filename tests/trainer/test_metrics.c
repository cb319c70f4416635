// Tests the JSON lines of a run: every line is whole, also if memory is short for one of them.
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/run/meters/metrics.h"

static void write_line(SrMetrics *m, int64_t epoch) {
    sr_json_int(sr_metrics_begin(m), "epoch", epoch);
    sr_metrics_end(m);
}

TEST(test_memory_is_short_for_a_line) {
    char dir[64], path[128], *text;
    size_t bytes;
    SrMetrics m;
    temp_dir_make(dir);
    CHECK_OK(sr_metrics_open(&m, dir, "metrics.json"));
    sr_mem_fail_at(1);
    write_line(&m, 0);
    sr_mem_fail_at(0);
    write_line(&m, 1);
    write_line(&m, 2);
    sr_metrics_close(&m);
    snprintf(path, sizeof path, "%s/metrics.json", dir);
    CHECK_OK(sr_file_read(path, 4096, &text, &bytes));
    CHECK_STR(text, "{\"epoch\": 1}\n{\"epoch\": 2}\n");
    sr_free(text);
    temp_dir_remove(dir);
}

SR_TESTS(metrics, unit(test_memory_is_short_for_a_line))
