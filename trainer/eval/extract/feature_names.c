// Reads and writes the names of files and classes that are stored with features; trusts no file.
#include "trainer/eval/extract/feature_names.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/npy.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "formats/weights/weights.h"

enum { MAX_WIDTH = 65536 };

void sr_feature_names_deinit(SrFeatureNames *names) {
    sr__string_list_deinit(&names->files);
    sr__string_list_deinit(&names->classes);
}

bool sr_feature_names_files_known(const SrFeatureNames *names, int64_t n) {
    for (int64_t i = 0; i < names->files.n; i++)
        if (!*sr__string_list_get(&names->files, i))
            return false;
    return n > 0 && names->files.n == n;
}

static SrStatus check_count(const char *path, const char *key, int64_t n, int64_t rows) {
    if (rows >= 0 && n != rows)
        SR_FAIL(SR_ERR_CONFIG, "%s: %lld names under '%s', expected %lld", path, (long long)n, key,
                (long long)rows);
    return SR_OK;
}

static SrStatus add_npy(const SrNpy *npy, const char *path, const char *key, int64_t rows,
                        SrStringList *out) {
    char name[4 * MAX_WIDTH + 1];
    if (!sr_npy_has_strings(npy) || npy->columns != 1 || npy->width == 0)
        SR_FAIL(SR_ERR_CONFIG, "%s: expected a list of strings for '%s'", path, key);
    SR_TRY(check_count(path, key, npy->n, rows));
    for (int64_t i = 0; i < npy->n; i++) {
        size_t len = sr_npy_string(npy, i, name, sizeof name);
        SR_TRY(sr__string_list_add(out, name, len));
    }
    return SR_OK;
}

static SrStatus read_npy(const char *path, const char *key, int64_t rows, SrStringList *out) {
    SrNpy npy;
    SR_TRY(sr_npy_open(path, &npy));
    SrStatus status = add_npy(&npy, path, key, rows, out);
    sr_npy_close(&npy);
    return status;
}

static SrStatus add_bytes(const SrTensor *t, const char *path, const char *key, int64_t rows,
                          SrStringList *out) {
    if (t->dtype != SR_U8 || t->shape.rank != 2 || t->shape.d[1] < 1 || t->shape.d[1] > MAX_WIDTH)
        SR_FAIL(SR_ERR_CONFIG, "%s: '%s' is no list of names: expected U8 of (n, width)", path,
                key);
    SR_TRY(check_count(path, key, t->shape.d[0], rows));
    size_t width = (size_t)t->shape.d[1];
    for (int i = 0; i < t->shape.d[0]; i++) {
        const char *name = (const char *)t->data + (size_t)i * width;
        SR_TRY(sr__string_list_add(out, name, strnlen(name, width)));
    }
    return SR_OK;
}

// Reads the list in the metadata of older extractions.
static SrStatus add_json(const char *text, const char *path, const char *key, int64_t rows,
                         SrStringList *out) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *list;
    SrStatus status;
    SR_TRY_GOTO(sr_json_parse(&arena, text, strlen(text), path, &list));
    if (list->type != SR_YAML_LIST)
        SR_TRY_GOTO(sr_fail(SR_ERR_CONFIG, "%s: '%s' is no list of names", path, key));
    SR_TRY_GOTO(check_count(path, key, list->n, rows));
    for (int i = 0; i < list->n; i++) {
        const SrYaml *item = list->items[i];
        if (item->type != SR_YAML_STRING)
            SR_TRY_GOTO(
                sr_fail(SR_ERR_CONFIG, "%s: name %d of '%s' is not a string", path, i, key));
        SR_TRY_GOTO(sr__string_list_add(out, item->text, strlen(item->text)));
    }
done:
    sr_arena_deinit(&arena);
    return status;
}

SrStatus sr__feature_names_read(const char *path, const char *key, int64_t rows,
                                SrStringList *out) {
    SrWeights w;
    SrTensor t;
    SrStatus status;
    if (sr_text_ends(path, ".npy"))
        return read_npy(path, key, rows, out);
    SR_TRY(sr_weights_open(&w, path));
    int i = sr_weights_find(&w, key);
    const char *text = i < 0 ? sr_weights_meta(&w, key) : NULL;
    status = i < 0 ? SR_OK : sr_weights_read(&w, i, &t);
    if (status == SR_OK && i >= 0)
        status = add_bytes(&t, path, key, rows, out);
    else if (status == SR_OK && text)
        status = add_json(text, path, key, rows, out);
    sr_weights_close(&w);
    return status;
}

SrStatus sr__feature_names_tensor(const SrStringList *names, SrTensor *out) {
    size_t width = 1;
    for (int64_t i = 0; i < names->n; i++)
        width = SR_MAX(width, strlen(sr__string_list_get(names, i)));
    if (names->n > INT32_MAX || width > MAX_WIDTH)
        SR_FAIL(SR_ERR_CONFIG, "%lld names of up to %zu bytes are too much for a file of features",
                (long long)names->n, width);
    *out = (SrTensor){SR_SHAPE((int)names->n, (int)width), SR_U8,
                      sr_calloc((size_t)SR_MAX(names->n, 1), width)};
    SR_TRY_MEMORY(out->data, "%lld names", (long long)names->n);
    for (int64_t i = 0; i < names->n; i++) {
        const char *name = sr__string_list_get(names, i);
        memcpy((char *)out->data + (size_t)i * width, name, strlen(name));
    }
    return SR_OK;
}

SrStatus sr__feature_names_save(const SrStringList *names, const char *path) {
    SrTensor text;
    char descr[24];
    SR_TRY(sr__feature_names_tensor(names, &text));
    snprintf(descr, sizeof descr, "|S%d", text.shape.d[1]);
    SrStatus status = sr_npy_save(path, descr, SR_SHAPE(text.shape.d[0]), text.data,
                                  (size_t)sr_shape_count(text.shape));
    sr_free(text.data);
    return status;
}
