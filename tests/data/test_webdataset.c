// Tests tar shards: packed and read back, shards of other programs, damaged ones, and their order
// in an epoch.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/yaml_load.h"
#include "data/dataset.h"
#include "data/image_pool.h"
#include "data/load/loader.h"
#include "data/load/sampler.h"
#include "data/pipeline.h"
#include "data/sets/shard_index.h"
#include "data/sets/shard_pack.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

enum { ROOM = 512 };

static const SrDataset *source(const char *name) {
    const SrDataset *d;
    CHECK_OK(sr_dataset_find(name, &d));
    return d;
}

static SrDatasetConfig config_of(const char *path, const char *labels) {
    return (SrDatasetConfig){.split = "TRAIN",
                             .data_path = path,
                             .label_path = labels,
                             .remove_prefix = "",
                             .new_prefix = ""};
}

static void write_png(const char *dir, const char *name, int seed) {
    uint8_t pixels[3 * 36];
    size_t n;
    fixture_noise(pixels, sizeof pixels, (uint64_t)seed);
    void *png = fixture_png(pixels, 6, 6, 3, &n);
    fixture_write(dir, name, png, n);
    free(png);
}

// Writes images whose names have dots, share a stem, or are too long for a plain tar header.
static void write_images(const char *dir, int a_class) {
    char name[ROOM];
    for (int i = 0; i < a_class; i++) {
        snprintf(name, sizeof name, "in/cat/im.%03d.png", i);
        write_png(dir, name, i);
        snprintf(name, sizeof name, "in/dog/im.%03d.png", i);
        write_png(dir, name, 1000 + i);
    }
    write_png(dir, "in/dog/x.png", 1);
    write_png(dir, "in/dog/x.jpg", 2); // a PNG despite its name
    snprintf(name, sizeof name, "in/dog/%0150d.png", 7);
    write_png(dir, name, 3);
}

static const char *below(const char *dir, const char *name) {
    static char path[64][ROOM];
    static int next;
    char *to = path[next++ % 64];
    snprintf(to, ROOM, "%s/%s", dir, name);
    return to;
}

static void pack(const char *dir, const SrDataset *from, const SrDatasetConfig *config,
                 const char *out, bool keep_order) {
    void *set;
    SrShardPackResult result;
    SrShardPackOptions options = {
        .data = below(dir, "in"), .out = below(dir, out), .bytes = 8192, .keep_order = keep_order};
    CHECK_OK(sr_dataset_open(from, config, &set));
    CHECK_OK(sr_shard_pack(from, set, &options, &result));
    CHECK_INT(result.images, from->length(set));
    CHECK_INT(result.shards, 6);
    sr_dataset_close(from, set);
}

// Each item has the same bytes, labels and class names in both data sets.
static void check_same(const SrDataset *a, const void *x, const SrDataset *b, const void *y) {
    SrImagePool *pool;
    SrSample one, two;
    CHECK_INT(a->length(x), b->length(y));
    CHECK_INT(a->classes(x), b->classes(y));
    CHECK_OK(sr_image_pool_new(&pool));
    for (int64_t i = 0; i < a->length(x); i++) {
        CHECK_OK(a->read(x, i, pool, &one));
        CHECK_OK(b->read(y, i, pool, &two));
        CHECK(one.encoded_bytes == two.encoded_bytes &&
              memcmp(one.encoded, two.encoded, one.encoded_bytes) == 0);
        CHECK_INT(a->label(x, i), b->label(y, i));
        const int8_t *p = a->targets ? a->targets(x, i) : NULL, *q = b->targets(y, i);
        CHECK(!p == !q && (!p || memcmp(p, q, (size_t)a->classes(x)) == 0));
    }
    sr_image_pool_free(pool);
}

