// Runs commands in a shell and keeps what stands after "next:".
#include "tests/cli/paste.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#include "gen/build.h"

char paste_dir[64], paste_said[1 << 15];
static char kept[200][1024]; // suggested commands
static int n_kept;

void paste_begin(void) {
    char here[4000], configs[4096], path[128];
    temp_dir_make(paste_dir);
    CHECK(getcwd(here, sizeof here));
    snprintf(configs, sizeof configs, "%s/configs", here);
    snprintf(path, sizeof path, "%s/configs", paste_dir);
    CHECK(symlink(configs, path) == 0);
    n_kept = 0;
}

void paste_end(void) { temp_dir_remove(paste_dir); }

void paste_photos(const char *folder, const char *name, int seed) {
    for (int i = 0; i < PASTE_PER_CLASS; i++) {
        uint8_t pixels[PASTE_SIDE * PASTE_SIDE * 3];
        char file[96];
        size_t bytes;
        fixture_noise(pixels, sizeof pixels, (uint64_t)(seed * PASTE_PER_CLASS + i));
        void *jpeg = fixture_jpeg(pixels, PASTE_SIDE, PASTE_SIDE, 3, &bytes);
        snprintf(file, sizeof file, "%s/%s/%d.jpg", folder, name, i);
        fixture_write(paste_dir, file, jpeg, bytes);
        sr_free(jpeg);
    }
}

int paste_run(const char *line) {
    char program[PROGRAM_SELF], command[16384];
    program_folder(program);
    snprintf(command, sizeof command, "cd '%s' && PATH='%s':'%s/bin':$PATH && { %s; } >said 2>&1",
             paste_dir, program, paste_dir, line);
    int code = system(command);
    program_read(paste_dir, "said", paste_said, sizeof paste_said);
    return WEXITSTATUS(code);
}

// True: this run would need Fashion-MNIST, which is not installed.
static bool lacks_data(const char *command) {
    return strstr(command, "configs/swav.yaml") &&
           !sr_file_exists("/usr/share/datasets/fashion-mnist");
}

static void keep_suggestions(void) {
    static char lines[1 << 15];
    const char *next = strstr(paste_said, "next:\n");
    if (!next)
        return;
    snprintf(lines, sizeof lines, "%s", next);
    for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
        if (!sr_text_starts(line, "  sslrun ") || strstr(line, " configs/")) // another data set
            continue;
        bool known = false;
        for (int i = 0; i < n_kept; i++)
            known = known || strcmp(kept[i], line + 2) == 0;
        if (known)
            continue;
        CHECK(n_kept < SR_COUNT(kept));
        CHECK(strlen(line + 2) < sizeof kept[0]);
        snprintf(kept[n_kept++], sizeof kept[0], "%s", line + 2);
    }
}

void paste_try(const char *command) {
    const char *verb = command + strlen("sslrun ");
    const char *file = strstr(verb, ".yaml");
    bool quoted = verb[0] == '\'';
    bool trains =
        sr_text_starts(verb, "train ") || (file && (quoted || file < verb + strcspn(verb, " ")));
    bool timed = strstr(verb, " --minutes ") != NULL; // keeps the epochs of the run that is there
    bool serves = sr_text_starts(verb, "web ");
    bool may_find = sr_text_starts(verb, "doctor ") || sr_text_starts(verb, "diff ");
    char line[8192];
    if ((serves && !SR_WEB) || lacks_data(command))
        return;
    snprintf(line, sizeof line, "%s%s%s", serves ? "timeout 2 " : "", command,
             trains && !timed ? " OPTIMIZER.num_epochs=1"
             : serves         ? " --port 0"
                              : "");
    int code = paste_run(line);
    size_t n = strlen(paste_said);
    if (code != 0 && !(may_find && code == 1) && !(serves && code == 124))
        fail_msg("%s gave %d\n%s", line, code, paste_said + (n > 800 ? n - 800 : 0));
    keep_suggestions();
}

int paste_follow(void) {
    for (int i = 0; i < n_kept; i++)
        paste_try(kept[i]);
    return n_kept;
}
