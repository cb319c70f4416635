// Opens an index: maps the file if it fits the shards, or makes it by walking over them.
#include "data/sets/shard_index.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "data/sets/shard_list.h"
#include "data/sets/shard_walk.h"

enum { MAX_PATH_BYTES = 4096, MAX_CLASS_NAMES_BYTES = 64 << 20 };

// Shards on disk: the folder, its archives, and the place of their index.
typedef struct {
    char folder[MAX_PATH_BYTES], index[MAX_PATH_BYTES];
    SrShardRow *rows; // (n) by name
    int64_t n;
    SrStringList names; // lines of classnames.txt
    uint64_t mark;      // mark of that file (sr__shard_names_mark)
} Shards;

static SrStatus look_at(const char *folder, const char *name, SrShardRow *row) {
    char path[MAX_PATH_BYTES];
    struct stat st;
    if (snprintf(row->name, sizeof row->name, "%s", name) >= (int)sizeof row->name)
        SR_FAIL(SR_ERR_CONFIG, "%s/%s: the name is too long; expected at most %zu bytes", folder,
                name, sizeof row->name - 1);
    SR_TRY(sr_file_join(path, sizeof path, folder, name));
    if (stat(path, &st) != 0)
        SR_FAIL(errno == ENOENT ? SR_ERR_CONFIG : SR_ERR_IO, "cannot read %s: %s", path,
                strerror(errno));
    if (!S_ISREG(st.st_mode))
        SR_FAIL(SR_ERR_IO, "cannot read %s: not a regular file", path);
    row->bytes = (uint64_t)st.st_size;
    row->changed = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    return SR_OK;
}

static SrStatus rows_new(Shards *s, int64_t most) {
    s->rows = sr_calloc((size_t)SR_MAX(most, 1), sizeof *s->rows);
    return s->rows ? SR_OK : sr_out_of_memory("the shards of %s", s->folder);
}

static SrStatus find_in_folder(const char *path, Shards *s) {
    char **names;
    int n;
    snprintf(s->folder, sizeof s->folder, "%s", path);
    SR_TRY(sr_file_join(s->index, sizeof s->index, path, SR_SHARD_INDEX));
    SR_TRY(sr_file_list(path, &names, &n));
    SrStatus status = rows_new(s, n);
    for (int i = 0; i < n && status == SR_OK; i++)
        if (names[i][0] != '.' && sr_text_ends(names[i], ".tar"))
            status = look_at(path, names[i], &s->rows[s->n++]);
    sr_file_list_free(names, n);
    if (status == SR_OK && !s->n)
        SR_FAIL(SR_ERR_CONFIG, "no .tar file in %s; `sslrun pack DIR --out SHARDS` writes them",
                path);
    return status;
}

static SrStatus find_one(const char *path, Shards *s) {
    const char *slash = strrchr(path, '/');
    snprintf(s->folder, sizeof s->folder, "%.*s", slash ? (int)(slash - path) : 1,
             slash ? path : ".");
    if (slash == path)
        strcpy(s->folder, "/");
    snprintf(s->index, sizeof s->index, "%s.index", path);
    SR_TRY(rows_new(s, 1));
    s->n = 1;
    return look_at(s->folder, slash ? slash + 1 : path, s->rows);
}

// ---- the file

// Checks that the sections that the head announces fill the file exactly.
static bool sections(SrShardIndex *x, const SrShardHead *h) {
    uint64_t limit = x->map_bytes, row = sizeof(SrShardRow), entry = sizeof(SrShardEntry);
    if (h->images < 1 || h->shards < 1 || h->classes < 0 || h->class_names < 0 ||
        (uint64_t)h->images > limit / entry || (uint64_t)h->shards > limit / row ||
        h->images > INT32_MAX || h->classes > INT32_MAX || h->class_bytes > limit ||
        h->names_bytes > limit ||
        (h->classes > 0 && (uint64_t)h->images > UINT64_MAX / 4 / (uint64_t)h->classes))
        return false;
    const char *p = (const char *)(h + 1);
    uint64_t targets = h->several ? (uint64_t)(h->images * h->classes) : 0;
    uint64_t rows = (uint64_t)h->shards * row, entries = (uint64_t)h->images * entry;
    if (sizeof *h + rows + entries + targets + h->class_bytes + h->names_bytes != limit)
        return false;
    x->n = h->images;
    x->shards = h->shards;
    x->classes = (int)h->classes;
    x->summed = h->summed;
    x->row = (const void *)p;
    x->at = (const void *)(p + rows);
    x->targets = h->several ? (const int8_t *)(p + rows + entries) : NULL;
    const char *classes = p + rows + entries + targets;
    x->names = classes + h->class_bytes;
    x->names_bytes = h->names_bytes;
    return h->names_bytes > 0 && !x->names[h->names_bytes - 1] &&
           (!h->class_bytes || !x->names[-1]) &&
           h->crc == sr__shard_head_crc(h, x->row, rows, classes);
}

