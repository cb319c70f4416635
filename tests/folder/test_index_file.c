// Tests the file of an index: what is written is read back, lists replace each other, cut and
// damaged files keep what is whole, and a second writer is refused.
#include "folder/index/index_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/temp_dir.h"

enum { D = 5, N = 7 };
static const SrIndexKind kind = {UINT64_C(0x1234567890abcdef), D, "{\"model\": \"test\"}"};

typedef struct {
    char dir[64], path[128];
    char names[N][64];
    SrIndexRecord record[N];
    uint16_t rows[N * D];
} Fixture;

static void begin(Fixture *f) {
    static const char *const odd[] = {"a b.jpg", "line\nbreak.png", "\xc3\xbc\xe2\x82\xac.webp",
                                      ""};
    temp_dir_make(f->dir);
    snprintf(f->path, sizeof f->path, "%s/sub/x.index", f->dir);
    for (int i = 0; i < N; i++) {
        snprintf(f->names[i], sizeof f->names[i], "photos/%d %s", i, odd[i % 4]);
        f->record[i] = (SrIndexRecord){.name = f->names[i],
                                       .bytes = 100 + i,
                                       .mtime = 1000 + i,
                                       .hash = (uint64_t)i * 77,
                                       .length = (float)i,
                                       .flags = i == 3 ? SR_INDEX_BAD : 0};
        for (int k = 0; k < D; k++)
            f->rows[i * D + k] = (uint16_t)(i * 100 + k);
    }
}

static void add(Fixture *f, SrIndexWriter *w, int first, int n) {
    CHECK_OK(sr_index_writer_add(w, f->record + first, f->rows + first * D, n));
}

// Writes the records in two blocks and a list of the even ones in reverse.
static void write_file(Fixture *f) {
    SrIndexWriter *w;
    SrIndexFile *file;
    const uint32_t record[] = {6, 4, 2, 0};
    const int32_t label[] = {0, 1, -1, 0};
    const SrIndexList list = {4, record, label, 2, "cat\0dog", 8};
    CHECK_OK(sr_index_writer_open(f->path, &kind, &w, &file));
    CHECK_INT(sr_index_file_records(file), 0);
    add(f, w, 0, 3);
    add(f, w, 3, 4);
    CHECK_OK(sr_index_writer_list(w, &list));
    CHECK_OK(sr_index_writer_close(w));
}

static void check_record(const Fixture *f, const SrIndexFile *file, int64_t r, int i) {
    SrIndexRecord got;
    sr_index_file_record(file, r, &got);
    CHECK_STR(got.name, f->names[i]);
    CHECK_INT(got.bytes, f->record[i].bytes);
    CHECK_INT(got.mtime, f->record[i].mtime);
    CHECK_INT(got.hash, f->record[i].hash);
    CHECK_INT(got.flags, f->record[i].flags);
    CHECK_NEAR(got.length, f->record[i].length, 0);
    CHECK(memcmp(sr_index_file_row(file, r), f->rows + i * D, D * 2) == 0);
}

TEST(test_round_trip) {
    Fixture f;
    SrIndexFile *file;
    SrIndexKind got;
    SrIndexList list;
    begin(&f);
    write_file(&f);
    CHECK_OK(sr_index_file_open(f.path, &file));
    sr_index_file_kind(file, &got);
    CHECK(got.key == kind.key && got.d == D);
    CHECK_STR(got.description, kind.description);
    CHECK_INT(sr_index_file_records(file), N);
    for (int i = 0; i < N; i++)
        check_record(&f, file, i, i);
    sr_index_file_list(file, &list);
    CHECK_INT(list.n, 4);
    CHECK_INT(list.record[1], 4);
    CHECK_INT(list.label[2], -1);
    CHECK_INT(list.classes, 2);
    CHECK_STR(list.class_names + 4, "dog");
    sr_index_file_close(file);
    temp_dir_remove(f.dir);
}

TEST(test_other_kinds_are_refused) {
    Fixture f;
    SrIndexWriter *w;
    SrIndexFile *file;
    SrIndexKind other = kind;
    begin(&f);
    write_file(&f);
    other.key++;
    CHECK_FAILS(sr_index_writer_open(f.path, &other, &w, &file), SR_ERR_CONFIG, "another model");
    CHECK_OK(sr_file_write(f.path, "not an index", 12));
    CHECK_FAILS(sr_index_file_open(f.path, &file), SR_ERR_CONFIG, "no index of sslrun");
    temp_dir_remove(f.dir);
}

