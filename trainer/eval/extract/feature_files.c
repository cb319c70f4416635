// Reads features: first how many rows the pieces of a set have (feature_pieces.c), then the rows.
// Files are opened twice, which costs nothing: they are mapped, and opening reads headers.
#include "trainer/eval/extract/feature_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/yaml_edit.h"
#include "formats/weights/weights.h"
#include "trainer/eval/extract/feature_files_internal.h"

enum { MAX_CLASSES = 1000000 };
#define MOST_IMAGES 1e15

// ---- rows ---------------------------------------------------------------------------------------

// Finds tensor `name` of an open file; a .npy has one, of any name.  -1: absent.
static int tensor_named(const SrWeights *w, const char *name) {
    return w->format == SR_WEIGHTS_NPY ? 0 : sr_weights_find(w, name);
}

static int labels_tensor(const SrWeights *w) {
    if (w->format == SR_WEIGHTS_NPY)
        return 0;
    for (int i = 0; i < w->n; i++)
        if (sr__feature_is_labels(w->tensors[i].name))
            return i;
    return -1;
}

static int64_t row_length(SrShape s) {
    return s.rank > 0 && s.d[0] > 0 ? sr_shape_count(s) / s.d[0] : 0;
}

// Measures number and length of rows, in a first pass.
static SrStatus measure(SrFeaturePieces *l, int64_t *n, int64_t *d) {
    *n = *d = 0;
    for (int p = 0; p < l->n; p++) {
        SrWeights w;
        SrStatus status;
        SR_TRY_GOTO(sr_weights_open(&w, l->pieces[p].features));
        int i = tensor_named(&w, l->layer);
        if (i < 0)
            SR_TRY_GOTO(sr_fail(SR_ERR_CONFIG, "%s has no layer '%s'", w.path, l->layer));
        SrShape s = w.tensors[i].shape;
        int64_t row = row_length(s);
        if (row < 1 || row > INT32_MAX || (*d && row != *d))
            SR_TRY_GOTO(sr_fail(SR_ERR_CONFIG, "%s: rows of %lld numbers, expected %lld", w.path,
                                (long long)row, (long long)*d));
        if (w.tensors[i].deflated) { // what it claims to unfold to is checked by unfolding it
            SrTensor unused;
            SR_TRY_GOTO(sr_weights_read(&w, i, &unused));
        }
        *d = row;
        *n += s.d[0];
    done:
        sr_weights_close(&w);
        SR_TRY(status);
    }
    return SR_OK;
}

static SrStatus copy_features(SrFeaturePieces *l, SrWeights *w, SrMatrix *out, int64_t at,
                              int64_t *rows) {
    SrTensor t;
    SR_TRY(sr_weights_read(w, tensor_named(w, l->layer), &t));
    *rows = t.shape.d[0];
    for (int64_t r = 0; r < *rows; r++) {
        double value[256];
        float *to = out->x + (at + r) * out->d; // (d)
        for (int64_t j = 0; j < out->d; j += SR_COUNT(value)) {
            int64_t m = SR_MIN(out->d - j, SR_COUNT(value));
            sr_weights_doubles(&t, r * out->d + j, m, value);
            for (int64_t k = 0; k < m; k++) {
                to[j + k] = (float)value[k];
                if (!isfinite(to[j + k]))
                    SR_FAIL(SR_ERR_CONFIG, "%s: row %lld of '%s' is not finite", w->path,
                            (long long)r, l->layer);
            }
        }
    }
    return SR_OK;
}

static SrStatus bad_label(const char *path, double value) {
    SR_FAIL(SR_ERR_CONFIG, "%s: label %g; expected whole numbers from -1 (none) to %d", path, value,
            MAX_CLASSES - 1);
}

