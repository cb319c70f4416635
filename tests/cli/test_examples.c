// Pastes the examples of every verb's page, and the commands that verbs suggest, into a shell next
// to two folders of photos.
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "cli/verb.h"
#include "tests/check.h"
#include "tests/cli/paste.h"
#include "tests/data/fixture.h"

// Writes a mask for each photo: the left half is class 0, the right half class 1.
static void write_masks(const char *name) {
    uint8_t class[PASTE_SIDE * PASTE_SIDE];
    for (int i = 0; i < PASTE_SIDE * PASTE_SIDE; i++)
        class[i] = i % PASTE_SIDE >= PASTE_SIDE / 2;
    for (int i = 0; i < PASTE_PER_CLASS; i++) {
        char file[96];
        size_t bytes;
        void *png = fixture_png(class, PASTE_SIDE, PASTE_SIDE, 1, &bytes);
        snprintf(file, sizeof file, "masks/%s/%d.png", name, i);
        fixture_write(paste_dir, file, png, bytes);
        sr_free(png);
    }
}

static void open_place(void) {
    static const char *const classes[] = {"boot", "hat", "shirt"};
    paste_begin();
    for (int c = 0; c < SR_COUNT(classes); c++) {
        paste_photos("photos", classes[c], c);
        write_masks(classes[c]);
        paste_photos("new-photos", classes[c], c + SR_COUNT(classes));
    }
    CHECK_INT(paste_run(PASTE_WEIGHTS("resnet18.pth")), 0);
    // Films are read by a stand-in for ffmpeg that gives one grey picture.
    static const char ffmpeg[] = "#!/bin/sh\nprintf 'P6\\n1 1\\n255\\nabc'\n";
    CHECK(chmod(fixture_write(paste_dir, "bin/ffmpeg", ffmpeg, strlen(ffmpeg)), 0755) == 0);
    fixture_write(paste_dir, "film.mp4", "film", 4);
}

static void try_verb(const SrVerb *verb) {
    for (int i = 0; i < SR_EXAMPLES_MAX && verb->examples[i].command; i++) {
        const char *command = verb->examples[i].command;
        if (!sr_text_starts(command, "sslrun "))
            fail_msg("%s: an example should begin with sslrun: %s", verb->name, command);
        paste_try(command);
    }
}

// Verbs whose results other examples read come first.
TEST(test_pasted) {
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
    CHECK(paste_follow() >= 10);
    paste_end();
}

// A flat folder has no classes: the run ends with figures that need none, and with `similar`.
TEST(test_flat_folder) {
    paste_begin();
    paste_photos("my flat photos", ".", 9);
    paste_try("sslrun init 'my flat photos'");
    paste_try("sslrun 'my flat photos.yaml'");
    CHECK(strstr(paste_said, "  views of an image that find each other "));
    CHECK(strstr(paste_said, "  effective rank ") && !strstr(paste_said, "nothing to compare"));
    CHECK(strstr(paste_said, "  sslrun similar '") && !strstr(paste_said, "sslrun linear "));
    CHECK(paste_follow() >= 3);
    paste_try("sslrun knn 'runs/my flat photos'");
    CHECK(strstr(paste_said, "  views of an image that find each other "));
    paste_end();
}

SR_TESTS(examples, unit(test_pasted), unit(test_flat_folder))
