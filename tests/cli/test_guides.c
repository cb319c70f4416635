// Runs every command of the README and of docs/guide next to a few small photos, in the order of
// the document, and compares the output that a document shows with what the program prints.
//
// Commands are indented lines and code spans that begin with "sslrun" or "./sslrun". Words such as
// CONFIG and RUN stand for a configuration and a run. Training of photos.yaml takes one epoch;
// other recipes are planned by `check`, which reads their data and keys. A line after "$ ./sslrun"
// is output: it must be among the printed lines once numbers are masked on both sides.
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/npy.h"
#include "base/text/text.h"
#include "tests/check.h"
#include "tests/cli/paste.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#include "gen/build.h"

#define FASHION "/usr/share/datasets/fashion-mnist"
enum { PER_CLASS = 20, SHORT = 24, LINE = 8192 };

static char root[64];           // every document has its own copy of root/place
static char here[4000];         // the tree
static char self[PROGRAM_SELF]; // folder of the program
static char said[1 << 16];
static int n_run, n_shown;

// Writes a mask for a photo: the left half is class 0, the right half class 1.
static void write_mask(const char *folder, const char *class_name, int i, int h, int w) {
    uint8_t class[(SHORT + 8) * SHORT];
    char file[96];
    size_t bytes;
    if (strcmp(folder, "photos") != 0)
        return;
    for (int p = 0; p < h * w; p++)
        class[p] = p % w >= w / 2;
    void *png = fixture_png(class, h, w, 1, &bytes);
    snprintf(file, sizeof file, "place/masks/%s/%d.png", class_name, i);
    fixture_write(root, file, png, bytes);
    sr_free(png);
}

// Photos with a shorter side of one length, most of them upright, and a class of another size, so
// that `init` has as much to say about them as about the photos in the documents.
static void write_photos(const char *folder, const char *class_name, int seed) {
    for (int i = 0; i < PER_CLASS + 4 * seed; i++) {
        int longer = SHORT + 7 * i % 9, h = i % 3 ? longer : SHORT, w = i % 3 ? SHORT : longer;
        uint8_t pixels[(SHORT + 8) * SHORT * 3];
        char file[96];
        size_t bytes;
        fixture_noise(pixels, sizeof pixels, (uint64_t)(seed * 100 + i));
        void *jpeg = fixture_jpeg(pixels, h, w, 3, &bytes);
        snprintf(file, sizeof file, "place/%s/%s/%d.jpg", folder, class_name, i);
        fixture_write(root, file, jpeg, bytes);
        sr_free(jpeg);
        write_mask(folder, class_name, i, h, w);
    }
}

// A stack of 13 channels in two classes, with its labels.
static void write_bands(void) {
    enum { N = 40, ITEMS = N * 13 * 24 * 24 };
    static uint16_t x[ITEMS];
    int64_t label[N];
    char path[128];
    for (int i = 0; i < N; i++)
        label[i] = i % 2;
    fixture_noise((uint8_t *)x, sizeof x, 7);
    snprintf(path, sizeof path, "%s/place/bands.npy", root);
    CHECK_OK(sr_npy_save(path, "<u2", SR_SHAPE(N, 13, 24, 24), x, sizeof x));
    snprintf(path, sizeof path, "%s/place/bands-labels.npy", root);
    CHECK_OK(sr_npy_save(path, "<i8", SR_SHAPE(N), label, sizeof label));
}

static int paste(const char *dir, const char *line) {
    char *command = sr_alloc(2 * LINE + sizeof here + sizeof self + sizeof root);
    sprintf(command, "cd '%s' && PATH='%s':'%s/bin':$PATH && { %s\n} >said 2>&1", dir, self, root,
            line);
    int code = system(command);
    sr_free(command);
    program_read(dir, "said", said, sizeof said);
    return WEXITSTATUS(code);
}

static void must(const char *dir, const char *line) {
    int code = paste(dir, line);
    if (code != 0)
        fail_msg("%s ended with %d: %s", line, code, said);
}

static void open_place(void) {
    static const char *const classes[] = {"boot", "hat", "shirt"};
    char place[128], line[LINE];
    CHECK(getcwd(here, sizeof here));
    program_folder(self);
    temp_dir_make(root);
    for (int c = 0; c < SR_COUNT(classes); c++) {
        write_photos("photos", classes[c], c);
        write_photos("new-photos", classes[c], c + SR_COUNT(classes));
    }
    write_bands();
    // Films are read by a stand-in for ffmpeg that gives one grey picture.
    static const char ffmpeg[] = "#!/bin/sh\nprintf 'P6\\n1 1\\n255\\nabc'\n";
    CHECK(chmod(fixture_write(root, "bin/ffmpeg", ffmpeg, strlen(ffmpeg)), 0755) == 0);
    fixture_write(root, "place/film.mp4", "film", 4);
    snprintf(place, sizeof place, "%s/place", root);
    snprintf(
        line, sizeof line,
        "ln -s '%s/configs' '%s/bench' . && mkdir -p imagenet && cp -r photos imagenet/train && "
        "cp -r new-photos test-photos && "
        "cp photos/hat/1.jpg a.jpg && sslrun init photos --minutes 1",
        here, here);
    must(place, line);
    must(place,
         "mkdir -p data/cifar10/cifar-10-batches-bin && cd data/cifar10/cifar-10-batches-bin "
         "&& for f in data_batch_1 data_batch_2 data_batch_3 data_batch_4 data_batch_5 "
         "test_batch; do head -c $((64 * 3073)) /dev/zero >$f.bin; done && seq 10 "
         ">batches.meta.txt");
    must(place, "sslrun photos.yaml OPTIMIZER.num_epochs=1");
    must(place, PASTE_WEIGHTS("imagenet_resnet18.pth"));
    // Only `check` sees the weights of teachers.
    must(place, "cp -r runs/photos runs/a; cp -r runs/photos runs/b; cp -r runs/photos runs/swav; "
                "cp runs/photos/checkpoint.safetensors .; "
                "for f in resnet50 dinov2_vits14; do cp "
                "checkpoint.safetensors $f.pth; done; touch dinov3_vits16.pth");
}

