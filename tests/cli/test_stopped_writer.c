// Stops the program by signals while it writes a file: it ends by the signal, and no temporary file
// stays.
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"

// Tells whether the folder holds a temporary file.
static bool has_temporary(const char *folder) {
    bool found = false;
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        found |= strstr(e->d_name, ".tmp") != NULL;
    if (d)
        closedir(d);
    return found;
}

TEST(test_signals) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    char dir[256], images[300], out[300], partial[320];
    int caught = 0;
    fixture_folder(dir);
    fixture_class_folder(dir, "images", 200);
    snprintf(images, sizeof images, "%s/images", dir);
    for (int i = 0; i < 12; i++) {
        int number = signals[i % SR_COUNT(signals)];
        snprintf(out, sizeof out, "%s/shards%d", dir, i);
        snprintf(partial, sizeof partial, "%s.partial", out);
        pid_t pid =
            program_start(dir, 1, (const char *const[]){"pack", images, "--out", out, NULL});
        for (int wait = 0; wait < 2000 && !has_temporary(partial); wait++)
            program_sleep_ms(0.3);
        kill(pid, number);
        int code = program_wait(pid, NULL);
        CHECK(code == 0 || code == 128 + number);
        caught += code != 0;
        CHECK(!has_temporary(partial) && !has_temporary(out));
    }
    print_message("    stopped %d of 12 times while a file was written\n", caught);
    CHECK(caught > 0);
    fixture_remove(dir);
}

SR_TESTS(stopped_writer, unit(test_signals))
