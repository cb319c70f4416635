// Maps the file of an index and finds its blocks.
#include "folder/index/index_file.h"

#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "folder/index/index_file_internal.h"

// ---- reading ------------------------------------------------------------------------------------

static SrStatus read_header(SrIndexFile *f, const char *path) {
    const SrIndexFileHeader *h = (const void *)f->map;
    if (f->bytes < sizeof *h || memcmp(h->magic, SR_INDEX_MAGIC, sizeof h->magic) != 0)
        SR_FAIL(SR_ERR_CONFIG, "%s: no index of sslrun; name another file, or remove this one",
                path);
    const char *description = (const char *)(h + 1);
    size_t end = sizeof *h + sr__index_padded(h->description_bytes);
    if (h->sum != sr__index_sum(h, offsetof(SrIndexFileHeader, sum)) || h->d < 1 ||
        h->description_bytes < 1 || end > f->bytes ||
        description[h->description_bytes - 1] != '\0' ||
        h->description_sum != sr__index_sum(description, h->description_bytes))
        SR_FAIL(SR_ERR_CONFIG,
                "%s: the header of the index is damaged; remove the file, and the next command "
                "makes it anew",
                path);
    f->header = h;
    f->good = end;
    return SR_OK;
}

static SrStatus add_block(SrIndexFile *f, const SrIndexBlock *block) {
    if (f->n_blocks == f->cap) {
        int cap = SR_MAX(2 * f->cap, 64);
        SrIndexBlock *more = sr_realloc(f->block, (size_t)cap * sizeof *more);
        SR_TRY_MEMORY(more, "an index");
        f->block = more;
        f->cap = cap;
    }
    f->block[f->n_blocks++] = *block;
    return SR_OK;
}

// Bytes of a block of rows before its names.
static size_t rows_end(int64_t n, int d) {
    return sizeof(SrIndexBlockHeader) + sr__index_padded((size_t)n * sizeof(SrIndexDiskRecord)) +
           sr__index_padded((size_t)n * (size_t)d * sizeof(uint16_t));
}

static bool fits_rows(const SrIndexFile *f, const SrIndexBlockHeader *h) {
    uint64_t end = rows_end(h->n, f->header->d);
    return h->first == (uint64_t)f->records && h->extra <= h->bytes && end <= h->bytes &&
           end + h->extra <= h->bytes;
}

static SrStatus take_rows(SrIndexFile *f, const SrIndexBlockHeader *h) {
    const uint8_t *at = (const uint8_t *)(h + 1);
    SrIndexBlock b = {.first = f->records, .n = h->n, .record = (const void *)at, .header = h};
    at += sr__index_padded((size_t)h->n * sizeof(SrIndexDiskRecord));
    b.rows = (const void *)at;
    b.names = (const char *)h + rows_end(h->n, f->header->d);
    b.name_bytes = h->extra;
    f->records += h->n;
    return add_block(f, &b);
}

static bool fits_list(const SrIndexBlockHeader *h) {
    uint64_t end = sizeof *h + (uint64_t)h->n * 8;
    return h->extra <= h->bytes && end <= h->bytes && end + h->extra <= h->bytes;
}

static bool body_is_whole(const SrIndexBlockHeader *h) {
    return h->body_sum == sr__index_sum(h + 1, h->bytes - sizeof *h);
}

// Takes a list whose records exist; a later one replaces it.
static void take_list(SrIndexFile *f, const SrIndexBlockHeader *h) {
    const uint32_t *record = (const void *)(h + 1);
    const int32_t *label = (const int32_t *)(record + h->n);
    const char *names = (const char *)(label + h->n);
    size_t classes = 0;
    for (size_t i = 0; i < h->extra; i++)
        classes += names[i] == '\0';
    if (classes != h->classes || (h->extra > 0 && names[h->extra - 1] != '\0'))
        return;
    for (uint32_t i = 0; i < h->n; i++)
        if (record[i] >= f->records || label[i] < -1 || label[i] >= (int64_t)h->classes)
            return;
    f->list = (SrIndexList){.n = h->n,
                            .record = record,
                            .label = label,
                            .classes = (int)h->classes,
                            .class_names = names,
                            .class_bytes = h->extra};
    f->list_sum = h->sum;
}