// Reads classes of (n) or (n, 1).
static SrStatus copy_classes(const char *path, const SrTensor *t, SrMatrix *out, int64_t at) {
    for (int64_t i = 0; i < t->shape.d[0]; i++) {
        double v;
        sr_weights_doubles(t, i, 1, &v);
        if (v != floor(v) || v < -1 || v >= MAX_CLASSES)
            return bad_label(path, v);
        out->label[at + i] = (int64_t)v;
    }
    return SR_OK;
}

// Reads targets of (n, C): 1, 0, -1.
static SrStatus copy_targets(const char *path, const SrTensor *t, SrMatrix *out, int64_t at) {
    int64_t classes = t->shape.d[1];
    if (!out->target) {
        out->n_targets = (int)classes;
        out->target = sr_calloc((size_t)out->n, (size_t)classes);
        SR_TRY_MEMORY(out->target, "the labels of %s", path);
    }
    if (classes != out->n_targets)
        SR_FAIL(SR_ERR_CONFIG, "%s: %lld classes where other files have %d", path,
                (long long)classes, out->n_targets);
    for (int64_t i = 0; i < t->shape.d[0] * classes; i++) {
        double v;
        sr_weights_doubles(t, i, 1, &v);
        if (v != 1 && v != 0 && v != -1)
            return bad_label(path, v);
        out->target[at * classes + i] = (int8_t)v;
    }
    return SR_OK;
}

// Opens `path` ("" is nothing), reads the tensor that `which` finds and checks that it has `rows`.
static SrStatus read_beside(SrWeights *w, const char *path, int (*which)(const SrWeights *),
                            int64_t rows, SrTensor *out) {
    *out = (SrTensor){.data = NULL};
    *w = (SrWeights){0};
    if (!*path)
        return SR_OK;
    SR_TRY(sr_weights_open(w, path));
    int i = which(w);
    if (i < 0)
        return SR_OK;
    SR_TRY(sr_weights_read(w, i, out));
    SrShape s = out->shape;
    if (s.rank < 1 || s.rank > 2 || s.d[0] != rows || sr_shape_count(s) < rows) // (n, 0) is none
        SR_FAIL(SR_ERR_CONFIG, "%s: '%s' has %d rows, the features have %lld", path,
                w->tensors[i].name, s.rank ? s.d[0] : 0, (long long)rows);
    return SR_OK;
}

static SrStatus copy_labels(const SrFeaturePiece *p, SrMatrix *out, int64_t at, int64_t rows) {
    SrWeights w;
    SrTensor t;
    for (int64_t i = 0; i < rows; i++)
        out->label[at + i] = -1;
    SrStatus status = read_beside(&w, p->labels, labels_tensor, rows, &t);
    if (status == SR_OK && t.data)
        status = t.shape.rank == 2 && t.shape.d[1] > 1 ? copy_targets(p->labels, &t, out, at)
                                                       : copy_classes(p->labels, &t, out, at);
    sr_weights_close(&w);
    return status;
}

static int valid_tensor(const SrWeights *w) { return tensor_named(w, "valid"); }

// Removes the labels of images that could not be read, whose features are those of a grey one.
// Targets have no such value, so only readable_only leaves these rows out of everything.
static SrStatus mark_invalid(SrFeaturePieces *l, const SrFeaturePiece *p, SrMatrix *out, int64_t at,
                             int64_t rows) {
    SrWeights w;
    SrTensor t;
    SrStatus status = read_beside(&w, p->valid, valid_tensor, rows, &t);
    for (int64_t i = 0; status == SR_OK && t.data && i < rows; i++) {
        double v;
        sr_weights_doubles(&t, i, 1, &v);
        if (v == 0)
            out->label[at + i] = -1;
        if (l->valid)
            l->valid[at + i] = v != 0;
    }
    sr_weights_close(&w);
    return status;
}

static int first_tensor(const SrWeights *w) { return w->n > 0 ? 0 : -1; }

