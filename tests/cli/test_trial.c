// Follows the program as a user does whose folder has an unusual name: every command that a verb
// prints, on the way or in an error, is pasted and has to work.
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "tests/check.h"
#include "tests/cli/paste.h"
#include "tests/data/fixture.h"

#define PHOTOS "'Meine Fotos'"
#define RUN "'runs/a b'"
#define FILE_YAML "'Meine Fotos.yaml'"
#define SMALL " --model resnet18 --size 32 --layer res3"

// Photos in classes, names that a shell has to quote, a copy, an empty folder.
static void write_folder(void) {
    static const char *const names[] = {"it's.jpg", "$(id).jpg", "-rf.jpg",
                                        "\u00dcbergr\u00f6\u00dfe.jpg", "a \"b\".jpg"};
    static const char *const classes[] = {"boot", "hat", "shirt"};
    uint8_t pixels[PASTE_SIDE * PASTE_SIDE * 3];
    char file[96];
    for (int c = 0; c < SR_COUNT(classes); c++)
        paste_photos("Meine Fotos", classes[c], c);
    for (int i = 0; i < SR_COUNT(names); i++) {
        size_t bytes;
        fixture_noise(pixels, sizeof pixels, (uint64_t)(900 + i % 4)); // the last one is a copy
        void *jpeg = fixture_jpeg(pixels, PASTE_SIDE, PASTE_SIDE, 3, &bytes);
        snprintf(file, sizeof file, "Meine Fotos/hat/%s", names[i]);
        fixture_write(paste_dir, file, jpeg, bytes);
        sr_free(jpeg);
    }
    CHECK_INT(paste_run("mkdir 'Meine Fotos/empty'"), 0);
}

// Each verb with options that its next command has to keep.
static const char *const commands[] = {
    "sslrun init " PHOTOS " --minutes 1",
    "sslrun init " PHOTOS " --minutes 1 --out 'small & fine.yaml'",
    "sslrun check " FILE_YAML " LOSS.dcl_loss.temperature=0.2",
    "sslrun bench " FILE_YAML " LOSS.dcl_loss.temperature=0.2 --steps 1",
    "sslrun augment " FILE_YAML " CHECKPOINT.DIR=" RUN " --out 'all views.png'",
    "sslrun " FILE_YAML " CHECKPOINT.DIR=" RUN,
    "sslrun knn " RUN,
    "sslrun knn " RUN " --layers",
    "sslrun doctor " RUN,
    "sslrun inspect " RUN,
    "sslrun convert " RUN " 'my weights.npz'",
    "sslrun diff " RUN " 'my weights.npz'",
    "sslrun similar " PHOTOS "/hat/it\\'s.jpg --in " PHOTOS " --model " RUN " --layer res3",
    "sslrun duplicates " PHOTOS " --model " RUN " --layer res4",
    "sslrun duplicates " PHOTOS SMALL,
    "sslrun outliers " PHOTOS SMALL,
    "sslrun mislabeled " PHOTOS SMALL,
    "sslrun index " PHOTOS SMALL,
    "sslrun search " PHOTOS "/hat/it\\'s.jpg --in " PHOTOS SMALL,
    "sslrun linear " RUN " --data " PHOTOS " --out 'my classes.safetensors'",
    "sslrun predict " RUN " " PHOTOS " --classifier 'my classes.safetensors'",
    "sslrun extract " RUN " --nodes res3 --data " PHOTOS " --out 'my features'",
    "sslrun graph resnet18",
    "sslrun tidy " PHOTOS,
    "sslrun pack " PHOTOS " --out 'my shards'",
    "sslrun " FILE_YAML " --seeds 2 CHECKPOINT.DIR='runs/two seeds'",
};

TEST(test_next_commands) {
    paste_begin();
    write_folder();
    for (int i = 0; i < SR_COUNT(commands); i++)
        paste_try(commands[i]);
    int n = paste_follow();
    if (n < 25)
        fail_msg("only %d commands were suggested", n);
    paste_end();
}

// Copies what stands in the last output between `from` and `to`.
static void between(const char *from, const char *to, char *out, size_t n) {
    const char *at = strstr(paste_said, from), *end = at ? strstr(at + strlen(from), to) : NULL;
    if (!end)
        fail_msg("no \"%s\" in: %s", from, paste_said);
    at += strlen(from);
    snprintf(out, n, "%.*s", (int)(end - at), at);
}

// A refusal names what to add, or the command of the verb that was meant.
TEST(test_advice) {
    static const char cut[] = "sslrun check " FILE_YAML " OPTIMIZER.num_epochs=1 "
                              "OPTIMIZER.param_schedulers.lr.name=multistep "
                              "OPTIMIZER.param_schedulers.lr.values=[0.1,0.01] "
                              "OPTIMIZER.param_schedulers.lr.milestones=[3]";
    static const char frozen[] =
        "sslrun " FILE_YAML " MODEL.FEATURE_EVAL_SETTINGS.EVAL_MODE_ON=True "
        "MODEL.FEATURE_EVAL_SETTINGS.FREEZE_TRUNK_AND_HEAD=True "
        "MODEL.WEIGHTS_INIT.PARAMS_FILE=" RUN "/checkpoint.safetensors CHECKPOINT.DIR=runs/none";
    char text[2048], line[4096];
    paste_begin();
    write_folder();
    paste_try("sslrun init " PHOTOS " --minutes 1");
    CHECK_INT(paste_run(cut), 2);
    between("or add ", "\n", text, sizeof text);
    snprintf(line, sizeof line, "%s %s", cut, text);
    paste_try(line);
    paste_try("sslrun " FILE_YAML " CHECKPOINT.DIR=" RUN);
    CHECK_INT(paste_run(frozen), 2);
    between(" is for `", "`", text, sizeof text);
    paste_try(text);
    CHECK_INT(paste_run("sslrun predict " RUN " " PHOTOS), 2);
    between("there is no classifier; `", "`", text, sizeof text);
    snprintf(line, sizeof line, "%.*s%s", (int)(strstr(text, " DIR") + 1 - text), text, PHOTOS);
    paste_try(line);
    paste_try("sslrun predict " RUN " " PHOTOS);
    paste_end();
}

SR_TESTS(trial, unit(test_advice), unit(test_next_commands))
