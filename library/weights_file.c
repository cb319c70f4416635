// Implements the files of weights of sslrun.h over formats/weights.
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "formats/weights/save.h"
#include "formats/weights/weights.h"
#include "library/arguments.h"
#include "library/tensor_info.h"
#include "library/trunk_source.h"

struct SrWeightsFile {
    SrWeights w;
    pthread_mutex_t lock; // guards the buffer of the tensor that was read last
};

// ---- reading ------------------------------------------------------------------------------------

int sr_weights_file_open(const char *path, SrWeightsFile **out) {
    SR_NEED(out, "out");
    *out = NULL;
    SR_NEED(path, "path");
    sr__library_start();
    SrWeightsFile *file = sr_calloc(1, sizeof *file);
    if (!file)
        return (int)sr_out_of_memory("%s", path);
    pthread_mutex_init(&file->lock, NULL);
    SrStatus status = sr_weights_open(&file->w, path);
    if (status == SR_OK)
        status = sr_weights_verify_sums(&file->w);
    if (status == SR_OK)
        *out = file;
    else
        sr_weights_file_close(file);
    return (int)status;
}

void sr_weights_file_close(SrWeightsFile *file) {
    if (!file)
        return;
    sr_weights_close(&file->w);
    pthread_mutex_destroy(&file->lock);
    sr_free(file);
}

int sr_weights_file_tensor(const SrWeightsFile *file, int i, SrTensorInfo *out) {
    if (!file || i < 0 || i >= file->w.n)
        return 0;
    const SrWeightsTensor *t = &file->w.tensors[i];
    sr__tensor_info(t->name, t->shape, t->dtype, out);
    return 1;
}

static SrStatus read_tensor(SrWeights *w, const char *name, float *x, int64_t n) {
    SrTensor tensor;
    int i = sr_weights_find(w, name);
    if (i < 0)
        SR_FAIL(SR_ERR_CONFIG,
                "%s has no tensor '%s'; sr_weights_file_tensor lists its %d, `sslrun inspect` too",
                w->path, name, w->n);
    SR_TRY(sr__tensor_check_count(name, w->tensors[i].shape, n));
    SR_TRY(sr_weights_read(w, i, &tensor));
    sr_weights_floats(&tensor, x);
    return SR_OK;
}

int sr_weights_file_read(SrWeightsFile *file, const char *name, float *x, int64_t n) {
    SR_NEED(file, "file");
    SR_NEED(name, "name");
    SR_NEED(x, "x");
    pthread_mutex_lock(&file->lock);
    SrStatus status = read_tensor(&file->w, name, x, n);
    pthread_mutex_unlock(&file->lock);
    return (int)status;
}

// ---- writing ------------------------------------------------------------------------------------

static SrStatus give(void *arg, int i, const void **data) {
    *data = ((const float *const *)arg)[i];
    return SR_OK;
}

static SrStatus check_tensor(const SrTensorInfo *tensors, int i, const float *x) {
    const SrTensorInfo *t = &tensors[i];
    int64_t count = 1;
    if (!t->name || !*t->name || !x)
        SR_FAIL(SR_ERR_CONFIG, "tensor %d has no %s", i, x ? "name" : "numbers");
    for (int k = 0; k < i; k++)
        if (strcmp(tensors[k].name, t->name) == 0)
            SR_FAIL(SR_ERR_CONFIG, "tensors %d and %d are both called '%s'", k, i, t->name);
    if (t->rank < 0 || t->rank > SR_MAX_RANK)
        SR_FAIL(SR_ERR_CONFIG, "'%s' has rank %d; expected 0 to %d", t->name, t->rank, SR_MAX_RANK);
    for (int d = 0; d < t->rank; d++) {
        if (t->shape[d] < 1 || count > INT64_MAX / 8 / t->shape[d])
            SR_FAIL(SR_ERR_CONFIG, "'%s': dimension %d of its shape is %d, too small or too large",
                    t->name, d, t->shape[d]);
        count *= t->shape[d];
    }
    return SR_OK;
}

static SrStatus write_tensors(const char *path, const SrTensorInfo *tensors, const float *const *x,
                              int n, SrSaveItem *items) {
    for (int i = 0; i < n; i++) {
        SR_TRY(check_tensor(tensors, i, x[i]));
        items[i] = (SrSaveItem){.name = tensors[i].name,
                                .kind = SR_SAVE_TENSOR,
                                .shape = {.rank = tensors[i].rank},
                                .dtype = SR_F32};
        memcpy(items[i].shape.d, tensors[i].shape,
               (size_t)tensors[i].rank * sizeof *tensors[i].shape);
    }
    return sr_save(path, &(SrSave){items, n, give, (void *)x});
}

int sr_weights_file_write(const char *path, const SrTensorInfo *tensors, const float *const *x,
                          int n) {
    SR_NEED(path, "path");
    SR_NEED(tensors, "tensors");
    SR_NEED(x, "x");
    if (n < 1)
        return (int)sr_fail(SR_ERR_CONFIG, "%s: %d tensors, expected at least 1", path, n);
    sr__library_start();
    SrSaveItem *items = sr_calloc((size_t)n, sizeof *items);
    SrStatus status =
        items ? write_tensors(path, tensors, x, n, items) : sr_out_of_memory("%s", path);
    sr_free(items);
    return (int)status;
}