static SrStatus copy_index(SrFeaturePieces *l, const SrFeaturePiece *p, int64_t at, int64_t rows) {
    SrWeights w;
    SrTensor t;
    SrStatus status = read_beside(&w, p->index, first_tensor, rows, &t);
    for (int64_t i = 0; status == SR_OK && t.data && i < rows; i++) {
        double v;
        sr_weights_doubles(&t, i, 1, &v);
        if (!(v >= 0 && v <= MOST_IMAGES))
            status = sr_fail(SR_ERR_CONFIG, "%s: %g is no image's number", p->index, v);
        else
            l->index[at + i] = (int64_t)v;
    }
    sr_weights_close(&w);
    return status;
}

// Gives rows without names empty ones, so that names and rows correspond.  VISSL's rows, whose
// order changes, have none.
static SrStatus copy_names(const SrFeaturePiece *p, int64_t rows, SrFeatureNames *names) {
    int64_t before = names->files.n;
    if (*p->files)
        SR_TRY(sr__feature_names_read(p->files, "files", rows, &names->files));
    while (names->files.n < before + rows)
        SR_TRY(sr__string_list_add(&names->files, "", 0));
    return SR_OK;
}

static bool same_names(const SrStringList *a, const SrStringList *b) {
    for (int64_t i = 0; i < a->n && i < b->n; i++)
        if (strcmp(sr__string_list_get(a, i), sr__string_list_get(b, i)) != 0)
            return false;
    return a->n == b->n;
}

// Compares the classes of all shards: labels of shards that disagree cannot be compared.
static SrStatus copy_class_names(const SrFeaturePiece *p, SrFeatureNames *names) {
    SrStringList found = {0};
    if (!*p->classes)
        return SR_OK;
    SrStatus status = sr__feature_names_read(p->classes, "classes", -1, &found);
    if (status == SR_OK && names->classes.n > 0 && found.n > 0 &&
        !same_names(&names->classes, &found))
        status = sr_fail(SR_ERR_CONFIG, "%s: its classes are not those of the files before it",
                         p->classes);
    if (status != SR_OK || names->classes.n > 0) {
        sr__string_list_deinit(&found);
        return status;
    }
    names->classes = found;
    return SR_OK;
}

static SrStatus copy_piece(SrFeaturePieces *l, const SrFeaturePiece *p, SrMatrix *out, int64_t *at,
                           SrFeatureNames *names) {
    SrWeights w;
    int64_t rows = 0;
    SrStatus status = sr_weights_open(&w, p->features);
    if (status == SR_OK)
        status = copy_features(l, &w, out, *at, &rows);
    sr_weights_close(&w);
    SR_TRY(status);
    SR_TRY(copy_labels(p, out, *at, rows));
    SR_TRY(mark_invalid(l, p, out, *at, rows));
    if (l->index)
        SR_TRY(copy_index(l, p, *at, rows));
    if (names) {
        if (!l->index && !l->valid)
            SR_TRY(copy_names(p, rows, names));
        SR_TRY(copy_class_names(p, names));
    }
    *at += rows;
    return SR_OK;
}

// ---- VISSL's order ------------------------------------------------------------------------------

typedef struct {
    int64_t index, row;
} Place;

