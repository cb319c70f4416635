// Tests segments of images: colours and clusters of patches are the same for any number of
// threads, find textures, cover whole images, and see the patches of transformers alone.
#include "folder/patches/segment.h"

#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "folder/patches/patch_rows.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/folder/scene.h"
#include "tests/temp_dir.h"

enum { N = 6, MOST = 1 << 16 };

typedef struct {
    char dir[64], images[96];
    SrPatchSource *source;
    SrImageSet set;
} Fixture;

static void open_source(Fixture *f, const char *model, const char *layers, int size) {
    CHECK_OK(sr_patch_source_open(
        &(SrPatchOptions){.model = model, .layers = layers, .size = size, .whole = true},
        &f->source));
}

static void begin(Fixture *f, const char *layers, int size) {
    temp_dir_make(f->dir);
    scene_write_folder(f->dir, N);
    snprintf(f->images, sizeof f->images, "%s/images", f->dir);
    open_source(f, "resnet18", layers, size);
    CHECK_OK(sr_image_set_open(f->images, &f->set));
}

static void end(Fixture *f) {
    sr_patch_source_close(f->source);
    sr_image_set_close(&f->set);
    temp_dir_remove(f->dir);
}

// Maps of all images one after the other.
typedef struct {
    float v[MOST];
    int n, images, without; // numbers; images that have a map, and those that have none
} Maps;

static SrStatus keep(void *arg, int64_t image, const float *map, int channels) {
    Maps *m = arg;
    int floats = 16 * 16 * channels;
    CHECK_INT(image, m->images + m->without);
    if (!map) {
        m->without++;
        return SR_OK;
    }
    CHECK(m->n + floats <= MOST);
    memcpy(m->v + m->n, map, (size_t)floats * sizeof *map);
    m->n += floats;
    m->images++;
    return SR_OK;
}

static Maps maps, again;

TEST(test_colors) {
    Fixture f;
    SrSegmentReport report;
    begin(&f, "res2", 64);
    CHECK_STR(sr_patch_source_layers(f.source), "res2");
    fixture_write(f.dir, "images/broken.png", "no", 2);
    sr_image_set_close(&f.set);
    CHECK_OK(sr_image_set_open(f.images, &f.set));
    for (int foreground = 0; foreground <= 1; foreground++) {
        int threads = sr_parallel_threads();
        maps.n = maps.images = maps.without = again.n = again.images = again.without = 0;
        CHECK_OK(sr_segment_pca(f.source, &f.set, foreground, &report, keep, &maps));
        CHECK_INT(report.images, N + 1);
        CHECK_INT(report.bad, 1);
        CHECK_INT(maps.images, N);
        CHECK_INT(maps.without, 1);
        CHECK(report.share > 0.2 && report.share <= 1);
        CHECK(foreground ? report.patches < N * 256 : report.patches == N * 256);
        int low = 0, high = 0;
        for (int i = 0; i < maps.n; i++) {
            CHECK(maps.v[i] >= 0 && maps.v[i] <= 1);
            low += maps.v[i] == 0;
            high += maps.v[i] == 1;
        }
        CHECK(low > 0 && high > 0 && high < maps.n / 20);
        sr_parallel_set_threads(threads == 1 ? 3 : 1);
        CHECK_OK(sr_segment_pca(f.source, &f.set, foreground, &report, keep, &again));
        sr_parallel_set_threads(threads);
        CHECK_INT(again.n, maps.n);
        CHECK(memcmp(maps.v, again.v, (size_t)maps.n * sizeof *maps.v) == 0);
    }
    end(&f);
}

static int cluster_of(const float *score, int k) {
    int best = 0;
    for (int c = 1; c < k; c++)
        best = score[c] > score[best] ? c : best;
    return best;
}

// Patches in the middle of stripes leave the clusters of the plain ground.
TEST(test_clusters) {
    enum { K = 4 };
    Fixture f;
    SrSegmentReport report;
    int threads = sr_parallel_threads(), count[K] = {0};
    begin(&f, "res2", 64);
    maps.n = maps.images = maps.without = again.n = again.images = again.without = 0;
    CHECK_OK(sr_segment_cluster(f.source, &f.set, K, 0, &report, keep, &maps));
    sr_parallel_set_threads(threads == 1 ? 3 : 1);
    CHECK_OK(sr_segment_cluster(f.source, &f.set, K, 0, &report, keep, &again));
    sr_parallel_set_threads(threads);
    CHECK_INT(maps.images, N);
    CHECK(memcmp(maps.v, again.v, (size_t)maps.n * sizeof *maps.v) == 0);
    for (int i = 0; i < maps.n; i += K)
        count[cluster_of(maps.v + i, K)]++;
    for (int c = 1; c < K; c++) // by size
        CHECK(count[c] <= count[c - 1] && count[c] > 0);
    CHECK_FAILS(sr_segment_cluster(f.source, &f.set, 1, 0, &report, keep, &maps), SR_ERR_CONFIG,
                "1 clusters are not possible; expected 2 to 64");
    end(&f);
}

// Rows that do not fit are drawn, and a pass over all patches gives what complete rows hold.
static SrStatus compare(void *arg, int64_t image, bool good, const float *patches) {
    const SrPatchRows *all = arg;
    CHECK(good && memcmp(patches, all->rows.x + all->first[image] * all->rows.d,
                         (size_t)(all->per_image * all->rows.d) * sizeof *patches) == 0);
    return SR_OK;
}

