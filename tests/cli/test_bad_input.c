// Tests bad files: cut off, with false sizes, overlapping tensors, unfolding without limit,
// naming foreign code, or missing. Every verb that reads files gets each of them. It must exit
// with 2, print nothing on stdout and one line on stderr that names the file, need no more memory
// than the file's size + 64 MiB, and write nothing.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "formats/weights/safetensors.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"
#include "tests/program.h"
#include "tests/temp_dir.h"
#include "tests/words.h"

#define FILES "tests/formats/files/"
#define CONFIG "tests/cli/tiny.yaml"
#define MIB (1L << 20)
static ProgramResult result; // two 64 kB texts: too large for the stack of a test
static char dir[64], bad_file[160], weights[160], rows[160], out[160], images[160], run_dir[160],
    clusters[160];

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})

static int set_up(void **state) {
    (void)state;
    struct {
        char *path;
        const char *name;
    } paths[] = {
        {weights, "weights.safetensors"}, {rows, "rows.safetensors"}, {out, "out.safetensors"}};
    float conv[12] = {1}, x[3 * 32 * 32] = {0};
    SrMatrix f;
    temp_dir_make(dir);
    for (int i = 0; i < SR_COUNT(paths); i++)
        snprintf(paths[i].path, 160, "%s/%s", dir, paths[i].name);
    snprintf(images, sizeof images, "%s/x.safetensors", dir);
    snprintf(run_dir, sizeof run_dir, "CHECKPOINT.DIR=%s/run", dir);
    snprintf(clusters, sizeof clusters, "CLUSTERFIT.OUTPUT_DIR=%s/clusters", dir);
    SrNamedTensor tensor = {"conv1.weight", {SR_SHAPE(4, 3, 1, 1), SR_F32, conv}};
    SrNamedTensor input = {"x", {SR_SHAPE(1, 3, 32, 32), SR_F32, x}};
    CHECK_OK(sr_safetensors_save(weights, &tensor, 1, NULL, NULL, 0));
    CHECK_OK(sr_safetensors_save(images, &input, 1, NULL, NULL, 0));
    test_rows_planted(&f, 12, 2, 2, 2, 1);
    test_rows_save(&f, rows, "features");
    sr_matrix_deinit(&f);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    temp_dir_remove(dir);
    return 0;
}

// ---- the files

typedef struct {
    const char *name;
    // Header of a safetensors file with 8 bytes of data; NULL: use `file`, and if that is
    // NULL too, a file of plain words.
    const char *header;
    const char *file;
    bool opens; // the fault appears when tensors are read
} Bad;

#define ENTRY(name, shape, offsets) \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
static const Bad bad[] = {
    {"overlapping", "{" ENTRY("a", "[2]", "[0,8]") "," ENTRY("b", "[1]", "[4,8]") "}", NULL, false},
    {"beyond the end", "{" ENTRY("a", "[4]", "[0,16]") "}", NULL, false},
    {"10 GB that are not there", "{" ENTRY("a", "[2500000,1024]", "[0,10240000000]") "}", NULL,
     false},
    {"overflowing", "{" ENTRY("a", "[2147483647,2147483647,2147483647]", "[0,8]") "}", NULL, false},
    {"lying", "{" ENTRY("a", "[3]", "[0,8]") "}", NULL, false},
    {"twice", "{" ENTRY("a", "[1]", "[0,4]") "," ENTRY("a", "[1]", "[4,8]") "}", NULL, false},
    {"no JSON", "{\"a\":", NULL, false},
    {"truncated", NULL, FILES "truncated.pth", false},
    {"foreign global", NULL, FILES "foreign_global.pth", false},
    {"foreign global, legacy", NULL, FILES "foreign_global_legacy.pth", false},
    {"recursive", NULL, FILES "recursive.pth", false},
    {"billion laughs", NULL, FILES "laughs.pth", false},
    {"objects", NULL, FILES "objects.npy", false},
    {"big endian", NULL, FILES "big_endian.npy", false},
    {"zip bomb", NULL, FILES "bomb.npz", true},
    {"a directory", NULL, FILES, false},
    {"absent", NULL, FILES "absent.pth", false},
    {"no weights", NULL, NULL, false},
};

