// Reads and writes the file of a teacher's outputs: a header of 64 bytes, then equal records of
// mark, checksum and numbers.
#include "trainer/run/teacher_cache.h"

#include <stdatomic.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "formats/weights/checkpoint_sums.h"

enum { HEADER_BYTES = 64, RECORD_BYTES = 16, VERSION = 1 };
#define MAGIC "sslrun teacher\n"
#define MARK UINT32_C(0x7eac4e72)

typedef struct {
    char magic[16];
    uint32_t version, checksum; // CRC-32 of the header with checksum 0
    uint64_t fingerprint;
    int64_t epochs, batches, values;
    int64_t reserved;
} Header;

typedef struct {
    uint32_t mark;     // MARK: written.  0: missing
    uint32_t checksum; // CRC-32 of the record's number and its values
    int64_t n;         // values
} Record;

struct SrTeacherCache {
    const char *path; // owned
    SrTeacherCacheForm form;
    char *data; // mapped file
    size_t bytes;
    bool said; // a damaged record was reported
};

static size_t record_bytes(const SrTeacherCacheForm *f) {
    size_t bytes = RECORD_BYTES + (size_t)f->values * sizeof(uint16_t);
    return (bytes + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
}

size_t sr_teacher_cache_bytes(const SrTeacherCacheForm *f) {
    return HEADER_BYTES + (size_t)(f->epochs * f->batches) * record_bytes(f);
}

static Header header_of(const SrTeacherCacheForm *f) {
    Header h = {.version = VERSION,
                .fingerprint = f->fingerprint,
                .epochs = f->epochs,
                .batches = f->batches,
                .values = f->values};
    memcpy(h.magic, MAGIC, sizeof h.magic);
    h.checksum = sr_checkpoint_sum(0, &h, sizeof h);
    return h;
}

// Reads the header of an existing file and compares it with what the run expects.
static SrStatus check_header(const char *path, const Header *want, bool *same) {
    const void *data;
    size_t bytes;
    Header h = {.version = 0};
    SR_TRY(sr_file_map(path, &data, &bytes));
    if (bytes >= sizeof h)
        memcpy(&h, data, sizeof h);
    sr_file_unmap(data, bytes);
    if (memcmp(h.magic, MAGIC, sizeof h.magic) != 0)
        SR_FAIL(SR_ERR_IO,
                "%s is not a file of a teacher's outputs; name another DISTILLATION.CACHE_FILE",
                path);
    uint32_t sum = h.checksum;
    h.checksum = 0;
    if (sr_checkpoint_sum(0, &h, sizeof h) != sum)
        SR_FAIL(SR_ERR_IO,
                "%s: the header is damaged; remove the file, and the run writes it again", path);
    h.checksum = sum;
    *same = memcmp(&h, want, sizeof h) == 0;
    return SR_OK;
}

// Makes sure that the file has the header; *data is mapped later.
static SrStatus prepare(const char *path, const Header *want, bool renew) {
    bool same = false;
    if (sr_file_exists(path)) {
        SR_TRY(check_header(path, want, &same));
        if (!same && !renew)
            SR_FAIL(SR_ERR_CONFIG,
                    "DISTILLATION.CACHE_FILE: %s holds outputs of another teacher, or for other "
                    "images, views or batches; name another file, or remove this one",
                    path);
        if (!same)
            sr_warn("%s holds outputs of another teacher, or for other images, views or batches, "
                    "so it is written again",
                    path);
    }
    return same ? SR_OK : sr_file_write(path, want, sizeof *want);
}

SrStatus sr_teacher_cache_open(const char *path, const SrTeacherCacheForm *form, bool renew,
                               SrTeacherCache **out) {
    Header want = header_of(form);
    SrTeacherCache *c = sr_calloc(1, sizeof *c);
    void *data = NULL;
    *out = NULL;
    if (!c || !(c->path = sr_strdup(path))) {
        sr_free(c);
        return sr_out_of_memory("%s", path);
    }
    c->form = *form;
    c->bytes = sr_teacher_cache_bytes(form);
    SrStatus status = prepare(path, &want, renew);
    if (status == SR_OK)
        status = sr_file_map_shared(path, c->bytes, &data);
    c->data = data;
    if (status != SR_OK)
        sr_teacher_cache_close(c);
    else
        *out = c;
    return status;
}

void sr_teacher_cache_close(SrTeacherCache *c) {
    if (!c)
        return;
    sr_file_unmap_temporary(c->data, c->bytes);
    sr_free((void *)(uintptr_t)c->path);
    sr_free(c);
}

static int64_t number_of(const SrTeacherCache *c, int64_t epoch, int64_t batch) {
    return epoch * c->form.batches + batch;
}

static char *at(const SrTeacherCache *c, int64_t number) {
    return c->data + HEADER_BYTES + (size_t)number * record_bytes(&c->form);
}

// A record copied to the place of another does not verify.
static uint32_t sum_of(int64_t number, const char *values, int64_t n) {
    uint32_t sum = sr_checkpoint_sum(0, &number, sizeof number);
    return sr_checkpoint_sum(sum, values, (size_t)n * sizeof(uint16_t));
}

int64_t sr_teacher_cache_written(const SrTeacherCache *c) {
    int64_t n = 0;
    for (int64_t i = 0; i < c->form.epochs * c->form.batches; i++) {
        Record r;
        memcpy(&r, at(c, i), sizeof r);
        n += r.mark == MARK;
    }
    return n;
}

const uint16_t *sr_teacher_cache_find(SrTeacherCache *c, int64_t epoch, int64_t batch, int64_t n) {
    int64_t number = number_of(c, epoch, batch);
    if (epoch >= c->form.epochs || batch >= c->form.batches || n > c->form.values)
        return NULL;
    const char *from = at(c, number);
    Record r;
    memcpy(&r, from, sizeof r);
    if (r.mark == 0)
        return NULL;
    if (r.mark == MARK && r.n == n && r.checksum == sum_of(number, from + RECORD_BYTES, n))
        return (const uint16_t *)(const void *)(from + RECORD_BYTES);
    if (!c->said)
        sr_warn("%s: a record is damaged, so the teacher computes it again", c->path);
    c->said = true;
    return NULL;
}

// The mark comes last: a process that is killed in between leaves a record without a mark.
void sr_teacher_cache_put(SrTeacherCache *c, int64_t epoch, int64_t batch, const uint16_t *values,
                          int64_t n) {
    int64_t number = number_of(c, epoch, batch);
    if (epoch >= c->form.epochs || batch >= c->form.batches || n > c->form.values)
        return;
    char *to = at(c, number);
    Record r = {0, 0, n};
    memcpy(to, &r, sizeof r);
    atomic_thread_fence(memory_order_seq_cst);
    memcpy(to + RECORD_BYTES, values, (size_t)n * sizeof *values);
    r.checksum = sum_of(number, to + RECORD_BYTES, n);
    memcpy(to, &r, sizeof r);
    atomic_thread_fence(memory_order_seq_cst);
    memcpy(to, &(uint32_t){MARK}, sizeof(uint32_t));
}
