// Commands in the documents run as they are written, in order, in a folder with the files that
// they mention.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "base/version.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define COMING_FROM "docs/guide/from-torchvision-and-timm.md"

static char self[PROGRAM_SELF]; // folder of the program
static char said[1 << 16];

static const char config[] =
    "config:\n"
    "  DATA:\n"
    "    TRAIN: {DATA_PATHS: [photos], BATCHSIZE_PER_REPLICA: 2, DATA_LIMIT: 2, COLLATE_FUNCTION: "
    "simclr_collator,\n"
    "      TRANSFORMS: [{name: ImgReplicatePil}, {name: RandomResizedCrop, size: 32}, {name: "
    "ToTensor}, {name: Normalize}]}\n"
    "  MODEL:\n"
    "    TRUNK: {NAME: resnet, RESNETS: {DEPTH: 18}}\n"
    "    HEAD: {PARAMS: [[mlp, {dims: [512, 8]}]]}\n"
    "  LOSS: {name: simclr_info_nce_loss, simclr_info_nce_loss: {buffer_params: {embedding_dim: "
    "8}}}\n"
    "  OPTIMIZER: {num_epochs: 1, param_schedulers: {lr: {name: constant, value: 0.01}}}\n"
    "  CHECKPOINT: {DIR: runs/photos}\n"
    "  TEST_MODEL: False\n";

static int shell(const char *dir, const char *line) {
    char whole[16384];
    snprintf(whole, sizeof whole,
             "PATH='%s':$PATH; export LIBSSLRUN='%s/libsslrun.so'; cd '%s' && { %s; } >said 2>&1",
             self, self, dir, line);
    int code = system(whole);
    program_read(dir, "said", said, sizeof said);
    return code;
}

static void must(const char *dir, const char *line) {
    if (shell(dir, line) != 0)
        fail_msg("%s: %s", line, said);
}

static void begin(char dir[64]) {
    program_folder(self);
    temp_dir_make(dir);
    for (int i = 0; i < 3; i++) {
        uint8_t pixels[40 * 40 * 3];
        char name[64];
        size_t bytes;
        fixture_noise(pixels, sizeof pixels, (uint64_t)i);
        void *jpeg = fixture_jpeg(pixels, 40, 40, 3, &bytes);
        snprintf(name, sizeof name, "photos/%d.jpg", i);
        fixture_write(dir, name, jpeg, bytes);
        sr_free(jpeg);
    }
    fixture_write(dir, "photos.yaml", config, sizeof config - 1);
    must(dir, "sslrun photos.yaml");
}

// Calls `use` for each indented line of a document that starts with `begins`.
static void each_line(const char *document, const char *begins,
                      void (*use)(const char *dir, const char *line, void *arg), const char *dir,
                      void *arg) {
    char *text, *save = NULL;
    size_t n;
    CHECK_OK(sr_file_read(document, 1 << 20, &text, &n));
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (strncmp(line, "    ", 4) == 0 && strncmp(line + 4, begins, strlen(begins)) == 0)
            use(dir, line + 4, arg);
    sr_free(text);
}

static void run_line(const char *dir, const char *line, void *arg) {
    must(dir, line);
    ++*(int *)arg;
}

static void keep_line(const char *dir, const char *line, void *arg) {
    (void)dir;
    strcat(arg, line);
    strcat(arg, "\n");
}

