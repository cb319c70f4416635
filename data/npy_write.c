// Writing .npy (format 1.0): magic, version, header length, a Python dict padded so that data start on 64 bytes.
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "data/npy.h"

static void add_header(SrText *out, const char *descr, SrShape shape) {
    sr_text_printf(out, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < shape.rank; i++)
        sr_text_printf(out, "%d,%s", shape.d[i], i + 1 < shape.rank ? " " : "");
    sr_text_add(out, "), }");
    while ((out->len + 10 + 1) % 64 && !out->failed) // 10 bytes precede it, a newline ends it
        sr_text_add(out, " ");
    sr_text_add(out, "\n");
}

static bool write_all(FILE *f, const SrText *header, const void *data, size_t bytes) {
    const unsigned char start[10] = {0x93,
                                     'N',
                                     'U',
                                     'M',
                                     'P',
                                     'Y',
                                     1,
                                     0,
                                     (unsigned char)(header->len & 255),
                                     (unsigned char)(header->len >> 8)};
    return fwrite(start, 1, sizeof start, f) == sizeof start &&
           fwrite(header->s, 1, header->len, f) == header->len &&
           fwrite(data, 1, bytes, f) == bytes;
}

SrStatus sr_npy_save(const char *path, const char *descr, SrShape shape, const void *data,
                     size_t bytes) {
    SrFileWriter writer;
    SrText header = SR_TEXT_INIT;
    add_header(&header, descr, shape);
    SrStatus status = header.failed ? sr_fail(SR_ERR_MEMORY, "out of memory for %s", path)
                                    : sr_file_begin(&writer, path);
    if (status == SR_OK && write_all(writer.f, &header, data, bytes)) {
        status = sr_file_commit(&writer);
    } else if (status == SR_OK) {
        status = sr_fail(SR_ERR_IO, "cannot write %s", path);
        sr_file_abort(&writer);
    }
    sr_text_deinit(&header);
    return status;
}
