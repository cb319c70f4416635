// Builds the pickle of a state dict and adds the numbers of its tensors to the zip.
#include "formats/weights/pth_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "formats/weights/zip_write.h"

static const char *const storages[] = {
    [SR_F32] = "FloatStorage",     [SR_F64] = "DoubleStorage", [SR_F16] = "HalfStorage",
    [SR_BF16] = "BFloat16Storage", [SR_I8] = "CharStorage",    [SR_I16] = "ShortStorage",
    [SR_I32] = "IntStorage",       [SR_I64] = "LongStorage",   [SR_U8] = "ByteStorage",
    [SR_BOOL] = "BoolStorage",
};

static void put_number(SrText *out, uint64_t value, int bytes) {
    char buffer[8];
    for (int i = 0; i < bytes; i++)
        buffer[i] = (char)(value >> (8 * i) & 255);
    sr_text_addn(out, buffer, (size_t)bytes);
}

static void put_int(SrText *out, int64_t value) {
    if (value >= INT32_MIN && value <= INT32_MAX) {
        sr_text_add(out, "J"); // BININT
        put_number(out, (uint64_t)value, 4);
    } else {
        sr_text_add(out, "\x8a\x08"); // LONG1 of 8 bytes
        put_number(out, (uint64_t)value, 8);
    }
}

static void put_text(SrText *out, const char *s, size_t len) {
    sr_text_add(out, "X"); // BINUNICODE
    put_number(out, len, 4);
    sr_text_addn(out, s, len);
}

static void put_float(SrText *out, double value) {
    uint64_t bits, swapped = 0;
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 8; i++)
        swapped = swapped << 8 | (bits >> (8 * i) & 255);
    sr_text_add(out, "G"); // BINFLOAT, big-endian
    put_number(out, swapped, 8);
}

static void put_tensor(SrText *out, const SrSaveItem *item, int key) {
    char name[16];
    int64_t stride = 1, strides[SR_MAX_RANK];
    for (int d = item->shape.rank - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= SR_MAX(item->shape.d[d], 1);
    }
    snprintf(name, sizeof name, "%d", key);
    sr_text_add(out, "ctorch._utils\n_rebuild_tensor_v2\n((");
    put_text(out, "storage", 7);
    sr_text_printf(out, "ctorch\n%s\n", storages[item->dtype]);
    put_text(out, name, strlen(name));
    put_text(out, "cpu", 3);
    put_int(out, sr_shape_count(item->shape));
    sr_text_add(out, "tQ"); // TUPLE, BINPERSID
    put_int(out, 0);
    sr_text_add(out, "(");
    for (int d = 0; d < item->shape.rank; d++)
        put_int(out, item->shape.d[d]);
    sr_text_add(out, "t(");
    for (int d = 0; d < item->shape.rank; d++)
        put_int(out, strides[d]);
    sr_text_add(out, "t\x89"
                     "ccollections\nOrderedDict\n)RtR"); // requires_grad False, no hooks
}

static void put_value(SrText *out, const SrSaveItem *item, int key) {
    switch (item->kind) {
    case SR_SAVE_TENSOR: put_tensor(out, item, key); break;
    case SR_SAVE_TEXT: put_text(out, item->text, strlen(item->text)); break;
    case SR_SAVE_INT: put_int(out, item->i); break;
    case SR_SAVE_FLOAT: put_float(out, item->f); break;
    case SR_SAVE_BOOL: sr_text_add(out, item->i ? "\x88" : "\x89"); break;
    case SR_SAVE_NONE: sr_text_add(out, "N"); break;
    case SR_SAVE_DICT: sr_text_add(out, "}"); break;
    }
}

// Returns the length of the dicts that two names share: their common beginning up to its last '/'.
static size_t shared_dicts(const char *a, const char *b) {
    size_t shared = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        if (a[i] == '/')
            shared = i + 1;
    return shared;
}

static void write_pickle(const SrSave *save, SrText *out) {
    const char *before = "";
    sr_text_add(out, "\x80\x02}("); // protocol 2, the root dict
    for (int i = 0; i < save->n; i++) {
        const char *name = save->items[i].name, *slash;
        size_t shared = shared_dicts(before, name);
        for (const char *p = before + shared; (p = strchr(p, '/')); p++)
            sr_text_add(out, "u"); // SETITEMS closes a finished dict
        const char *key = name + shared;
        for (; (slash = strchr(key, '/')); key = slash + 1) {
            put_text(out, key, (size_t)(slash - key));
            sr_text_add(out, "}(");
        }
        put_text(out, key, strlen(key));
        put_value(out, &save->items[i], i);
        before = name;
    }
    for (const char *p = before; (p = strchr(p, '/')); p++)
        sr_text_add(out, "u");
    sr_text_add(out, "u.");
}

static SrStatus add_storages(SrZipWriter *z, const SrSave *save) {
    for (int i = 0; i < save->n; i++) {
        const SrSaveItem *item = &save->items[i];
        const void *data = NULL;
        char name[40];
        if (item->kind != SR_SAVE_TENSOR)
            continue;
        SR_TRY(save->read(save->arg, i, &data));
        snprintf(name, sizeof name, "archive/data/%d", i);
        size_t bytes = (size_t)sr_shape_count(item->shape) * sr_dtype_bytes(item->dtype);
        SR_TRY(sr_zip_add(z, name, NULL, 0, data, bytes));
    }
    return SR_OK;
}

static SrStatus write_archive(SrZipWriter *z, const SrSave *save) {
    SrText pickle = SR_TEXT_INIT;
    write_pickle(save, &pickle);
    SrStatus status = pickle.failed
                          ? sr_fail(SR_ERR_MEMORY, "%s: out of memory", z->path)
                          : sr_zip_add(z, "archive/data.pkl", NULL, 0, pickle.s, pickle.len);
    sr_text_deinit(&pickle);
    SR_TRY(status);
    SR_TRY(add_storages(z, save));
    return sr_zip_add(z, "archive/version", NULL, 0, "3\n", 2);
}

SrStatus sr__pth_save(const char *path, const SrSave *save) {
    SrZipWriter z;
    SR_TRY(sr_zip_begin(&z, path));
    SrStatus status = write_archive(&z, save);
    if (status == SR_OK)
        return sr_zip_commit(&z);
    sr_zip_abort(&z);
    return status;
}
