// Reads what a command left in its folder (results.h).
#include "tests/histories/results.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "formats/weights/safetensors.h"

enum { LARGEST = 1 << 24, WHY = 256 };

static uint64_t add_text(uint64_t hash, const char *text) {
    return sr_hash_more(hash, text ? text : "", text ? strlen(text) + 1 : 0);
}

// Adds the tensors, and how far the training came.  The other texts of the header hold times.
static bool add_tensors(const char *path, uint64_t *hash, double *loss) {
    SrSafetensors st;
    if (sr_safetensors_open(&st, path) != SR_OK)
        return false;
    for (int i = 0; i < st.n; i++) {
        const SrTensor *t = &st.tensors[i].tensor;
        *hash = add_text(*hash, st.tensors[i].name);
        *hash = sr_hash_long(*hash, t->data,
                             (size_t)sr_shape_count(t->shape) * sr_dtype_bytes(t->dtype));
    }
    *hash = add_text(*hash, sr_safetensors_meta(&st, "iteration"));
    const char *sum = sr_safetensors_meta(&st, "loss_sum");
    *hash = add_text(*hash, sum);
    *loss = sum ? strtod(sum, NULL) : 0;
    sr_safetensors_close(&st);
    return true;
}

// ---- figures

// Removes what differs between two right runs: numbers that follow "...seconds", and the figures
// after the time of an epoch of training, which only an epoch without interruption has.
static void remove_times(char *line) {
    char *of_training = strstr(line, "train_loss") ? strstr(line, ", \"seconds\"") : NULL;
    if (of_training)
        *of_training = '\0';
    for (char *at = line; (at = strstr(at, "seconds\":"));) {
        char *number = at + strlen("seconds\":"), *end = number + strcspn(number, ",}");
        memmove(number, end, strlen(end) + 1);
        at = number;
    }
}

static bool knows(const Results *r, uint64_t figure) {
    for (int i = 0; i < r->n; i++)
        if (r->figure[i] == figure)
            return true;
    return false;
}

// A run that is killed between a line and its checkpoint writes the line again.
static void add_lines(char *text, Results *r) {
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) && r->n < RESULTS_FIGURES;) {
        remove_times(line);
        uint64_t hash = sr_hash_text(line);
        bool partial = strstr(line, "train_accuracy"); // only a whole epoch has the line
        if (*line && !partial && !knows(r, hash))
            r->figure[r->n++] = hash;
    }
}

static bool add_figures(const char *folder, Results *r) {
    char path[512], *text;
    size_t bytes;
    snprintf(path, sizeof path, "%s/metrics.json", folder);
    if (sr_file_read(path, LARGEST, &text, &bytes) != SR_OK)
        return false;
    add_lines(text, r);
    sr_free(text);
    return true;
}

bool results_equal(const Results *some, const Results *right, bool all) {
    for (int i = 0; i < some->n; i++)
        if (!knows(right, some->figure[i]))
            return false;
    return some->hash == right->hash && (!all || some->n == right->n);
}

bool results_close(const Results *a, const Results *b) {
    return fabs(a->loss - b->loss) <= 1e-3 * fabs(b->loss);
}

// ---- files

static int visible(const struct dirent *e) { return e->d_name[0] != '.'; }

// Calls for each file in the order of names until one call returns false.
static bool each_file(const char *folder, bool (*call)(const char *path, void *arg), void *arg) {
    struct dirent **names;
    bool good = true;
    int n = scandir(folder, &names, visible, alphasort);
    for (int i = 0; i < n; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        struct stat about;
        if (good && stat(path, &about) == 0 && S_ISDIR(about.st_mode))
            good = each_file(path, call, arg);
        else if (good)
            good = call(path, arg);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return good;
}

static bool add_file(const char *path, void *arg) {
    uint64_t *hash = arg;
    char *bytes;
    size_t n;
    if (sr_file_read(path, LARGEST, &bytes, &n) != SR_OK)
        return false;
    *hash = add_text(*hash, strrchr(path, '/'));
    *hash = sr_hash_long(*hash, bytes, n);
    sr_free(bytes);
    return true;
}

bool results_read(const char *folder, bool trained, Results *r, char why[WHY]) {
    char path[512];
    *r = (Results){.hash = SR_HASH_START};
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
    bool good = trained ? add_tensors(path, &r->hash, &r->loss) && add_figures(folder, r)
                        : each_file(folder, add_file, &r->hash);
    if (!good)
        snprintf(why, WHY, "no result: %.200s", sr_status_message());
    return good;
}

static bool is_whole(const char *path, void *arg) {
    char *why = arg;
    uint64_t unused = 0;
    double loss;
    struct stat about;
    if (strstr(path, ".tmp") || stat(path, &about) != 0) {
        snprintf(why, WHY, "%.200s was left", path);
        return false;
    }
    if (!sr_text_ends(path, ".safetensors") || add_tensors(path, &unused, &loss))
        return true;
    snprintf(why, WHY, "half-written: %.200s", sr_status_message());
    return false;
}

bool results_whole(const char *folder, char why[WHY]) { return each_file(folder, is_whole, why); }