TEST(test_pack) {
    char dir[256];
    void *folder, *shards, *walked;
    const SrDataset *f = source("disk_folder"), *s = source("webdataset");
    fixture_folder(dir);
    write_images(dir, 10);
    SrDatasetConfig in = config_of(below(dir, "in"), "");
    pack(dir, f, &in, "out", true);
    CHECK(s->accepts(below(dir, "out"), "TRAIN") && !s->accepts(below(dir, "in"), "TRAIN"));
    SrDatasetConfig out = config_of(below(dir, "out"), "");
    CHECK_OK(sr_dataset_open(f, &in, &folder));
    CHECK_OK(sr_dataset_open(s, &out, &shards));
    check_same(f, folder, s, shards);
    CHECK_STR(s->class_name(shards, 0), "cat");
    CHECK_STR(s->class_name(shards, 1), "dog");
    // Without the index the archives themselves give the same data set.
    CHECK_OK(sr_file_remove(below(dir, "out/" SR_SHARD_INDEX)));
    CHECK_OK(sr_dataset_open(s, &out, &walked));
    check_same(f, folder, s, walked);
    CHECK_STR(s->class_name(walked, 1), "dog");
    sr_dataset_close(f, folder);
    sr_dataset_close(s, shards);
    sr_dataset_close(s, walked);
    // A random order holds the same images, and is the same each time.
    pack(dir, f, &in, "mixed", false);
    pack(dir, f, &in, "again", false);
    SrDatasetConfig a = config_of(below(dir, "mixed"), ""), b = config_of(below(dir, "again"), "");
    CHECK_OK(sr_dataset_open(s, &a, &shards));
    CHECK_OK(sr_dataset_open(s, &b, &walked));
    check_same(s, shards, s, walked);
    int changes = 0;
    for (int64_t i = 1; i < s->length(shards); i++)
        changes += s->label(shards, i) != s->label(shards, i - 1);
    CHECK_INT(changes, 15);
    sr_dataset_close(s, shards);
    sr_dataset_close(s, walked);
    fixture_remove(dir);
}

// The first image of a folder may share its name with the second one.
TEST(test_first_names) {
    char dir[256];
    void *folder, *shards;
    const SrDataset *f = source("disk_folder"), *s = source("webdataset");
    SrShardPackResult result;
    fixture_folder(dir);
    write_png(dir, "in/cat/a.jpg", 1);
    write_png(dir, "in/cat/a.png", 2);
    write_png(dir, "in/dog/b.png", 3);
    SrDatasetConfig in = config_of(below(dir, "in"), ""), out = config_of(below(dir, "out"), "");
    SrShardPackOptions options = {
        .data = below(dir, "in"), .out = below(dir, "out"), .bytes = 8192, .keep_order = true};
    CHECK_OK(sr_dataset_open(f, &in, &folder));
    CHECK_OK(sr_shard_pack(f, folder, &options, &result));
    CHECK_INT(result.images, 3);
    CHECK_OK(sr_dataset_open(s, &out, &shards));
    check_same(f, folder, s, shards);
    sr_dataset_close(s, shards);
    CHECK_OK(sr_file_remove(below(dir, "out/" SR_SHARD_INDEX)));
    CHECK_OK(sr_dataset_open(s, &out, &shards)); // by the names in the archive
    check_same(f, folder, s, shards);
    sr_dataset_close(f, folder);
    sr_dataset_close(s, shards);
    fixture_remove(dir);
}

TEST(test_several) {
    char dir[256], labels[ROOM];
    // Targets of three classes: present, absent (0) or unknown (-1).
    const char npy[] = "\x93NUMPY\1\0\x76\0"
                       "{'descr': '|i1', 'fortran_order': False, 'shape': (3, 3), }                "
                       "                                          \n"
                       "\1\0\377\0\0\0\1\1\0";
    void *list, *shards;
    const SrDataset *f = source("disk_filelist"), *s = source("webdataset");
    fixture_folder(dir);
    write_images(dir, 1);
    fixture_write(dir, "in/all.txt", "cat/im.000.png\ndog/x.png\ndog/x.jpg\n", 35);
    snprintf(labels, sizeof labels, "%s", fixture_write(dir, "in/l.npy", npy, sizeof npy - 1));
    char images[ROOM];
    snprintf(images, sizeof images, "%s/in/all.txt", dir);
    SrDatasetConfig in = config_of(images, labels);
    SrShardPackResult result;
    SrShardPackOptions options = {
        .data = below(dir, "in"), .out = below(dir, "out"), .bytes = 1 << 20, .keep_order = true};
    CHECK_OK(sr_dataset_open(f, &in, &list));
    CHECK_OK(sr_shard_pack(f, list, &options, &result));
    for (int k = 0; k < 2; k++) { // first by the index, then by the archive
        SrDatasetConfig out = config_of(below(dir, "out"), "");
        CHECK_OK(sr_dataset_open(s, &out, &shards));
        check_same(f, list, s, shards);
        sr_dataset_close(s, shards);
        CHECK_OK(sr_file_remove(below(dir, "out/" SR_SHARD_INDEX)));
    }
    sr_dataset_close(f, list);
    fixture_remove(dir);
}

