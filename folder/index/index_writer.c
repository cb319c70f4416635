// Locks, appends to, mends and rewrites the file of an index.
#include "folder/index/index_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own_file.h"
#include "base/text/text.h"
#include "folder/index/index_file_internal.h"

enum {
    PATH_BYTES = 4096,
    MOST_BLOCKS = 4096,    // more are joined by a rewrite
    LISTS_BYTES = 1 << 20, // old lists may take so many bytes, or half the file, before a rewrite
    REWRITE_ROWS = 1 << 12 // records of a block of a rewritten file
};
#define MOST_RECORDS ((int64_t)UINT32_MAX)

struct SrIndexWriter {
    char path[PATH_BYTES];
    int lock, fd;
    int d;
    int64_t records, blocks, listed; // listed: images of the list that was appended; -1: none
    uint64_t list_bytes;             // of all lists
    SrIndexFile *file;               // the caller reads it until the writer is closed
};

static SrStatus write_all(SrIndexWriter *w, const void *data, size_t bytes) {
    const char *p = data;
    while (bytes > 0) {
        ssize_t n = write(w->fd, p, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            SR_FAIL(SR_ERR_IO, "cannot write %s: %s", w->path, strerror(errno));
        p += n;
        bytes -= (size_t)n;
    }
    return SR_OK;
}

// Makes the bytes of a new file that has no blocks.
static SrStatus header_text(const SrIndexKind *kind, SrText *out) {
    size_t n = strlen(kind->description) + 1;
    SrIndexFileHeader h = {.key = kind->key,
                           .d = kind->d,
                           .description_bytes = (uint32_t)n,
                           .description_sum = sr__index_sum(kind->description, n)};
    const char zeros[SR_INDEX_ALIGN] = {0};
    memcpy(h.magic, SR_INDEX_MAGIC, sizeof h.magic);
    h.sum = sr__index_sum(&h, offsetof(SrIndexFileHeader, sum));
    sr_text_addn(out, (const char *)&h, sizeof h);
    sr_text_addn(out, kind->description, n);
    sr_text_addn(out, zeros, sr__index_padded(n) - n);
    return out->failed ? sr_out_of_memory("an index") : SR_OK;
}

static SrStatus make_file(const char *path, const SrIndexKind *kind) {
    SrText text = SR_TEXT_INIT;
    SrStatus status = header_text(kind, &text);
    if (status == SR_OK)
        status = sr_file_write_text(path, &text);
    sr_text_deinit(&text);
    return status;
}

static void pad(SrText *text) {
    const char zeros[SR_INDEX_ALIGN] = {0};
    sr_text_addn(text, zeros, sr__index_padded(text->len) - text->len);
}

// Completes a block whose text begins with room for a header.
static SrStatus finish(SrText *text, SrIndexBlockHeader *h) {
    pad(text);
    if (text->failed)
        return sr_out_of_memory("a block of an index");
    h->bytes = text->len;
    h->body_sum = sr__index_sum(text->s + sizeof *h, text->len - sizeof *h);
    h->sum = sr__index_sum(h, offsetof(SrIndexBlockHeader, sum));
    memcpy(text->s, h, sizeof *h);
    return SR_OK;
}

static SrStatus rows_text(const SrIndexRecord *records, const uint16_t *rows, int n, int d,
                          int64_t first, SrText *out) {
    SrIndexBlockHeader h = {.type = SR_INDEX_ROWS, .n = (uint32_t)n, .first = (uint64_t)first};
    sr_text_addn(out, (const char *)&h, sizeof h);
    for (int i = 0; i < n; i++) {
        const SrIndexRecord *r = &records[i];
        size_t len = strlen(r->name);
        SrIndexDiskRecord disk = {.name = h.extra,
                                  .bytes = r->bytes,
                                  .mtime = r->mtime,
                                  .hash = r->hash,
                                  .length = r->length,
                                  .flags = r->flags,
                                  .name_bytes = (uint32_t)len};
        sr_text_addn(out, (const char *)&disk, sizeof disk);
        h.extra += len + 1;
    }
    pad(out);
    sr_text_addn(out, (const char *)rows, (size_t)n * (size_t)d * sizeof *rows);
    pad(out);
    for (int i = 0; i < n; i++)
        sr_text_addn(out, records[i].name, strlen(records[i].name) + 1);
    return finish(out, &h);
}

static SrStatus list_text(const SrIndexList *list, SrText *out) {
    SrIndexBlockHeader h = {.type = SR_INDEX_LIST,
                            .n = (uint32_t)list->n,
                            .extra = list->class_bytes,
                            .classes = (uint32_t)list->classes};
    sr_text_addn(out, (const char *)&h, sizeof h);
    sr_text_addn(out, (const char *)list->record, (size_t)list->n * sizeof *list->record);
    sr_text_addn(out, (const char *)list->label, (size_t)list->n * sizeof *list->label);
    sr_text_addn(out, list->class_names, list->class_bytes);
    return finish(out, &h);
}

SrStatus sr_index_writer_add(SrIndexWriter *w, const SrIndexRecord *records, const uint16_t *rows,
                             int n) {
    SrText text = SR_TEXT_INIT;
    if (w->records + n > MOST_RECORDS)
        SR_FAIL(SR_ERR_CONFIG, "%s: an index holds at most %lld images", w->path,
                (long long)MOST_RECORDS);
    SrStatus status = rows_text(records, rows, n, w->d, w->records, &text);
    if (status == SR_OK)
        status = write_all(w, text.s, text.len);
    sr_text_deinit(&text);
    w->records += n;
    w->blocks++;
    return status;
}

SrStatus sr_index_writer_list(SrIndexWriter *w, const SrIndexList *list) {
    SrText text = SR_TEXT_INIT;
    SrStatus status = list_text(list, &text);
    if (status == SR_OK)
        status = write_all(w, text.s, text.len);
    if (status == SR_OK && fdatasync(w->fd) != 0)
        status = sr_fail(SR_ERR_IO, "cannot flush %s: %s", w->path, strerror(errno));
    w->list_bytes += text.len;
    w->listed = list->n;
    sr_text_deinit(&text);
    return status;
}

// ---- rewriting ----------------------------------------------------------------------------------

static SrStatus put(FILE *f, const char *path, SrText *text) {
    bool ok = fwrite(text->s, 1, text->len, f) == text->len;
    text->len = 0;
    return ok ? SR_OK : sr_fail(SR_ERR_IO, "cannot write %s: %s", path, strerror(errno));
}

typedef struct {
    SrIndexRecord *record; // (REWRITE_ROWS)
    uint16_t *rows;        // (REWRITE_ROWS, d)
    SrText text;
} Buffers;

// Copies n chosen records into blocks.  chosen NULL: the first n.
static SrStatus copy_blocks(const SrIndexFile *f, const uint32_t *chosen, int64_t n, Buffers *b,
                            FILE *to, const char *path) {
    int d = f->header->d;
    for (int64_t i = 0; i < n; i += REWRITE_ROWS) {
        int m = (int)SR_MIN(n - i, REWRITE_ROWS);
        for (int k = 0; k < m; k++) {
            sr_index_file_record(f, chosen[i + k], &b->record[k]);
            memcpy(b->rows + (int64_t)k * d, sr_index_file_row(f, chosen[i + k]),
                   (size_t)d * sizeof *b->rows);
        }
        SR_TRY(rows_text(b->record, b->rows, m, d, i, &b->text));
        SR_TRY(put(to, path, &b->text));
    }
    return SR_OK;
}

static SrStatus copy_file(const SrIndexFile *f, const uint32_t *chosen, int64_t n,
                          const SrIndexList *list, Buffers *b, FILE *to, const char *path) {
    SrIndexKind kind;
    sr_index_file_kind(f, &kind);
    SR_TRY(header_text(&kind, &b->text));
    SR_TRY(put(to, path, &b->text));
    SR_TRY(copy_blocks(f, chosen, n, b, to, path));
    if (!list)
        return SR_OK;
    SR_TRY(list_text(list, &b->text));
    return put(to, path, &b->text);
}

// Writes a new file of the chosen records and puts it in the place of the old one.
static SrStatus rewrite(const char *path, const SrIndexFile *f, const uint32_t *chosen, int64_t n,
                        const SrIndexList *list) {
    size_t d = (size_t)f->header->d;
    Buffers b = {sr_alloc(REWRITE_ROWS * sizeof *b.record),
                 sr_alloc(REWRITE_ROWS * d * sizeof *b.rows), SR_TEXT_INIT};
    SrFileWriter to;
    SrStatus status = b.record && b.rows ? sr_file_begin(&to, path) : sr_out_of_memory("an index");
    if (status == SR_OK) {
        status = copy_file(f, chosen, n, list, &b, to.f, path);
        if (status == SR_OK)
            status = sr_file_commit(&to);
        else
            sr_file_abort(&to);
    }
    sr_free(b.record);
    sr_free(b.rows);
    sr_text_deinit(&b.text);
    return status;
}

// Keeps what the last list names, in its order.
static SrStatus rewrite_listed(const char *path) {
    SrIndexFile *f;
    SR_TRY(sr_index_file_open(path, &f));
    SrIndexList list = f->list;
    uint32_t *number = sr_alloc((size_t)list.n * sizeof *number + 1);
    SrStatus status = number ? SR_OK : sr_out_of_memory("an index");
    for (int64_t i = 0; number && i < list.n; i++)
        number[i] = (uint32_t)i;
    list.record = number;
    if (status == SR_OK)
        status = rewrite(path, f, f->list.record, list.n, &list);
    sr_free(number);
    sr_index_file_close(f);
    return status;
}

// Keeps the records of undamaged blocks.  There is no list afterwards: the update makes one.
static SrStatus rewrite_whole(const char *path, SrIndexFile *f, const uint8_t *keep) {
    uint32_t *chosen = sr_alloc((size_t)f->records * sizeof *chosen + 1);
    int64_t n = 0;
    SR_TRY_MEMORY(chosen, "an index");
    for (int64_t r = 0; r < f->records; r++)
        if (keep[r])
            chosen[n++] = (uint32_t)r;
    SrStatus status = rewrite(path, f, chosen, n, NULL);
    sr_free(chosen);
    return status;
}

// ---- opening for writing ------------------------------------------------------------------------

// Checks every byte.  Damage makes a new file, since readers may have mapped this one.
static SrStatus mend(SrIndexWriter *w, SrIndexFile **file) {
    SrIndexFile *f = *file;
    uint8_t *keep = sr_alloc((size_t)f->records + 1);
    SR_TRY_MEMORY(keep, "an index");
    int bad = sr_index_file_verify(f, keep);
    SrStatus status = SR_OK;
    if (bad > 0 || f->broken) {
        sr_warn("%s is damaged: images whose rows were lost are embedded once more", w->path);
        status = rewrite_whole(w->path, f, keep);
        if (status == SR_OK) {
            sr_index_file_close(f);
            *file = NULL;
            status = sr_index_file_open(w->path, file);
        }
    }
    sr_free(keep);
    return status;
}

static SrStatus open_present(SrIndexWriter *w, const SrIndexKind *kind) {
    SrIndexKind present;
    if (!sr_file_exists(w->path))
        SR_TRY(make_file(w->path, kind));
    SR_TRY(sr_index_file_open(w->path, &w->file));
    sr_index_file_kind(w->file, &present);
    if (present.key != kind->key || present.d != kind->d)
        SR_FAIL(SR_ERR_CONFIG,
                "%s holds rows of another model, layer or preprocessing; choose another file with "
                "--index, or remove this one",
                w->path);
    SR_TRY(mend(w, &w->file));
    w->fd = open(w->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (w->fd < 0)
        SR_FAIL(SR_ERR_IO, "cannot write %s: %s", w->path, strerror(errno));
    if (ftruncate(w->fd, (off_t)w->file->good) != 0 || lseek(w->fd, 0, SEEK_END) < 0)
        SR_FAIL(SR_ERR_IO, "cannot write %s: %s", w->path, strerror(errno));
    w->d = kind->d;
    w->records = w->file->records;
    w->list_bytes = w->file->list_bytes;
    w->listed = -1;
    w->blocks = w->file->n_blocks;
    return SR_OK;
}

static SrStatus lock_and_open(SrIndexWriter *w, const char *path, const SrIndexKind *kind) {
    char lock[PATH_BYTES + 8], folder[PATH_BYTES];
    if (snprintf(w->path, sizeof w->path, "%s", path) >= (int)sizeof w->path)
        SR_FAIL(SR_ERR_CONFIG, "%s: the path is too long", path);
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash && slash != folder) {
        *slash = '\0';
        SR_TRY(sr_file_mkdirs(folder));
    }
    snprintf(lock, sizeof lock, "%s.lock", path);
    SR_TRY(sr_file_lock(lock, &w->lock));
    return open_present(w, kind);
}

SrStatus sr_index_writer_open(const char *path, const SrIndexKind *kind, SrIndexWriter **out,
                              SrIndexFile **file) {
    *out = NULL;
    SrIndexWriter *w = sr_calloc(1, sizeof *w);
    SR_TRY_MEMORY(w, "an index");
    w->lock = w->fd = -1;
    SrStatus status = lock_and_open(w, path, kind);
    if (status != SR_OK) {
        sr_index_writer_abort(w);
        return status;
    }
    *out = w;
    *file = w->file;
    return SR_OK;
}

void sr_index_writer_abort(SrIndexWriter *w) {
    if (!w)
        return;
    if (w->fd >= 0)
        close(w->fd);
    sr_index_file_close(w->file);
    sr_file_unlock(w->lock);
    sr_free(w);
}

SrStatus sr_index_writer_close(SrIndexWriter *w) {
    off_t bytes = lseek(w->fd, 0, SEEK_END);
    bool unlisted = w->records - w->listed > w->listed + REWRITE_ROWS;
    bool lists = w->list_bytes > (uint64_t)bytes / 2 + LISTS_BYTES;
    SrStatus status = SR_OK;
    if (w->listed >= 0 && (unlisted || lists || w->blocks > MOST_BLOCKS))
        status = rewrite_listed(w->path);
    sr_index_writer_abort(w);
    return status;
}
