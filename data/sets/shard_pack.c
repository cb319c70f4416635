// Packs a data set into tar shards with an index, and reads shards to compare them with their
// index.
#include "data/sets/shard_pack.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/dataset.h"
#include "data/decode.h"
#include "data/encode.h"
#include "data/image_pool.h"
#include "data/image_probe.h"
#include "data/sets/shard_index.h"
#include "data/sets/shard_list.h"
#include "data/sets/shard_walk.h"
#include "data/sets/tar_walk.h"

enum { MAX_PATH_BYTES = 4096, KEY_BYTES = 3 * 4096, WARNED = 20 };

typedef struct {
    const SrDataset *source;
    const void *set;
    const SrShardPackOptions *options;
    char folder[MAX_PATH_BYTES]; // OUT.partial
    SrImagePool *pool;
    SrShardList *list;
    SrFileWriter writer; // f NULL: between shards
    uint64_t at;         // bytes written into the present shard
    uint64_t *hashes;    // (n) hashes of all keys, sorted: equal neighbours share a name
    int64_t n;
    SrText blocks; // tar blocks of one image: headers, bytes, class
    SrShardPackResult result;
} Pack;

// ---- names

// Escapes the characters that WebDataset would read as the end of a name, and the escape itself.
static void escape(const char *name, size_t n, char out[KEY_BYTES]) {
    size_t at = 0;
    for (size_t i = 0; i < n && at + 4 < KEY_BYTES; i++) {
        bool plain = name[i] != '.' && name[i] != '%' && !iscntrl((unsigned char)name[i]);
        if (plain)
            out[at++] = name[i];
        else
            at += (size_t)snprintf(out + at, 4, "%%%02X", (unsigned char)name[i]);
    }
    out[at] = 0;
}

// Splits a path into the key of the sample and the ending, which tells the image's format.
static void split_name(const Pack *p, const char *path, int64_t i, char key[KEY_BYTES],
                       const char **ending) {
    size_t root = strlen(p->options->data);
    const char *name = path;
    if (*path && strncmp(path, p->options->data, root) == 0)
        name = path + root;
    name += strspn(name, "/");
    const char *dot = strrchr(name, '.');
    *ending = dot ? dot : "";
    if (*path)
        escape(name, dot ? (size_t)(dot - name) : strlen(name), key);
    else
        snprintf(key, KEY_BYTES, "%09lld", (long long)i);
}

