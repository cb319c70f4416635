// idx: the IDX files of MNIST and its relatives (yann.lecun.com/exdb/mnist), plain or gzip, wholly
// in memory.
//
// DATA_PATHS names the folder (then the split chooses train-* or t10k-*) or the images file itself.
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "data/dataset.h"
#include "data/image_pool.h"
#include "data/readers/byte_order.h"
#include "data/sets/source.h"

#define MAX_PATH_BYTES 4096
#define MAX_BYTES ((int64_t)8 << 30)

typedef struct {
    char path[MAX_PATH_BYTES];
    int64_t n;
    int H, W, C;     // C is 1 or 3
    uint8_t *pixels; // (n, H, W, C)
    uint8_t *labels; // (n) classes; NULL: none
    int n_classes;
} Set;

// Content of an IDX file of unsigned bytes: rank, dimensions, elements.
typedef struct {
    int rank;
    int64_t d[4], count;
    uint8_t *items;
} Idx;

// Large files are read in pieces, because gzread takes an unsigned count.
static SrStatus read_exactly(gzFile f, const char *path, void *out, int64_t bytes) {
    uint8_t *p = out;
    while (bytes > 0) {
        int got = gzread(f, p, (unsigned)SR_MIN(bytes, (int64_t)1 << 24));
        if (got <= 0)
            SR_FAIL(SR_ERR_IO, "%s is cut off or damaged: its last %lld bytes are missing", path,
                    (long long)bytes);
        p += got;
        bytes -= got;
    }
    return SR_OK;
}

// Reads the magic (two zeros, type 8 = bytes, rank) and the big-endian dimensions, whose product is
// bounded before its use.
static SrStatus read_header(gzFile f, const char *path, Idx *idx) {
    uint8_t magic[4], d[4];
    SR_TRY(read_exactly(f, path, magic, 4));
    if (magic[0] || magic[1] || magic[2] != 8 || magic[3] < 1 || magic[3] > 4)
        SR_FAIL(SR_ERR_CONFIG, "%s is not an IDX file of bytes (it starts with %02x%02x%02x%02x)",
                path, magic[0], magic[1], magic[2], magic[3]);
    idx->rank = magic[3];
    idx->count = 1;
    for (int i = 0; i < idx->rank; i++) {
        SR_TRY(read_exactly(f, path, d, 4));
        idx->d[i] = (int64_t)sr_be32(d);
        if (idx->d[i] < 1 || idx->count > MAX_BYTES / idx->d[i])
            SR_FAIL(SR_ERR_CONFIG, "%s: dimension %d is %lld", path, i, (long long)idx->d[i]);
        idx->count *= idx->d[i];
    }
    return SR_OK;
}

// The caller frees idx->items.
static SrStatus idx_read(const char *path, Idx *idx) {
    struct stat st;
    *idx = (Idx){0};
    gzFile f = gzopen(path, "rb"); // reads plain files too
    if (!f || stat(path, &st) != 0) {
        if (f)
            gzclose(f);
        SR_FAIL(SR_ERR_IO, "cannot open %s", path);
    }
    SrStatus status = read_header(f, path, idx);
    if (status == SR_OK && idx->count / 1032 > st.st_size) // deflate's limit
        status =
            sr_fail(SR_ERR_CONFIG,
                    "the header of %s says that it holds %lld bytes, but the file has only %lld",
                    path, (long long)idx->count, (long long)st.st_size);
    if (status == SR_OK && !(idx->items = sr_alloc((size_t)idx->count)))
        status = sr_out_of_memory("%lld bytes of %s", (long long)idx->count, path);
    if (status == SR_OK)
        status = read_exactly(f, path, idx->items, idx->count);
    gzclose(f);
    return status;
}

// ---- which files ----

// "what" is "images-idx3" or "labels-idx1"; tries the usual spellings, plain and compressed.
static bool find_in_folder(const char *folder, const char *split, const char *what, char *out) {
    static const char *const spellings[] = {"%s/%s-%s-ubyte", "%s/%s-%s-ubyte.gz"};
    const char *which = strcmp(split, "TEST") == 0 ? "t10k" : "train";
    for (int i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s", what);
        if (i >= 2) // train-images.idx3-ubyte
            *strchr(name, '-') = '.';
        if (snprintf(out, MAX_PATH_BYTES, spellings[i % 2], folder, which, name) < MAX_PATH_BYTES &&
            sr_file_exists(out))
            return true;
    }
    return false;
}