// Replaces a whole word of a command.
static void replace(char line[LINE / 2], const char *word, const char *by) {
    size_t n = strlen(word);
    char rest[LINE / 2];
    for (char *at = line; (at = strstr(at, word)); at += strlen(by)) {
        bool begins = at == line || strchr(" [=", at[-1]);
        bool ends = strchr(" /]", at[n]) || !at[n];
        if (!begins || !ends) {
            at -= strlen(by) - 1;
            continue;
        }
        snprintf(rest, sizeof rest, "%s", at + n);
        snprintf(at, LINE / 2 - (size_t)(at - line), "%s%s", by, rest);
    }
}

// Turns a command of a document into one that runs here in seconds; false: it is not run.
static bool adapt(const char *command, char *line) {
    static const char *const words[][2] = {{"CONFIG", "photos.yaml"},
                                           {"RUN", "runs/photos"},
                                           {"runs/NAME", "runs/photos"},
                                           {"KEY", "LOSS"},
                                           {"VERB", "knn"},
                                           {"MODEL", "resnet18"},
                                           {"FILE", "checkpoint.safetensors"},
                                           {"P", "2"},
                                           {"G", "10"}};
    const char *verb = command + strlen("sslrun") + 1, *comment = strstr(command, "  #");
    char body[LINE / 2];
    if (strlen(command) <= strlen("sslrun ")) // the name of the program
        return false;
    snprintf(body, sizeof body, "%.*s", (int)(comment ? comment - verb : (int)strlen(verb)), verb);
    for (int i = 0; i < SR_COUNT(words); i++)
        replace(body, words[i][0], words[i][1]);
    bool photos = sr_text_starts(body, "photos.yaml") || sr_text_starts(body, "further.yaml") ||
                  strstr(body, "configs/photos.yaml");
    bool recipe = sr_text_starts(body, "config") && !photos;
    bool large = sr_text_starts(body, "bench ") && strstr(body, " --steps");
    bool alone = !strchr(body, ' ') && !photos && strcmp(body, "list") != 0; // a verb is named
    if (alone || strstr(body, " TRAIN TEST") || (sr_text_starts(body, "web") && !SR_WEB))
        return false;
    if (sr_text_starts(body, "init"))
        snprintf(line, LINE, "sslrun %s --force", body);
    else if (sr_text_starts(body, "web"))
        snprintf(line, LINE, "timeout 2 sslrun %s --port 0; test $? = 124", body);
    else if (sr_text_starts(body, "doctor") || sr_text_starts(body, "diff"))
        snprintf(line, LINE, "sslrun %s || test $? = 1", body); // 1: something was found
    else if (photos && sr_text_starts(body, "configs/"))
        snprintf(line, LINE,
                 "sslrun check %s && sslrun photos.yaml --restart OPTIMIZER.num_epochs=1", body);
    else if (photos && strstr(body, " --minutes ")) // keeps the epochs of the run that is there
        snprintf(line, LINE, "sslrun %s", body);
    else if (photos)
        snprintf(line, LINE, "sslrun %s --restart OPTIMIZER.num_epochs=1", body);
    else if (large)
        snprintf(line, LINE, "sslrun check %.*s", (int)(strstr(body, " --steps") - body - 6),
                 body + 6);
    else
        snprintf(line, LINE, "sslrun %s%s", recipe ? "check " : "", body);
    return true;
}

// Masks what differs between machines and data: words with a digit or a slash become #, a word in
// brackets (#), and units of bytes, marks of one letter or star and numbers after "of" vanish.
static void mask(const char *line, char out[LINE]) {
    char word[LINE];
    size_t n = 0;
    while (*line) {
        size_t blank = strspn(line, " "), length = strcspn(line + blank, " ");
        size_t dot = sr_text_starts(line + blank, "./") ? 2 : 0;
        snprintf(word, sizeof word, "%.*s", (int)(length - dot), line + blank + dot);
        line += blank + length;
        if (strcmp(word, "of") == 0 && line[0] == ' ' && isdigit((unsigned char)line[1])) {
            line += 1 + strcspn(line + 1, " ");
            continue;
        }
        bool varies = strpbrk(word, "0123456789/") != NULL, bracket = word[0] == '(';
        bool unit = length >= 2 && strstr("kB, MB, GB,", word);
        if (length == 0 || unit || (length == 1 && strchr("*cd", word[0])))
            continue;
        if (bracket && word[length - 1] == ')' && strcmp(word, "(numbers)") != 0)
            snprintf(word, sizeof word, "(#)");
        else if (varies)
            snprintf(word, sizeof word, "#");
        n += (size_t)snprintf(out + n, LINE - n, "%s ", word);
    }
    out[n] = '\0';
}