static SrStatus path_of(const Pack *p, int64_t i, const char **path) {
    *path = "";
    return p->source->path ? p->source->path(p->set, i, p->pool, path) : SR_OK;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Hashes every key first, so that cat.jpg next to cat.png is known before either is written.
static SrStatus hash_names(Pack *p) {
    char key[KEY_BYTES];
    const char *path, *ending;
    p->n = p->source->length(p->set);
    p->hashes = sr_alloc(sizeof *p->hashes * (size_t)SR_MAX(p->n, 1));
    SR_TRY_MEMORY(p->hashes, "the names of %lld images", (long long)p->n);
    for (int64_t i = 0; i < p->n; i++) {
        sr_image_pool_reset(p->pool);
        SR_TRY(path_of(p, i, &path));
        split_name(p, path, i, key, &ending);
        p->hashes[i] = sr_hash_text(key);
    }
    qsort(p->hashes, (size_t)p->n, sizeof *p->hashes, by_value);
    return SR_OK;
}

static bool is_only(const Pack *p, const char *key) {
    uint64_t hash = sr_hash_text(key);
    const uint64_t *at = bsearch(&hash, p->hashes, (size_t)p->n, sizeof hash, by_value);
    return !at ||
           ((at == p->hashes || at[-1] != hash) && (at + 1 == p->hashes + p->n || at[1] != hash));
}

// Images that share a key get their ending appended, and their number if the ending is equal too (a
// list may name a file twice).
static void make_unique(const Pack *p, int64_t i, const char *ending, char key[KEY_BYTES]) {
    if (is_only(p, key))
        return;
    size_t len = strlen(key);
    snprintf(key + len, KEY_BYTES - len, "%%%s%%%lld", *ending ? ending + 1 : "", (long long)i);
}

// ---- one image

static SrStatus read_image(const Pack *p, int64_t i, SrText *png, SrSample *sample) {
    SR_TRY(p->source->read(p->set, i, p->pool, sample));
    if (sample->encoded)
        return SR_OK;
    png->len = 0;
    sr_png_encode(sample->image.rgb, sample->image.H, sample->image.W, png);
    sample->encoded = png->s;
    sample->encoded_bytes = png->len;
    return png->failed ? sr_out_of_memory("an image") : SR_OK;
}

// SR_ERR_IO: the loader would put a grey image in this one's place, as it cannot read or decode it.
static SrStatus read_sound(const Pack *p, int64_t i, SrText *png, SrSample *sample) {
    SrImage image;
    SR_TRY(read_image(p, i, png, sample));
    SrStatus status = sr_image_open(sample->encoded, sample->encoded_bytes, &image);
    return status == SR_OK ? SR_OK : sr_fail_prefix(status, "%s", sample->path);
}

// Returns an ending of WebDataset's convention; the bytes decide if the name does not tell.
static const char *ending_of(const SrSample *sample, const char *path, const char *ending,
                             char out[8]) {
    static const char *const by_format[SR_IMAGE_FORMATS] = {
        [SR_IMAGE_PNG] = ".png",  [SR_IMAGE_JPEG] = ".jpg",  [SR_IMAGE_WEBP] = ".webp",
        [SR_IMAGE_PNM] = ".ppm",  [SR_IMAGE_BMP] = ".bmp",   [SR_IMAGE_GIF] = ".gif",
        [SR_IMAGE_TIFF] = ".tif", [SR_IMAGE_HEIF] = ".heic", [SR_IMAGE_DICOM] = ".dcm"};
    SrImageHeader header;
    if (sr__shard_is_image(path)) {
        for (size_t k = 0; k <= strlen(ending); k++)
            out[k] = (char)tolower((unsigned char)ending[k]);
        return out;
    }
    // read_sound has opened the image, so its header can be read.
    return sr__image_header_read(sample->encoded, sample->encoded_bytes, &header) == SR_OK
               ? by_format[header.format]
               : ".png";
}

// Writes the classes of an image: "3"; "0 4 7?" for several of which 7 is not known; "" for none.
// *labelled: the set has labels for the image.
static SrStatus class_text(const Pack *p, int64_t i, SrText *out, bool *labelled) {
    const int8_t *targets = p->source->targets ? p->source->targets(p->set, i) : NULL;
    int64_t label = p->source->label(p->set, i);
    out->len = 0;
    for (int c = 0; targets && c < p->source->classes(p->set); c++)
        if (targets[c])
            sr_text_printf(out, "%s%d%s", out->len ? " " : "", c, targets[c] < 0 ? "?" : "");
    if (!targets && label >= 0)
        sr_text_printf(out, "%lld", (long long)label);
    *labelled = targets || label >= 0;
    return out->failed ? sr_out_of_memory("a label") : SR_OK;
}

// Appends a member to the blocks and returns the offset of its bytes in them.
static uint64_t add_member(Pack *p, const char *name, const void *bytes, size_t n) {
    static const char zeros[SR_TAR_BLOCK];
    sr__tar_header(name, n, &p->blocks);
    uint64_t at = p->blocks.len;
    sr_text_addn(&p->blocks, bytes, n);
    sr_text_addn(&p->blocks, zeros, sr__tar_padding(n));
    return at;
}

// ---- shards

static SrStatus end_shard(Pack *p) {
    static const char zeros[2 * SR_TAR_BLOCK];
    if (!p->writer.f)
        return SR_OK;
    if (fwrite(zeros, 1, sizeof zeros, p->writer.f) != sizeof zeros)
        SR_FAIL(SR_ERR_IO, "cannot write into %s: is the disk full?", p->folder);
    p->at += sizeof zeros;
    sr__shard_list_end(p->list, p->at, 0);
    p->result.bytes += (int64_t)p->at;
    p->result.shards++;
    SrStatus status = sr_file_commit(&p->writer);
    p->writer.f = NULL;
    return status;
}

static SrStatus begin_shard(Pack *p) {
    char name[64], path[MAX_PATH_BYTES];
    snprintf(name, sizeof name, "shard-%06lld.tar", (long long)p->result.shards);
    SR_TRY(sr_file_join(path, sizeof path, p->folder, name));
    SR_TRY(sr_file_begin(&p->writer, path));
    p->at = 0;
    return sr__shard_list_begin(p->list, name);
}

// Writes the blocks of one image.  image_at: offset of the image's bytes in them.
static SrStatus write_blocks(Pack *p, const char *name, uint64_t image_at, size_t bytes,
                             uint32_t crc, const char *label) {
    if (p->blocks.failed)
        return sr_out_of_memory("%s", name);
    if (p->writer.f && p->at + p->blocks.len > (uint64_t)p->options->bytes)
        SR_TRY(end_shard(p));
    if (!p->writer.f)
        SR_TRY(begin_shard(p));
    if (fwrite(p->blocks.s, 1, p->blocks.len, p->writer.f) != p->blocks.len)
        SR_FAIL(SR_ERR_IO, "cannot write into %s: is the disk full?", p->folder);
    SR_TRY(sr__shard_list_add(p->list, name, p->at + image_at, bytes, crc));
    p->at += p->blocks.len;
    return label ? sr__shard_list_label(p->list, p->result.images, label) : SR_OK;
}

static SrStatus write_image(Pack *p, int64_t i, const char *path, const SrSample *sample,
                            SrText *label) {
    char name[KEY_BYTES + 8], kind[8];
    const char *ending;
    bool labelled;
    split_name(p, path, i, name, &ending);
    make_unique(p, i, ending, name);
    size_t key = strlen(name), bytes = sample->encoded_bytes;
    p->blocks.len = 0;
    SR_TRY(class_text(p, i, label, &labelled));
    strcpy(name + key, ending_of(sample, path, ending, kind));
    uint64_t image_at = add_member(p, name, sample->encoded, bytes);
    char image_name[KEY_BYTES + 8];
    memcpy(image_name, name, sizeof image_name);
    strcpy(name + key, ".cls");
    if (labelled)
        add_member(p, name, label->s ? label->s : "", label->len);
    uint32_t crc = (uint32_t)crc32(0, sample->encoded, (uInt)bytes);
    SR_TRY(write_blocks(p, image_name, image_at, bytes, crc,
                        labelled ? label->len ? label->s : "" : NULL));
    p->result.images++;
    return SR_OK;
}

// A damaged image is left out with a warning, because training replaces it too.
static SrStatus pack_image(Pack *p, int64_t i, SrText *png, SrText *label) {
    SrSample sample = {.path = ""};
    const char *path;
    sr_image_pool_reset(p->pool);
    SR_TRY(path_of(p, i, &path));
    SrStatus status = read_sound(p, i, png, &sample);
    if (status == SR_OK)
        return write_image(p, i, path, &sample, label);
    if (status != SR_ERR_IO || p->options->strict)
        return status;
    if (p->result.left_out++ < WARNED)
        sr_warn("left out: %s", sr_status_message());
    sr_status_clear();
    return SR_OK;
}

// Images are shuffled before packing: an epoch shuffles only within a buffer, and would show shards
// that are sorted by class nearly class by class.
static SrStatus order_of(const Pack *p, uint32_t **out) {
    *out = sr_alloc(sizeof **out * (size_t)SR_MAX(p->n, 1));
    if (!*out)
        return sr_out_of_memory("the order of %lld images", (long long)p->n);
    SrRng rng = sr_rng(0, SR_RNG_ORDER, 0, 0, 3, 0);
    if (!p->options->keep_order)
        sr_rng_permutation(&rng, *out, (uint32_t)p->n);
    for (int64_t i = 0; p->options->keep_order && i < p->n; i++)
        (*out)[i] = (uint32_t)i;
    return SR_OK;
}

static SrStatus pack_images(Pack *p) {
    SrText png = SR_TEXT_INIT, label = SR_TEXT_INIT;
    uint32_t *order;
    SrBar bar;
    SR_TRY(order_of(p, &order));
    sr_bar_begin(&bar, "images packed", p->n);
    SrStatus status = SR_OK;
    for (int64_t k = 0; k < p->n && status == SR_OK; k++) {
        status = pack_image(p, order[k], &png, &label);
        sr_bar_at(&bar, k + 1);
    }
    sr_bar_end(&bar);
    if (status == SR_OK && p->result.images == 0)
        status = sr_fail(SR_ERR_CONFIG, "%s: none of the %lld images can be read", p->options->data,
                         (long long)p->n);
    if (status == SR_OK)
        status = end_shard(p);
    if (status != SR_OK && p->writer.f)
        sr_file_abort(&p->writer);
    sr_text_deinit(&png);
    sr_text_deinit(&label);
    sr_free(order);
    return status;
}

// ---- the folder

static SrStatus collect_names(const Pack *p, SrStringList *names, SrText *text) {
    int n = p->source->class_name ? p->source->classes(p->set) : 0;
    for (int c = 0; c < n; c++) {
        const char *name = p->source->class_name(p->set, c);
        if (!name || strchr(name, '\n')) // a missing line would shift the others
            break;
        SR_TRY(sr__string_list_add(names, name, strlen(name)));
        sr_text_printf(text, "%s\n", name);
    }
    return text->failed ? sr_out_of_memory("the names of %d classes", n) : SR_OK;
}

// *mark: mark of the file for the index (sr__shard_names_mark).
static SrStatus write_names(const Pack *p, SrStringList *names, uint64_t *mark) {
    char path[MAX_PATH_BYTES];
    SrText text = SR_TEXT_INIT;
    SrStatus status = collect_names(p, names, &text);
    if (status == SR_OK)
        status = sr_file_join(path, sizeof path, p->folder, SR_SHARD_CLASSES);
    if (status == SR_OK && text.len)
        status = sr_file_write_text(path, &text);
    *mark = sr__shard_names_mark(text.len ? text.s : NULL, text.len);
    sr_text_deinit(&text);
    return status;
}

static SrStatus write_index(const Pack *p) {
    char path[MAX_PATH_BYTES];
    SrStringList names = {0};
    SrText text = SR_TEXT_INIT;
    SR_TRY(sr_file_join(path, sizeof path, p->folder, SR_SHARD_INDEX));
    uint64_t mark;
    SrStatus status = write_names(p, &names, &mark);
    if (p->source->targets && p->source->targets(p->set, 0))
        sr__shard_list_several(p->list);
    if (status == SR_OK)
        status = sr__shard_list_print(p->list, &names, mark, true, &text);
    if (status == SR_OK)
        status = sr_file_write_text(path, &text);
    sr_text_deinit(&text);
    sr__string_list_deinit(&names);
    return status;
}

// Removes the shards of a packing that was killed, and nothing else.
static SrStatus clear_partial(const char *folder) {
    char **names, path[MAX_PATH_BYTES];
    int n;
    if (!sr_file_is_dir(folder))
        return SR_OK;
    SR_TRY(sr_file_list(folder, &names, &n));
    SrStatus status = SR_OK;
    for (int i = 0; i < n && status == SR_OK; i++) {
        bool ours = sr_text_starts(names[i], "shard-") || strcmp(names[i], SR_SHARD_INDEX) == 0 ||
                    strcmp(names[i], SR_SHARD_CLASSES) == 0;
        status = sr_file_join(path, sizeof path, folder, names[i]);
        if (status == SR_OK && ours)
            status = sr_file_remove(path);
    }
    sr_file_list_free(names, n);
    return status;
}

static SrStatus begin_folder(Pack *p) {
    const char *out = p->options->out;
    size_t len = strlen(out);
    while (len > 1 && out[len - 1] == '/')
        len--;
    if (sr_file_exists(out))
        SR_FAIL(SR_ERR_CONFIG, "%s exists; name a folder that does not exist, or remove it", out);
    if (snprintf(p->folder, sizeof p->folder, "%.*s.partial", (int)len, out) >=
        (int)sizeof p->folder)
        SR_FAIL(SR_ERR_CONFIG, "path too long: '%.80s...'", out);
    SR_TRY(clear_partial(p->folder));
    return sr_file_mkdirs(p->folder);
}

static SrStatus pack_all(Pack *p) {
    SR_TRY(begin_folder(p));
    SR_TRY(sr_image_pool_new(&p->pool));
    SR_TRY(sr__shard_list_new(&p->list));
    SR_TRY(hash_names(p));
    SR_TRY(pack_images(p));
    SR_TRY(write_index(p));
    return sr_file_move(p->folder, p->options->out);
}

SrStatus sr_shard_pack(const SrDataset *source, const void *set, const SrShardPackOptions *options,
                       SrShardPackResult *out) {
    Pack *p = sr_calloc(1, sizeof *p);
    SR_TRY_MEMORY(p, "packing");
    p->source = source;
    p->set = set;
    p->options = options;
    SrStatus status = pack_all(p);
    *out = p->result;
    sr__shard_list_free(p->list);
    sr_image_pool_free(p->pool);
    sr_text_deinit(&p->blocks);
    sr_free(p->hashes);
    sr_free(p);
    return status;
}

// ---- checking

static void list_damaged(SrShardCheckResult *out) {
    if (out->damaged++ < SR_COUNT(out->listed))
        snprintf(out->listed[out->n_listed++], sizeof out->listed[0], "%s", sr_status_message());
}

// Without checksums only the image's own header can be checked.
static SrStatus check_image(const SrDataset *source, const void *set, int64_t i, bool summed,
                            SrImagePool *pool, int64_t *bytes) {
    SrSample sample;
    SrImage image;
    SR_TRY(source->read(set, i, pool, &sample));
    *bytes += (int64_t)sample.encoded_bytes;
    if (summed)
        return SR_OK;
    SrStatus status = sr_image_open(sample.encoded, sample.encoded_bytes, &image);
    return status == SR_OK ? SR_OK : sr_fail_prefix(status, "%s", sample.path);
}

static SrStatus check_all(const SrDataset *source, const void *set, SrShardCheckResult *out) {
    SrImagePool *pool;
    SrBar bar;
    SR_TRY(sr_image_pool_new(&pool));
    SrStatus status = SR_OK;
    out->images = source->length(set);
    sr_bar_begin(&bar, "images checked", out->images);
    for (int64_t i = 0; i < out->images && status == SR_OK; i++) {
        sr_image_pool_reset(pool);
        status = check_image(source, set, i, out->summed, pool, &out->bytes);
        if (status == SR_ERR_IO) {
            list_damaged(out);
            status = SR_OK;
        }
        sr_bar_at(&bar, i + 1);
    }
    sr_bar_end(&bar);
    sr_image_pool_free(pool);
    return status;
}

SrStatus sr_shard_check(const char *path, SrShardCheckResult *out) {
    const SrDataset *source;
    SrDatasetConfig config = {.split = "TRAIN", .data_path = path, .label_path = ""};
    void *set;
    SrShardIndex index;
    *out = (SrShardCheckResult){0};
    SR_TRY(sr_dataset_find("webdataset", &source));
    SR_TRY(sr__shard_index_open(path, &index));
    out->summed = index.summed;
    out->shards = index.shards;
    sr__shard_index_close(&index);
    SR_TRY(sr_dataset_open(source, &config, &set));
    SrStatus status = check_all(source, set, out);
    sr_dataset_close(source, set);
    return status;
}