TEST(test_coming_from) {
    char dir[64], here[2048], python[8192] = "", line[4200];
    int lines = 0;
    begin(dir);
    each_line(COMING_FROM, "sslrun ", run_line, dir, &lines);
    CHECK(lines >= 11);
    CHECK_INT(shell(dir, "sslrun diff resnet18.pth resnet18-timm.safetensors"), 0);
    CHECK(strstr(said, "identical"));
    each_line(COMING_FROM, "", keep_line, dir, python); // the document ends with its Python
    CHECK(strstr(python, "import sslrun"));
    CHECK(getcwd(here, sizeof here) != NULL);
    fixture_write(dir, "page.py", strstr(python, "import sslrun"),
                  strlen(strstr(python, "import sslrun")));
    snprintf(line, sizeof line,
             "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='%s/python' /usr/bin/python3 page.py", here);
    if (!PROGRAM_SANITIZED && system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") == 0)
        must(dir, line);
    temp_dir_remove(dir);
}

// The commands of docs/guide/first-hour.md that follow its first four; tests/cli/test_first_hour.c
// runs those.
TEST(test_first_hour) {
    static const char *const lines[] = {
        "sslrun similar a.jpg --in photos --model runs/photos", "sslrun report runs/a runs/b",
        "sslrun list", "sslrun convert checkpoint.safetensors trunk.pth --to vissl"};
    char dir[64], *text;
    size_t n;
    CHECK_OK(sr_file_read("docs/guide/first-hour.md", 1 << 20, &text, &n));
    for (int i = 0; i < SR_COUNT(lines); i++)
        if (!strstr(text, lines[i]))
            fail_msg("docs/guide/first-hour.md no longer says: %s", lines[i]);
    sr_free(text);
    begin(dir);
    must(dir, "cp photos/0.jpg a.jpg; cp runs/photos/checkpoint.safetensors .; cp -r runs/photos "
              "runs/a; cp -r runs/photos runs/b");
    for (int i = 0; i < SR_COUNT(lines); i++)
        must(dir, lines[i]);
    temp_dir_remove(dir);
}

#define C_AND_PYTHON "docs/guide/c-and-python.md"

// Fails unless examples/values.c has the line.
static void in_example(const char *dir, const char *line, void *arg) {
    (void)dir;
    if (!strstr(arg, line))
        fail_msg("examples/values.c does not say: %s", line);
}

// The configuration of values has the lines of C of the example that tests/cli/test_doors.c runs,
// and its Python runs.
TEST(test_values) {
    char dir[64], here[2048], line[4200], *text, *example;
    size_t n;
    CHECK_OK(sr_file_read("examples/values.c", 1 << 20, &example, &n));
    each_line(C_AND_PYTHON, "sr_train_config_", in_example, NULL, example);
    sr_free(example);
    CHECK_OK(sr_file_read(C_AND_PYTHON, 1 << 20, &text, &n));
    char *begins = strstr(text, "    values = {"), *last = strstr(text, "    sslrun.train(values");
    CHECK(begins && last && strchr(last, '\n'));
    *strchr(last, '\n') = '\0';
    SrText python = SR_TEXT_INIT;
    sr_text_printf(&python, "import sslrun\nif True:\n%s\n", begins);
    begin(dir);
    fixture_write(dir, "values.py", python.s, python.len);
    CHECK(getcwd(here, sizeof here) != NULL);
    snprintf(line, sizeof line,
             "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='%s/python' /usr/bin/python3 values.py", here);
    if (!PROGRAM_SANITIZED && system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") == 0) {
        must(dir, line);
        must(dir, "test -s runs/values/checkpoint.safetensors");
    }
    sr_text_deinit(&python);
    sr_free(text);
    temp_dir_remove(dir);
}

TEST(test_links) { CHECK_INT(system("tests/links.sh >/dev/null"), 0); }

// Copies what follows `begin` in a file, up to one of the characters of `end`, into version.
static void read_version(const char *path, const char *begin, const char *end, char version[32]) {
    program_read(".", path, said, sizeof said);
    char *at = strstr(said, begin);
    if (!at)
        fail_msg("%s: '%s' is missing", path, begin);
    at += strlen(begin);
    snprintf(version, 32, "%.*s", (int)strcspn(at, end), at);
}

// A release is named in five places; docs/design/releases.md asks for the same number in all.
TEST(test_version_is_the_same_everywhere) {
    static const struct {
        const char *path, *begin, *end;
    } places[] = {{"CHANGELOG.md", "\n## ", " \n"},
                  {"debian/changelog", "sslrun (", ")"},
                  {"sslrun.h", "sr_version(void); /* \"", "\""},
                  {"base/version.h", "SR_VERSION \"", "\""}};
    for (int i = 0; i < SR_COUNT(places); i++) {
        char version[32];
        read_version(places[i].path, places[i].begin, places[i].end, version);
        CHECK_STR(version, SR_VERSION);
    }
    char dir[64];
    begin(dir);
    must(dir, "sslrun --version");
    CHECK(strncmp(said, "sslrun " SR_VERSION "\n", strlen("sslrun " SR_VERSION "\n")) == 0);
    temp_dir_remove(dir);
}

SR_TESTS(documents, unit(test_coming_from), unit(test_first_hour), unit(test_values),
         unit(test_links), unit(test_version_is_the_same_everywhere))
