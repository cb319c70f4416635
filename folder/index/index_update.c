// Finds what is new or changed in a folder, and embeds it batch by batch.
#include "folder/index/index_update.h"

#include <stdio.h>
#include <string.h>

#include "base/bar.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "base/text/escape.h"
#include "data/image_pool.h"
#include "folder/image_set.h"
#include "folder/index/index_internal.h"
#include "folder/index/index_writer.h"
#include "kernels/core/half.h"

#define NONE UINT32_MAX
enum { MOST_BATCH = 256, BAD_NAMED = 3 };

typedef struct {
    int64_t bytes, mtime; // of the file now
    uint32_t old;         // newest record of this name; NONE: there is none
    uint32_t record;      // record that serves; NONE: the image must be read
} Item;

typedef struct {
    SrEmbedder *embedder;
    const SrIndexOptions *options;
    SrImageSet set;
    char path[4096];
    SrIndexKind kind;
    SrIndexFile *file; // NULL: there is none
    SrIndexWriter *writer;
    Item *item;            // (set.n)
    uint32_t *table;       // (slots) newest record by name, open addressing
    uint64_t slots;        // a power of two
    SrImagePool *names;    // of the names that are compared
    int64_t todo, records; // images to read; records in the file
    SrIndexReport report;
    SrText bad_names; // the first BAD_NAMED
    // One batch.
    int64_t batch[MOST_BATCH];     // (n) items
    SrImagePool *pool[MOST_BATCH]; // (n) what a data set read
    SrEmbedImage image[MOST_BATCH];
    uint64_t hash[MOST_BATCH];
    SrStatus status[MOST_BATCH];
    SrIndexRecord record[MOST_BATCH];
    float *rows;      // (n, d)
    uint16_t *halves; // (n, d)
} Update;

// ---- what is known ------------------------------------------------------------------------------

static uint32_t *slot_of(const Update *u, const char *name) {
    uint64_t at = sr_hash_text(name) & (u->slots - 1);
    SrIndexRecord r;
    while (u->table[at] != NONE) {
        sr_index_file_record(u->file, u->table[at], &r);
        if (strcmp(r.name, name) == 0)
            break;
        at = (at + 1) & (u->slots - 1);
    }
    return &u->table[at];
}

// Later records replace earlier ones of the same name.  A name that cannot be read is "", which no
// image has.
static SrStatus make_table(Update *u) {
    u->records = u->file ? sr_index_file_records(u->file) : 0;
    for (u->slots = 64; u->slots < 2 * (uint64_t)u->records;)
        u->slots *= 2;
    sr_free(u->table);
    u->table = sr_alloc(u->slots * sizeof *u->table);
    SR_TRY_MEMORY(u->table, "the names of %lld images", (long long)u->records);
    memset(u->table, 0xff, u->slots * sizeof *u->table);
    for (int64_t r = 0; r < u->records; r++) {
        SrIndexRecord record;
        sr_index_file_record(u->file, r, &record);
        *slot_of(u, record.name) = (uint32_t)r;
    }
    return SR_OK;
}

// A file of the same size and time is taken to be the same.  Without a file the image is read.
static SrStatus plan_item(Update *u, int64_t i) {
    Item *item = &u->item[i];
    const char *name;
    SrIndexRecord old;
    sr_image_pool_reset(u->names);
    SR_TRY(sr_image_set_name(&u->set, i, u->names, &name));
    *item = (Item){.old = *slot_of(u, name), .record = NONE};
    SR_TRY(sr_image_set_stat(name, &item->bytes, &item->mtime));
    if (item->old == NONE)
        return SR_OK;
    sr_index_file_record(u->file, item->old, &old);
    if (old.bytes == item->bytes && old.mtime == item->mtime && old.mtime != 0)
        item->record = item->old;
    return SR_OK;
}

static SrStatus make_plan(Update *u) {
    SR_TRY(make_table(u));
    u->todo = 0;
    for (int64_t i = 0; i < u->set.n; i++) {
        SR_TRY(plan_item(u, i));
        u->todo += u->item[i].record == NONE;
    }
    return SR_OK;
}

// ---- a batch ------------------------------------------------------------------------------------

static uint64_t hash_of(const SrSample *s) {
    if (s->encoded)
        return sr_hash_bytes(s->encoded, s->encoded_bytes);
    return sr_hash_bytes(s->image.rgb, (size_t)s->image.H * (size_t)s->image.W * 3);
}

