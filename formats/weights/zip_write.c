// Writes zip archives of stored entries: local header, data, directory, end records (PKWARE APPNOTE
// 6.3, section 4.3).
#include "formats/weights/zip_write.h"

#include <string.h>
#include <zlib.h>

#include "base/compiler.h"

enum { ALIGN = 64, PAD_ID = 0x4246 }; // "FB": what PyTorch calls its padding field

static void put(uint8_t **p, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        *(*p)++ = (uint8_t)(value >> (8 * i));
}

static uint32_t extend_crc(uLong crc, const uint8_t *p, size_t bytes) {
    while (bytes > 0) {
        uInt piece = (uInt)SR_MIN(bytes, (size_t)1 << 30);
        crc = crc32(crc, p, piece);
        p += piece;
        bytes -= piece;
    }
    return (uint32_t)crc;
}

static SrStatus write_bytes(SrZipWriter *z, const void *data, size_t bytes) {
    z->at += bytes;
    if (bytes == 0 || fwrite(data, 1, bytes, z->file.f) == bytes)
        return SR_OK;
    SR_FAIL(SR_ERR_IO, "cannot write '%s': disk full?", z->path);
}

SrStatus sr_zip_begin(SrZipWriter *z, const char *path) {
    *z = (SrZipWriter){.path = path};
    return sr_file_begin(&z->file, path);
}

// Writes version, flags, method, time, CRC and sizes, which both headers share.  The time is the
// format's epoch, so that equal contents give equal files.
static void put_common(uint8_t **p, uint32_t crc, uint64_t bytes) {
    put(p, 20, 2);
    put(p, 1 << 11, 2); // names are UTF-8
    put(p, 0, 2);
    put(p, 0, 2);
    put(p, 33, 2); // 1 January 1980
    put(p, crc, 4);
    put(p, bytes, 4);
    put(p, bytes, 4);
}

static void add_to_directory(SrZipWriter *z, const char *name, uint32_t crc, uint64_t bytes,
                             uint64_t begin) {
    uint8_t buffer[64], *p = buffer;
    size_t len = strlen(name);
    bool far = begin >= UINT32_MAX;
    put(&p, 0x02014b50, 4);
    put(&p, 45, 2);
    put_common(&p, crc, bytes);
    put(&p, len, 2);
    put(&p, far ? 12 : 0, 2); // extra
    put(&p, 0, 2);            // comment
    put(&p, 0, 4);            // disk, internal attributes
    put(&p, 0, 4);            // external attributes
    put(&p, far ? UINT32_MAX : begin, 4);
    sr_text_addn(&z->directory, (const char *)buffer, (size_t)(p - buffer));
    sr_text_addn(&z->directory, name, len);
    p = buffer;
    put(&p, 1, 2);
    put(&p, 8, 2);
    put(&p, begin, 8);
    if (far)
        sr_text_addn(&z->directory, (const char *)buffer, (size_t)(p - buffer));
}

SrStatus sr_zip_add(SrZipWriter *z, const char *name, const void *head, size_t head_bytes,
                    const void *data, size_t bytes) {
    uint8_t buffer[30 + 4 + ALIGN] = {0}, *p = buffer;
    size_t len = strlen(name), total = head_bytes + bytes;
    SR_ASSERT(len <= UINT16_MAX);
    if (total >= UINT32_MAX)
        SR_FAIL(SR_ERR_CONFIG, "%s: '%.80s' has more than 4 GiB; write .safetensors", z->path,
                name);
    uint32_t crc = extend_crc(extend_crc(crc32(0, NULL, 0), head, head_bytes), data, bytes);
    uint64_t begin = z->at, data_at = begin + 30 + len + 4;
    size_t pad = (size_t)((ALIGN - data_at % ALIGN) % ALIGN);
    put(&p, 0x04034b50, 4);
    put_common(&p, crc, total);
    put(&p, len, 2);
    put(&p, 4 + pad, 2);
    SR_TRY(write_bytes(z, buffer, 30));
    SR_TRY(write_bytes(z, name, len));
    p = buffer;
    put(&p, PAD_ID, 2);
    put(&p, pad, 2);
    memset(p, 0, pad);
    SR_TRY(write_bytes(z, buffer, 4 + pad));
    SR_TRY(write_bytes(z, head, head_bytes));
    SR_TRY(write_bytes(z, data, bytes));
    add_to_directory(z, name, crc, total, begin);
    z->n++;
    return SR_OK;
}

static SrStatus write_end(SrZipWriter *z) {
    uint8_t buffer[128], *p = buffer;
    uint64_t directory = z->at, size = z->directory.len, n = (uint64_t)z->n;
    bool far = directory >= UINT32_MAX || size >= UINT32_MAX || n >= UINT16_MAX;
    if (z->directory.failed)
        SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", z->path);
    SR_TRY(write_bytes(z, z->directory.s, z->directory.len));
    if (far) {
        put(&p, 0x06064b50, 4);
        put(&p, 44, 8);
        put(&p, 45, 2);
        put(&p, 45, 2);
        put(&p, 0, 8);
        put(&p, n, 8);
        put(&p, n, 8);
        put(&p, size, 8);
        put(&p, directory, 8);
        put(&p, 0x07064b50, 4);
        put(&p, 0, 4);
        put(&p, z->at, 8);
        put(&p, 1, 4);
    }
    put(&p, 0x06054b50, 4);
    put(&p, 0, 4);
    put(&p, far ? UINT16_MAX : n, 2);
    put(&p, far ? UINT16_MAX : n, 2);
    put(&p, far ? UINT32_MAX : size, 4);
    put(&p, far ? UINT32_MAX : directory, 4);
    put(&p, 0, 2);
    return write_bytes(z, buffer, (size_t)(p - buffer));
}

SrStatus sr_zip_commit(SrZipWriter *z) {
    SrStatus status = write_end(z);
    sr_text_deinit(&z->directory);
    if (status == SR_OK)
        return sr_file_commit(&z->file);
    sr_zip_abort(z);
    return status;
}

void sr_zip_abort(SrZipWriter *z) {
    sr_text_deinit(&z->directory);
    sr_file_abort(&z->file);
}
