// Tests TensorBoard files of a run, read back by the test's own reader: lengths, checksums,
// messages, tags, values, pictures.
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/mem.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "formats/event_file.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static ProgramResult result; // two 64 kB texts: too large for the stack of a test

// ---- the reader, which shares no code with the writer

typedef struct {
    const unsigned char *at, *end;
} Bytes;

static uint64_t little(const unsigned char *b, int n) {
    uint64_t v = 0;
    while (n-- > 0)
        v = v << 8 | b[n];
    return v;
}

// Computes CRC-32C bit by bit from the polynomial of RFC 3720.
static uint32_t crc_by_table(const unsigned char *b, size_t n) {
    static uint32_t table[256];
    uint32_t crc = 0xFFFFFFFF;
    if (!table[1])
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t r = 0, v = i;
            for (int k = 0; k < 8; k++, v >>= 1) // the polynomial reflected
                r = r << 1 | (v & 1);
            r <<= 24;
            for (int k = 0; k < 8; k++)
                r = r << 1 ^ (r >> 31 ? 0x1EDC6F41u : 0);
            uint32_t back = 0;
            for (int k = 0; k < 32; k++)
                back |= (r >> k & 1) << (31 - k);
            table[i] = back;
        }
    for (size_t i = 0; i < n; i++)
        crc = crc >> 8 ^ table[(crc ^ b[i]) & 255];
    return ~crc;
}

static void check_sum(const unsigned char *b, size_t n, uint64_t stored) {
    uint32_t v = (uint32_t)stored - 0xA282EAD8u;
    CHECK_INT(v >> 17 | v << 15, crc_by_table(b, n));
}

static bool next_record(Bytes *file, Bytes *out) {
    if (file->at == file->end)
        return false;
    CHECK(file->end - file->at >= 16);
    uint64_t n = little(file->at, 8);
    check_sum(file->at, 8, little(file->at + 8, 4));
    CHECK(n <= (uint64_t)(file->end - file->at) - 16);
    *out = (Bytes){file->at + 12, file->at + 12 + n};
    check_sum(out->at, n, little(out->end, 4));
    file->at = out->end + 4;
    return true;
}

static uint64_t varint(Bytes *b) {
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        CHECK(b->at < b->end && shift < 64);
        unsigned char c = *b->at++;
        v |= (uint64_t)(c & 127) << shift;
        if (c < 128)
            return v;
    }
}

// Reads the next field: its number, and its value or its bytes.
static int next_field(Bytes *b, uint64_t *value, Bytes *bytes) {
    if (b->at == b->end)
        return 0;
    uint64_t key = varint(b);
    int n = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : 0;
    if ((key & 7) == 2) {
        uint64_t len = varint(b);
        CHECK(len <= (uint64_t)(b->end - b->at));
        *bytes = (Bytes){b->at, b->at + len};
        b->at += len;
    } else if (n) {
        CHECK(b->end - b->at >= n);
        *value = little(b->at, n);
        b->at += n;
    } else {
        CHECK((key & 7) == 0);
        *value = varint(b);
    }
    return (int)(key >> 3);
}

typedef struct {
    char tag[256];
    int64_t step;
    float scalar;
    bool has_scalar;
    int h, w;
    Bytes png, histogram;
} Event;

static void read_image(Bytes image, Event *out) {
    uint64_t v = 0;
    Bytes bytes;
    for (int f; (f = next_field(&image, &v, &bytes));) {
        out->h = f == 1 ? (int)v : out->h;
        out->w = f == 2 ? (int)v : out->w;
        out->png = f == 4 ? bytes : out->png;
    }
}

static void read_value(Bytes value, Event *out) {
    uint64_t v = 0;
    Bytes bytes = {0};
    for (int f; (f = next_field(&value, &v, &bytes));) {
        uint32_t bits = (uint32_t)v;
        if (f == 1)
            snprintf(out->tag, sizeof out->tag, "%.*s", (int)(bytes.end - bytes.at),
                     (const char *)bytes.at);
        if (f == 2) {
            memcpy(&out->scalar, &bits, 4);
            out->has_scalar = true;
        }
        if (f == 4)
            read_image(bytes, out);
        if (f == 5)
            out->histogram = bytes;
    }
}