// The folder's file for the split, or the path itself when it is a file.
static SrStatus find_images(const SrDatasetConfig *config, char *out) {
    SR_TRY(sr__source_check_path(config));
    if (!sr_file_is_dir(config->data_path)) {
        if (snprintf(out, MAX_PATH_BYTES, "%s", config->data_path) >= MAX_PATH_BYTES)
            SR_FAIL(SR_ERR_CONFIG, "DATA.%s.DATA_PATHS: path too long", config->split);
        return SR_OK;
    }
    if (!find_in_folder(config->data_path, config->split, "images-idx3", out))
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.%s.DATA_PATHS: no %s-images-idx3-ubyte or .gz in %s (Debian has "
                "Fashion-MNIST: apt-get install "
                "dataset-fashion-mnist)",
                config->split, strcmp(config->split, "TEST") == 0 ? "t10k" : "train",
                config->data_path);
    return SR_OK;
}

// Finds a file, or its compressed or unpacked counterpart.  Images and labels may differ in this.
static bool exists_plain_or_gz(char *path) {
    size_t len = strlen(path);
    if (sr_file_exists(path))
        return true;
    if (sr_text_ends(path, ".gz"))
        path[len - 3] = 0;
    else if (len + 4 <= MAX_PATH_BYTES)
        strcpy(path + len, ".gz");
    return sr_file_exists(path);
}

// Finds the labels: LABEL_PATHS, or the file of labels next to the images.  "": there are none.
static void find_labels(const SrDatasetConfig *config, const char *images, char *out) {
    snprintf(out, MAX_PATH_BYTES, "%s", config->label_path ? config->label_path : "");
    if (*out && sr_file_is_dir(out)) {
        if (!find_in_folder(config->label_path, config->split, "labels-idx1", out))
            *out = 0;
        return;
    }
    const char *base = strrchr(images, '/'), *at = strstr(base ? base : images, "images");
    if (*out || !at)
        return;
    const char *rest = at + strlen("images"); // "-idx3-ubyte.gz"
    int len = snprintf(out, MAX_PATH_BYTES, "%.*slabels%s", (int)(at - images), images, rest);
    char *three = len < MAX_PATH_BYTES ? strstr(out + (at - images), "idx3") : NULL;
    if (three)
        three[3] = '1';
    if (!three || !exists_plain_or_gz(out))
        *out = 0;
}

// ---- the set ----

static void set_close(void *opened) {
    Set *set = opened;
    sr_free(set->pixels);
    sr_free(set->labels);
}

// Grey (n, H, W), or colour as (n, H, W, 3).
static SrStatus open_images(Set *set, const SrDatasetConfig *config) {
    Idx idx;
    SR_TRY(find_images(config, set->path));
    SrStatus status = idx_read(set->path, &idx);
    set->pixels = idx.items;
    if (status != SR_OK)
        return sr_fail_prefix(status, "DATA.%s.DATA_PATHS", config->split);
    bool color = idx.rank == 4 && idx.d[3] == 3;
    if ((idx.rank != 3 && !color) || idx.d[1] > 65500 || idx.d[2] > 65500)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA.%s.DATA_PATHS: %s has %d dimensions, expected images (n, height, width)",
                config->split, set->path, idx.rank);
    set->n = idx.d[0];
    set->H = (int)idx.d[1];
    set->W = (int)idx.d[2];
    set->C = color ? 3 : 1;
    return SR_OK;
}

