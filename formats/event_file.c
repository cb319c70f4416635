// Encodes events as protocol buffers and frames them as TFRecords.
#include "formats/event_file.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"

enum { BUCKETS = 30 };
enum { VARINT, FIXED64, BYTES, FIXED32 = 5 }; // wire types of protocol buffers

uint32_t sr_crc32c(const void *bytes, size_t n) {
    const unsigned char *b = bytes;
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; i++) {
        crc ^= b[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    }
    return ~crc;
}

// ---- protocol buffers ---------------------------------------------------------------------------

static void put_varint(SrText *out, uint64_t v) {
    char byte;
    do {
        byte = (char)((v & 0x7F) | (v > 0x7F ? 0x80 : 0));
        sr_text_addn(out, &byte, 1);
        v >>= 7;
    } while (v);
}

// Writes little-endian bytes on every machine.
static void put_fixed(SrText *out, uint64_t v, int bytes) {
    char b[8];
    for (int i = 0; i < bytes; i++)
        b[i] = (char)(v >> 8 * i);
    sr_text_addn(out, b, (size_t)bytes);
}

static void put_key(SrText *out, int field, int type) {
    put_varint(out, (uint64_t)field << 3 | (uint64_t)type);
}

static void put_int(SrText *out, int field, int64_t v) {
    put_key(out, field, VARINT);
    put_varint(out, (uint64_t)v);
}

static uint64_t bits_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static void put_double(SrText *out, int field, double v) {
    put_key(out, field, FIXED64);
    put_fixed(out, bits_of(v), 8);
}

static void put_float(SrText *out, int field, double v) {
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    put_key(out, field, FIXED32);
    put_fixed(out, bits, 4);
}

static void put_bytes(SrText *out, int field, const void *bytes, size_t n) {
    put_key(out, field, BYTES);
    put_varint(out, n);
    sr_text_addn(out, bytes, n);
}

static void put_doubles(SrText *out, int field, const double *v, int n) {
    put_key(out, field, BYTES);
    put_varint(out, (uint64_t)n * 8);
    for (int i = 0; i < n; i++)
        put_fixed(out, bits_of(v[i]), 8);
}

// ---- records ------------------------------------------------------------------------------------

static uint32_t masked(const void *bytes, size_t n) {
    uint32_t crc = sr_crc32c(bytes, n);
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

static void give_up(SrEventFile *e) {
    sr_warn("sslrun stops writing events for TensorBoard: %s", strerror(errno));
    fclose(e->f);
    e->f = NULL;
}

// A record for which memory is short is left out; the next one may fit.
static void write_record(SrEventFile *e) {
    SrText *frame = &e->value; // no longer needed at this point
    const SrText *r = &e->record;
    bool failed = r->failed || e->part.failed || e->value.failed;
    sr_text_restart(frame);
    put_fixed(frame, r->len, 8);
    if (failed || frame->failed) {
        sr_warn("an event for TensorBoard is left out, because memory is short");
        return;
    }
    put_fixed(frame, masked(frame->s, 8), 4);
    bool whole = fwrite(frame->s, 1, frame->len, e->f) == frame->len &&
                 fwrite(r->s, 1, r->len, e->f) == r->len;
    frame->len = 0;
    put_fixed(frame, masked(r->s, r->len), 4);
    if (!whole || fwrite(frame->s, 1, 4, e->f) != 4)
        give_up(e);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Wraps the Summary.Value in e->value into an Event with one value.
static void write_value(SrEventFile *e, int64_t step) {
    sr_text_restart(&e->record);
    sr_text_restart(&e->part);
    put_bytes(&e->part, 1, e->value.s, e->value.len);
    put_double(&e->record, 1, now());
    put_int(&e->record, 2, step);
    put_bytes(&e->record, 5, e->part.s, e->part.len);
    write_record(e);
}

// Adds e->part to the value.
static void put_part(SrEventFile *e, int field) {
    put_bytes(&e->value, field, e->part.s, e->part.len);
    e->value.failed |= e->part.failed;
}

static void begin_value(SrEventFile *e, const char *tag) {
    sr_text_restart(&e->value);
    put_bytes(&e->value, 1, tag, strlen(tag));
}

void sr_event_scalar(SrEventFile *e, int64_t step, const char *tag, double value) {
    if (!e->f)
        return;
    begin_value(e, tag);
    put_float(&e->value, 2, value);
    write_value(e, step);
}

void sr_event_image(SrEventFile *e, int64_t step, const char *tag, int h, int w,
                    const SrText *png) {
    if (!e->f)
        return;
    sr_text_restart(&e->part);
    put_int(&e->part, 1, h);
    put_int(&e->part, 2, w);
    put_int(&e->part, 3, 3); // RGB
    put_bytes(&e->part, 4, png->s, png->len);
    begin_value(e, tag);
    put_part(e, 4);
    write_value(e, step);
}

void sr_event_histogram(SrEventFile *e, int64_t step, const char *tag, const float *x, int64_t n) {
    double low = INFINITY, high = -INFINITY, sum = 0, squares = 0;
    double limit[BUCKETS], count[BUCKETS] = {0};
    if (!e->f || n < 1)
        return;
    for (int64_t i = 0; i < n; i++) {
        double v = (double)x[i];
        if (!isfinite(v))
            return; // the caller reports it
        low = fmin(low, v);
        high = fmax(high, v);
        sum += v;
        squares += v * v;
    }
    double width = high > low ? (high - low) / BUCKETS : 1;
    for (int k = 0; k < BUCKETS; k++)
        limit[k] = low + width * (k + 1);
    for (int64_t i = 0; i < n; i++)
        count[(int)SR_MIN(((double)x[i] - low) / width, BUCKETS - 1)]++;
    sr_text_restart(&e->part);
    put_double(&e->part, 1, low);
    put_double(&e->part, 2, high);
    put_double(&e->part, 3, (double)n);
    put_double(&e->part, 4, sum);
    put_double(&e->part, 5, squares);
    put_doubles(&e->part, 6, limit, BUCKETS);
    put_doubles(&e->part, 7, count, BUCKETS);
    begin_value(e, tag);
    put_part(e, 5);
    write_value(e, step);
}

void sr_event_flush(SrEventFile *e) {
    if (e->f && fflush(e->f) != 0)
        give_up(e);
}

SrStatus sr_event_file_open(SrEventFile *e, const char *dir) {
    static const char version[] = "brain.Event:2";
    char host[64] = "", name[160], path[4096];
    *e = (SrEventFile){.f = NULL};
    gethostname(host, sizeof host - 1);
    SR_TRY(sr_file_mkdirs(dir));
    snprintf(name, sizeof name, "events.out.tfevents.%010lld.%s.%ld", (long long)time(NULL),
             *host ? host : "host", (long)getpid());
    SR_TRY(sr_file_join(path, sizeof path, dir, name));
    e->f = fopen(path, "ae");
    if (!e->f)
        SR_FAIL(SR_ERR_IO, "cannot write %s: %s", path, strerror(errno));
    put_double(&e->record, 1, now());
    put_bytes(&e->record, 3, version, strlen(version));
    write_record(e);
    return SR_OK;
}

void sr_event_file_close(SrEventFile *e) {
    sr_event_flush(e);
    if (e->f)
        fclose(e->f);
    sr_text_deinit(&e->record);
    sr_text_deinit(&e->value);
    sr_text_deinit(&e->part);
    e->f = NULL;
}