// Parses an event; returns false for the first record, which holds the version.
static bool read_event(Bytes record, Event *out) {
    uint64_t v = 0;
    Bytes bytes = {0};
    bool summary = false;
    *out = (Event){.step = 0};
    for (int f; (f = next_field(&record, &v, &bytes));) {
        if (f == 2)
            out->step = (int64_t)v;
        if (f == 3)
            CHECK(bytes.end - bytes.at == 13 && memcmp(bytes.at, "brain.Event:2", 13) == 0);
        if (f == 5) {
            Bytes value, list = bytes;
            uint64_t unused;
            CHECK_INT(next_field(&list, &unused, &value), 1);
            read_value(value, out);
            summary = true;
        }
    }
    return summary;
}

// Returns the content of the single event file of a folder. The caller frees it.
static char *event_file(const char *dir, Bytes *out) {
    char **names, *data = NULL, path[512];
    int n;
    size_t bytes;
    CHECK_OK(sr_file_list(dir, &names, &n));
    for (int i = 0; i < n; i++)
        if (strncmp(names[i], "events.out.tfevents.", 20) == 0) {
            CHECK(!data);
            snprintf(path, sizeof path, "%s/%s", dir, names[i]);
            CHECK_OK(sr_file_read(path, 1 << 26, &data, &bytes));
        }
    sr_file_list_free(names, n);
    CHECK(data);
    *out = (Bytes){(unsigned char *)data, (unsigned char *)data + bytes};
    return data;
}

// ---- tests --------------------------------------------------------------------------------------

static int lines_of(const char *dir, const char *name) {
    char path[256], *text;
    size_t n;
    int lines = 0;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    CHECK_OK(sr_file_read(path, 1 << 24, &text, &n));
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    sr_free(text);
    return lines;
}

static void count_scalars(const char *logs) {
    Bytes file, record;
    Event e;
    int loss = 0, rate = 0, parameters = 0, gradients = 0, probes = 0;
    char *data = event_file(logs, &file);
    CHECK(next_record(&file, &record));
    CHECK(!read_event(record, &e));
    while (next_record(&file, &record)) {
        CHECK(read_event(record, &e));
        loss += strcmp(e.tag, "Training/Loss") == 0 && e.scalar > 0 && e.scalar < 10;
        rate += strcmp(e.tag, "Training/Learning_rate") == 0 && e.step == 0 &&
                fabs((double)e.scalar - 0.3) < 1e-6;
        probes += strcmp(e.tag, "Testing/probe_knn_top1") == 0;
        parameters += strncmp(e.tag, "Parameters/trunk.", 17) == 0 && e.histogram.at;
        gradients += strcmp(e.tag, "Gradients/heads.0.prototypes0.weight") == 0 && e.histogram.at;
    }
    sr_free(data);
    CHECK_INT(loss, 6 + 3); // every fourth of 24 updates, and the end of each epoch of 9
    CHECK_INT(rate, 1);
    CHECK_INT(probes, 3);
    CHECK_INT(parameters, 3 * (20 + 2 * 20)); // convolutions and norms at updates 0, 10, 20
    CHECK_INT(gradients, 3);                  // at updates 0, 10, 20
}