static const char *make_bad(const Bad *b) {
    if (b->file)
        return b->file;
    size_t len = b->header ? strlen(b->header) : 0;
    snprintf(bad_file, sizeof bad_file, "%s/bad.safetensors", dir);
    FILE *f = fopen(bad_file, "wb");
    CHECK(f);
    for (int i = 0; b->header && i < 8; i++)
        fputc((int)(len >> (8 * i) & 255), f);
    fputs(b->header ? b->header : "These are no weights.\n", f);
    CHECK(fwrite("01234567", 1, 8, f) == 8 && fclose(f) == 0);
    return bad_file;
}

// ---- the verbs

#define FILE_HERE "FILE" // stands for the bad file
typedef struct {
    bool numbers; // reads tensors; otherwise the verb may accept files with `opens`
    bool chatty;  // prints other lines first
    const char *args[14];
} Verb;

static const Verb verbs[] = {
    {false, false, {"inspect", FILE_HERE}},
    {true, false, {"inspect", FILE_HERE, "--stats", "--json"}},
    {true, false, {"diff", FILE_HERE, FILE_HERE}},
    {false, false, {"diff", weights, FILE_HERE}},
    {true, false, {"convert", FILE_HERE, out}},
    {true,
     false,
     {"extract", "resnet18", "--weights", FILE_HERE, "--nodes", "relu", "--input", images, "--out",
      out}},
    {true,
     false,
     {"extract", "resnet18", "--weights", weights, "--nodes", "relu", "--input", FILE_HERE, "--out",
      out}},
    {true,
     false,
     {"export", "resnet18", "--weights", FILE_HERE, "--nodes", "relu", "--out", "never.onnx",
      "--size=32"}},
    {true, false, {"knn", FILE_HERE, rows}},
    {true, false, {"knn", rows, FILE_HERE}},
    {true, false, {"svm", FILE_HERE, rows}},
    {true, false, {"logreg", FILE_HERE, rows}},
    {true, false, {"logreg", rows, FILE_HERE}},
    {true, false, {"retrieve", FILE_HERE}},
    {true, false, {"retrieve", rows, FILE_HERE}},
    {true, false, {"cluster", FILE_HERE, clusters, "CLUSTERFIT.NUM_CLUSTERS=2"}},
    {true, false, {"cluster", rows, FILE_HERE, clusters, "CLUSTERFIT.NUM_CLUSTERS=2"}},
    {true, true, {"train", CONFIG, run_dir, "PARAMS_FILE"}},
    {true, true, {"knn", CONFIG, run_dir, "PARAMS_FILE"}},
};

static void run_verb(const Verb *v, const char *file) {
    const char *args[SR_COUNT(v->args) + 1] = {NULL};
    static char params[200];
    snprintf(params, sizeof params, "MODEL.WEIGHTS_INIT.PARAMS_FILE=%s", file);
    for (int i = 0; i < SR_COUNT(v->args) && v->args[i]; i++)
        args[i] = strcmp(v->args[i], FILE_HERE) == 0       ? file
                  : strcmp(v->args[i], "PARAMS_FILE") == 0 ? params
                                                           : v->args[i];
    program_run(&result, 1, args);
}

static void check_refused(const Verb *v, const Bad *b, const char *file) {
    const char *line = words_last_line(result.err);
    struct stat st = {.st_size = 0};
    bool sized = stat(file, &st) == 0 && S_ISREG(st.st_mode);
    // With --json the document is closed where the damage starts.
    bool printed = *result.out && !(b->opens && strcmp(v->args[0], "inspect") == 0);
    long bound = (PROGRAM_SANITIZED ? 256 : 64) * MIB + (sized ? st.st_size : 0);
    if (result.code != 2 || printed || !strstr(line, file) || (!v->chatty && line != result.err))
        fail_msg("%s, %s %s: exit code %d, expected 2 and one line that names the file:\n%s%s",
                 b->name, v->args[0], v->args[1], result.code, result.out, result.err);
    if (!v->chatty && result.peak_bytes > bound)
        fail_msg("%s, %s: %ld bytes of memory, at most %ld", b->name, v->args[0], result.peak_bytes,
                 bound);
}

