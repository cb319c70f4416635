// Opens and continues what earlier releases left on a disk, tests/versions/*.tar.xz, which
// tests/versions/make.sh made with their programs.
//
// A run that a kill cut off goes on from its 6th of 12 updates.  It must reach what the release
// itself reached: the same bits on the machine that made the corpus, and the same numbers up to
// rounding on others (docs/design/releases.md).
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/text/text.h"
#include "formats/weights/checkpoint_sums.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define FOLDER "tests/versions"
#define ROUNDING "--rtol 1e-3 --atol 1e-4"

typedef struct {
    char dir[64], name[64];
    int bits, runs; // runs that ended in the same bits, and all
} Corpus;

// Runs the program in the corpus.  Returns its exit code; output is in <dir>/out and <dir>/err.
static int run(const Corpus *c, const char *args) {
    char program[4096], command[8192];
    program_path(program);
    snprintf(command, sizeof command, "cd '%s' && '%s' %s >out 2>err </dev/null", c->dir, program,
             args);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

// The run must end with 0 and print `text`; NULL: anything.
static void must(const Corpus *c, const char *args, const char *text) {
    static char out[1 << 16], err[1 << 14];
    int code = run(c, args);
    program_read(c->dir, "out", out, sizeof out);
    program_read(c->dir, "err", err, sizeof err);
    if (code != 0 || (text && !strstr(out, text)))
        fail_msg("%s: sslrun %s: exit code %d, expected 0 and \"%s\", got:\n%s%s", c->name, args,
                 code, text ? text : "", out, err);
}

static bool has(const Corpus *c, const char *name) {
    char path[256];
    CHECK_OK(sr_file_join(path, sizeof path, c->dir, name));
    return sr_file_exists(path);
}

static void check_run(Corpus *c, const char *name) {
    char args[512];
    snprintf(args, sizeof args, "train %s.yaml CHECKPOINT.DIR=%s", name, name);
    must(c, args, "trained 6 updates");
    snprintf(args, sizeof args, "diff %s %s.final.safetensors " ROUNDING, name, name);
    must(c, args, NULL);
    snprintf(args, sizeof args, "diff %s %s.final.safetensors", name, name);
    c->bits += run(c, args) == 0;
    c->runs++;
}

static void check_files(Corpus *c) {
    must(c, "diff weights.pth weights.npz", NULL);
    must(c,
         "extract swav/train_config.yaml --weights swav.final.safetensors --nodes flatten --data "
         "shards --out of-shards",
         NULL);
    must(c,
         "extract swav/train_config.yaml --weights swav.final.safetensors --nodes flatten --data "
         "images --out again",
         NULL);
    must(c, "diff features/features-00000.safetensors again/features-00000.safetensors " ROUNDING,
         NULL);
    must(c, "cluster features CLUSTERFIT.NUM_CLUSTERS=2", NULL);
    must(c, "report swav", "swav/report.html");
    if (has(c, "images.index"))
        must(c, "search images/a/gray.jpg --index images.index", "images/b/progressive.jpg");
}

static void check_corpus(const char *name) {
    Corpus c = {.bits = 0};
    char command[512];
    snprintf(c.name, sizeof c.name, "%s", name);
    temp_dir_make(c.dir);
    snprintf(command, sizeof command, "tar -xJf " FOLDER "/%s -C %s", name, c.dir);
    if (system(command) != 0)
        SKIP("tar cannot unpack .xz", "apt-get install xz-utils");
    check_run(&c, "swav");
    check_run(&c, "moco");
    check_run(&c, "adamw");
    check_files(&c);
    print_message("    %s: %d of %d runs end in the same bits, the others up to rounding\n", name,
                  c.bits, c.runs);
    temp_dir_remove(c.dir);
}

TEST(test_all) {
    int n = 0;
    DIR *d = opendir(FOLDER);
    CHECK(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        if (sr_text_ends(e->d_name, ".tar.xz")) {
            check_corpus(e->d_name);
            n++;
        }
    closedir(d);
    CHECK(n >= 2);
}

// Writes a whole file whose metadata announces the next format.
static void write_next_format(const char *path) {
    const char *const keys[] = {"format", "format_version", "metadata_checksum"};
    const char *values[] = {SR_CHECKPOINT_NAME, "2", ""};
    float x[] = {1, 2};
    const SrNamedTensor tensor = {"x", {SR_SHAPE(2), SR_F32, x}};
    char sum[16];
    snprintf(sum, sizeof sum, "%u", (unsigned)sr_checkpoint_metadata_sum(keys, values, 3));
    values[2] = sum;
    CHECK_OK(sr_safetensors_save(path, &tensor, 1, keys, values, 3));
}

// A checkpoint of a format to come is refused by a sentence, and nothing takes its place.
TEST(test_next_format) {
    static char err[1 << 14];
    Corpus c = {.name = "next format"};
    char command[512], path[256];
    temp_dir_make(c.dir);
    snprintf(command, sizeof command, "tar -xJf " FOLDER "/0.2.0.tar.xz -C %s", c.dir);
    if (system(command) != 0)
        SKIP("tar cannot unpack .xz", "apt-get install xz-utils");
    CHECK_OK(sr_file_join(path, sizeof path, c.dir, "moco/model_iteration6.safetensors"));
    write_next_format(path);
    CHECK_INT(run(&c, "train moco.yaml CHECKPOINT.DIR=moco"), 2);
    program_read(c.dir, "err", err, sizeof err);
    CHECK(strstr(err, "has checkpoint format 2, but this version of sslrun reads format 1"));
    CHECK(strstr(err, "nothing was changed"));
    CHECK(has(&c, "moco/model_iteration6.safetensors") && !has(&c, "moco/report.html"));
    CHECK_INT(run(&c, "knn moco"), 2);
    temp_dir_remove(c.dir);
}

SR_TESTS(versions, unit(test_all), unit(test_next_format))
