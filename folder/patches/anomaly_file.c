// Writes and reads detectors of defects.
#include "folder/patches/anomaly_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "base/text/text.h"
#include "formats/weights/safetensors.h"

#define VERSION "1"

static int64_t triangle(int d) { return (int64_t)d * (d + 1) / 2; }

static SrNamedTensor tensor(const char *name, int64_t rows, int64_t columns, SrDtype dtype,
                            const void *data) {
    SrNamedTensor t = {.name = name};
    t.tensor.shape = (SrShape){.rank = 2, .d = {(int)rows, (int)columns}};
    t.tensor.dtype = dtype;
    t.tensor.data = (void *)(uintptr_t)data;
    return t;
}

SrStatus sr_anomaly_save(const SrAnomaly *a, const SrPatchOptions *p, const char *file) {
    char size[32], threshold[SR_TEXT_NUMBER_BYTES];
    snprintf(size, sizeof size, "%d", p->size);
    sr_text_number(a->threshold, threshold);
    const char *keys[] = {"sslrun_anomaly", "method", "model",    "weights",
                          "layers",         "size",   "threshold"};
    const char *values[] = {VERSION,
                            a->padim ? "padim" : "patchcore",
                            p->model,
                            p->weights ? p->weights : "",
                            p->layers ? p->layers : "",
                            size,
                            threshold};
    const SrPatchGauss *g = &a->gauss;
    SrNamedTensor gauss[] = {
        tensor("mean", g->positions, g->d, SR_F64, g->mean),
        tensor("factor", g->positions, triangle(g->d), SR_F64, g->factor),
        tensor("channel", 1, g->d, SR_I32, a->channel),
    };
    SrNamedTensor bank = tensor("bank", a->bank.n, a->bank.d, SR_F32, a->bank.x);
    return a->padim ? sr_safetensors_save(file, gauss, 3, keys, values, SR_COUNT(keys))
                    : sr_safetensors_save(file, &bank, 1, keys, values, SR_COUNT(keys));
}

static SrStatus misfit(const char *file, const char *name) {
    SR_FAIL(SR_ERR_CONFIG,
            "%s: '%s' is missing or does not fit the model that the file names; fit it again with "
            "`sslrun anomaly fit`",
            file, name);
}

// Finds a tensor (rows, columns); 0 rows: any number.
static SrStatus find(const SrSafetensors *st, const char *file, const char *name, SrDtype dtype,
                     int64_t rows, int64_t columns, const SrTensor **out) {
    const SrTensor *t = sr_safetensors_find(st, name);
    if (!t || t->dtype != dtype || t->shape.rank != 2 || (rows && t->shape.d[0] != rows) ||
        t->shape.d[1] != columns || t->shape.d[0] < 1)
        return misfit(file, name);
    *out = t;
    return SR_OK;
}

static SrStatus read_bank(const SrSafetensors *st, const char *file, SrAnomaly *a) {
    const SrTensor *t;
    int d = sr_patch_source_dim(a->source) + 1;
    SR_TRY(find(st, file, "bank", SR_F32, 0, d, &t));
    SR_TRY(sr_matrix_init(&a->bank, t->shape.d[0], d));
    memcpy(a->bank.x, t->data, (size_t)t->shape.d[0] * (size_t)d * sizeof(float));
    return SR_OK;
}

static SrStatus read_gauss(const SrSafetensors *st, const char *file, SrAnomaly *a) {
    const SrTensor *mean, *factor, *channel = sr_safetensors_find(st, "channel");
    int all = sr_patch_source_dim(a->source);
    int positions = sr_patch_source_rows(a->source) * sr_patch_source_columns(a->source);
    if (!channel || channel->shape.rank != 2 || channel->shape.d[1] < 1 ||
        channel->shape.d[1] > all)
        return misfit(file, "channel");
    int d = (int)channel->shape.d[1];
    SR_TRY(find(st, file, "channel", SR_I32, 1, d, &channel));
    SR_TRY(find(st, file, "mean", SR_F64, positions, d, &mean));
    SR_TRY(find(st, file, "factor", SR_F64, positions, triangle(d), &factor));
    SR_TRY(sr_patch_gauss_init(positions, d, &a->gauss));
    a->channel = sr_alloc((size_t)d * sizeof *a->channel);
    SR_TRY_MEMORY(a->channel, "%d channels", d);
    memcpy(a->channel, channel->data, (size_t)d * sizeof *a->channel);
    memcpy(a->gauss.mean, mean->data, (size_t)positions * (size_t)d * sizeof(double));
    memcpy(a->gauss.factor, factor->data, (size_t)positions * (size_t)triangle(d) * sizeof(double));
    for (int c = 0; c < d; c++)
        if (a->channel[c] < 0 || a->channel[c] >= all)
            return misfit(file, "channel");
    return SR_OK;
}

static const char *meta(const SrSafetensors *st, const char *key) {
    const char *value = sr_safetensors_meta(st, key);
    return value ? value : "";
}

static SrStatus load(const SrSafetensors *st, const char *file, SrAnomaly *out) {
    const char *weights = meta(st, "weights"), *layers = meta(st, "layers");
    char *end;
    if (strcmp(meta(st, "sslrun_anomaly"), VERSION) != 0)
        SR_FAIL(SR_ERR_CONFIG, "%s is no detector of defects: `sslrun anomaly fit` writes one",
                file);
    out->padim = strcmp(meta(st, "method"), "padim") == 0;
    out->threshold = sr_number_parse(meta(st, "threshold"), &end);
    SrPatchOptions p = {.model = meta(st, "model"),
                        .weights = *weights ? weights : NULL,
                        .layers = *layers ? layers : NULL,
                        .size = (int)strtol(meta(st, "size"), NULL, 10),
                        .pool = !out->padim};
    SR_TRY(sr_patch_source_open(&p, &out->source));
    return out->padim ? read_gauss(st, file, out) : read_bank(st, file, out);
}

SrStatus sr_anomaly_load(const char *file, SrAnomaly *out) {
    SrSafetensors st;
    *out = (SrAnomaly){.source = NULL};
    SR_TRY(sr_safetensors_open(&st, file));
    SrStatus status = load(&st, file, out);
    sr_safetensors_close(&st);
    return status;
}
