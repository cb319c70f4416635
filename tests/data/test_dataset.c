// Tests the contract of data sets, checked for every example of every data set in the registry:
// items are the same at any time and from any thread, labels and names fit the classes. Damaged
// files and failed allocations give an error of one line and no leak.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "data/dataset.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

enum { ROOM = 1024, READERS = 4, LOOKED_AT = 6 };

// One example on disk, opened as a configuration opens it.
typedef struct {
    const SrDataset *source;
    const SrDatasetExample *example;
    char folder[256], data[ROOM], label[ROOM];
    SrDatasetConfig config;
} Case;

static void write_file(const Case *c, const SrExampleFile *file) {
    if (file->bytes) {
        size_t n = (size_t)(file->n_bytes + file->zeros);
        char *bytes = calloc(n + 1, 1);
        CHECK(bytes != NULL);
        memcpy(bytes, file->bytes, (size_t)file->n_bytes);
        fixture_write(c->folder, file->path, bytes, n);
        free(bytes);
        return;
    }
    uint8_t pixels[3 * 64];
    size_t n;
    CHECK(file->h * file->w <= 64);
    fixture_noise(pixels, sizeof pixels, (uint64_t)file->h);
    void *png = fixture_png(pixels, file->h, file->w, 3, &n);
    fixture_write(c->folder, file->path, png, n);
    free(png);
}

static const char *below(const Case *c, const char *path, char out[ROOM]) {
    if (!path)
        return "";
    snprintf(out, ROOM, "%s%s%s", c->folder, strcmp(path, ".") ? "/" : "",
             strcmp(path, ".") ? path : "");
    return out;
}

static void begin(Case *c, const SrDataset *source, int example) {
    *c = (Case){.source = source, .example = &source->examples[example]};
    fixture_folder(c->folder);
    for (const SrExampleFile *f = c->example->files; f->path; f++)
        write_file(c, f);
    c->config = c->example->config;
    c->config.split = "TRAIN";
    c->config.data_path = below(c, c->example->config.data_path, c->data);
    c->config.label_path = below(c, c->example->config.label_path, c->label);
    c->config.remove_prefix = c->config.remove_prefix ? c->config.remove_prefix : "";
    c->config.new_prefix = c->config.new_prefix ? c->config.new_prefix : "";
    c->config.seed = 7;
}

static void end(Case *c) { fixture_remove(c->folder); }

static bool has_files(const Case *c) { return c->example->files[0].path != NULL; }

// Runs `check` on each example of every data set and fails on a leak.
static void each(void (*check)(Case *c)) {
    for (int i = 0; sr_dataset_at(i); i++) {
        CHECK(sr_dataset_at(i)->n_examples > 0);
        for (int e = 0; e < sr_dataset_at(i)->n_examples; e++) {
            Case c;
            int64_t live = sr_mem_live();
            begin(&c, sr_dataset_at(i), e);
            check(&c);
            end(&c);
            if (sr_mem_live() != live)
                fail_msg("%s, example %d leaves memory behind", c.source->name, e);
        }
    }
}

// ---- items

// Returns a hash of the pixels and the size of item i.
static uint64_t pixels_of(const SrDataset *source, const void *set, int64_t i, SrImagePool *pool) {
    SrSample sample;
    sr_image_pool_reset(pool);
    if (source->read(set, i, pool, &sample) != SR_OK)
        return 0;
    SrImage *image = &sample.image;
    if (sample.encoded && (sr_image_open(sample.encoded, sample.encoded_bytes, image) != SR_OK ||
                           sr_image_finish(image, 1, pool) != SR_OK))
        return 0;
    uint64_t sum = (uint64_t)image->H * 65536 + (uint64_t)image->W;
    for (int k = 0; k < image->H * image->W * 3; k++)
        sum = sum * 1099511628211u + image->rgb[k];
    return sum;
}

// Returns the k-th item to look at: one of the first, and finally the last.
static int64_t item(int64_t length, int k) {
    return k < LOOKED_AT - 1 && k < length ? k : length - 1;
}

typedef struct {
    const Case *c;
    const void *set;
    uint64_t sum[LOOKED_AT];
} Reader;

static void *read_all(void *arg) {
    Reader *r = arg;
    SrImagePool *pool = NULL;
    if (sr_image_pool_new(&pool) != SR_OK)
        return NULL;
    for (int k = 0; k < LOOKED_AT; k++)
        r->sum[k] = pixels_of(r->c->source, r->set, item(r->c->example->images, k), pool);
    sr_image_pool_free(pool);
    return NULL;
}

static void check_label(const Case *c, const void *set, int64_t i) {
    const SrDataset *source = c->source;
    int classes = source->classes(set);
    int64_t label = source->label(set, i);
    const int8_t *targets = source->targets ? source->targets(set, i) : NULL;
    CHECK(label >= -1 && label < SR_MAX(classes, 1));
    CHECK((label >= 0 || targets) == (classes > 0));
    for (int k = 0; targets && k < classes; k++)
        CHECK(targets[k] >= -1 && targets[k] <= 1);
}

static bool names_a_file(char *path) {
    char *tar = strstr(path, ".tar/");
    if (tar)
        tar[4] = 0;
    bool there = sr_file_exists(path);
    if (tar)
        tar[4] = '/';
    return there;
}