// Labels are optional: without a file next to the images there are none.
static SrStatus open_labels(Set *set, const SrDatasetConfig *config) {
    char path[MAX_PATH_BYTES];
    Idx idx;
    find_labels(config, set->path, path);
    if (!*path)
        return SR_OK;
    SrStatus status = idx_read(path, &idx);
    set->labels = idx.items;
    if (status != SR_OK)
        return sr_fail_prefix(status, "DATA.%s.LABEL_PATHS", config->split);
    if (idx.rank != 1 || idx.d[0] != set->n)
        SR_FAIL(SR_ERR_CONFIG, "DATA.%s.LABEL_PATHS: %s has %lld labels for %lld images",
                config->split, path, (long long)idx.d[0], (long long)set->n);
    for (int64_t i = 0; i < set->n; i++)
        set->n_classes = SR_MAX(set->n_classes, set->labels[i] + 1);
    return SR_OK;
}

static SrStatus set_open(const SrDatasetConfig *config, void *opened) {
    SR_TRY(open_images(opened, config));
    return open_labels(opened, config);
}

static int64_t set_length(const void *opened) { return ((const Set *)opened)->n; }

// Grey becomes RGB here, so that every transform sees three channels.
static SrStatus set_read(const void *opened, int64_t i, SrImagePool *pool, SrSample *out) {
    const Set *set = opened;
    size_t n = (size_t)set->H * (size_t)set->W;
    *out = (SrSample){.path = set->path};
    SR_TRY(sr_image_new(pool, set->H, set->W, &out->image));
    const uint8_t *p = set->pixels + (size_t)i * n * (size_t)set->C;
    if (set->C == 3) {
        memcpy(out->image.rgb, p, 3 * n);
        return SR_OK;
    }
    uint8_t *rgb = out->image.rgb;
    for (size_t k = 0; k < n; k++, rgb += 3)
        rgb[0] = rgb[1] = rgb[2] = p[k];
    return SR_OK;
}

static int64_t set_label(const void *opened, int64_t i) {
    const Set *set = opened;
    return set->labels ? set->labels[i] : -1;
}

static int set_classes(const void *opened) { return ((const Set *)opened)->n_classes; }

// Fashion-MNIST's files hold no names and are called as MNIST's are: the path tells which they are.
static const char *set_class_name(const void *opened, int c) {
    static const char *const fashion[] = {"T-shirt/top", "Trouser",   "Pullover", "Dress",
                                          "Coat",        "Sandal",    "Shirt",    "Sneaker",
                                          "Bag",         "Ankle boot"};
    const Set *set = opened;
    bool named = strcasestr(set->path, "fashion") && set->n_classes == SR_COUNT(fashion) &&
                 set->H == 28 && set->W == 28 && set->C == 1;
    return named && c >= 0 && c < SR_COUNT(fashion) ? fashion[c] : NULL;
}

// A folder must hold the images of this split: the test set may be elsewhere.
static bool accepts(const char *path, const char *split) {
    char found[MAX_PATH_BYTES];
    const char *base = strrchr(path, '/');
    if (sr_file_is_dir(path))
        return find_in_folder(path, split, "images-idx3", found);
    // A file is one set of images: the test set is another file.
    return strcmp(split, "TRAIN") == 0 && strstr(base ? base : path, "idx3") &&
           sr_file_exists(path);
}

#define IMAGES "\0\0\10\3\0\0\0\3\0\0\0\4\0\0\0\5" // three of 4 x 5
#define LABELS "\0\0\10\1\0\0\0\3\1\0\6"
static const SrDatasetExample examples[] = {
    {.files = {{.path = "train-images-idx3-ubyte", SR_EXAMPLE_TEXT(IMAGES), .zeros = 60},
               {.path = "train-labels-idx1-ubyte", SR_EXAMPLE_TEXT(LABELS)}},
     .config = {.data_path = "."},
     .images = 3,
     .classes = 7},
    {.files = {{.path = "some-idx3", SR_EXAMPLE_TEXT(IMAGES), .zeros = 60}},
     .config = {.data_path = "some-idx3"},
     .images = 3},
};

const SrDataset sr_dataset_idx = {
    .name = "idx",
    .help = "IDX files, the format of MNIST and Fashion-MNIST, plain or gzip, in memory.",
    .reads_label_path = true,
    .set_bytes = sizeof(Set),
    .open = set_open,
    .close = set_close,
    .length = set_length,
    .read = set_read,
    .label = set_label,
    .classes = set_classes,
    .class_name = set_class_name,
    .accepts = accepts,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
