// Feeds arbitrary bytes to the reader of feature files (features_fuzz.h). make fuzz-features
// links this file with the code that reads features only; the tests run it over the corpus.
#include "tests/fuzz/features_fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "trainer/eval/extract/feature_files.h"

enum { MAX_FILES = 6 };

// Files of a layout, in the order of their bytes in an input.
typedef struct {
    const char *open; // file to open; "": the folder
    const char *files[MAX_FILES];
} Layout;

static const Layout layouts[] = {
    {"x.safetensors", {"x.safetensors"}},
    {"x.npz", {"x.npz"}},
    {"x.pth", {"x.pth"}},
    {"x.npy", {"x.npy"}},
    {"", {"features-00000.safetensors", "features-00001.safetensors"}},
    {"",
     {"a-00000.npy", "labels-00000.npy", "files-00000.npy", "classes.npy", "valid-00000.npy",
      "a-00001.npy"}},
    {"",
     {"rank0_chunk0_train_res5_features.npy", "rank0_chunk0_train_res5_targets.npy",
      "rank0_chunk0_train_res5_inds.npy", "rank1_chunk0_train_res5_features.npy",
      "rank1_chunk0_train_res5_inds.npy"}},
};

static char folder[64];

static void require(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "%s: %s\n", what, sr_status_message());
    abort();
}

// Makes a folder in memory, if the system has one.
static void make_folder(void) {
    snprintf(folder, sizeof folder, "%s/sslrun-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    require(mkdtemp(folder) != NULL, "no folder");
}

static void path_of(const char *name, char out[128]) {
    snprintf(out, 128, "%s%s%s", folder, *name ? "/" : "", name);
}

// Writes a file. Input that starts with the first character of a safetensors or .npy header gets
// the bytes and the length that precede one, for the text up to the first zero. Other input is
// written as it is.
static void write_file(const char *name, const uint8_t *data, size_t bytes) {
    char path[128];
    const uint8_t *zero = bytes ? memchr(data, 0, bytes) : NULL;
    uint64_t header = zero ? (uint64_t)(zero - data) : bytes;
    path_of(name, path);
    FILE *f = fopen(path, "wb");
    require(f != NULL, path);
    bool bare = bytes > 0 && *data == '{', npy = bare && strstr(name, ".npy");
    if (npy)
        require(fwrite("\x93NUMPY\2", 1, 8, f) == 8, path);
    if (bare)
        require(fwrite(&header, 1, npy ? 4 : 8, f) == (npy ? 4u : 8u), path);
    // The zero only marks the end of the header.
    size_t kept = bare && zero ? (size_t)header : bytes;
    require(fwrite(data, 1, kept, f) == kept, path);
    if (kept < bytes)
        require(fwrite(data + kept + 1, 1, bytes - kept - 1, f) == bytes - kept - 1, path);
    require(fclose(f) == 0, path);
}

static void write_files(const Layout *layout, const uint8_t *data, size_t bytes) {
    static const char mark[] = "\n====\n";
    for (int i = 0; i < MAX_FILES && layout->files[i]; i++) {
        const uint8_t *end = bytes ? memmem(data, bytes, mark, sizeof mark - 1) : NULL;
        size_t len = end ? (size_t)(end - data) : bytes;
        if (len > 0)
            write_file(layout->files[i], data, len);
        if (!end)
            return;
        data = end + sizeof mark - 1;
        bytes -= len + sizeof mark - 1;
    }
}

static void remove_files(const Layout *layout) {
    char path[128];
    for (int i = 0; i < MAX_FILES && layout->files[i]; i++) {
        path_of(layout->files[i], path);
        unlink(path);
    }
}

static void look(const SrMatrix *f, const SrFeatureNames *names) {
    require(f->n > 0 && f->d > 0, "no rows");
    require(names->files.n == f->n || names->files.n == 0, "names of other rows");
    for (int64_t i = 0; i < f->n * f->d; i++)
        require(isfinite(f->x[i]), "a number that is not finite");
    for (int64_t i = 0; i < f->n; i++)
        require(f->label[i] >= -1, "a label out of range");
    for (int64_t i = 0; i < f->n * f->n_targets; i++)
        require(f->target[i] >= -1 && f->target[i] <= 1, "a target out of range");
    for (int64_t i = 0; i < names->files.n; i++)
        require(strlen(sr__string_list_get(&names->files, i)) <= names->files.len, "a name");
    for (int64_t i = 0; i < names->classes.n; i++)
        require(strlen(sr__string_list_get(&names->classes, i)) <= names->classes.len, "a name");
    require(sr_matrix_classes(f) >= 0, "classes");
}

static void refused(SrStatus status) {
    require(status == SR_ERR_CONFIG && *sr_status_message(), "a bad refusal");
}

// No input of the length that fuzzers make needs more.
enum { MOST_BYTES = 128 << 20 };

int fuzz_features(const uint8_t *data, size_t bytes) {
    char path[128];
    SrMatrix f;
    SrFeatureNames names = {0};
    int64_t n, before = sr_mem_bytes();
    int d;
    if (bytes < 1)
        return 0;
    make_folder();
    const Layout *layout = &layouts[data[0] % SR_COUNT(layouts)];
    write_files(layout, data + 1, bytes - 1);
    path_of(layout->open, path);
    SrFeatureFiles from = {.path = path, .split = "train"};
    sr_mem_peak_reset();
    SrStatus measured = sr_features_measure(&from, &n, &d);
    SrStatus loaded = sr_features_load(&from, &f, &names);
    if (loaded == SR_OK) {
        require(measured == SR_OK && d == f.d && n >= f.n, "measured otherwise");
        look(&f, &names);
        sr_matrix_deinit(&f);
    } else {
        refused(loaded);
    }
    sr_feature_names_deinit(&names);
    require(sr_mem_peak() - before <= MOST_BYTES, "too much memory");
    require(sr_mem_bytes() == before, "memory is left over");
    remove_files(layout);
    require(rmdir(folder) == 0, "the folder is not empty");
    return 0;
}

#ifdef SR_FUZZ_ENTRY
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) { return fuzz_features(data, bytes); }
#endif
