// The examples of every verb's page, pasted into a shell next to two folders of photos.
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/verb.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#include "gen/build.h"

enum { PER_CLASS = 20, SIDE = 24 };

static char dir[64], said[1 << 15];

static void write_photos(const char *folder, const char *name, int seed) {
    for (int i = 0; i < PER_CLASS; i++) {
        uint8_t pixels[SIDE * SIDE * 3];
        char file[96];
        size_t bytes;
        fixture_noise(pixels, sizeof pixels, (uint64_t)(seed * PER_CLASS + i));
        void *jpeg = fixture_jpeg(pixels, SIDE, SIDE, 3, &bytes);
        snprintf(file, sizeof file, "%s/%s/%d.jpg", folder, name, i);
        fixture_write(dir, file, jpeg, bytes);
        sr_free(jpeg);
    }
}

static void open_place(void) {
    static const char *const classes[] = {"boot", "hat", "shirt"};
    char here[4000], configs[4096], path[128];
    temp_dir_make(dir);
    for (int c = 0; c < SR_COUNT(classes); c++) {
        write_photos("photos", classes[c], c);
        write_photos("new-photos", classes[c], c + SR_COUNT(classes));
    }
    CHECK(getcwd(here, sizeof here));
    snprintf(configs, sizeof configs, "%s/configs", here);
    snprintf(path, sizeof path, "%s/configs", dir);
    CHECK(symlink(configs, path) == 0);
}

// Runs a line with the program in the path and returns its exit code.
static int paste(const char *line) {
    char program[4096], command[12000];
    program_path(program);
    *strrchr(program, '/') = '\0';
    snprintf(command, sizeof command, "cd '%s' && PATH='%s':$PATH && { %s; } >said 2>&1", dir,
             program, line);
    int code = system(command);
    program_read(dir, "said", said, sizeof said);
    return WEXITSTATUS(code);
}

// Shortens what takes minutes, and ends what does not end by itself.
static void try_example(const SrVerb *verb, const char *command) {
    bool trains = strcmp(verb->name, "train") == 0, serves = strcmp(verb->name, "web") == 0;
    bool may_find = strcmp(verb->name, "doctor") == 0 || strcmp(verb->name, "diff") == 0;
    char line[4096];
    if (serves && !SR_WEB)
        return;
    snprintf(line, sizeof line, "%s%s%s", serves ? "timeout 2 " : "", command,
             trains   ? " OPTIMIZER.num_epochs=1"
             : serves ? " --port 0"
                      : "");
    int code = paste(line);
    size_t n = strlen(said);
    if (code != 0 && !(may_find && code == 1) && !(serves && code == 124))
        fail_msg("%s gave %d\n%s", line, code, said + (n > 800 ? n - 800 : 0));
}

static void try_verb(const SrVerb *verb) {
    for (int i = 0; i < SR_EXAMPLES_MAX && verb->examples[i].command; i++) {
        const char *command = verb->examples[i].command;
        if (!sr_text_starts(command, "sslrun "))
            fail_msg("%s: an example should begin with sslrun: %s", verb->name, command);
        try_example(verb, command);
    }
}

// Verbs whose results other examples read come first.
static void test_pasted(void **state) {
    (void)state;
    static const char *const first[] = {"init", "train", "extract", "linear"};
    const SrVerb *verb;
    open_place();
    for (int i = 0; i < SR_COUNT(first); i++) {
        CHECK_OK(sr_verb_find(first[i], &verb));
        try_verb(verb);
    }
    for (int i = 0; (verb = sr_verb_at(i)); i++) {
        bool done = false;
        for (int k = 0; k < SR_COUNT(first); k++)
            done = done || strcmp(verb->name, first[k]) == 0;
        if (!done)
            try_verb(verb);
    }
    temp_dir_remove(dir);
}

SR_TESTS(examples, unit(test_pasted))
