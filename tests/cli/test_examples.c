// Pastes the examples of every verb's page, and the commands that verbs suggest, into a shell next
// to two folders of photos.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "cli/verb.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#include "gen/build.h"

enum { PER_CLASS = 20, SIDE = 24 };

static char dir[64], said[1 << 15];
static char suggested[90][1024]; // commands that verbs have printed
static int n_suggested;

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

// Writes a mask for each photo: the left half is class 0, the right half class 1.
static void write_masks(const char *name) {
    uint8_t class[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++)
        class[i] = i % SIDE >= SIDE / 2;
    for (int i = 0; i < PER_CLASS; i++) {
        char file[96];
        size_t bytes;
        void *png = fixture_png(class, SIDE, SIDE, 1, &bytes);
        snprintf(file, sizeof file, "masks/%s/%d.png", name, i);
        fixture_write(dir, file, png, bytes);
        sr_free(png);
    }
}

static void open_place(void) {
    static const char *const classes[] = {"boot", "hat", "shirt"};
    char here[4000], configs[4096], path[128];
    temp_dir_make(dir);
    for (int c = 0; c < SR_COUNT(classes); c++) {
        write_photos("photos", classes[c], c);
        write_masks(classes[c]);
        write_photos("new-photos", classes[c], c + SR_COUNT(classes));
    }
    CHECK(getcwd(here, sizeof here));
    // Films are read by a stand-in for ffmpeg that gives one grey picture.
    static const char ffmpeg[] = "#!/bin/sh\nprintf 'P6\\n1 1\\n255\\nabc'\n";
    CHECK(chmod(fixture_write(dir, "bin/ffmpeg", ffmpeg, strlen(ffmpeg)), 0755) == 0);
    fixture_write(dir, "film.mp4", "film", 4);
    snprintf(configs, sizeof configs, "%s/configs", here);
    snprintf(path, sizeof path, "%s/configs", dir);
    CHECK(symlink(configs, path) == 0);
}

// Runs a line with the program in the path and returns its exit code.
static int paste(const char *line) {
    char program[4096], command[16384];
    program_path(program);
    *strrchr(program, '/') = '\0';
    snprintf(command, sizeof command, "cd '%s' && PATH='%s':'%s/bin':$PATH && { %s; } >said 2>&1",
             dir, program, dir, line);
    int code = system(command);
    program_read(dir, "said", said, sizeof said);
    return WEXITSTATUS(code);
}

// Runs a command.  Training takes one epoch, and what serves a page is ended.  Exit code 1 is good
// where it means that something was found.
static void try_command(const char *command) {
    const char *verb = command + strlen("sslrun ");
    const char *file = strstr(verb, ".yaml");
    bool quoted = verb[0] == '\'';
    bool trains =
        sr_text_starts(verb, "train ") || (file && (quoted || file < verb + strcspn(verb, " ")));
    bool serves = sr_text_starts(verb, "web ");
    bool may_find = sr_text_starts(verb, "doctor ") || sr_text_starts(verb, "diff ");
    char line[8192];
    if (serves && !SR_WEB)
        return;
    if (strstr(command, "configs/swav.yaml") &&
        !sr_file_exists("/usr/share/datasets/fashion-mnist"))
        return; // the data of that recipe are not installed
    snprintf(line, sizeof line, "%s%s%s", serves ? "timeout 2 " : "", command,
             trains   ? " OPTIMIZER.num_epochs=1"
             : serves ? " --port 0"
                      : "");
    int code = paste(line);
    size_t n = strlen(said);
    if (code != 0 && !(may_find && code == 1) && !(serves && code == 124))
        fail_msg("%s gave %d\n%s", line, code, said + (n > 800 ? n - 800 : 0));
}

// Keeps the commands that stand after "next:" in what was said, each once.
static void keep_suggestions(void) {
    static char lines[1 << 15];
    const char *next = strstr(said, "next:\n");
    if (!next)
        return;
    snprintf(lines, sizeof lines, "%s", next);
    for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
        if (!sr_text_starts(line, "  sslrun ") || strstr(line, " configs/")) // another data set
            continue;
        bool known = false;
        for (int i = 0; i < n_suggested; i++)
            known = known || strcmp(suggested[i], line + 2) == 0;
        if (known)
            continue;
        CHECK(n_suggested < SR_COUNT(suggested));
        snprintf(suggested[n_suggested++], sizeof suggested[0], "%s", line + 2);
    }
}

static void try_suggestions(void) {
    for (int i = 0; i < n_suggested; i++)
        try_command(suggested[i]);
}

static void try_verb(const SrVerb *verb) {
    for (int i = 0; i < SR_EXAMPLES_MAX && verb->examples[i].command; i++) {
        const char *command = verb->examples[i].command;
        if (!sr_text_starts(command, "sslrun "))
            fail_msg("%s: an example should begin with sslrun: %s", verb->name, command);
        try_command(command);
        keep_suggestions();
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
    CHECK(n_suggested >= 10);
    try_suggestions();
    temp_dir_remove(dir);
}

// A flat folder has no classes: the run ends with figures that need none, and with `similar`.
static void test_flat_folder(void **state) {
    (void)state;
    temp_dir_make(dir);
    write_photos("my flat photos", ".", 9);
    n_suggested = 0;
    try_command("sslrun init 'my flat photos'");
    keep_suggestions();
    try_command("sslrun 'my flat photos.yaml'");
    keep_suggestions();
    CHECK(strstr(said, "  views of an image that find each other "));
    CHECK(strstr(said, "  effective rank ") && !strstr(said, "nothing to compare"));
    CHECK(strstr(said, "  sslrun similar '") && !strstr(said, "sslrun linear "));
    CHECK(n_suggested >= 3);
    try_suggestions();
    try_command("sslrun knn 'runs/my flat photos'");
    CHECK(strstr(said, "  views of an image that find each other "));
    temp_dir_remove(dir);
}

SR_TESTS(examples, unit(test_pasted), unit(test_flat_folder))