static bool was_said(const char *shown) {
    char wanted[LINE], printed[LINE], line[LINE];
    mask(shown, wanted);
    for (const char *at = said; *at; at += strcspn(at, "\r\n"), at += strspn(at, "\r\n")) {
        snprintf(line, sizeof line, "%.*s", (int)SR_MIN(strcspn(at, "\r\n"), (size_t)LINE - 1), at);
        mask(line, printed);
        if (strcmp(wanted, printed) == 0)
            return true;
    }
    return false;
}

// Compares a line of shown output. Which network is chosen, and how long it takes, depends on the
// machine.
static void look_at(const char *document, const char *shown) {
    const char *text = shown + strspn(shown, " *");
    if (strcmp(text, "...") == 0 || isdigit((unsigned char)*text) ||
        sr_text_starts(text, "photos.yaml:"))
        return;
    n_shown++;
    if (!was_said(shown))
        fail_msg("%s shows \"%s\", which is not among: %s", document, shown, said);
}

static void run(const char *document, const char *dir, const char *command) {
    char line[LINE];
    if (strstr(command, "...") || !adapt(command, line))
        return;
    n_run++;
    int code = paste(dir, line);
    size_t n = strlen(said);
    // Recipes that read Fashion-MNIST run where it is installed.
    if (code == 2 && strstr(said, "'" FASHION "'") && !sr_file_exists(FASHION))
        return;
    if (code != 0)
        fail_msg("%s: %s ended with %d: %s", document, line, code, said + (n > 900 ? n - 900 : 0));
}

// Runs the code spans of a paragraph or table that are commands.
static void run_spans(const char *document, const char *dir, const char *text) {
    char span[LINE];
    for (const char *at = text; (at = strchr(at, '`')); at++) {
        size_t n = strcspn(at + 1, "`");
        snprintf(span, sizeof span, "%.*s", (int)n, at + 1);
        const char *command = span + (sr_text_starts(span, "./") ? 2 : 0);
        if (sr_text_starts(command, "sslrun "))
            run(document, dir, command);
        at += n + 1;
        if (!*at)
            return;
    }
}

static void run_document(const char *document) {
    char dir[256], path[4200], joined[LINE] = "", line[LINE], *text, *save = NULL;
    size_t n;
    bool output = false, prompted = false;
    snprintf(dir, sizeof dir, "%s/now", root);
    snprintf(line, sizeof line, "rm -rf now && cp -r place now");
    must(root, line);
    snprintf(path, sizeof path, "%s/%s", here, document);
    CHECK_OK(sr_file_read(path, 1 << 20, &text, &n));
    for (char *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
        bool code = sr_text_starts(at, "    ");
        char *body = at + (code ? 4 : 0);
        if (!code) {
            output = false;
            run_spans(document, dir, body);
            continue;
        }
        bool prompt = sr_text_starts(body, "$ ");
        body += prompt ? 2 : 0;
        if (output && !prompt) {
            look_at(document, body);
            continue;
        }
        char *command = body + (sr_text_starts(body, "./sslrun ") ? 2 : 0);
        if (joined[0] == '\0' && !sr_text_starts(command, "sslrun "))
            continue;
        prompted = joined[0] == '\0' ? prompt : prompted; // of the command's first line
        size_t used = strlen(joined), length = strlen(command);
        bool goes_on = length > 0 && command[length - 1] == '\\';
        snprintf(joined + used, sizeof joined - used, "%.*s", (int)(length - goes_on), command);
        if (goes_on)
            continue;
        run(document, dir, joined);
        joined[0] = '\0';
        output = prompted;
    }
    sr_free(text);
}

TEST(test_readme) {
    open_place();
    n_run = n_shown = 0;
    run_document("README.md");
    CHECK(n_run >= 6);
    CHECK(n_shown >= 12);
    temp_dir_remove(root);
}

// The page for torchvision and timm needs a run of a ResNet-18: the suite documents runs it.
TEST(test_guides) {
    struct dirent *entry;
    DIR *guides = opendir("docs/guide");
    CHECK(guides);
    open_place();
    n_run = n_shown = 0;
    while ((entry = readdir(guides))) {
        char document[400];
        snprintf(document, sizeof document, "docs/guide/%s", entry->d_name);
        if (strstr(document, ".md") && !strstr(document, "torchvision"))
            run_document(document);
    }
    closedir(guides);
    CHECK(n_run >= 50);
    CHECK(n_shown >= 10);
    temp_dir_remove(root);
}

SR_TESTS(guides, unit(test_readme), unit(test_guides))
