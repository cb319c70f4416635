// Adds an entry of the zip for each tensor.
#include "formats/weights/npz_write.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/npy.h"
#include "formats/weights/zip_write.h"

enum { MAX_NAME = 1024 }; // bytes

static const char *const types[] = {
    [SR_F32] = "<f4", [SR_F64] = "<f8", [SR_F16] = "<f2", [SR_BF16] = NULL, [SR_I8] = "|i1",
    [SR_I16] = "<i2", [SR_I32] = "<i4", [SR_I64] = "<i8", [SR_U8] = "|u1",  [SR_BOOL] = "|b1",
};

static SrStatus add_array(SrZipWriter *z, const SrSave *save, int i) {
    const SrSaveItem *item = &save->items[i];
    char header[SR_NPY_HEADER_ROOM], name[MAX_NAME];
    const void *data = NULL;
    if (!types[item->dtype])
        SR_FAIL(SR_ERR_CONFIG, "%s: NumPy has no %s ('%.80s'); write .safetensors or .pth", z->path,
                sr_dtype_name(item->dtype), item->name);
    if (snprintf(name, sizeof name, "%s.npy", item->name) >= MAX_NAME)
        SR_FAIL(SR_ERR_CONFIG, "%s: the name '%.80s...' is too long", z->path, item->name);
    for (char *slash = name; (slash = strchr(slash, '/'));)
        *slash = '.';
    size_t len = sr_npy_header_write(types[item->dtype], item->shape, header);
    SR_TRY(save->read(save->arg, i, &data));
    size_t bytes = (size_t)sr_shape_count(item->shape) * sr_dtype_bytes(item->dtype);
    return sr_zip_add(z, name, header, len, data, bytes);
}

SrStatus sr__numpy_save(const char *path, const SrSave *save) {
    SrZipWriter z;
    SrStatus status = SR_OK;
    SR_TRY(sr_zip_begin(&z, path));
    for (int i = 0; status == SR_OK && i < save->n; i++)
        if (save->items[i].kind == SR_SAVE_TENSOR)
            status = add_array(&z, save, i);
    if (status == SR_OK)
        return sr_zip_commit(&z);
    sr_zip_abort(&z);
    return status;
}
