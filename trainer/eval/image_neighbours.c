// Finds the images most like one image, and groups of images that are alike, by the cosine of
// features.
#include "trainer/eval/image_neighbours.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/escape.h"
#include "base/text/json.h"
#include "kernels/core/gemm.h"

enum { BLOCK = 512 };
#define MANY 0.05 // share of a folder's images that may be alike without a warning

typedef struct {
    int64_t row;
    float cosine;
} Near;

static int nearest_first(const void *a, const void *b) {
    const Near *x = a, *y = b;
    if (x->cosine != y->cosine)
        return x->cosine < y->cosine ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

static void add_near(const char *file, double cosine, SrFilesForm form, SrText *out) {
    if (form == SR_FILES_TEXT) {
        sr_text_printf(out, "%.4f  ", cosine);
        sr_escape_line(file, out);
        sr_text_add(out, "\n");
    }
    if (form == SR_FILES_NULL)
        sr_text_addn(out, file, strlen(file) + 1);
    if (form != SR_FILES_JSON)
        return;
    sr_json_begin(out);
    sr_json_string(out, "file", file);
    sr_json_float(out, "cosine", cosine);
    sr_json_end(out);
}

// ---- similar

static bool same_file(const char *a, const char *b) {
    char x[4096], y[4096];
    return realpath(a, x) && realpath(b, y) && strcmp(x, y) == 0;
}

// Computes the feature of one image.  A folder or a list of images is refused.
static SrStatus query_feature(SrCheckpointModel *m, const char *image, const char *layer,
                              SrMatrix *out) {
    SrStringList files = {0};
    SrStatus status = sr_checkpoint_model_features(m, image, layer, NULL, out, &files);
    bool one = status == SR_OK && out->n == 1 && same_file(sr__string_list_get(&files, 0), image);
    sr__string_list_deinit(&files);
    if (status == SR_OK && !one)
        SR_FAIL(SR_ERR_CONFIG, "%s: expected an image that can be read", image);
    return status;
}

static SrStatus rank(const SrMatrix *query, const SrMatrix *f, const SrStringList *files,
                     const char *image, int count, SrFilesForm form, SrText *out) {
    Near *near = sr_alloc((size_t)f->n * sizeof *near);
    float *cosine = sr_alloc((size_t)f->n * sizeof *cosine);
    int64_t n = 0;
    int asked = count;
    if (near && cosine)
        for (int64_t i = 0; i < f->n; i += BLOCK) {
            int rows = (int)SR_MIN(f->n - i, BLOCK);
            sr_gemm(false, true, rows, 1, f->d, 1.0f, f->x + i * f->d, f->d, query->x, f->d, 0.0f,
                    cosine + i, 1);
        }
    for (int64_t i = 0; near && cosine && i < f->n; i++)
        near[n++] = (Near){i, cosine[i]};
    if (n > 0)
        qsort(near, (size_t)n, sizeof *near, nearest_first);
    for (int64_t i = 0; i < n && count > 0; i++) {
        const char *file = sr__string_list_get(files, near[i].row);
        if (near[i].cosine > 0.999f && same_file(file, image))
            continue;
        add_near(file, (double)near[i].cosine, form, out);
        count--;
    }
    bool enough = near && cosine, none = count == asked;
    sr_free(near);
    sr_free(cosine);
    if (!enough)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %lld images", (long long)f->n);
    if (none)
        SR_FAIL(SR_ERR_CONFIG,
                "%s is the only image of --in, so there is nothing to compare it with; add images",
                image);
    return SR_OK;
}

SrStatus sr_similar(SrCheckpointModel *m, const char *image, const char *data, const char *layer,
                    int count, SrFilesForm form, SrText *out) {
    SrMatrix query = {0}, f = {0};
    SrStringList files = {0};
    SrStatus status;
    SR_TRY_GOTO(query_feature(m, image, layer, &query));
    SR_TRY_GOTO(sr_checkpoint_model_features(m, data, layer, NULL, &f, &files));
    sr_matrix_normalize(&query, 0);
    sr_matrix_normalize(&f, 0);
    SR_TRY_GOTO(rank(&query, &f, &files, image, count, form, out));
done:
    sr_matrix_deinit(&query);
    sr_matrix_deinit(&f);
    sr__string_list_deinit(&files);
    return status;
}

// ---- duplicates

// Finds an image's group, which is its first image: the smallest index that it is linked to.
static int64_t group_of(int64_t *parent, int64_t i) {
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static void join(int64_t *parent, int64_t a, int64_t b) {
    a = group_of(parent, a);
    b = group_of(parent, b);
    parent[SR_MAX(a, b)] = SR_MIN(a, b);
}

typedef struct {
    int64_t *parent; // (n) towards the first image of the group
    float *nearest;  // (n) cosine to the nearest other image
    float threshold;
} Links;

static void link_pair(Links *l, int64_t i, int64_t j, float cosine) {
    if (cosine >= l->threshold)
        join(l->parent, i, j);
    l->nearest[i] = SR_MAX(l->nearest[i], cosine);
    l->nearest[j] = SR_MAX(l->nearest[j], cosine);
}

// Links all pairs, one block of rows with another at a time.  cosine: scratch of a block.
static void link_pairs(const SrMatrix *f, Links *links, float *cosine) {
    for (int64_t a = 0; a < f->n; a += BLOCK)
        for (int64_t b = a; b < f->n; b += BLOCK) {
            int rows = (int)SR_MIN(f->n - a, BLOCK), columns = (int)SR_MIN(f->n - b, BLOCK);
            sr_gemm(false, true, rows, columns, f->d, 1.0f, f->x + a * f->d, f->d, f->x + b * f->d,
                    f->d, 0.0f, cosine, columns);
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < columns; j++)
                    if (a + i < b + j)
                        link_pair(links, a + i, b + j, cosine[(int64_t)i * columns + j]);
        }
}

static double cosine_of(const SrMatrix *f, int64_t a, int64_t b) {
    double sum = 0;
    for (int j = 0; j < f->d; j++)
        sum += (double)f->x[a * f->d + j] * (double)f->x[b * f->d + j];
    return sum;
}

static void print_group(const SrMatrix *f, const SrStringList *files, const int64_t *parent,
                        int64_t first, SrFilesForm form, SrText *out) {
    SrText list = SR_TEXT_INIT;
    for (int64_t i = first; i < f->n; i++) {
        if (parent[i] != first)
            continue;
        const SrYaml name = {.type = SR_YAML_STRING, .text = sr__string_list_get(files, i)};
        if (form != SR_FILES_JSON) {
            add_near(name.text, cosine_of(f, first, i), form, out);
            continue;
        }
        sr_text_add(&list, list.len ? ", " : "");
        sr_json_print(&name, &list);
    }
    if (form == SR_FILES_JSON)
        sr_text_printf(out, "{\"files\": [%s]}\n", list.s ? list.s : "");
    else
        sr_text_addn(out, form == SR_FILES_TEXT ? "\n" : "", 1);
    sr_text_deinit(&list);
}

typedef struct {
    int64_t first, size;
} Group;

static int larger_first(const void *a, const void *b) {
    const Group *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first);
}