static SrStatus take_class_names(SrShardIndex *x, const SrShardHead *h) {
    const char *p = x->names - h->class_bytes;
    while (p < x->names && x->class_names.n < h->class_names) {
        SR_TRY(sr__string_list_add(&x->class_names, p, strlen(p)));
        p += strlen(p) + 1;
    }
    return SR_OK;
}

static SrStatus attach(SrShardIndex *x, const char *path) {
    const SrShardHead *h = x->map;
    if (x->map_bytes < sizeof *h || memcmp(h->magic, SR__SHARD_MAGIC, sizeof h->magic) != 0 ||
        h->version != SR__SHARD_VERSION || !sections(x, h))
        SR_FAIL(SR_ERR_IO,
                "%s is damaged or not an index of shards; remove it, and sslrun builds a new one",
                path);
    return take_class_names(x, h);
}

void sr__shard_index_close(SrShardIndex *x) {
    if (x->map && x->mapped)
        sr_file_unmap(x->map, x->map_bytes);
    else if (x->map)
        sr_free((void *)x->map);
    sr__string_list_deinit(&x->class_names);
    sr_free(x->folder);
    *x = (SrShardIndex){0};
}

// Returns the first row that differs from the shard on disk; -1: none.  Packed shards have no
// time in their row, so that copies of them count as equal.
static int64_t differs(const SrShardIndex *x, const Shards *s) {
    for (int64_t k = 0; k < SR_MIN(x->shards, s->n); k++)
        if (memchr(x->row[k].name, 0, sizeof x->row[k].name) == NULL ||
            strcmp(x->row[k].name, s->rows[k].name) != 0 || x->row[k].bytes != s->rows[k].bytes ||
            (x->row[k].changed && x->row[k].changed != s->rows[k].changed))
            return k;
    return x->shards == s->n ? -1 : SR_MIN(x->shards, s->n);
}

static SrStatus refuse_others(const SrShardIndex *x, const Shards *s, int64_t k) {
    bool there = k < s->n, listed = k < x->shards;
    if (there && listed && strcmp(x->row[k].name, s->rows[k].name) == 0)
        SR_FAIL(SR_ERR_IO,
                "%s/%s has %llu bytes, but %s says %llu: the shard is cut off or was replaced; "
                "copy or pack it again",
                s->folder, s->rows[k].name, (unsigned long long)s->rows[k].bytes, s->index,
                (unsigned long long)x->row[k].bytes);
    bool missing = !there || (listed && strcmp(x->row[k].name, s->rows[k].name) < 0);
    SR_FAIL(SR_ERR_IO,
            missing
                ? "%s/%.239s is missing, but %s lists it; copy the shard too, or remove the index "
                  "to do without it"
                : "%s/%.239s is not listed in %s; remove the index, and sslrun builds a new one",
            s->folder, missing ? x->row[k].name : s->rows[k].name, s->index);
}

// Handles a file of class names that has changed or appeared since the index was made.  An index
// with checksums keeps its numbers and takes the new names.  Another index is stale, because the
// file numbers its labels.
static SrStatus take_changed_names(const Shards *s, SrShardIndex *x, bool *stale) {
    if (x->row[0].names_mark == s->mark || (x->summed && (!x->row[0].names_mark || !s->names.n)))
        return SR_OK;
    *stale = !x->summed;
    sr__string_list_clear(&x->class_names);
    for (int64_t c = 0; x->summed && c < s->names.n; c++) {
        const char *name = sr__string_list_get(&s->names, c);
        SR_TRY(sr__string_list_add(&x->class_names, name, strlen(name)));
    }
    return SR_OK;
}

// Opens the file.  *stale: shards or names have changed, and the index has no checksums, so it
// can be made again.
static SrStatus open_file(const Shards *s, SrShardIndex *x, bool *stale) {
    SR_TRY(sr_file_map(s->index, &x->map, &x->map_bytes));
    x->mapped = true;
    SR_TRY(attach(x, s->index));
    int64_t k = differs(x, s);
    *stale = k >= 0 && !x->summed;
    if (k >= 0)
        return *stale ? SR_OK : refuse_others(x, s, k);
    return take_changed_names(s, x, stale);
}