static void flip(const char *path, long at) {
    FILE *f = fopen(path, "r+b");
    CHECK(f != NULL && fseek(f, at, SEEK_SET) == 0);
    int c = fgetc(f);
    CHECK(fseek(f, at, SEEK_SET) == 0 && fputc(c ^ 1, f) != EOF);
    fclose(f);
}

TEST(test_damage) {
    char dir[256];
    void *set;
    SrShardCheckResult *r = calloc(1, sizeof *r);
    const SrDataset *f = source("disk_folder"), *s = source("webdataset");
    fixture_folder(dir);
    write_images(dir, 10);
    SrDatasetConfig in = config_of(below(dir, "in"), "");
    pack(dir, f, &in, "out", true);
    SrDatasetConfig out = config_of(below(dir, "out"), "");
    CHECK_OK(sr_shard_check(out.data_path, r));
    CHECK(r->summed && r->damaged == 0 && r->images == 23);
    flip(below(dir, "out/shard-000000.tar"), 512 + 60);
    CHECK_OK(sr_shard_check(out.data_path, r));
    CHECK_INT(r->damaged, 1);
    CHECK(strstr(r->listed[0], "shard-000000.tar/cat/im%2E000.png") != NULL);
    // Packing never overwrites existing shards, and leaves no partial ones when it fails.
    SrShardPackOptions options = {
        .data = in.data_path, .out = out.data_path, .bytes = 8192, .strict = true};
    SrShardPackResult result;
    CHECK_OK(sr_dataset_open(f, &in, &set));
    CHECK_FAILS(sr_shard_pack(f, set, &options, &result), SR_ERR_CONFIG, "exists");
    CHECK_OK(sr_file_remove(below(dir, "in/dog/x.png")));
    options.out = below(dir, "half");
    CHECK_FAILS(sr_shard_pack(f, set, &options, &result), SR_ERR_IO, "x.png");
    CHECK(!sr_file_exists(options.out));
    sr_dataset_close(f, set);
    CHECK(truncate(below(dir, "out/shard-000001.tar"), 5000) == 0);
    CHECK_FAILS(sr_dataset_open(s, &out, &set), SR_ERR_IO, "shard-000001.tar has 5000 bytes");
    CHECK_OK(sr_file_remove(below(dir, "out/" SR_SHARD_INDEX)));
    CHECK_FAILS(sr_dataset_open(s, &out, &set), SR_ERR_IO, "cut off");
    CHECK_OK(sr_file_remove(below(dir, "out/shard-000001.tar")));
    CHECK_OK(sr_dataset_open(s, &out, &set)); // the other shards are read by their headers
    sr_dataset_close(s, set);
    flip(below(dir, "out/" SR_SHARD_INDEX), 90);
    CHECK_FAILS(sr_dataset_open(s, &out, &set), SR_ERR_IO,
                "remove it, and sslrun builds a new one");
    free(r);
    fixture_remove(dir);
}

