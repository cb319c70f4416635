// webdataset: tar shards in WebDataset's convention (https://github.com/webdataset/webdataset),
// read by an index of offsets (shard_index.h).  Files of one sample share their name up to the
// first dot: an image (.jpg, .png, ...: image_kind.h) and .cls, which holds a number, a name or
// several numbers. Files .json and .txt are not read.
//
// Any thread reads bytes by their offset.  An epoch goes shard by shard (sampler.h), so the next
// bytes are requested from the system ahead of their use.  If the shards are larger than half the
// memory, a shard is dropped from the page cache when all its images have been read.
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "data/dataset.h"
#include "data/image_pool.h"
#include "data/sets/shard_index.h"
#include "data/sets/source.h"
#include "data/sets/tar_walk.h"
#include "gen/build.h"

enum { MAX_PATH_BYTES = 4096, KEPT_OPEN = 512 };
#define AHEAD ((int64_t)16 << 20)
#define MAX_IMAGE_BYTES ((uint32_t)512 << 20)

typedef struct {
    atomic_int fd;         // descriptor; -1: not kept open
    _Atomic int64_t read;  // images read since the shard was last dropped
    _Atomic int64_t ahead; // bytes requested ahead so far
} Shard;

typedef struct {
    SrShardIndex index;
    Shard *shard;
    int64_t *first; // (shards + 1) first image of each shard, for the order
    bool drops;     // shards are larger than half the memory, and read ones are dropped
    atomic_int kept;
} Set;

static void set_close(void *opened) {
    Set *set = opened;
    for (int64_t k = 0; set->shard && k < set->index.shards; k++)
        if (atomic_load(&set->shard[k].fd) >= 0)
            close(atomic_load(&set->shard[k].fd));
    sr__shard_index_close(&set->index);
    sr_free(set->shard);
    sr_free(set->first);
}

static SrStatus set_open(const SrDatasetConfig *config, void *opened) {
    Set *set = opened;
    SR_TRY(sr__source_check_path(config));
    SrStatus status = sr__shard_index_open(config->data_path, &set->index);
    if (status != SR_OK)
        return sr_fail_prefix(status, "DATA.%s.DATA_PATHS", config->split);
    const SrShardIndex *x = &set->index;
    uint64_t bytes = 0;
    set->shard = sr_calloc((size_t)x->shards, sizeof *set->shard);
    for (int64_t k = 0; set->shard && k < x->shards; k++)
        atomic_init(&set->shard[k].fd,
                    -1); // descriptor 0 belongs to somebody else, should a call below fail
    set->first = sr_calloc((size_t)x->shards + 1, sizeof *set->first);
    SR_TRY_MEMORY(set->shard && set->first, "%s", config->data_path);
    for (int64_t k = 0; k < x->shards; k++) {
        set->first[k + 1] = set->first[k] + x->row[k].n;
        bytes += x->row[k].bytes;
        if (x->row[k].first != set->first[k] || x->row[k].n < 0)
            SR_FAIL(SR_ERR_IO, "%s: its index is damaged; remove it, and sslrun builds a new one",
                    config->data_path);
    }
    if (set->first[x->shards] != x->n)
        SR_FAIL(SR_ERR_IO, "%s: its index is damaged; remove it, and sslrun builds a new one",
                config->data_path);
    size_t memory = sr_memory_available();
    set->drops = memory > 0 && bytes > memory / 2;
    return SR_OK;
}

static int64_t set_length(const void *opened) { return ((const Set *)opened)->index.n; }

// "FOLDER/SHARD.tar/NAME": the shard is the file, the rest its member.
static SrStatus entry_path(const SrShardIndex *x, const SrShardEntry *e, SrImagePool *pool,
                           const char **out) {
    const char *shard = x->row[e->shard].name, *name = sr__shard_index_name(x, e);
    size_t room = strlen(x->folder) + strlen(shard) + strlen(name) + 3;
    char *path = sr_image_pool_take(pool, room);
    SR_TRY_MEMORY(path, "a path");
    snprintf(path, room, "%s/%s/%s", x->folder, shard, name);
    *out = path;
    return SR_OK;
}

static SrStatus set_path(const void *opened, int64_t i, SrImagePool *pool, const char **out) {
    const Set *set = opened;
    const SrShardEntry *e;
    SR_TRY(sr__shard_index_entry(&set->index, i, &e));
    return entry_path(&set->index, e, pool, out);
}