TEST(test_rows) {
    Fixture f;
    SrPatchRows all, some;
    begin(&f, "res2", 64);
    CHECK_OK(sr_patch_rows(f.source, &f.set, true, SR_SEGMENT_MEMORY, &all));
    CHECK_INT(all.per_image, 256);
    CHECK_INT(all.rows.n, N * 256);
    size_t row = (size_t)all.rows.d * sizeof(float) + sizeof(int);
    CHECK_OK(sr_patch_rows(f.source, &f.set, true, N * 10 * row, &some));
    CHECK_INT(some.per_image, 10);
    for (int64_t i = 0; i < some.rows.n; i++) {
        const float *from = all.rows.x + (all.first[i / 10] + some.position[i]) * all.rows.d;
        CHECK(memcmp(some.rows.x + i * all.rows.d, from, (size_t)all.rows.d * sizeof *from) == 0);
    }
    CHECK_OK(sr_patch_rows_each(&all, compare, &all));
    CHECK_OK(sr_patch_rows_each(&some, compare, &all));
    sr_patch_rows_deinit(&some);
    CHECK_FAILS(sr_patch_rows(f.source, &f.set, true, row, &some), SR_ERR_CONFIG,
                "6 images are too many");
    sr_patch_rows_deinit(&some);
    sr_patch_rows_deinit(&all);
    end(&f);
}

// An evaluation cuts the ends of a long picture off; patches cover them.
TEST(test_whole_images) {
    enum { H = 20, W = 100, SIDE = 32 };
    Fixture f;
    uint8_t rgb[H * W * 3], seen[SIDE * SIDE * 3];
    size_t bytes;
    temp_dir_make(f.dir);
    for (int i = 0; i < H * W * 3; i++)
        rgb[i] = i / 3 % W < 10 ? 255 : i / 3 % W >= 90 ? 200 : 50;
    void *png = fixture_png(rgb, H, W, 3, &bytes);
    fixture_write(f.dir, "images/long.png", png, bytes);
    sr_free(png);
    snprintf(f.images, sizeof f.images, "%s/images", f.dir);
    CHECK_OK(sr_image_set_open(f.images, &f.set));
    open_source(&f, "resnet18", "res2", SIDE);
    CHECK_OK(sr_patch_source_pixels(f.source, &f.set, 0, seen));
    for (int y = 0; y < SIDE; y++) {
        CHECK(seen[(y * SIDE) * 3] > 200 && seen[(y * SIDE + SIDE / 2) * 3] < 40);
        CHECK(seen[(y * SIDE + SIDE - 1) * 3] > 140);
    }
    end(&f);
}

// The patches after the last norm are those of the last block's tokens without class token and
// registers, in any size of image that the patches divide.
TEST(test_tokens) {
    static const char config[] =
        "config:\n"
        "  DATA: {TRAIN: {DATA_SOURCES: [synthetic]}, TEST: {TRANSFORMS: [{name: Resize, size: "
        "28}, {name: CenterCrop, size: 28}, {name: ToTensor}, {name: Normalize}]}}\n"
        "  MODEL: {TRUNK: {NAME: dinov2, DINOV2: {IMAGE_SIZE: 28, PATCH_SIZE: 7, NUM_LAYERS: 2, "
        "NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_RATIO: 2, REGISTERS: 2}}}\n";
    Fixture f;
    SrPatchRows map, tokens;
    char path[256];
    temp_dir_make(f.dir);
    scene_write_folder(f.dir, 2);
    snprintf(f.images, sizeof f.images, "%s/images", f.dir);
    CHECK_OK(sr_image_set_open(f.images, &f.set));
    snprintf(path, sizeof path, "%s", fixture_write(f.dir, "vit.yaml", config, strlen(config)));
    open_source(&f, path, NULL, 42);
    CHECK_STR(sr_patch_source_layers(f.source), "lastMAP");
    CHECK_INT(sr_patch_source_rows(f.source), 6);
    CHECK_INT(sr_patch_source_dim(f.source), 16);
    CHECK_OK(sr_patch_rows(f.source, &f.set, false, SR_SEGMENT_MEMORY, &map));
    SrPatchSource *first = f.source;
    open_source(&f, path, "lastBLK", 42);
    CHECK_INT(sr_patch_source_columns(f.source), 6);
    CHECK_OK(sr_patch_rows(f.source, &f.set, false, SR_SEGMENT_MEMORY, &tokens));
    CHECK_INT(tokens.rows.n, 2 * 36);
    CHECK(memcmp(map.rows.x, tokens.rows.x, (size_t)(2 * 36 * 16) * sizeof(float)) == 0);
    sr_patch_rows_deinit(&map);
    sr_patch_rows_deinit(&tokens);
    sr_patch_source_close(f.source);
    f.source = first;
    SrPatchSource *none;
    CHECK_FAILS(
        sr_patch_source_open(
            &(SrPatchOptions){.model = path, .layers = "lastCLS", .size = 28, .whole = true},
            &none),
        SR_ERR_CONFIG, "is no map of (rows, columns, channels)");
    CHECK_FAILS(
        sr_patch_source_open(
            &(SrPatchOptions){.model = "resnet18", .weights = "/none.pth", .whole = true}, &none),
        SR_ERR_CONFIG, "/none.pth");
    end(&f);
}

SR_TESTS(segment, unit(test_colors), unit(test_clusters), unit(test_rows), unit(test_whole_images),
         unit(test_tokens))