TEST(test_a_runs_events) {
    char dir[64], key[96], logs[128], sheet[160];
    Bytes file, record;
    Event e;
    SrImagePool *pool;
    SrImage image;
    temp_dir_make(dir);
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
    program_run(&result, 1,
                (const char *const[]){"tests/cli/tiny.yaml", key, "TEST_MODEL=True",
                                      "HOOKS.PROBE.EVERY_NUM_EPOCHS=1",
                                      "HOOKS.TENSORBOARD_SETUP.USE_TENSORBOARD=True",
                                      "HOOKS.TENSORBOARD_SETUP.LOG_PARAMS_EVERY_N_ITERS=10", NULL});
    CHECK_INT(result.code, 0);
    snprintf(logs, sizeof logs, "%s/tb_logs", dir);
    count_scalars(logs);

    snprintf(sheet, sizeof sheet, "%s/augmentations", logs);
    char *data = event_file(sheet, &file);
    CHECK(next_record(&file, &record) && next_record(&file, &record) && read_event(record, &e));
    CHECK_STR(e.tag, "Training/Augmentations");
    CHECK_OK(sr_image_pool_new(&pool));
    CHECK_OK(sr_image_decode(e.png.at, (size_t)(e.png.end - e.png.at), pool, &image));
    CHECK_INT(image.H, e.h);
    CHECK_INT(image.W, e.w);
    sr_image_pool_free(pool);
    sr_free(data);

    CHECK_INT(lines_of(logs, "tensors.tsv"), 7);
    CHECK_INT(lines_of(logs, "metadata.tsv"), 8); // with its heading
    CHECK_INT(lines_of(logs, "projector_config.pbtxt"), 10);
    CHECK(lines_of(logs, "sprite.png") > 0);
    temp_dir_remove(dir);
}

// Without the key a run has no such folder.
TEST(test_off_by_default) {
    char dir[64], key[96], logs[128];
    temp_dir_make(dir);
    snprintf(key, sizeof key, "CHECKPOINT.DIR=%s", dir);
    program_run(&result, 1,
                (const char *const[]){"tests/cli/tiny.yaml", key, "OPTIMIZER.num_epochs=1", NULL});
    CHECK_INT(result.code, 0);
    snprintf(logs, sizeof logs, "%s/tb_logs", dir);
    CHECK(!sr_file_exists(logs));
    temp_dir_remove(dir);
}

static double as_double(const unsigned char *b) {
    uint64_t bits = little(b, 8);
    double v;
    memcpy(&v, &bits, 8);
    return v;
}

TEST(test_histograms) {
    char dir[64];
    float x[100];
    SrEventFile events;
    Bytes file, record, bytes;
    Event e;
    uint64_t v = 0;
    double count = 0, last = 0;
    temp_dir_make(dir);
    for (int i = 0; i < 100; i++)
        x[i] = (float)i / 10;
    CHECK_OK(sr_event_file_open(&events, dir));
    sr_event_histogram(&events, 1LL << 40, "x", x, 100);
    x[3] = NAN;
    sr_event_histogram(&events, 2, "not a number", x, 100);
    sr_event_file_close(&events);
    char *data = event_file(dir, &file);
    CHECK(next_record(&file, &record) && next_record(&file, &record) && read_event(record, &e));
    CHECK(e.step == 1LL << 40);
    for (int f; (f = next_field(&e.histogram, &v, &bytes));) {
        if (f == 6)
            last = as_double(bytes.end - 8);
        for (const unsigned char *b = bytes.at; f == 7 && b < bytes.end; b += 8)
            count += as_double(b);
    }
    CHECK_NEAR(count, 100, 0);
    CHECK_NEAR(last, 9.9, 1e-5);
    CHECK(!next_record(&file, &record));
    sr_free(data);
    CHECK_INT(sr_crc32c("123456789", 9), 0xE3069283); // check value in RFC 3720
    temp_dir_remove(dir);
}

// Writes three numbers while the n-th allocation from the first one on fails.  Returns the records
// after that of the version.
static int records_with_fault(int n) {
    char dir[64];
    SrEventFile events;
    Bytes file, record;
    int records = 0;
    temp_dir_make(dir);
    sr_mem_fail_at(0);
    CHECK_OK(sr_event_file_open(&events, dir));
    sr_text_deinit(&events.value); // so that the first number has to allocate
    sr_text_deinit(&events.part);
    sr_mem_fail_at(n);
    for (int i = 0; i < 3; i++)
        sr_event_scalar(&events, i, "loss", 1);
    sr_mem_fail_at(0);
    sr_event_file_close(&events);
    char *data = event_file(dir, &file);
    while (next_record(&file, &record)) // checks the sums
        records++;
    sr_free(data);
    temp_dir_remove(dir);
    return records - 1;
}