// ---- reading

// A kept descriptor serves all threads.  Beyond KEPT_OPEN shards each image opens the file
// itself, and
// *close_it is set.
static SrStatus shard_fd(Set *set, uint32_t k, int *fd, bool *close_it) {
    char path[MAX_PATH_BYTES];
    *close_it = false;
    *fd = atomic_load(&set->shard[k].fd);
    if (*fd >= 0)
        return SR_OK;
    SR_TRY(sr_file_join(path, sizeof path, set->index.folder, set->index.row[k].name));
    *fd = sr_file_open_fd(path);
    if (*fd < 0)
        return sr__source_fail("cannot open", path);
    int none = -1;
    *close_it = atomic_load(&set->kept) >= KEPT_OPEN ||
                !atomic_compare_exchange_strong(&set->shard[k].fd, &none, *fd);
    if (!*close_it)
        atomic_fetch_add(&set->kept, 1);
    return SR_OK;
}

// The first thread that comes near the end of the requested bytes requests more.
static void read_ahead(Shard *shard, int fd, const SrShardEntry *e) {
    int64_t asked = atomic_load(&shard->ahead), end = (int64_t)(e->offset + e->bytes);
    if (end + AHEAD / 2 < asked)
        return;
    int64_t from = SR_MAX(asked, (int64_t)e->offset), to = end + AHEAD;
    if (atomic_compare_exchange_strong(&shard->ahead, &asked, to))
        posix_fadvise(fd, (off_t)from, (off_t)(to - from), POSIX_FADV_WILLNEED);
}