// Headers of other programs: long names of GNU tar and pax, hidden files, names of classes.
TEST(test_others) {
    static const char *const formats[] = {"gnu", "pax", "ustar"};
    char dir[256], command[4 * ROOM], name[ROOM];
    void *set;
    const SrDataset *s = source("webdataset");
    for (int k = 0; k < 3; k++) {
        fixture_folder(dir);
        snprintf(name, sizeof name, "w/deep/%0*d.png", k == 2 ? 90 : 120, 5);
        write_png(dir, name, 1);
        snprintf(name, sizeof name, "w/deep/%0*d.cls", k == 2 ? 90 : 120, 5);
        fixture_write(dir, name, "zebra\n", 6);
        snprintf(name, sizeof name, "w/deep/%0*d.json", k == 2 ? 90 : 120, 5);
        fixture_write(dir, name, "{}", 2);
        write_png(dir, "w/deep/1.left.PNG", 2);
        fixture_write(dir, "w/deep/1.cls", "ant", 3);
        fixture_write(dir, "w/deep/._1.png", "x", 1);
        snprintf(command, sizeof command, "tar -C %s/w --sort=name --format=%s -cf %s/a.tar deep",
                 dir, formats[k], dir);
        CHECK(system(command) == 0);
        SrDatasetConfig config = config_of(below(dir, "a.tar"), "");
        CHECK_OK(sr_dataset_open(s, &config, &set));
        CHECK_INT(s->length(set), 2);
        CHECK_INT(s->classes(set), 2);
        CHECK_STR(s->class_name(set, 0), "ant");
        int64_t ants = (s->label(set, 0) == 0) + (s->label(set, 1) == 0);
        CHECK_INT(ants, 1);
        sr_dataset_close(s, set);
        fixture_remove(dir);
    }
}

// ---- changed names, masks, memory

TEST(test_names_change) {
    char dir[256];
    void *set;
    const SrDataset *f = source("disk_folder"), *s = source("webdataset");
    fixture_folder(dir);
    write_images(dir, 10);
    SrDatasetConfig from = config_of(below(dir, "in"), ""), out = config_of(below(dir, "out"), "");
    pack(dir, f, &from, "out", true);
    for (int walked = 0; walked < 2; walked++) {
        if (walked)
            CHECK_OK(sr_file_remove(below(dir, "out/" SR_SHARD_INDEX)));
        fixture_write(dir, "out/" SR_SHARD_CLASSES, "cat\ndog\n", 8);
        CHECK_OK(sr_dataset_open(s, &out, &set));
        CHECK_STR(s->class_name(set, 0), "cat");
        sr_dataset_close(s, set);
        fixture_write(dir, "out/" SR_SHARD_CLASSES, "dog\ncat\n", 8);
        CHECK_OK(sr_dataset_open(s, &out, &set));
        CHECK_STR(s->class_name(set, 0), "dog");
        CHECK_STR(s->class_name(set, 1), "cat");
        CHECK_INT(s->label(set, 0), 0);
        sr_dataset_close(s, set);
    }
    fixture_remove(dir);
}

// In segmentation shards a mask is no image of its own, before or after the image in the archive.
TEST(test_masks) {
    char dir[256], command[4 * ROOM], name[ROOM];
    void *set;
    SrSample sample;
    SrImagePool *pool;
    const SrDataset *s = source("webdataset");
    fixture_folder(dir);
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "w/%04d.seg.png", i);
        write_png(dir, name, 100 + i);
        snprintf(name, sizeof name, i % 2 ? "w/%04d.png" : "w/%04d.jpg", i);
        write_png(dir, name, i);
        snprintf(name, sizeof name, "w/%04d.cls", i);
        fixture_write(dir, name, i % 2 ? "1" : "0", 1);
    }
    write_png(dir, "w/holiday.left.png", 7); // the name has dots, and no image has the key alone
    write_png(dir, "w/holiday.right.png", 8);
    snprintf(command, sizeof command, "cd %s/w && tar --sort=name -cf ../a.tar *", dir);
    CHECK(system(command) == 0);
    SrDatasetConfig config = config_of(below(dir, "a.tar"), "");
    CHECK_OK(sr_dataset_open(s, &config, &set));
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_INT(s->length(set), 12);
    for (int i = 0; i < 10; i++) {
        CHECK_OK(s->read(set, i, pool, &sample));
        CHECK(!strstr(sample.path, ".seg."));
        CHECK_INT(s->label(set, i), i % 2);
    }
    CHECK_INT(s->label(set, 10), -1);
    sr_image_pool_free(pool);
    sr_dataset_close(s, set);
    fixture_remove(dir);
}