// ---- making the index

// Reads one class per line and drops blanks at its end.
static SrStatus read_class_names(Shards *s) {
    char path[MAX_PATH_BYTES], *text;
    size_t bytes;
    SrStringList *out = &s->names;
    s->mark = sr__shard_names_mark(NULL, 0);
    SR_TRY(sr_file_join(path, sizeof path, s->folder, SR_SHARD_CLASSES));
    if (!sr_file_exists(path))
        return SR_OK;
    SR_TRY(sr_file_read(path, MAX_CLASS_NAMES_BYTES, &text, &bytes));
    s->mark = sr__shard_names_mark(text, bytes);
    SrStatus status = SR_OK;
    for (char *p = text; *p && status == SR_OK;) {
        size_t line = strcspn(p, "\n"), len = line;
        while (len > 0 && strchr(" \t\r", p[len - 1]))
            len--;
        status = sr__string_list_add(out, p, len);
        p += line + (p[line] == '\n');
    }
    sr_free(text);
    return status;
}

static SrStatus list_all(const Shards *s, SrShardList *list, int64_t *passed_over, SrText *out) {
    SR_TRY(sr__shard_walk(s->folder, s->rows, s->n, list, passed_over));
    return sr__shard_list_print(list, &s->names, s->mark, false, out);
}

// The index stays in memory if the folder cannot be written to.
static SrStatus make(const Shards *s, SrShardIndex *x) {
    SrShardList *list;
    SrText text = SR_TEXT_INIT;
    double began = sr_clock();
    SR_TRY(sr__shard_list_new(&list));
    int64_t passed_over = 0;
    SrStatus status = list_all(s, list, &passed_over, &text);
    sr__shard_list_free(list);
    if (status == SR_OK) {
        status = sr_file_write_text(s->index, &text);
        if (status == SR_ERR_IO) {
            sr_warn("%s; without an index, every start reads through all shards",
                    sr_status_message());
            status = SR_OK;
        }
    }
    if (status != SR_OK) {
        sr_text_deinit(&text);
        return status;
    }
    x->map = text.s;
    x->map_bytes = text.len;
    SR_TRY(attach(x, s->index));
    sr_info("%lld images in %lld shard(s) of %s indexed (%.1f s)", (long long)x->n,
            (long long)x->shards, s->folder, sr_clock() - began);
    if (passed_over)
        sr_info("%s: %lld further images of the samples (such as masks) are skipped; a sample's "
                "image is the file named KEY.jpg, .png, .tif or of another kind of image",
                s->folder, (long long)passed_over);
    return SR_OK;
}

static SrStatus open_found(const Shards *s, SrShardIndex *out) {
    bool stale = true;
    if (sr_file_exists(s->index))
        SR_TRY(open_file(s, out, &stale));
    if (stale) {
        sr__shard_index_close(out);
        SR_TRY(make(s, out));
    }
    if (out->class_names.n > 0 && out->class_names.n < out->classes)
        sr_warn("%s/" SR_SHARD_CLASSES " names %lld of %d classes; the others have no name",
                s->folder, (long long)out->class_names.n, out->classes);
    out->folder = sr_strdup(s->folder);
    return out->folder ? SR_OK : sr_out_of_memory("%s", s->folder);
}

SrStatus sr__shard_index_open(const char *path, SrShardIndex *out) {
    Shards s = {.n = 0};
    *out = (SrShardIndex){0};
    if (strlen(path) > MAX_PATH_BYTES - 16)
        SR_FAIL(SR_ERR_CONFIG, "path too long: '%.80s...'", path);
    SrStatus status = sr_file_is_dir(path) ? find_in_folder(path, &s) : find_one(path, &s);
    if (status == SR_OK)
        status = read_class_names(&s);
    if (status == SR_OK)
        status = open_found(&s, out);
    sr__string_list_deinit(&s.names);
    sr_free(s.rows);
    if (status != SR_OK)
        sr__shard_index_close(out);
    return status;
}

SrStatus sr__shard_index_entry(const SrShardIndex *x, int64_t i, const SrShardEntry **out) {
    const SrShardEntry *e = &x->at[i];
    *out = e;
    if (e->shard < x->shards && e->name < x->names_bytes && e->bytes <= x->row[e->shard].bytes &&
        e->offset <= x->row[e->shard].bytes - e->bytes)
        return SR_OK;
    SR_FAIL(SR_ERR_IO,
            "image %lld: the index of %s is damaged; remove it, and sslrun builds a new one",
            (long long)i, x->folder);
}