static int ascending(const void *a, const void *b) {
    const float *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

// A folder seldom holds many copies: more often every image is near another, and the threshold
// says nothing.  Sorts l->nearest.
static void warn_of_many(Links *l, int64_t images, int64_t n) {
    if ((double)images <= MANY * (double)n)
        return;
    qsort(l->nearest, (size_t)n, sizeof *l->nearest, ascending);
    sr_warn("%lld of %lld images look alike to this model, more than are likely to be copies: half "
            "of all images have a neighbour at a cosine of %.4f or more; raise --threshold above "
            "that, choose another --layer, or train longer",
            (long long)images, (long long)n, (double)l->nearest[n / 2]);
}

static void print_groups(const SrMatrix *f, const SrStringList *files, Links *links, Group *groups,
                         SrFilesForm form, SrText *out) {
    int64_t found = 0, images = 0, *parent = links->parent;
    for (int64_t i = 0; i < f->n; i++) {
        groups[i] = (Group){i, 0};
        parent[i] = group_of(parent, i);
        groups[parent[i]].size++;
    }
    qsort(groups, (size_t)f->n, sizeof *groups, larger_first);
    for (; found < f->n && groups[found].size > 1; found++) {
        print_group(f, files, parent, groups[found].first, form, out);
        images += groups[found].size;
    }
    if (form == SR_FILES_TEXT)
        sr_text_printf(out, "%lld group%s of %lld images, among %lld\n", (long long)found,
                       found == 1 ? "" : "s", (long long)images, (long long)f->n);
    warn_of_many(links, images, f->n);
}

static SrStatus find_groups(const SrMatrix *f, const SrStringList *files, double threshold,
                            SrFilesForm form, SrText *out) {
    size_t n = (size_t)f->n;
    Links links = {sr_alloc(n * sizeof *links.parent), sr_calloc(n, sizeof *links.nearest),
                   (float)threshold};
    float *cosine = sr_alloc((size_t)BLOCK * BLOCK * sizeof *cosine);
    Group *groups = sr_alloc(n * sizeof *groups);
    bool enough = links.parent && links.nearest && cosine && groups;
    for (int64_t i = 0; enough && i < f->n; i++)
        links.parent[i] = i;
    if (enough) {
        link_pairs(f, &links, cosine);
        print_groups(f, files, &links, groups, form, out);
    }
    sr_free(links.parent);
    sr_free(links.nearest);
    sr_free(cosine);
    sr_free(groups);
    return enough ? SR_OK : sr_fail(SR_ERR_MEMORY, "out of memory for %zu images", n);
}

SrStatus sr_duplicates(SrCheckpointModel *m, const char *data, const char *layer, double threshold,
                       SrFilesForm form, SrText *out) {
    SrMatrix f = {0};
    SrStringList files = {0};
    SrStatus status;
    SR_TRY_GOTO(sr_checkpoint_model_features(m, data, layer, NULL, &f, &files));
    if (f.n < 2)
        SR_TRY_GOTO(sr_fail(SR_ERR_CONFIG,
                            "%s holds one image that can be read; expected 2 or more", data));
    sr_matrix_normalize(&f, 0);
    SR_TRY_GOTO(find_groups(&f, &files, threshold, form, out));
done:
    sr_matrix_deinit(&f);
    sr__string_list_deinit(&files);
    return status;
}