// A reader that opened the file before keeps its list while a writer appends.
TEST(test_readers_and_one_writer) {
    Fixture f;
    SrIndexFile *reader, *file, *later;
    SrIndexWriter *w;
    SrIndexList list;
    const uint32_t record[] = {7};
    const int32_t label[] = {-1};
    begin(&f);
    write_file(&f);
    CHECK_OK(sr_index_file_open(f.path, &reader));
    CHECK_OK(sr_index_writer_open(f.path, &kind, &w, &file));
    pid_t child = fork();
    if (child == 0) {
        SrIndexWriter *second;
        SrStatus status = sr_index_writer_open(f.path, &kind, &second, &file);
        _exit(status == SR_ERR_IO && strstr(sr_status_message(), "process") ? 0 : 1);
    }
    int code;
    CHECK(waitpid(child, &code, 0) == child && code == 0);
    add(&f, w, 5, 1);
    CHECK_OK(sr_index_file_open(f.path, &later));
    sr_index_file_list(later, &list);
    CHECK_INT(list.n, 4); // the old list: the new record is in none
    sr_index_file_close(later);
    CHECK_OK(sr_index_writer_list(w, &(SrIndexList){1, record, label, 0, NULL, 0}));
    CHECK_OK(sr_index_writer_close(w));
    sr_index_file_list(reader, &list);
    CHECK_INT(list.n, 4);
    check_record(&f, reader, list.record[0], 6);
    sr_index_file_close(reader);
    CHECK_OK(sr_index_file_open(f.path, &later));
    sr_index_file_list(later, &list);
    CHECK_INT(list.n, 1);
    check_record(&f, later, list.record[0], 5);
    sr_index_file_close(later);
    temp_dir_remove(f.dir);
}

// Whatever a kill leaves of the file, readers open it or refuse it, and a writer resumes with all
// records of whole blocks.
TEST(test_cut_files) {
    Fixture f;
    char *bytes, cut[160];
    size_t n;
    begin(&f);
    write_file(&f);
    CHECK_OK(sr_file_read(f.path, 1 << 20, &bytes, &n));
    snprintf(cut, sizeof cut, "%s/cut.index", f.dir);
    int64_t most = 0;
    for (size_t i = 0; i < n; i += 8) {
        SrIndexFile *file;
        SrIndexWriter *w;
        CHECK_OK(sr_file_write(cut, bytes, i));
        SrStatus status = sr_index_file_open(cut, &file);
        CHECK(status == SR_OK || status == SR_ERR_CONFIG);
        if (status != SR_OK)
            continue;
        sr_index_file_close(file);
        CHECK_OK(sr_index_writer_open(cut, &kind, &w, &file));
        int64_t records = sr_index_file_records(file);
        CHECK(records == 0 || records == 3 || records == N);
        CHECK(records >= most);
        most = records;
        for (int64_t r = 0; r < records; r++)
            check_record(&f, file, r, (int)r);
        add(&f, w, 2, 1);
        CHECK_OK(sr_index_writer_close(w));
        CHECK_OK(sr_index_file_open(cut, &file));
        CHECK_INT(sr_index_file_records(file), records + 1);
        check_record(&f, file, records, 2);
        sr_index_file_close(file);
    }
    CHECK_INT(most, N);
    sr_free(bytes);
    temp_dir_remove(f.dir);
}

// A wrong byte anywhere costs at most the records of its block and those after a lost header;
// what remains is right.
TEST(test_damaged_files) {
    Fixture f;
    char *bytes;
    size_t n;
    begin(&f);
    write_file(&f);
    SrLogLevel level = sr_log_set_level(SR_LOG_ERROR);
    CHECK_OK(sr_file_read(f.path, 1 << 20, &bytes, &n));
    for (size_t i = 0; i < n; i += 3) {
        SrIndexFile *file;
        SrIndexWriter *w;
        bytes[i] ^= 0x55;
        CHECK_OK(sr_file_write(f.path, bytes, n));
        bytes[i] ^= 0x55;
        SrStatus status = sr_index_writer_open(f.path, &kind, &w, &file);
        CHECK(status == SR_OK || status == SR_ERR_CONFIG);
        if (status != SR_OK)
            continue;
        for (int64_t r = 0; r < sr_index_file_records(file); r++) {
            SrIndexRecord got;
            sr_index_file_record(file, r, &got);
            int number = atoi(got.name + sizeof "photos/" - 1);
            CHECK(number >= 0 && number < N);
            check_record(&f, file, r, number);
        }
        sr_index_writer_abort(w);
    }
    sr_log_set_level(level);
    sr_free(bytes);
    temp_dir_remove(f.dir);
}

// Records that no list names any more leave the file once they are most of it.
TEST(test_rewrite) {
    Fixture f;
    SrIndexWriter *w;
    SrIndexFile *file;
    SrIndexList list;
    const uint32_t record[] = {1, 4};
    const int32_t label[] = {0, 0};
    begin(&f);
    CHECK_OK(sr_index_writer_open(f.path, &kind, &w, &file));
    for (int i = 0; i < 1000; i++)
        add(&f, w, 0, N);
    CHECK_OK(sr_index_writer_list(w, &(SrIndexList){2, record, label, 1, "one", 4}));
    CHECK_OK(sr_index_writer_close(w));
    CHECK_OK(sr_index_file_open(f.path, &file));
    CHECK_INT(sr_index_file_records(file), 2);
    sr_index_file_list(file, &list);
    CHECK_INT(list.n, 2);
    CHECK_STR(list.class_names, "one");
    check_record(&f, file, list.record[0], 1);
    check_record(&f, file, list.record[1], 4);
    sr_index_file_close(file);
    temp_dir_remove(f.dir);
}

SR_TESTS(index_file, unit(test_round_trip), unit(test_other_kinds_are_refused),
         unit(test_readers_and_one_writer), unit(test_cut_files), unit(test_damaged_files),
         unit(test_rewrite))