static SrStatus read_image(Update *u, int k) {
    SrEmbedImage *image = &u->image[k];
    *image = (SrEmbedImage){.look = u->options->look};
    u->hash[k] = 0;
    sr_image_pool_reset(u->pool[k]);
    SR_TRY(u->set.source->read(u->set.set, u->batch[k], u->pool[k], &image->sample));
    u->hash[k] = hash_of(&image->sample);
    image->good = true;
    return SR_OK;
}

static void read_one(void *arg, int64_t k, int thread) {
    (void)thread;
    Update *u = arg;
    u->status[k] = read_image(u, (int)k);
}

// A bad image is a result.  Other failures are repeated on this thread, which then has the message.
static SrStatus read_batch(Update *u, int n) {
    sr_parallel_for(n, read_one, u);
    for (int k = 0; k < n; k++)
        if (u->status[k] != SR_OK && u->status[k] != SR_ERR_IO) {
            SrStatus status = read_image(u, k);
            if (status != SR_OK && status != SR_ERR_IO)
                return status;
        }
    return SR_OK;
}

// True: the newest record of this name was made from the same bytes.
static bool is_known(const Update *u, int k, SrIndexRecord *old) {
    const Item *item = &u->item[u->batch[k]];
    if (item->old == NONE)
        return false;
    sr_index_file_record(u->file, item->old, old);
    return !(old->flags & SR_INDEX_BAD) && u->image[k].good && old->hash == u->hash[k];
}

// Computes rows of those images of the batch whose bytes are new.
static SrStatus embed(Update *u, int n) {
    SrIndexRecord old;
    bool known[MOST_BATCH];
    int d = u->kind.d;
    bool any = false;
    for (int k = 0; k < n; k++) {
        known[k] = is_known(u, k, &old);
        u->image[k].good = u->image[k].good && !known[k];
        any = any || u->image[k].good;
    }
    if (any)
        SR_TRY(sr_embedder_run(u->embedder, u->image, n, u->rows));
    for (int k = 0; k < n; k++) {
        const Item *item = &u->item[u->batch[k]];
        uint16_t *half = u->halves + (int64_t)k * d;
        if (known[k]) {
            memcpy(half, sr_index_file_row(u->file, item->old), (size_t)d * sizeof *half);
            sr_index_file_record(u->file, item->old, &old);
            u->image[k].length = old.length;
        } else if (u->image[k].good) {
            sr__half()->from_float(half, u->rows + (int64_t)k * d, d);
        } else {
            memset(half, 0, (size_t)d * sizeof *half);
        }
        u->report.embedded += u->image[k].good;
        u->record[k].flags = known[k] || u->image[k].good ? 0 : SR_INDEX_BAD;
        u->report.changed += item->old != NONE && !known[k];
    }
    return SR_OK;
}

// Names live in the pools of the batch, next to the images.
static SrStatus describe(Update *u, int k) {
    const Item *item = &u->item[u->batch[k]];
    SrIndexRecord *r = &u->record[k];
    SR_TRY(sr_image_set_name(&u->set, u->batch[k], u->pool[k], &r->name));
    r->bytes = item->bytes;
    r->mtime = item->mtime;
    r->hash = u->hash[k];
    r->length = u->image[k].length;
    return SR_OK;
}

// Images of a set without files that have not changed keep their record.
static int drop_unchanged(Update *u, int n) {
    int kept = 0, d = u->kind.d;
    for (int k = 0; k < n; k++) {
        Item *item = &u->item[u->batch[k]];
        SrIndexRecord old = {.mtime = -1};
        if (item->old != NONE)
            sr_index_file_record(u->file, item->old, &old);
        if (item->old != NONE && old.mtime == item->mtime && old.bytes == item->bytes &&
            old.hash == u->record[k].hash && old.flags == u->record[k].flags) {
            item->record = item->old;
            continue;
        }
        item->record = (uint32_t)(u->records + kept);
        u->record[kept] = u->record[k];
        memmove(u->halves + (int64_t)kept++ * d, u->halves + (int64_t)k * d,
                (size_t)d * sizeof *u->halves);
    }
    return kept;
}

static SrStatus one_batch(Update *u, int n) {
    SR_TRY(read_batch(u, n));
    SR_TRY(embed(u, n));
    for (int k = 0; k < n; k++)
        SR_TRY(describe(u, k));
    n = drop_unchanged(u, n);
    if (n > 0)
        SR_TRY(sr_index_writer_add(u->writer, u->record, u->halves, n));
    u->records += n;
    return SR_OK;
}

static SrStatus make_room(Update *u, int batch) {
    size_t numbers = (size_t)batch * (size_t)u->kind.d;
    u->rows = sr_alloc(numbers * sizeof *u->rows);
    u->halves = sr_alloc(numbers * sizeof *u->halves);
    SR_TRY_MEMORY(u->rows && u->halves, "a batch of rows");
    for (int k = 0; k < batch; k++)
        SR_TRY(sr_image_pool_new(&u->pool[k]));
    return SR_OK;
}

