// Tests the history of a run whose files are larger than the part that a page reads.
#include "pages/runs/run_history.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/temp_dir.h"

// Writes a sparse file of 300 MB that ends in `lines`; the file system stores the last bytes
// only.
static void write_long(const char *dir, const char *name, const char *lines) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0);
    CHECK(pwrite(fd, lines, strlen(lines), 300000000) == (ssize_t)strlen(lines));
    close(fd);
}

// A page reads the end of a long file, so that a run keeps its curves when its log grows too
// long.
TEST(test_the_end_of_a_long_history) {
    char dir[64], lines[1 << 17] = "\n";
    size_t n = 1;
    SrHistory h;
    temp_dir_make(dir);
    for (int i = 0; i < 1000; i++)
        n += (size_t)snprintf(lines + n, sizeof lines - n,
                              "{\"iter\": %d, \"loss\": %d, \"btime(ms)\": 1}\n", 900000 + i, i);
    write_long(dir, "stdout.json", lines);
    write_long(dir, "log.txt", "\n2026-11-22 10:00:02 warning: late\n");
    CHECK_OK(sr_history_read(dir, &h));
    CHECK_INT(h.n_steps, 1000);
    CHECK(h.iteration[h.n_steps - 1] >= 900000);
    CHECK_NEAR(sr_history_last(&h, "loss"), 999, 0);
    CHECK_INT(h.n_warnings, 1);
    sr_history_deinit(&h);
    temp_dir_remove(dir);
}

// Writes so many lines of stdout.json, metrics.json and log.txt, and returns the most memory that
// their history needs.
static int64_t memory_of(int lines) {
    static const char *const names[] = {"stdout.json", "metrics.json", "log.txt"};
    static const char *const formats[] = {
        "{\"iter\": %d, \"lr\": 0.1, \"loss\": 1.25, \"btime(ms)\": 1, \"grad_norm\": 12.5, "
        "\"images_per_s\": 100.5, \"data_wait\": 0.125, \"eta_s\": 1000}\n",
        "{\"iteration\": 7, \"train_phase_idx\": %d, \"train_loss\": 1, \"effective_rank\": 3}\n",
        "2026-11-22 10:00:02 [ep: %d] a line of progress\n",
    };
    char dir[64], path[128];
    SrHistory h;
    temp_dir_make(dir);
    for (int k = 0; k < 3; k++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[k]);
        FILE *f = fopen(path, "w");
        CHECK(f != NULL);
        for (int i = 0; i < (k == 1 ? lines / 100 : lines); i++)
            fprintf(f, formats[k], i);
        CHECK_INT(fclose(f), 0);
    }
    int64_t before = sr_mem_bytes();
    sr_mem_peak_reset();
    CHECK_OK(sr_history_read(dir, &h));
    int64_t peak = sr_mem_peak() - before;
    CHECK_INT(h.n_epochs, lines / 100);
    CHECK(h.n_steps >= 2000 && h.n_steps <= 4000);
    CHECK(h.embeddings && h.iteration[h.n_steps - 1] > 0.99 * lines);
    sr_history_deinit(&h);
    CHECK_INT(sr_mem_bytes(), before);
    temp_dir_remove(dir);
    return peak;
}

// A run reads its own history for its page: a run of days must not need more memory for it.
TEST(test_memory_does_not_grow) {
    int64_t some = memory_of(8000), more = memory_of(80000);
    if (more > some + some / 2 + (64 << 10))
        fail_msg("%lld bytes for 8,000 lines, %lld for 80,000", (long long)some, (long long)more);
}

#define SAID "2026-11-22 10:00:02 "

// Warnings are those of the last start that trained: a start that finds the run finished neither
// hides them nor adds its own.
TEST(test_warnings_of_the_training) {
    static const char log[] =
        SAID "==== sslrun a.yaml\n" SAID "warning: early\n" SAID "==== sslrun a.yaml\n" SAID
             "warning: late\n" SAID "==== sslrun a.yaml LOG_FREQUENCY=3\n" SAID
             "warning: of no training\n" SAID
             "runs/a/model.safetensors: training has finished (8 updates, 2 "
             "epochs); use --restart\n" SAID "warning: of the evaluation\n";
    char dir[64];
    SrHistory h;
    temp_dir_make(dir);
    fixture_write(dir, "log.txt", log, strlen(log));
    CHECK_OK(sr_history_read(dir, &h));
    CHECK_INT(h.n_warnings, 2);
    CHECK_STR(h.warning[0], "late");
    CHECK_STR(h.warning[1], "of the evaluation");
    sr_history_deinit(&h);
    temp_dir_remove(dir);
}

// Every failed allocation fails the reading: a series that is dropped would look like one that the
// run never had.
TEST(test_without_memory) {
    char dir[64], path[128];
    const char *lines = "{\"iter\": 0, \"loss\": 2, \"lr\": 0.1, \"btime(ms)\": 1}\n"
                        "{\"iter\": 1, \"loss\": 1, \"lr\": 0.1, \"btime(ms)\": 1}\n";
    SrHistory h;
    SrStatus status = SR_ERR_MEMORY;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/stdout.json", dir);
    CHECK_OK(sr_file_write(path, lines, strlen(lines)));
    int n = 0;
    while (status != SR_OK) {
        sr_mem_fail_at(++n);
        status = sr_history_read(dir, &h);
        sr_mem_fail_at(0);
        CHECK(status == SR_OK || status == SR_ERR_MEMORY);
        if (status == SR_OK)
            CHECK(h.n_steps == 2 && sr_history_find(&h, "lr") && sr_history_find(&h, "loss"));
        sr_history_deinit(&h);
        CHECK(n < 1000);
    }
    CHECK(n > 10);
    temp_dir_remove(dir);
}

SR_TESTS(run_history, unit(test_the_end_of_a_long_history), unit(test_memory_does_not_grow),
         unit(test_warnings_of_the_training), unit(test_without_memory))