static void drop_behind(Set *set, uint32_t k, int fd) {
    Shard *shard = &set->shard[k];
    if (atomic_fetch_add(&shard->read, 1) + 1 < set->index.row[k].n)
        return;
    atomic_store(&shard->read, 0);
    atomic_store(&shard->ahead, 0);
    if (set->drops)
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static SrStatus read_entry(Set *set, const SrShardEntry *e, const char *path, void *bytes) {
    int fd;
    bool close_it;
    SR_TRY(shard_fd(set, e->shard, &fd, &close_it));
    read_ahead(&set->shard[e->shard], fd, e);
    SrStatus status = sr__tar_read(fd, path, e->offset, bytes, e->bytes);
    drop_behind(set, e->shard, fd);
    if (close_it)
        close(fd);
    SR_TRY(status);
    if (set->index.summed && crc32(0, bytes, e->bytes) != e->crc)
        SR_FAIL(SR_ERR_IO, "%s is damaged: its checksum differs from the one in the index", path);
    return SR_OK;
}

static SrStatus set_read(const void *opened, int64_t i, SrImagePool *pool, SrSample *out) {
    Set *set = (Set *)opened; // descriptors and advice are not part of the set's content
    const SrShardEntry *e;
    *out = (SrSample){.path = ""};
    SR_TRY(sr__shard_index_entry(&set->index, i, &e));
    SR_TRY(entry_path(&set->index, e, pool, &out->path));
    if (e->bytes > MAX_IMAGE_BYTES)
        SR_FAIL(SR_ERR_IO, "cannot read %s: %u bytes are too many for an image", out->path,
                e->bytes);
    char *bytes = sr_image_pool_take(pool, (size_t)e->bytes + 1);
    SR_TRY_MEMORY(bytes, "%s", out->path);
    SR_TRY(read_entry(set, e, out->path, bytes));
    out->encoded = bytes;
    out->encoded_bytes = e->bytes;
    return SR_OK;
}

static int64_t set_label(const void *opened, int64_t i) {
    const SrShardIndex *x = &((const Set *)opened)->index;
    int32_t label = x->at[i].label;
    return x->targets || label < 0 || label >= x->classes ? -1 : label;
}

static const int8_t *set_targets(const void *opened, int64_t i) {
    const SrShardIndex *x = &((const Set *)opened)->index;
    return x->targets ? x->targets + i * x->classes : NULL;
}

static int set_classes(const void *opened) { return ((const Set *)opened)->index.classes; }

static const char *set_class_name(const void *opened, int c) {
    const SrStringList *names = &((const Set *)opened)->index.class_names;
    return c < names->n && *sr__string_list_get(names, c) ? sr__string_list_get(names, c) : NULL;
}

static const int64_t *set_runs(const void *opened, int64_t *n) {
    const Set *set = opened;
    *n = set->index.shards;
    return set->first;
}

// Accepts a folder of archives and their companions only: an archive among other files is a
// download.
static bool accepts(const char *path, const char *split) {
    char **names;
    int n;
    if (strcmp(split, "TRAIN") != 0)
        return false;
    if (!sr_file_is_dir(path))
        return sr_text_ends(path, ".tar") && sr_file_exists(path);
    if (sr_file_list(path, &names, &n) != SR_OK)
        return false;
    int shards = 0, others = 0;
    for (int i = 0; i < n; i++) {
        bool shard = sr_text_ends(names[i], ".tar"),
             beside = sr_text_ends(names[i], ".sslrun") || sr_text_ends(names[i], ".txt") ||
                      sr_text_ends(names[i], ".json") || sr_text_ends(names[i], ".md");
        shards += shard && names[i][0] != '.';
        others += !shard && !beside && names[i][0] != '.';
    }
    sr_file_list_free(names, n);
    return shards > 0 && others == 0;
}

// A shard of two images and their classes, with headers by field (tar_walk.c) and data in blocks of
// 512 bytes.
#define EXAMPLE_HEADER(file, bytes, sum)                                                    \
    {                                                                                       \
        .name = file, .mode = "0000644", .uid = "0000000", .gid = "0000000", .size = bytes, \
        .mtime = "00000000000", .checksum = sum " ", .type = '0', .magic = "ustar",         \
        .version = "00"                                                                     \
    }
typedef struct {
    char name[100], mode[8], uid[8], gid[8];
    char size[12], mtime[12], checksum[8], type, link[100], magic[6], version[2];
    char rest[247];
} ExampleHeader;
static const struct {
    ExampleHeader one;
    char one_png[512];
    ExampleHeader one_class;
    char one_cls[512];
    ExampleHeader two;
    char two_png[512];
    ExampleHeader two_class;
    char two_cls[512], end[1024];
} example_shard = {
    .one = EXAMPLE_HEADER("cat/one.png", "00000000106", "010000\0"),
    .one_png = "\211\120\116\107\015\012\032\012\000\000\000\015\111\110\104\122\000\000\000\002"
               "\000\000\000\001\010\002\000\000\000\173\100\350\335\000\000\000\015\111\104\101"
               "\124\170\332\143\070\041\247\001\104\000\010\251\002\035\343\010\165\213\000\000"
               "\000\000\111\105\116\104\256\102\140\202",
    .one_class = EXAMPLE_HEADER("cat/one.cls", "00000000001", "007767\0"),
    .one_cls = "0",
    .two = EXAMPLE_HEADER("dog/two.png", "00000000111", "010026\0"),
    .two_png = "\211\120\116\107\015\012\032\012\000\000\000\015\111\110\104\122\000\000\000\002"
               "\000\000\000\002\010\002\000\000\000\375\324\232\163\000\000\000\020\111\104\101"
               "\124\170\332\143\340\222\373\000\104\014\020\012\000\033\026\004\141\246\210\245"
               "\301\000\000\000\000\111\105\116\104\256\102\140\202",
    .two_class = EXAMPLE_HEADER("dog/two.cls", "00000000001", "010021\0"),
    .two_cls = "1",
};

static const SrDatasetExample examples[] = {
    {.files = {{.path = "a-000000.tar",
                .bytes = (const char *)&example_shard,
                .n_bytes = sizeof example_shard},
               {.path = "classnames.txt", SR_EXAMPLE_TEXT("cat\ndog\n")}},
     .config = {.data_path = "."},
     .images = 2,
     .classes = 2},
    {.files = {{.path = "b.tar",
                .bytes = (const char *)&example_shard,
                .n_bytes = sizeof example_shard}},
     .config = {.data_path = "b.tar"},
     .images = 2,
     .classes = 2},
};

const SrDataset sr_dataset_webdataset = {
    .name = "webdataset",
    .help = "Tar shards in WebDataset's convention, as `sslrun pack` writes them: an image and its "
            ".cls a sample.",
    .set_bytes = sizeof(Set),
    .open = set_open,
    .close = set_close,
    .length = set_length,
    .read = set_read,
    .path = set_path,
    .label = set_label,
    .targets = set_targets,
    .classes = set_classes,
    .class_name = set_class_name,
    .runs = set_runs,
    .accepts = accepts,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