static SrStatus embed_new(Update *u) {
    int most = sr_embedder_batch(u->embedder), n = 0;
    int64_t done = 0, all = u->todo;
    SrBar bar;
    SrStatus status = make_room(u, most);
    sr_bar_begin(&bar, "embedding images", all);
    for (int64_t i = 0; status == SR_OK && i < u->set.n; i++) {
        if (u->item[i].record == NONE)
            u->batch[n++] = i;
        if (n == 0 || (n < most && i + 1 < u->set.n))
            continue;
        status = one_batch(u, n);
        done += n;
        n = 0;
        sr_bar_at(&bar, done);
        if (status == SR_OK)
            status = sr_stop_check();
    }
    sr_bar_end(&bar);
    return status;
}

// ---- the list -----------------------------------------------------------------------------------

typedef struct {
    uint32_t *record;
    int32_t *label;
    SrText classes;
    SrIndexList list;
} NewList;

static bool is_bad(const SrIndexFile *now, const Item *item) {
    SrIndexRecord r;
    sr_index_file_record(now, item->record, &r);
    return (r.flags & SR_INDEX_BAD) != 0;
}

static void note_bad(Update *u, const SrIndexFile *now, const Item *item) {
    SrIndexRecord r;
    sr_index_file_record(now, item->record, &r);
    sr_text_add(&u->bad_names, u->bad_names.len ? ", " : "");
    sr_escape_line(r.name, &u->bad_names);
}

// now: the file with all records.
static SrStatus make_list(Update *u, const SrIndexFile *now, NewList *out) {
    size_t n = (size_t)u->set.n + 1;
    *out = (NewList){sr_alloc(n * sizeof *out->record), sr_alloc(n * sizeof *out->label),
                     SR_TEXT_INIT, .list = {.n = 0}};
    SR_TRY_MEMORY(out->record && out->label, "%lld images", (long long)u->set.n);
    int64_t rows = 0, known = 0;
    for (int64_t i = 0; i < u->set.n; i++) {
        const Item *item = &u->item[i];
        if (is_bad(now, item)) {
            if (u->report.bad++ < BAD_NAMED)
                note_bad(u, now, item);
            continue;
        }
        known += item->old != NONE;
        out->record[rows] = item->record;
        out->label[rows++] = (int32_t)sr_image_set_label(&u->set, i);
    }
    for (int c = 0; c < u->set.classes; c++) {
        const char *name = sr_image_set_class(&u->set, c);
        sr_text_addn(&out->classes, name, strlen(name) + 1);
    }
    u->report.rows = rows;
    u->report.added = rows - known;
    out->list = (SrIndexList){rows,           out->record,    out->label,
                              u->set.classes, out->classes.s, out->classes.len};
    return out->classes.failed ? sr_out_of_memory("classes") : SR_OK;
}

static void free_list(NewList *list) {
    sr_free(list->record);
    sr_free(list->label);
    sr_text_deinit(&list->classes);
}

static bool is_listed(const SrIndexFile *file, const SrIndexList *list) {
    SrIndexList old;
    sr_index_file_list(file, &old);
    size_t n = (size_t)list->n;
    return old.record && old.n == list->n && old.class_bytes == list->class_bytes &&
           memcmp(old.record, list->record, n * sizeof *list->record) == 0 &&
           memcmp(old.label, list->label, n * sizeof *list->label) == 0 &&
           (!list->class_bytes ||
            memcmp(old.class_names, list->class_names, list->class_bytes) == 0);
}

// Images of the old list that no image of the folder stands for.
static void count_removed(Update *u, const SrIndexFile *now) {
    SrIndexList old;
    sr_index_file_list(now, &old);
    int64_t present = 0;
    for (int64_t i = 0; i < u->set.n; i++) {
        SrIndexRecord r;
        if (u->item[i].old == NONE)
            continue;
        sr_index_file_record(now, u->item[i].old, &r);
        present += !(r.flags & SR_INDEX_BAD);
    }
    u->report.removed = SR_MAX(old.n - present, 0);
}

static SrStatus write_list(Update *u, const SrIndexFile *now) {
    NewList list;
    SrStatus status = make_list(u, now, &list);
    count_removed(u, now);
    if (status == SR_OK && !is_listed(now, &list.list) && u->writer)
        status = sr_index_writer_list(u->writer, &list.list);
    free_list(&list);
    return status;
}

// ---- the whole ----------------------------------------------------------------------------------