static int by_index(const void *a, const void *b) {
    const Place *x = a, *y = b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

// Puts the rows of ranks in order.  Ranks repeat some images to fill the last batch.
static SrStatus order_rows(const SrFeaturePieces *l, SrMatrix *f) {
    SrMatrix sorted = {0};
    int64_t n = 0, *row = sr_calloc((size_t)f->n, sizeof *row);
    Place *place = sr_calloc((size_t)f->n, sizeof *place);
    SrStatus status = row && place ? SR_OK : sr_out_of_memory("rows");
    for (int64_t i = 0; status == SR_OK && i < f->n; i++)
        place[i] = (Place){l->index[i], i};
    if (status == SR_OK) {
        qsort(place, (size_t)f->n, sizeof *place, by_index);
        for (int64_t i = 0; i < f->n; i++)
            if (i == 0 || place[i].index != place[i - 1].index)
                row[n++] = place[i].row;
        status = sr_matrix_take(f, row, n, &sorted);
    }
    sr_free(row);
    sr_free(place);
    SR_TRY(status);
    sr_matrix_deinit(f);
    *f = sorted;
    return SR_OK;
}

// ---- whole sets ---------------------------------------------------------------------------------

// Compares the rows with the number in extract.json: an extraction that was interrupted, or lost a
// file, looks like a smaller one.
static SrStatus check_whole(const char *folder, int64_t rows) {
    char path[4096];
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree = NULL;
    if (!sr_file_is_dir(folder))
        return SR_OK;
    SR_TRY(sr_file_join(path, sizeof path, folder, "extract.json"));
    if (!sr_file_exists(path))
        return SR_OK;
    SrStatus status = sr_json_load(&arena, path, 1 << 20, &tree);
    int64_t images = status == SR_OK ? sr_tree_int(tree, "images", rows) : rows;
    if (images != rows)
        status = sr_fail(SR_ERR_CONFIG,
                         "%s holds features of %lld images, and its extract.json is of %lld: the "
                         "extraction was not finished, or files are missing; the same `sslrun "
                         "extract` again goes on with it",
                         folder, (long long)rows, (long long)images);
    sr_arena_deinit(&arena);
    return status;
}

static SrStatus keep_readable(const SrFeaturePieces *l, SrMatrix *out) {
    int64_t images = out->n;
    sr_matrix_keep(out, l->valid);
    if (out->n == 0)
        SR_FAIL(SR_ERR_CONFIG, "%s: none of the %lld images could be read when it was extracted",
                l->from->path, (long long)images);
    return SR_OK;
}

static SrStatus make_valid(SrFeaturePieces *l, int64_t n) {
    l->valid = sr_arena_alloc(&l->arena, (size_t)n);
    SR_TRY_MEMORY(l->valid, "%lld rows", (long long)n);
    memset(l->valid, 1, (size_t)n);
    return SR_OK;
}

static SrStatus load(SrFeaturePieces *l, SrMatrix *out, SrFeatureNames *names) {
    int64_t n, d, at = 0;
    SR_TRY(sr__feature_pieces_find(l));
    SR_TRY(measure(l, &n, &d));
    SR_TRY(check_whole(l->from->path, n));
    SR_TRY(sr_matrix_init(out, n, (int)d));
    if (l->from->readable_only)
        SR_TRY(make_valid(l, n));
    if (*l->pieces[0].index) {
        l->index = sr_arena_alloc(&l->arena, (size_t)n * sizeof *l->index);
        SR_TRY_MEMORY(l->index, "the order of %lld rows", (long long)n);
    }
    for (int p = 0; p < l->n; p++)
        SR_TRY(copy_piece(l, &l->pieces[p], out, &at, names));
    if (l->index)
        return order_rows(l, out);
    return l->valid ? keep_readable(l, out) : SR_OK;
}

SrStatus sr_features_by_split(const SrFeatureFiles *from, bool *out) {
    SrFeaturePieces l = {.from = from};
    SrStatus status = sr__feature_pieces_find(&l);
    *out = l.by_split;
    sr__feature_pieces_close(&l);
    return status;
}

SrStatus sr_features_measure(const SrFeatureFiles *from, int64_t *n, int *d) {
    SrFeaturePieces l = {.from = from};
    int64_t row = 0;
    SrStatus status = sr__feature_pieces_find(&l);
    if (status == SR_OK)
        status = measure(&l, n, &row);
    *d = (int)row;
    sr__feature_pieces_close(&l);
    return status;
}

SrStatus sr_features_load(const SrFeatureFiles *from, SrMatrix *out, SrFeatureNames *names) {
    SrFeaturePieces l = {.from = from};
    *out = (SrMatrix){0};
    SrStatus status = load(&l, out, names);
    sr__feature_pieces_close(&l);
    if (status != SR_OK)
        sr_matrix_deinit(out);
    return status;
}