static void check_nothing_written(const Verb *v, const Bad *b) {
    char path[160];
    snprintf(path, sizeof path, "%s/clusters", dir);
    if (sr_file_exists(out) || sr_file_exists("never.onnx") || sr_file_exists(path))
        fail_msg("%s, %s: something was written", b->name, v->args[0]);
}

TEST(test_every_verb) {
    for (int i = 0; i < SR_COUNT(bad); i++) {
        const char *file = make_bad(&bad[i]);
        for (int k = 0; k < SR_COUNT(verbs); k++) {
            run_verb(&verbs[k], file);
            if (bad[i].opens && !verbs[k].numbers) {
                CHECK(result.code < 2);
                continue;
            }
            check_refused(&verbs[k], &bad[i], file);
            check_nothing_written(&verbs[k], &bad[i]);
        }
    }
}

// ---- valid files of the wrong kind

// Tensors that are no features, and rows and labels of different numbers, are refused.
TEST(test_wrong_rows) {
    char other[192];
    float x[12] = {0, 1, 2, NAN};
    int64_t label[4] = {0, 1, 1, INT64_MAX};
    static const struct {
        const char *name;
        int n, d, labels, first;
        const char *message;
    } cases[] = {
        {"not finite", 4, 3, 3, 0, "row 1 of 'features' is not finite"},
        {"labels of other rows", 2, 3, 3, 4, "has 3 rows, the features have 2"},
        {"a label that is none", 4, 1, 4, 4, "expected whole numbers"},
        {"no rows", 0, 3, 0, 4, "rows of 0 numbers"},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        SrNamedTensor t[] = {
            {"features", {SR_SHAPE(cases[i].n, cases[i].d), SR_F32, x + cases[i].first}},
            {"labels", {SR_SHAPE(cases[i].labels), SR_I64, label}}};
        snprintf(bad_file, sizeof bad_file, "%s/%d.safetensors", dir, i);
        snprintf(other, sizeof other, "%s/%d-test.safetensors", dir, i);
        CHECK_OK(sr_safetensors_save(bad_file, t, 2, NULL, NULL, 0));
        CHECK_OK(sr_safetensors_save(other, t, 2, NULL, NULL, 0));
        RUN("svm", bad_file, other);
        if (result.code != 2 || !strstr(result.err, cases[i].message) || *result.out)
            fail_msg("%s: exit code %d and %s", cases[i].name, result.code, result.err);
    }
}

// An existing output file is replaced only on request: it may hold somebody's weights.
TEST(test_nothing_overwritten) {
    char features[160], machines[160], before[160];
    snprintf(features, sizeof features, "%s/features.safetensors", dir);
    snprintf(machines, sizeof machines, "%s/svm", dir);
    snprintf(before, sizeof before, "%s/before.safetensors", dir);
    RUN("convert", rows, before);
    RUN("extract", CONFIG, "--lax", "--weights", weights, "--nodes", "relu", "--input", images,
        "--out", rows);
    CHECK(result.code == 2 && strstr(result.err, "--force"));
    RUN("diff", rows, before);
    CHECK_INT(result.code, 0);
    RUN("svm", rows, before, "--out", machines);
    CHECK_INT(result.code, 0);
    RUN("svm", rows, before, "--out", machines);
    CHECK(result.code == 2 && strstr(result.err, "--force"));
    RUN("svm", rows, before, "--out", machines, "--force");
    CHECK_INT(result.code, 0);
    for (int i = 0; i < 3; i++) {
        RUN("cluster", rows, clusters, "CLUSTERFIT.NUM_CLUSTERS=2", i == 2 ? "--force" : "--json");
        CHECK(i == 1 ? result.code == 2 && strstr(result.err, "--force") : result.code == 0);
    }
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
SR_TESTS(bad_input, in_folder(test_every_verb), in_folder(test_wrong_rows),
         in_folder(test_nothing_overwritten))