// A failed allocation costs its own record and none of the later ones.
TEST(test_memory_is_short) {
    CHECK_INT(records_with_fault(0), 3);
    CHECK_INT(records_with_fault(1), 2);
    CHECK_INT(records_with_fault(2), 2);
}

// A full disk ends the writing, not the run; a folder that cannot be made is an error.
TEST(test_full_disk) {
    char dir[64], place[96];
    struct rlimit old, few;
    SrEventFile events;
    temp_dir_make(dir);
    snprintf(place, sizeof place, "%s/none", dir);
    CHECK_OK(sr_file_write(place, "", 0));
    CHECK_FAILS(sr_event_file_open(&events, place), SR_ERR_IO, place);
    CHECK_OK(sr_event_file_open(&events, dir));
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    few = (struct rlimit){100, old.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &few) == 0);
    for (int i = 0; i < 300; i++)
        sr_event_scalar(&events, i, "loss", 1);
    sr_event_flush(&events);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    signal(SIGXFSZ, handler);
    CHECK(events.f == NULL);
    sr_event_scalar(&events, 300, "loss", 1);
    sr_event_flush(&events);
    sr_event_file_close(&events);
    temp_dir_remove(dir);
}

// Histograms of equal numbers have buckets of width 1; those of none, or of what is no number, are
// left out, and a file that is closed takes nothing.
TEST(test_equal_numbers) {
    static const float equal[3] = {2, 2, 2}, far[2] = {1, -INFINITY};
    char dir[64];
    SrEventFile events;
    SrText png = SR_TEXT_INIT;
    Bytes file, record, bytes = {0};
    Event e;
    uint64_t v = 0;
    double first = 0, count = 0;
    temp_dir_make(dir);
    CHECK_OK(sr_event_file_open(&events, dir));
    sr_event_histogram(&events, 1, "none", equal, 0);
    sr_event_histogram(&events, 1, "far", far, 2);
    sr_event_histogram(&events, 1, "equal", equal, 3);
    sr_event_file_close(&events);
    sr_event_histogram(&events, 2, "late", equal, 3);
    sr_event_scalar(&events, 2, "late", 1);
    sr_event_image(&events, 2, "late", 1, 1, &png);
    sr_event_flush(&events);
    char *data = event_file(dir, &file);
    CHECK(next_record(&file, &record) && next_record(&file, &record) && read_event(record, &e));
    CHECK_STR(e.tag, "equal");
    CHECK(!next_record(&file, &record));
    for (int f; (f = next_field(&e.histogram, &v, &bytes));) {
        first = f == 6 ? as_double(bytes.at) : first;
        count = f == 7 ? as_double(bytes.at) : count;
    }
    CHECK_NEAR(first, 3, 0);
    CHECK_NEAR(count, 3, 0);
    sr_free(data);
    temp_dir_remove(dir);
}

// The disk is found to be full when a single event is flushed.
TEST(test_full_at_flush) {
    char dir[64];
    struct rlimit old, few;
    SrEventFile events;
    temp_dir_make(dir);
    CHECK_OK(sr_event_file_open(&events, dir));
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    few = (struct rlimit){10, old.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &few) == 0);
    sr_event_scalar(&events, 1, "loss", 1);
    bool was_open = events.f != NULL;
    sr_event_flush(&events);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    signal(SIGXFSZ, handler);
    CHECK(was_open && events.f == NULL);
    sr_event_file_close(&events);
    temp_dir_remove(dir);
}

SR_TESTS(tensorboard, unit(test_a_runs_events), unit(test_off_by_default), unit(test_histograms),
         unit(test_memory_is_short), unit(test_full_disk), unit(test_equal_numbers),
         unit(test_full_at_flush))
