// The commands in the comments at the head of the files below configs/ work when they are pasted.
// The folder has what `make run` leaves, and images under the names that the commands use.
// Recipes that train for minutes go through `check`.
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static char dir[64], said[1 << 15];
static int tried;

static void paste(const char *line) {
    char command[8192];
    snprintf(command, sizeof command, "cd %s && { %s; } >said 2>&1", dir, line);
    int code = system(command);
    program_read(dir, "said", said, sizeof said);
    size_t n = strlen(said); // a failure's message is short, and the cause is in its last lines
    if (code != 0)
        fail_msg("%s\n%s", line, said + (n > 500 ? n - 500 : 0));
}

static void write_images(const char *folder, int n) {
    for (int i = 0; i < n; i++) {
        uint8_t pixels[32 * 32 * 3];
        char name[96];
        size_t bytes;
        fixture_noise(pixels, sizeof pixels, (uint64_t)i);
        void *png = fixture_png(pixels, 32, 32, 3, &bytes);
        snprintf(name, sizeof name, "%s/class%d/%d.png", folder, i % 10, i);
        fixture_write(dir, name, png, bytes);
        sr_free(png);
    }
}

static void link_to(const char *target, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    CHECK(symlink(target, path) == 0);
}

// Makes what the commands in the heads need: shortened runs of two recipes, and data.
static void open_place(void) {
    static const char *const teachers[] = {"runs/supervised_cifar10",
                                           "runs/masked_siamese_cifar10"};
    static const char *const lists[] = {"train_images.npy", "train_labels.npy", "test_images.npy",
                                        "test_labels.npy"};
    char program[4096], here[4000], configs[4096];
    if (access("/usr/share/datasets/fashion-mnist", R_OK) != 0)
        SKIP("there is no Fashion-MNIST", "apt-get install dataset-fashion-mnist");
    temp_dir_make(dir);
    program_path(program);
    CHECK(getcwd(here, sizeof here));
    snprintf(configs, sizeof configs, "%s/configs", here);
    link_to(program, "sslrun");
    link_to(configs, "configs");
    write_images("cifar/train", 320); // more images than the largest number of clusters
    write_images("cifar/test", 20);
    write_images("photos", 20);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        fixture_write(dir, lists[i], "", 0);
    paste("./sslrun configs/swav.yaml DATA.TRAIN.DATA_LIMIT=256 OPTIMIZER.num_epochs=1 "
          "TEST_MODEL=False");
    paste("./sslrun configs/pretrain/dcl/dcl_hour_amx_cifar10.yaml "
          "DATA.TRAIN.DATA_PATHS=[cifar/train] "
          "DATA.TRAIN.DATA_LIMIT=256 OPTIMIZER.num_epochs=1 TEST_MODEL=False");
    for (size_t i = 0; i < sizeof teachers / sizeof *teachers; i++)
        link_to("swav", teachers[i]);
    // `check` asks whether a teacher's file exists.
    fixture_write(dir, "resnet50.pth", "", 0);
    static const char *const weights[] = {"resnet18.pth", "dinov2_vits14.pth", "dinov3_vits16.pth",
                                          "inception_v3.safetensors"};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        fixture_write(dir, weights[i], "", 0);
}

// Runs a command that takes seconds on few images; of any other it checks the configuration.
static void try_command(const char *command) {
    // Linear evaluation calibrates its untrained trunk on a full batch.
    const char *few = strstr(command, "/linear.yaml")
                          ? " DATA.TRAIN.DATA_LIMIT=256 DATA.TEST.DATA_LIMIT=20"
                          : " DATA.TRAIN.DATA_LIMIT=60 DATA.TEST.DATA_LIMIT=20";
    const char *args = command + strlen("./sslrun ");
    bool trains = sr_text_starts(args, "configs/");
    bool short_run = sr_text_starts(args, "configs/benchmark/") && !strstr(args, "multilabel");
    char line[4300];
    if (strstr(args, "/path/to/"))
        return;
    snprintf(line, sizeof line, "./sslrun %s%s%s", trains && !short_run ? "check " : "", args,
             short_run ? few : "");
    paste(line);
    tried++;
}

// Tries each line of a head that starts with ./sslrun, joined with its continuation lines.
static void try_head(const char *path) {
    char command[4096] = "", *text;
    size_t bytes;
    CHECK_OK(sr_file_read(path, 1 << 20, &text, &bytes));
    for (char *line = text, *end; line[0] == '#'; line = end + 1) {
        end = strchr(line, '\n');
        CHECK(end);
        *end = '\0';
        const char *begin = strstr(line, "./sslrun ");
        if (begin || *command) {
            size_t n = strlen(command);
            snprintf(command + n, sizeof command - n, "%s", begin ? begin : line + 1);
            n = strlen(command);
            if (command[n - 1] == '\\') {
                command[n - 1] = ' ';
                continue;
            }
            try_command(command);
            *command = '\0';
        }
    }
    sr_free(text);
}

static void try_folder(const char *folder) {
    char **names, path[512];
    int n;
    CHECK_OK(sr_file_list(folder, &names, &n));
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (sr_file_is_dir(path))
            try_folder(path);
        else if (sr_text_ends(path, ".yaml"))
            try_head(path);
    }
    sr_file_list_free(names, n);
}

TEST(test_pasted) {
    open_place();
    tried = 0;
    try_folder("configs");
    CHECK(tried >= 40);
    temp_dir_remove(dir);
}

SR_TESTS(config_heads, unit(test_pasted))
