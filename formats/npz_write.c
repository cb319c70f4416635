// .npz: a zip of .npy entries, each a header of NumPy's format 1.0 and the numbers.
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "formats/save.h"
#include "formats/zip_write.h"

enum { HEADER = 192, MAX_NAME = 1024 }; // bytes; the numbers begin at a multiple of 64

static const char *const types[] = {
    [SR_F32] = "<f4", [SR_F64] = "<f8", [SR_F16] = "<f2", [SR_BF16] = NULL, [SR_I8] = "|i1",
    [SR_I16] = "<i2", [SR_I32] = "<i4", [SR_I64] = "<i8", [SR_U8] = "|u1",  [SR_BOOL] = "|b1",
};

// The header, padded with blanks and closed by a newline.
static void write_header(const SrSaveItem *item, char out[HEADER]) {
    char text[HEADER];
    int len = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                       types[item->dtype]);
    for (int d = 0; d < item->shape.rank; d++)
        len += snprintf(text + len, sizeof text - (size_t)len, "%d,%s", item->shape.d[d],
                        d + 1 < item->shape.rank ? " " : "");
    len += snprintf(text + len, sizeof text - (size_t)len, "), }");
    memset(out, ' ', HEADER);
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = (char)(HEADER - 10);
    out[9] = 0;
    memcpy(out + 10, text, (size_t)len);
    out[HEADER - 1] = '\n';
}

static SrStatus add_array(SrZipWriter *z, const SrSave *save, int i) {
    const SrSaveItem *item = &save->items[i];
    char header[HEADER], name[MAX_NAME];
    const void *data = NULL;
    if (!types[item->dtype])
        return sr_fail(SR_ERR_CONFIG, "%s: NumPy has no %s ('%.80s'); write .safetensors or .pth",
                       z->path, sr_dtype_name(item->dtype), item->name);
    if (snprintf(name, sizeof name, "%s.npy", item->name) >= MAX_NAME)
        return sr_fail(SR_ERR_CONFIG, "%s: the name '%.80s...' is too long", z->path, item->name);
    for (char *slash = name; (slash = strchr(slash, '/'));)
        *slash = '.';
    write_header(item, header);
    SR_TRY(save->read(save->arg, i, &data));
    size_t bytes = (size_t)sr_shape_count(item->shape) * sr_dtype_bytes(item->dtype);
    return sr_zip_add(z, name, header, HEADER, data, bytes);
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
