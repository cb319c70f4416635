// Reads rows of an index.  folder/index/index_update.c fills it.
#include "folder/index/index.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "base/mem.h"
#include "folder/index/index_file.h"
#include "folder/index/index_internal.h"
#include "kernels/core/half.h"

struct SrIndex {
    SrIndexFile *file;
    SrIndexList list;
    SrIndexKind kind;
    const char **class_name; // (classes) into the file
    char path[4096];
};

static SrStatus name_classes(SrIndex *x) {
    const char *name = x->list.class_names;
    x->class_name = sr_calloc((size_t)x->list.classes + 1, sizeof *x->class_name);
    SR_TRY_MEMORY(x->class_name, "%d classes", x->list.classes);
    for (int c = 0; c < x->list.classes; c++, name += strlen(name) + 1)
        x->class_name[c] = name;
    return SR_OK;
}

static SrStatus open_index(SrIndex *x, const char *file) {
    snprintf(x->path, sizeof x->path, "%s", file);
    SR_TRY(sr_index_file_open(file, &x->file));
    sr_index_file_kind(x->file, &x->kind);
    sr_index_file_list(x->file, &x->list);
    if (!x->list.record)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: the index is not finished; run `sslrun index` once more, which resumes it",
                file);
    return name_classes(x);
}

SrStatus sr_index_open(const char *file, SrIndex **out) {
    *out = NULL;
    SrIndex *x = sr_calloc(1, sizeof *x);
    SR_TRY_MEMORY(x, "an index");
    SrStatus status = open_index(x, file);
    if (status == SR_OK)
        *out = x;
    else
        sr_index_close(x);
    return status;
}

void sr_index_close(SrIndex *x) {
    if (!x)
        return;
    sr_index_file_close(x->file);
    sr_free(x->class_name);
    sr_free(x);
}

// The folder's own name makes the file easy to find; the hash tells folders of one name apart.
SrStatus sr_index_path(const SrEmbedder *e, const char *data, SrLook look, char *out,
                       size_t out_bytes) {
    static const char *const looks[SR_LOOKS] = {"", "-mirrored", "-cropped"};
    char real[PATH_MAX];
    if (!realpath(data, real))
        snprintf(real, sizeof real, "%s", data);
    const char *slash = strrchr(real, '/'), *run = sr_embedder_folder(e);
    uint64_t key = sr__index_key(e, look), hash = sr_hash_more(key, real, strlen(real));
    int n = snprintf(out, out_bytes, "%s/index/%.64s-%08x%s.index", *run ? run : "runs",
                     slash && slash[1] ? slash + 1 : "images", (unsigned)(hash ^ hash >> 32),
                     looks[look]);
    if (n < 0 || (size_t)n >= out_bytes)
        SR_FAIL(SR_ERR_CONFIG, "%s: the path of the index is too long; choose one with --index",
                data);
    return SR_OK;
}

uint64_t sr__index_key(const SrEmbedder *e, SrLook look) {
    uint64_t key = sr_embedder_key(e);
    unsigned char n = (unsigned char)look;
    return look ? sr_hash_more(key, &n, 1) : key;
}

int64_t sr_index_rows(const SrIndex *x) { return x->list.n; }
int sr_index_dim(const SrIndex *x) { return x->kind.d; }
const char *sr_index_file_path(const SrIndex *x) { return x->path; }
uint64_t sr_index_key(const SrIndex *x) { return x->kind.key; }
uint64_t sr_index_state(const SrIndex *x) { return x->kind.key ^ sr_index_file_sum(x->file); }
const char *sr_index_description(const SrIndex *x) { return x->kind.description; }
int sr_index_classes(const SrIndex *x) { return x->list.classes; }
const char *sr_index_class(const SrIndex *x, int c) { return x->class_name[c]; }
int64_t sr_index_label(const SrIndex *x, int64_t i) { return x->list.label[i]; }

const char *sr_index_name(const SrIndex *x, int64_t i) {
    SrIndexRecord r;
    sr_index_file_record(x->file, x->list.record[i], &r);
    return r.name;
}

uint64_t sr_index_hash(const SrIndex *x, int64_t i) {
    SrIndexRecord r;
    sr_index_file_record(x->file, x->list.record[i], &r);
    return r.hash;
}

int64_t sr_index_find(const SrIndex *x, const char *name) {
    for (int64_t i = 0; i < x->list.n; i++)
        if (strcmp(sr_index_name(x, i), name) == 0)
            return i;
    return -1;
}

// Rows that follow each other in the file are handled together.
static int64_t run_of(const SrIndex *x, int64_t first, int64_t n) {
    const uint32_t *record = x->list.record + first;
    int64_t m = 1, most = SR_MIN(n, sr_index_file_after(x->file, record[0]));
    while (m < most && record[m] == record[0] + m)
        m++;
    return m;
}

void sr_index_read(const SrIndex *x, int64_t first, int64_t n, float *out) {
    for (int64_t i = 0, m; i < n; i += m) {
        m = run_of(x, first + i, n - i);
        sr__half()->to_float(out + i * x->kind.d,
                             sr_index_file_row(x->file, x->list.record[first + i]), m * x->kind.d);
    }
}

void sr_index_take(const SrIndex *x, const int64_t *rows, int64_t n, float *out) {
    for (int64_t i = 0; i < n; i++)
        sr__half()->to_float(out + i * x->kind.d,
                             sr_index_file_row(x->file, x->list.record[rows[i]]), x->kind.d);
}

void sr_index_products(const SrIndex *x, const float *q, int64_t first, int64_t n, float *out) {
    for (int64_t i = 0, m; i < n; i += m) {
        m = run_of(x, first + i, n - i);
        sr__half()->products(out + i, sr_index_file_row(x->file, x->list.record[first + i]), q, m,
                             x->kind.d);
    }
}

static void read_rows(const void *source, const int64_t *row, int64_t first, int64_t n,
                      float *out) {
    if (row)
        sr_index_take(source, row, n, out);
    else
        sr_index_read(source, first, n, out);
}

SrRowView sr_index_view(const SrIndex *x, int64_t *label) {
    for (int64_t i = 0; label && i < x->list.n; i++)
        label[i] = x->list.label[i];
    return (SrRowView){
        .n = x->list.n, .d = x->kind.d, .label = label, .read = read_rows, .source = x};
}

SrStatus sr_index_matrix(const SrIndex *x, SrMatrix *out) {
    SR_TRY(sr_matrix_init(out, x->list.n, x->kind.d));
    sr_index_read(x, 0, x->list.n, out->x);
    for (int64_t i = 0; i < x->list.n; i++)
        out->label[i] = x->list.label[i];
    return SR_OK;
}
