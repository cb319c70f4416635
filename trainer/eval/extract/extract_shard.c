// Writes shards of features as safetensors, as NumPy's files or as tables.
#include "trainer/eval/extract/extract_shard.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/npy.h"
#include "base/text/escape.h"
#include "base/text/number.h"
#include "formats/weights/zip_write.h"
#include "trainer/eval/extract/feature_names.h"

enum { PATH_BYTES = 4096, NAME_BYTES = 512 };

// ---- formats

static const char *const names[SR_EXTRACT_FORMATS] = {[SR_EXTRACT_SAFETENSORS] = "safetensors",
                                                      [SR_EXTRACT_NPY] = "npy",
                                                      [SR_EXTRACT_NPZ] = "npz",
                                                      [SR_EXTRACT_CSV] = "csv"};

const char *sr_extract_format_name(SrExtractFormat format) { return names[format]; }

SrStatus sr_extract_format_find(const char *name, SrExtractFormat *out) {
    for (int i = 0; i < SR_EXTRACT_FORMATS; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (SrExtractFormat)i;
            return SR_OK;
        }
    if (strcmp(name, "parquet") == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "--format parquet: sslrun does not write Parquet, since Debian has no C library "
                "for it; give --format csv, and convert by pandas.read_csv(...).to_parquet(...)");
    SR_FAIL(SR_ERR_CONFIG, "--format %s: expected safetensors, npy, npz or csv", name);
}

static SrStatus shard_path(SrExtractFormat format, const char *folder, const char *stem,
                           int64_t number, char out[PATH_BYTES]) {
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s-%05lld.%s", stem, (long long)number, names[format]);
    return sr_file_join(out, PATH_BYTES, folder, name);
}

SrStatus sr__extract_shard_exists(SrExtractFormat format, const char *folder, int64_t number,
                                  bool *out) {
    char path[PATH_BYTES];
    const char *last = format == SR_EXTRACT_NPY ? "files" : "features";
    SR_TRY(shard_path(format, folder, last, number, path));
    *out = sr_file_exists(path);
    return SR_OK;
}

static SrShape label_shape(const SrExtractShard *s) {
    return s->n_targets ? SR_SHAPE((int)s->images, s->n_targets) : SR_SHAPE((int)s->images);
}

// ---- safetensors

static SrStatus save_safetensors(const char *path, const SrExtractShard *s) {
    int n = s->n_layers;
    SrTensor files = {.data = NULL}, classes = {.data = NULL};
    SrNamedTensor *tensors = sr_alloc((size_t)(n + 4) * sizeof *tensors);
    SrStatus status = tensors ? SR_OK : sr_out_of_memory("a shard of features");
    SR_TRY_GOTO(status);
    SR_TRY_GOTO(sr__feature_names_tensor(s->files, &files));
    SR_TRY_GOTO(sr__feature_names_tensor(s->classes, &classes));
    memcpy(tensors, s->layers, (size_t)n * sizeof *tensors);
    tensors[n++] = (SrNamedTensor){"labels", {label_shape(s), SR_I64, (void *)s->labels}};
    tensors[n++] = (SrNamedTensor){"valid", {SR_SHAPE((int)s->images), SR_U8, (void *)s->valid}};
    tensors[n++] = (SrNamedTensor){"files", files};
    if (s->classes->n > 0)
        tensors[n++] = (SrNamedTensor){"classes", classes};
    SR_TRY_GOTO(sr_safetensors_save(path, tensors, n, NULL, NULL, 0));
done:
    sr_free(files.data);
    sr_free(classes.data);
    sr_free(tensors);
    return status;
}

// ---- NumPy

// Writes files-*.npy last: its presence means that the shard is whole.
static SrStatus save_npy(const char *folder, int64_t number, const SrExtractShard *s) {
    char path[PATH_BYTES];
    const SrExtractFormat npy = SR_EXTRACT_NPY;
    SrShape labels = label_shape(s);
    for (int i = 0; i < s->n_layers; i++) {
        const SrTensor *t = &s->layers[i].tensor;
        SR_TRY(shard_path(npy, folder, s->layers[i].name, number, path));
        SR_TRY(sr_npy_save(path, "<f4", t->shape, t->data,
                           (size_t)sr_shape_count(t->shape) * sizeof(float)));
    }
    SR_TRY(shard_path(npy, folder, "labels", number, path));
    SR_TRY(sr_npy_save(path, "<i8", labels, s->labels,
                       (size_t)sr_shape_count(labels) * sizeof(int64_t)));
    SR_TRY(shard_path(npy, folder, "valid", number, path));
    SR_TRY(sr_npy_save(path, "|b1", SR_SHAPE((int)s->images), s->valid, (size_t)s->images));
    if (s->classes->n > 0) {
        SR_TRY(sr_file_join(path, sizeof path, folder, "classes.npy"));
        SR_TRY(sr__feature_names_save(s->classes, path));
    }
    SR_TRY(shard_path(npy, folder, "files", number, path));
    return sr__feature_names_save(s->files, path);
}

static SrStatus add_array(SrZipWriter *z, const char *name, const char *descr, SrShape shape,
                          const void *data, size_t bytes) {
    char header[SR_NPY_HEADER_ROOM], entry[NAME_BYTES];
    size_t len = sr_npy_header_write(descr, shape, header);
    if (snprintf(entry, sizeof entry, "%s.npy", name) >= (int)sizeof entry)
        SR_FAIL(SR_ERR_CONFIG, "the layer's name '%.80s...' is too long for an .npz", name);
    return sr_zip_add(z, entry, header, len, data, bytes);
}