// Any allocation may fail: packing returns an error, or writes the same shards as otherwise.
TEST(test_pack_without_memory) {
    char dir[256], name[ROOM];
    void *folder, *shards;
    const SrDataset *f = source("disk_folder"), *s = source("webdataset");
    SrStatus status = SR_ERR_MEMORY;
    fixture_folder(dir);
    write_png(dir, "in/cat/a.png", 1);
    write_png(dir, "in/dog/b.png", 2);
    SrDatasetConfig from = config_of(below(dir, "in"), "");
    CHECK_OK(sr_dataset_open(f, &from, &folder));
    int64_t live = sr_mem_live();
    for (int n = 1; status == SR_ERR_MEMORY; n++) {
        SrShardPackResult result;
        snprintf(name, sizeof name, "%s/out%d", dir, n);
        SrShardPackOptions options = {
            .data = from.data_path, .out = name, .bytes = 8192, .keep_order = true};
        sr_mem_fail_at(n);
        status = sr_shard_pack(f, folder, &options, &result);
        sr_mem_fail_at(0);
        CHECK_INT(sr_mem_live(), live);
        if (status != SR_OK) {
            CHECK_INT(status, SR_ERR_MEMORY);
            CHECK(!sr_file_exists(name));
            continue;
        }
        SrDatasetConfig out = config_of(name, "");
        CHECK_OK(sr_dataset_open(s, &out, &shards));
        check_same(f, folder, s, shards);
        CHECK_STR(s->class_name(shards, 1), "dog");
        sr_dataset_close(s, shards);
        char names[ROOM + 32];
        snprintf(names, sizeof names, "%s/" SR_SHARD_CLASSES, name);
        CHECK(sr_file_exists(names));
    }
    sr_dataset_close(f, folder);
    fixture_remove(dir);
}

// ---- order

TEST(test_runs) {
    enum { N = 50000, RUNS = 50, REPLICAS = 4, BATCH = 16 };
    int64_t first[RUNS + 1];
    uint32_t *order = malloc(sizeof *order * N), *again = malloc(sizeof *again * N);
    bool *seen = calloc(N, sizeof *seen);
    for (int k = 0; k <= RUNS; k++)
        first[k] = k * (N / RUNS);
    SrRuns runs = {.first = first, .n = RUNS};
    CHECK_OK(sr__sampler_runs(3, 1, runs, REPLICAS, BATCH, order, N));
    CHECK_OK(sr__sampler_runs(3, 1, runs, REPLICAS, BATCH, again, N));
    CHECK(memcmp(order, again, sizeof *order * N) == 0);
    CHECK_OK(sr__sampler_runs(3, 2, runs, REPLICAS, BATCH, again, N));
    CHECK(memcmp(order, again, sizeof *order * N) != 0);
    for (int i = 0; i < N; i++) {
        CHECK(order[i] < N && !seen[order[i]]);
        seen[order[i]] = true;
    }
    // A replica reads only its part of the runs: a quarter of them, and at most two that it
    // shares.
    for (int r = 0; r < REPLICAS; r++) {
        bool of[RUNS] = {false};
        int used = 0;
        for (int64_t b = r; (b + 1) * BATCH <= N / (REPLICAS * BATCH) * (REPLICAS * BATCH);
             b += REPLICAS)
            for (int k = 0; k < BATCH; k++)
                of[order[b * BATCH + k] / (N / RUNS)] = true;
        for (int k = 0; k < RUNS; k++)
            used += of[k];
        CHECK(used >= RUNS / REPLICAS && used <= RUNS / REPLICAS + 2);
    }
    // Runs are read in order apart from the shuffle buffer: the first images come from the first
    // runs.
    CHECK_OK(sr__sampler_runs(3, 1, runs, 1, 1, order, N));
    int64_t place[RUNS], at = 0;
    for (int i = 0; i < RUNS; i++)
        place[i] = -1;
    for (int64_t i = 0; i < N; i++)
        if (place[order[i] / (N / RUNS)] < 0)
            place[order[i] / (N / RUNS)] = at++;
    CHECK_INT(at, RUNS);
    for (int64_t i = 0; i < SR_SAMPLER_BUFFER; i++)
        CHECK(place[order[i] / (N / RUNS)] <= 2 * SR_SAMPLER_BUFFER / (N / RUNS) + 1);
    free(order);
    free(again);
    free(seen);
}

