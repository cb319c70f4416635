// Tests standard streams that are closed, on a full disk, or a terminal without cursor control.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/file.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define CONFIG "tests/cli/tiny.yaml"

static ProgramResult result; // two texts: too large for the stack of a test

// Returns the exit code of the program with these shell words after it.
static int shell(const char *words) {
    char path[4096], command[8192];
    program_path(path);
    snprintf(command, sizeof command, "'%s' %s", path, words);
    int status = system(command);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

// With stderr closed, the first file that the program opens must not get its number: the lock file
// would receive the log.
TEST(test_closed) {
    char dir[64], words[256], text[4096];
    temp_dir_make(dir);
    snprintf(words, sizeof words,
             CONFIG
             " CHECKPOINT.DIR=%s OPTIMIZER.num_epochs=1 TEST_MODEL=False <&- 2>&- >/dev/null",
             dir);
    CHECK_INT(shell(words), 0);
    program_read(dir, ".lock", text, sizeof text);
    CHECK(*text && strspn(text, "0123456789\n") == strlen(text)); // only the number of the process
    program_read(dir, "log.txt", text, sizeof text);
    CHECK(strstr(text, "epoch 0 done"));
    CHECK_INT(shell("list nonsense >&- 2>/dev/null"), 2);
    CHECK_INT(shell("list loss >&- 2>/dev/null"), 1);
    temp_dir_remove(dir);
}

// The results of a run are files, so that only a full disk at stdout is an error of `train`.
TEST(test_train_without_stdout) {
    char dir[64], words[256], path[128];
    temp_dir_make(dir);
    snprintf(words, sizeof words,
             "train " CONFIG
             " CHECKPOINT.DIR=%s/a OPTIMIZER.num_epochs=1 TEST_MODEL=True >&- 2>/dev/null",
             dir);
    CHECK_INT(shell(words), 0);
    snprintf(path, sizeof path, "%s/a/evaluated.json", dir);
    CHECK(sr_file_exists(path));
    snprintf(words, sizeof words,
             CONFIG
             " CHECKPOINT.DIR=%s/b OPTIMIZER.num_epochs=1 TEST_MODEL=False >/dev/full 2>/dev/null",
             dir);
    CHECK_INT(shell(words), 1);
    snprintf(path, sizeof path, "%s/b/checkpoint.safetensors", dir);
    CHECK(sr_file_exists(path));
    temp_dir_remove(dir);
}

TEST(test_full) {
    CHECK_INT(shell("help >/dev/full 2>/dev/null"), 1);
    CHECK_INT(shell("--version >/dev/full 2>/dev/null"), 1);
    CHECK_INT(shell("list loss >/dev/full 2>/dev/null"), 1);
    CHECK_INT(shell("knn -h >/dev/full 2>/dev/null"), 1);
    CHECK(shell("web . --port 0 >/dev/full 2>/dev/null") != 0); // nobody would know the address
    CHECK_INT(shell("help >/dev/null"), 0);
}

// With TERM=dumb the program prints neither colours nor lines that overwrite themselves.
TEST(test_dumb) {
    const char *before = getenv("TERM");
    char kept[64], dir[64], folder[96];
    snprintf(kept, sizeof kept, "%s", before ? before : "");
    temp_dir_make(dir);
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", dir);
    setenv("TERM", "dumb", 1);
    program_run_terminal(&result, 80,
                         (const char *const[]){CONFIG, folder, "TEST_MODEL=True", NULL});
    if (before)
        setenv("TERM", kept, 1);
    else
        unsetenv("TERM");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "layers: ") && !strchr(result.out, '\033'));
    temp_dir_remove(dir);
}

SR_TESTS(streams, unit(test_closed), unit(test_train_without_stdout), unit(test_full),
         unit(test_dumb))