static SrStatus start_writing(Update *u) {
    sr_index_file_close(u->file);
    u->file = NULL;
    SR_TRY(sr_index_writer_open(u->path, &u->kind, &u->writer, &u->file));
    return make_plan(u);
}

static SrStatus write(Update *u) {
    SrIndexFile *now = NULL;
    SrStatus status = start_writing(u);
    if (status == SR_OK)
        status = embed_new(u);
    if (status == SR_OK)
        status = sr_index_file_open(u->path, &now);
    if (status == SR_OK)
        status = write_list(u, now);
    sr_index_file_close(now);
    u->file = NULL; // the writer's
    if (status == SR_OK)
        status = sr_index_writer_close(u->writer);
    else
        sr_index_writer_abort(u->writer);
    u->writer = NULL;
    return status;
}

// A file of this kind that is whole is read without a lock; everything else is the writer's.
static SrStatus open_present(Update *u) {
    SrIndexKind kind;
    if (!sr_file_exists(u->path) || sr_index_file_open(u->path, &u->file) != SR_OK)
        return SR_OK;
    sr_index_file_kind(u->file, &kind);
    if (kind.key == u->kind.key && kind.d == u->kind.d)
        return SR_OK;
    sr_index_file_close(u->file);
    u->file = NULL;
    return SR_OK;
}

static void forget_report(Update *u) {
    u->report = (SrIndexReport){.rows = 0};
    sr_text_deinit(&u->bad_names);
}

static SrStatus is_current(Update *u, bool *out) {
    NewList list = {.record = NULL};
    *out = false;
    if (!u->file || u->todo > 0)
        return SR_OK;
    SrStatus status = make_list(u, u->file, &list);
    *out = status == SR_OK && is_listed(u->file, &list.list);
    free_list(&list);
    if (!*out)
        forget_report(u);
    return status;
}

static SrStatus find_file(Update *u) {
    const SrIndexOptions *o = u->options;
    u->kind = (SrIndexKind){sr__index_key(u->embedder, o->look), sr_embedder_dim(u->embedder),
                            sr_embedder_description(u->embedder)};
    if (!o->file)
        return sr_index_path(u->embedder, o->data, o->look, u->path, sizeof u->path);
    if (snprintf(u->path, sizeof u->path, "%s", o->file) >= (int)sizeof u->path)
        SR_FAIL(SR_ERR_CONFIG, "--index: the path is too long");
    return SR_OK;
}

static SrStatus update(Update *u) {
    bool current;
    SR_TRY(find_file(u));
    SR_TRY(sr_image_set_open(u->options->data, &u->set));
    SR_TRY(sr_image_pool_new(&u->names));
    u->item = sr_alloc((size_t)u->set.n * sizeof *u->item + 1);
    SR_TRY_MEMORY(u->item, "%lld images", (long long)u->set.n);
    SR_TRY(open_present(u));
    SR_TRY(make_plan(u));
    SR_TRY(is_current(u, &current));
    return current ? SR_OK : write(u);
}

static void say_bad(const Update *u) {
    const SrIndexReport *r = &u->report;
    if (r->bad > 0 && !u->options->quiet)
        sr_warn("%lld of %lld images could not be read and are left out: %s%s", (long long)r->bad,
                (long long)(r->bad + r->rows), u->bad_names.s ? u->bad_names.s : "",
                r->bad > BAD_NAMED ? ", ...; `sslrun tidy` names all" : "");
}

static void free_update(Update *u) {
    sr_index_file_close(u->file);
    sr_image_set_close(&u->set);
    sr_image_pool_free(u->names);
    for (int k = 0; k < MOST_BATCH; k++)
        sr_image_pool_free(u->pool[k]);
    sr_text_deinit(&u->bad_names);
    sr_free(u->item);
    sr_free(u->table);
    sr_free(u->rows);
    sr_free(u->halves);
    sr_free(u);
}

SrStatus sr_index_update(SrEmbedder *embedder, const SrIndexOptions *options, SrIndexReport *report,
                         SrIndex **out) {
    *out = NULL;
    double began = sr_clock();
    Update *u = sr_calloc(1, sizeof *u);
    SR_TRY_MEMORY(u, "an index");
    u->embedder = embedder;
    u->options = options;
    SrStatus status = update(u);
    u->report.seconds = sr_clock() - began;
    if (report)
        *report = u->report;
    if (status == SR_OK)
        say_bad(u);
    if (status == SR_OK && u->report.rows == 0)
        status = sr_fail(SR_ERR_CONFIG, "%s: no image could be read", options->data);
    if (status == SR_OK)
        status = sr_index_open(u->path, out);
    free_update(u);
    return status;
}