// The path that a data set returns for an item is the path that reading the item returns.
static void check_path(const Case *c, const void *set, int64_t i) {
    SrImagePool *pool;
    SrSample sample;
    const char *path;
    if (!c->source->path)
        return;
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_OK(c->source->path(set, i, pool, &path));
    CHECK(names_a_file((char *)path)); // the path is in memory of the pool
    CHECK_OK(c->source->read(set, i, pool, &sample));
    CHECK_STR(sample.path, path);
    sr_image_pool_free(pool);
}

static void check_items(Case *c) {
    void *set;
    Reader readers[READERS];
    pthread_t threads[READERS];
    CHECK_OK(sr_dataset_open(c->source, &c->config, &set));
    CHECK_INT(c->source->length(set), c->example->images);
    CHECK_INT(c->source->classes(set), c->example->classes);
    for (int k = 0; c->source->class_name && k < c->example->classes; k++) {
        const char *name = c->source->class_name(set, k);
        CHECK(!name || *name);
    }
    for (int k = 0; k < LOOKED_AT; k++) {
        check_label(c, set, item(c->example->images, k));
        check_path(c, set, item(c->example->images, k));
    }
    for (int t = 0; t < READERS; t++) {
        readers[t] = (Reader){.c = c, .set = set};
        CHECK(pthread_create(&threads[t], NULL, read_all, &readers[t]) == 0);
    }
    for (int t = 0; t < READERS; t++)
        pthread_join(threads[t], NULL);
    for (int t = 0; t < READERS; t++)
        for (int k = 0; k < LOOKED_AT; k++)
            CHECK(readers[t].sum[k] != 0 && readers[t].sum[k] == readers[0].sum[k]);
    sr_dataset_close(c->source, set);
}

TEST(test_items) { each(check_items); }

// ---- errors

// A data set recognises its own files, and a missing path gives an error that names it.
static void check_paths(Case *c) {
    const SrDataset *found;
    char nowhere[ROOM + 16];
    void *set;
    if (!has_files(c))
        return;
    if (c->source->accepts) {
        CHECK(c->source->accepts(c->data, "TRAIN"));
        CHECK_OK(sr_dataset_infer(c->data, "TRAIN", &found));
    }
    SrDatasetConfig config = c->config;
    snprintf(nowhere, sizeof nowhere, "%s/nowhere", c->folder);
    config.data_path = nowhere;
    CHECK(sr_dataset_open(c->source, &config, &set) != SR_OK);
    CHECK(strstr(sr_status_message(), "nowhere") != NULL);
    config.data_path = "";
    CHECK_FAILS(sr_dataset_open(c->source, &config, &set), SR_ERR_CONFIG, "DATA.TRAIN.DATA_PATHS");
}

TEST(test_paths) { each(check_paths); }

// A file cut short gives an error of one line on opening or on reading an item, unless the rest
// is complete.
static void check_cut(Case *c, const SrExampleFile *file, long bytes) {
    char path[ROOM];
    void *set;
    SrImagePool *pool;
    SrSample sample;
    CHECK(truncate(below(c, file->path, path), bytes) == 0);
    SrStatus status = sr_dataset_open(c->source, &c->config, &set);
    if (status != SR_OK) {
        CHECK((status == SR_ERR_CONFIG || status == SR_ERR_IO) && *sr_status_message());
        return;
    }
    CHECK_OK(sr_image_pool_new(&pool));
    for (int64_t i = 0; i < c->source->length(set); i++) {
        status = c->source->read(set, i, pool, &sample);
        CHECK(status == SR_OK || status == SR_ERR_IO);
    }
    sr_image_pool_free(pool);
    sr_dataset_close(c->source, set);
}

static void check_damage(Case *c) {
    for (const SrExampleFile *f = c->example->files; f->path; f++) {
        long whole = f->bytes ? f->n_bytes + f->zeros : 60;
        check_cut(c, f, whole / 2);
        check_cut(c, f, 1);
        check_cut(c, f, 0);
        write_file(c, f);
    }
}

TEST(test_damage) { each(check_damage); }

// Each allocation of opening fails once: everything is freed, and no file descriptor of another
// owner is closed.
static void check_memory(Case *c) {
    void *set = NULL;
    int input = open("/dev/null", O_RDONLY), before = dup(STDIN_FILENO);
    CHECK(input >= 0 && dup2(input, STDIN_FILENO) == STDIN_FILENO);
    for (int64_t n = 1;; n++) {
        int64_t live = sr_mem_live();
        sr_mem_fail_at(n);
        SrStatus status = sr_dataset_open(c->source, &c->config, &set);
        sr_mem_fail_at(0);
        if (status == SR_OK)
            break;
        if (status != SR_ERR_MEMORY || sr_mem_live() != live || set ||
            fcntl(STDIN_FILENO, F_GETFD) < 0)
            fail_msg("%s: allocation %d of opening: %s", c->source->name, (int)n,
                     sr_status_message());
    }
    sr_dataset_close(c->source, set);
    sr_dataset_close(c->source, NULL);
    close(input);
    if (before >= 0) {
        dup2(before, STDIN_FILENO);
        close(before);
    }
}

TEST(test_memory) { each(check_memory); }

SR_TESTS(dataset, unit(test_items), unit(test_paths), unit(test_damage), unit(test_memory))