// Walks over the headers, and finds the last whole list.
static SrStatus walk(SrIndexFile *f) {
    const SrIndexBlockHeader *lists[2] = {NULL, NULL}; // the last two: the last may be incomplete
    while (f->good + sizeof(SrIndexBlockHeader) <= f->bytes) {
        const SrIndexBlockHeader *h = (const void *)(f->map + f->good);
        bool known = h->sum == sr__index_sum(h, offsetof(SrIndexBlockHeader, sum)) &&
                     h->bytes % SR_INDEX_ALIGN == 0 && h->bytes >= sizeof *h;
        if (!known || h->bytes > f->bytes - f->good) {
            f->broken = !known;
            break;
        }
        if (h->type == SR_INDEX_ROWS && fits_rows(f, h)) {
            SR_TRY(take_rows(f, h));
        } else if (h->type == SR_INDEX_LIST && fits_list(h)) {
            lists[0] = lists[1];
            lists[1] = h;
            f->list_bytes += h->bytes;
        }
        f->good += h->bytes;
    }
    for (int i = 1; i >= 0 && !f->list.record; i--)
        if (lists[i] && body_is_whole(lists[i]))
            take_list(f, lists[i]);
    return SR_OK;
}

SrStatus sr_index_file_open(const char *path, SrIndexFile **out) {
    *out = NULL;
    SrIndexFile *f = sr_calloc(1, sizeof *f);
    const void *map = NULL;
    SR_TRY_MEMORY(f, "an index");
    SrStatus status = sr_file_map(path, &map, &f->bytes);
    f->map = map;
    if (status == SR_OK)
        status = read_header(f, path);
    if (status == SR_OK)
        status = walk(f);
    if (status == SR_OK)
        *out = f;
    else
        sr_index_file_close(f);
    return status;
}

void sr_index_file_close(SrIndexFile *f) {
    if (!f)
        return;
    sr_file_unmap(f->map, f->bytes);
    sr_free(f->block);
    sr_free(f);
}

void sr_index_file_kind(const SrIndexFile *f, SrIndexKind *out) {
    *out = (SrIndexKind){f->header->key, f->header->d, (const char *)(f->header + 1)};
}

int64_t sr_index_file_records(const SrIndexFile *f) { return f->records; }

static const SrIndexBlock *block_of(const SrIndexFile *f, int64_t r) {
    int low = 0, high = f->n_blocks - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (f->block[middle].first <= r)
            low = middle;
        else
            high = middle - 1;
    }
    return &f->block[low];
}

// Offsets are checked here: the checksum of a block's body is not computed when a file is opened.
void sr_index_file_record(const SrIndexFile *f, int64_t r, SrIndexRecord *out) {
    const SrIndexBlock *b = block_of(f, r);
    const SrIndexDiskRecord *d = &b->record[r - b->first];
    bool whole = d->name < b->name_bytes && d->name_bytes < b->name_bytes - d->name &&
                 b->names[d->name + d->name_bytes] == '\0';
    *out = (SrIndexRecord){.name = whole ? b->names + d->name : "",
                           .bytes = d->bytes,
                           .mtime = d->mtime,
                           .hash = d->hash,
                           .length = d->length,
                           .flags = d->flags};
}

const uint16_t *sr_index_file_row(const SrIndexFile *f, int64_t r) {
    const SrIndexBlock *b = block_of(f, r);
    return b->rows + (r - b->first) * f->header->d;
}

int64_t sr_index_file_after(const SrIndexFile *f, int64_t r) {
    const SrIndexBlock *b = block_of(f, r);
    return b->first + b->n - r;
}

uint32_t sr_index_file_sum(const SrIndexFile *f) {
    uint32_t sum = (uint32_t)crc32_z(0, (const void *)&f->list_sum, sizeof f->list_sum);
    for (int i = 0; i < f->n_blocks; i++)
        sum = (uint32_t)crc32_z(sum, (const void *)&f->block[i].header->sum, sizeof(uint32_t));
    return sum;
}

int sr_index_file_verify(const SrIndexFile *f, uint8_t *keep) {
    int bad = 0;
    for (int i = 0; i < f->n_blocks; i++) {
        const SrIndexBlock *b = &f->block[i];
        bool whole = body_is_whole(b->header);
        memset(keep + b->first, whole, (size_t)b->n);
        bad += !whole;
    }
    return bad;
}

void sr_index_file_list(const SrIndexFile *f, SrIndexList *out) { *out = f->list; }