// ---- batches

static SrPipeline *pipeline(void) {
    static const char yaml[] = "[{name: RandomResizedCrop, size: 8}, {name: ToTensor}]";
    SrArena arena = SR_ARENA_INIT;
    SrYaml *list;
    SrPipeline *out;
    CHECK_OK(sr_yaml_parse(&arena, yaml, sizeof yaml - 1, "test", &list));
    CHECK_OK(sr_pipeline_new(list, "TRANSFORMS", &out));
    sr_arena_deinit(&arena);
    return out;
}

// Reads the batches of epoch 2 from `first` on and writes a pair (index, first pixel) per image.
// Opens the dataset and the loader again, as another process would. Returns the number of batches.
static int batches(const char *path, SrShare share, int64_t first, float *out) {
    void *set;
    SrLoader *loader;
    SrDatasetConfig at = config_of(path, "");
    SrPipeline *p = pipeline();
    int n = 0;
    CHECK_OK(sr_dataset_open(source("webdataset"), &at, &set));
    SrLoaderConfig config = {.dataset = source("webdataset"),
                             .set = set,
                             .limit = -1,
                             .pipeline = p,
                             .batch = 3,
                             .share = share,
                             .replicas = 2,
                             .shuffle = true,
                             .drop_last = true,
                             .label_type = "standard",
                             .threads = 2,
                             .prefetch = 2,
                             .gray_size = 8,
                             .seed = 5};
    CHECK_OK(sr_loader_new(&config, &loader));
    CHECK_OK(sr_loader_start(loader, 2, first));
    uint32_t order[64];
    CHECK(sr_loader_samples(loader) <= SR_COUNT(order));
    // The order of the batches is known without reading images.
    CHECK_OK(sr_loader_order(loader, 2, order));
    for (const SrBatch *b;; n++) {
        CHECK_OK(sr_loader_next(loader, &b, NULL));
        if (!b)
            break;
        for (int i = 0; i < b->batch; i++) {
            if (share.of == 0)
                CHECK_INT(b->index[i], order[(first + n) * 3 + i]);
            *out++ = (float)b->index[i];
            *out++ = b->view[0][i * 8 * 8 * 3];
        }
    }
    sr_loader_free(loader);
    sr_pipeline_free(p);
    sr_dataset_close(source("webdataset"), set);
    return n;
}

// An epoch that is stopped at a batch and resumed, or shared by two ranks, gives the same
// batches.
TEST(test_resume) {
    enum { EACH = 6 }; // floats per batch
    char dir[256];
    float all[20 * EACH], again[20 * EACH];
    fixture_folder(dir);
    write_images(dir, 10);
    SrDatasetConfig in = config_of(below(dir, "in"), "");
    pack(dir, source("disk_folder"), &in, "out", false);
    const char *out = below(dir, "out");
    CHECK_INT(batches(out, (SrShare){0}, 0, all), 7);
    CHECK_INT(batches(out, (SrShare){0}, 3, again), 4);
    CHECK(memcmp(all + 3 * EACH, again, sizeof *all * 4 * EACH) == 0);
    for (int rank = 0; rank < 2; rank++) {
        SrShare share = {.of = 2, .first = rank, .count = 1};
        int n = batches(out, share, 0, again);
        for (int k = 0; k < n; k++)
            CHECK(memcmp(all + (2 * k + rank) * EACH, again + k * EACH, sizeof *all * EACH) == 0);
    }
    fixture_remove(dir);
}

SR_TESTS(webdataset, unit(test_resume), unit(test_pack), unit(test_first_names), unit(test_several),
         unit(test_damage), unit(test_others), unit(test_names_change), unit(test_masks),
         unit(test_pack_without_memory), unit(test_runs))