static SrStatus add_names(SrZipWriter *z, const char *name, const SrStringList *list) {
    SrTensor text;
    char descr[24];
    SR_TRY(sr__feature_names_tensor(list, &text));
    snprintf(descr, sizeof descr, "|S%d", text.shape.d[1]);
    SrStatus status = add_array(z, name, descr, SR_SHAPE(text.shape.d[0]), text.data,
                                (size_t)sr_shape_count(text.shape));
    sr_free(text.data);
    return status;
}

static SrStatus add_arrays(SrZipWriter *z, const SrExtractShard *s) {
    SrShape labels = label_shape(s);
    for (int i = 0; i < s->n_layers; i++) {
        const SrTensor *t = &s->layers[i].tensor;
        SR_TRY(add_array(z, s->layers[i].name, "<f4", t->shape, t->data,
                         (size_t)sr_shape_count(t->shape) * sizeof(float)));
    }
    SR_TRY(add_array(z, "labels", "<i8", labels, s->labels,
                     (size_t)sr_shape_count(labels) * sizeof(int64_t)));
    SR_TRY(add_array(z, "valid", "|b1", SR_SHAPE((int)s->images), s->valid, (size_t)s->images));
    if (s->classes->n > 0)
        SR_TRY(add_names(z, "classes", s->classes));
    return add_names(z, "files", s->files);
}

static SrStatus save_npz(const char *path, const SrExtractShard *s) {
    SrZipWriter z;
    SR_TRY(sr_zip_begin(&z, path));
    SrStatus status = add_arrays(&z, s);
    if (status == SR_OK)
        return sr_zip_commit(&z);
    sr_zip_abort(&z);
    return status;
}

// ---- tables

static int64_t row_length(const SrExtractShard *s, int layer) {
    return s->images ? sr_shape_count(s->layers[layer].tensor.shape) / s->images : 0;
}

static void add_header(const SrExtractShard *s, SrText *line) {
    char column[NAME_BYTES + 32];
    sr_text_add(line, "file");
    for (int k = 0; k < s->n_targets; k++)
        sr_text_printf(line, ",label_%d", k);
    if (!s->n_targets)
        sr_text_add(line, ",label,class");
    sr_text_add(line, ",valid");
    for (int i = 0; i < s->n_layers; i++)
        for (int64_t k = 0; k < row_length(s, i); k++) {
            snprintf(column, sizeof column, "%.500s_%lld", s->layers[i].name, (long long)k);
            sr_text_add(line, ",");
            sr_escape_csv(column, line);
        }
    sr_text_add(line, "\n");
}

// Appends the class of an image by number and by name; the name is empty where there is none.
static void add_class(const SrExtractShard *s, int64_t label, SrText *line) {
    sr_text_printf(line, ",%lld,", (long long)label);
    if (label >= 0 && label < s->classes->n)
        sr_escape_csv(sr__string_list_get(s->classes, label), line);
}

static void add_row(const SrExtractShard *s, int64_t row, SrText *line) {
    char number[40];
    sr_escape_csv(sr__string_list_get(s->files, row), line);
    for (int k = 0; k < s->n_targets; k++)
        sr_text_printf(line, ",%lld", (long long)s->labels[row * s->n_targets + k]);
    if (!s->n_targets)
        add_class(s, s->labels[row], line);
    sr_text_add(line, s->valid[row] ? ",1" : ",0");
    for (int i = 0; i < s->n_layers; i++) {
        int64_t n = row_length(s, i);
        const float *x = (const float *)s->layers[i].tensor.data + row * n;
        for (int64_t k = 0; k < n; k++) {
            sr_number_print(number, sizeof number, ",%.9g", (double)x[k]);
            sr_text_add(line, number);
        }
    }
    sr_text_add(line, "\n");
}

static SrStatus write_line(FILE *f, const char *path, SrText *line) {
    if (line->failed)
        return sr_out_of_memory("a line of '%s'", path);
    if (fwrite(line->s, 1, line->len, f) != line->len)
        SR_FAIL(SR_ERR_IO, "cannot write '%s': disk full?", path);
    line->len = 0;
    return SR_OK;
}

static SrStatus write_table(FILE *f, const char *path, const SrExtractShard *s) {
    SrText line = SR_TEXT_INIT;
    add_header(s, &line);
    SrStatus status = write_line(f, path, &line);
    for (int64_t i = 0; status == SR_OK && i < s->images; i++) {
        add_row(s, i, &line);
        status = write_line(f, path, &line);
    }
    sr_text_deinit(&line);
    return status;
}

static SrStatus save_csv(const char *path, const SrExtractShard *s) {
    SrFileWriter w;
    SR_TRY(sr_file_begin(&w, path));
    SrStatus status = write_table(w.f, path, s);
    if (status == SR_OK)
        return sr_file_commit(&w);
    sr_file_abort(&w);
    return status;
}

SrStatus sr__extract_shard_save(SrExtractFormat format, const char *folder, int64_t number,
                                const SrExtractShard *s) {
    char path[PATH_BYTES];
    if (format == SR_EXTRACT_NPY)
        return save_npy(folder, number, s);
    SR_TRY(shard_path(format, folder, "features", number, path));
    return format == SR_EXTRACT_NPZ   ? save_npz(path, s)
           : format == SR_EXTRACT_CSV ? save_csv(path, s)
                                      : save_safetensors(path, s);
}
