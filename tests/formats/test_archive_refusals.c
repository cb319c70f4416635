// Tests rare archives and arrays, built by hand byte by byte: Zip64 fields, compressed arrays and
// byte strings.  Each is read right, or refused with its reason; and every type of numbers.
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "formats/weights/weights.h"
#include "formats/weights/zip_write.h"
#include "tests/check.h"
#include "tests/formats/hand_file.h"

static const float numbers[4] = {1, 2, 3, 4};

// ---- archives -----------------------------------------------------------------------------------

typedef struct {
    const char *name;
    SrText data; // as stored
    int method;
    uint64_t bytes; // uncompressed
    uint32_t crc;
    SrText extra; // of the directory
    bool far;     // sizes and offset are in the extra field
} Entry;

static void add_common(SrText *out, const Entry *e, bool far) {
    hand_file_number(out, 45, 2);
    hand_file_number(out, 0, 2);
    hand_file_number(out, (uint64_t)e->method, 2);
    hand_file_number(out, 0, 4);
    hand_file_number(out, e->crc, 4);
    hand_file_number(out, far ? UINT32_MAX : e->data.len, 4);
    hand_file_number(out, far ? UINT32_MAX : e->bytes, 4);
    hand_file_number(out, strlen(e->name), 2);
}

// Writes an archive of one entry. `before` precedes the record at its end.
static void write_zip(Entry *e, const SrText *before) {
    SrText out = SR_TEXT_INIT;
    sr_text_addn(&out, "PK\3\4", 4);
    add_common(&out, e, false);
    hand_file_number(&out, 0, 2);
    sr_text_add(&out, e->name);
    sr_text_addn(&out, e->data.s, e->data.len);
    size_t directory = out.len;
    sr_text_addn(&out, "PK\1\2", 4);
    hand_file_number(&out, 45, 2);
    add_common(&out, e, e->far);
    hand_file_number(&out, e->extra.len, 2);
    hand_file_number(&out, 0, 2 + 2 + 2 + 4);
    hand_file_number(&out, e->far ? UINT32_MAX : 0, 4);
    sr_text_add(&out, e->name);
    if (e->extra.len)
        sr_text_addn(&out, e->extra.s, e->extra.len);
    size_t bytes = out.len - directory;
    if (before)
        sr_text_addn(&out, before->s, before->len);
    sr_text_addn(&out, "PK\5\6\0\0\0\0\1\0\1\0", 12);
    hand_file_number(&out, bytes, 4);
    hand_file_number(&out, directory, 4);
    hand_file_number(&out, 0, 2);
    hand_file_write(&out);
    sr_text_deinit(&e->data);
    sr_text_deinit(&e->extra);
}

static uint32_t sum_of(const SrText *data) {
    return (uint32_t)crc32(crc32(0, NULL, 0), (const Bytef *)data->s, (uInt)data->len);
}

// Returns an entry that holds these bytes deflated.
static Entry deflated(const char *name, SrText *plain) {
    Entry e = {.name = name, .method = 8, .bytes = plain->len, .crc = sum_of(plain)};
    char out[4096];
    z_stream z = {0};
    CHECK_INT(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)plain->s;
    z.avail_in = (uInt)plain->len;
    z.next_out = (Bytef *)out;
    z.avail_out = sizeof out;
    CHECK_INT(deflate(&z, Z_FINISH), Z_STREAM_END);
    sr_text_addn(&e.data, out, sizeof out - z.avail_out);
    deflateEnd(&z);
    sr_text_deinit(plain);
    return e;
}

// Adds an array of version 1 with this header and these numbers.
static void add_array(SrText *out, const char *header, const void *data, size_t bytes) {
    sr_text_addn(out, "\x93NUMPY\1\0", 8);
    hand_file_number(out, strlen(header), 2);
    sr_text_add(out, header);
    sr_text_addn(out, data, bytes);
}

#define HEADER(descr, order, shape) \
    "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }\n"
#define F4 HEADER("<f4", "False", "(4,)")

static Entry stored_array(void) {
    Entry e = {.name = "x.npy"};
    add_array(&e.data, F4, numbers, sizeof numbers);
    e.bytes = e.data.len;
    e.crc = sum_of(&e.data);
    return e;
}

static void add_field(SrText *extra, int id, int n, uint64_t value) {
    hand_file_number(extra, (uint64_t)id, 2);
    hand_file_number(extra, (uint64_t)(8 * n), 2);
    for (int i = 0; i < n; i++)
        hand_file_number(extra, i == 2 ? 0 : value, 8); // the offset is 0
}

// Sizes and offset of Zip64, among other fields; and fields that are too short for them.
TEST(test_zip64_fields) {
    SrWeights w;
    Entry e = stored_array();
    e.far = true;
    add_field(&e.extra, 0x5455, 1, 77); // times
    add_field(&e.extra, 1, 3, e.bytes);
    add_field(&e.extra, 0x7875, 0, 0);
    write_zip(&e, NULL);
    CHECK_OK(sr_weights_open(&w, hand_file_path));
    CHECK_NEAR(hand_file_element(&w, "x", 3), 4, 0);
    sr_weights_close(&w);
    e = stored_array();
    e.far = true;
    add_field(&e.extra, 1, 2, e.bytes); // without the offset
    write_zip(&e, NULL);
    hand_file_refuse("begins beyond the end of the data");
    e = stored_array();
    e.far = true;
    add_field(&e.extra, 1, 3, e.bytes);
    e.extra.s[2]++; // longer than the extra fields are
    write_zip(&e, NULL);
    hand_file_refuse("begins beyond the end of the data");
    e = stored_array();
    add_field(&e.extra, 1, 3, 5); // sizes that fit 32 bits win
    write_zip(&e, NULL);
    CHECK_OK(sr_weights_open(&w, hand_file_path));
    CHECK_NEAR(hand_file_element(&w, "x", 3), 4, 0);
    sr_weights_close(&w);
}

// A record of Zip64 whose place, count and sizes are right or wrong.
TEST(test_zip64_record) {
    for (int wrong = 0; wrong < 4; wrong++) {
        SrWeights w;
        SrText record = SR_TEXT_INIT;
        Entry e = stored_array();
        uint64_t directory = 30 + 5 + e.data.len, bytes = 46 + 5;
        sr_text_addn(&record, wrong == 1 ? "PK\6\1" : "PK\6\6", 4);
        hand_file_number(&record, 44, 8);
        hand_file_number(&record, 45, 2 + 2 + 4 + 4);
        hand_file_number(&record, 1, 8);
        hand_file_number(&record, wrong == 2 ? 200001 : 1, 8);
        hand_file_number(&record, bytes, 8);
        hand_file_number(&record, directory, 8);
        sr_text_addn(&record, "PK\6\7\0\0\0\0", 8);
        hand_file_number(&record, wrong == 3 ? UINT64_MAX : directory + bytes, 8);
        hand_file_number(&record, 1, 4);
        write_zip(&e, &record);
        sr_text_deinit(&record);
        if (wrong) {
            hand_file_refuse(wrong == 2 ? "claims more entries"
                                        : "its Zip64 record is not where the archive says");
            continue;
        }
        CHECK_OK(sr_weights_open(&w, hand_file_path));
        CHECK_NEAR(hand_file_element(&w, "x", 0), 1, 0);
        sr_weights_close(&w);
    }
}

TEST(test_kinds_of_entries) {
    Entry e = stored_array();
    e.bytes++;
    write_zip(&e, NULL);
    hand_file_refuse("is stored with two different sizes");
    e = stored_array();
    e.method = 12;
    write_zip(&e, NULL);
    hand_file_refuse("is compressed by a method other than deflate");
    e = stored_array();
    e.name = "x.txt";
    write_zip(&e, NULL);
    hand_file_refuse("neither data.pkl (PyTorch) nor *.npy files (NumPy)");
    SrText pickle = SR_TEXT_INIT;
    sr_text_add(&pickle, "N.");
    e = deflated("archive/data.pkl", &pickle);
    write_zip(&e, NULL);
    hand_file_refuse("data.pkl is compressed, but torch.save stores it uncompressed");
}

// Compressed arrays whose claims do not agree with each other or with the stream.
TEST(test_deflated_arrays) {
    static const struct {
        const char *header;
        int bytes, cut; // bytes claimed beyond the right number; bytes left out of the stream
        bool other_sum;
        const char *message;
    } cases[] = {
        {F4, 0, 0, false, NULL},
        {F4, 4, 0, false, "its size does not agree with its shape"},
        {F4, -4, 0, false, "its size does not agree with its shape"},
        {HEADER("<f4", "False", "(5,)"), 0, 0, false, "its size does not agree with its shape"},
        {HEADER("<f4", "False", "(5,)"), 4, 0, false, "it does not inflate to"},
        {HEADER("<f4", "False", "(3,)"), -4, 0, false, "it does not inflate to"},
        {F4, 0, 1, false, "it does not inflate to"},
        {F4, 0, 0, true, "is damaged: CRC-32"},
        {HEADER("<f4", "True", "(2, 2)"), 0, 0, false, NULL},
    };
    SrText plain = SR_TEXT_INIT;
    SrWeights w;
    for (int i = 0; i < SR_COUNT(cases); i++) {
        add_array(&plain, cases[i].header, numbers, sizeof numbers);
        Entry e = deflated("x.npy", &plain);
        e.bytes += (uint64_t)(int64_t)cases[i].bytes;
        e.data.len -= (size_t)cases[i].cut;
        e.crc ^= cases[i].other_sum;
        write_zip(&e, NULL);
        if (cases[i].message) {
            hand_file_refuse(cases[i].message);
            continue;
        }
        CHECK_OK(sr_weights_open(&w, hand_file_path));
        CHECK_NEAR(hand_file_element(&w, "x", 1), i ? 3 : 2, 0); // columns vary fastest, or rows
        CHECK_NEAR(hand_file_element(&w, "x", 3), 4, 0);
        sr_weights_close(&w);
    }
    add_array(&plain, F4, numbers, sizeof numbers);
    plain.s[8] = (char)200;
    Entry e = deflated("x.npy", &plain);
    write_zip(&e, NULL);
    hand_file_refuse("array 'x': not NumPy's format, or its header is cut off");
    sr_text_add(&plain, "\x93NUMPY\1");
    e = deflated("x.npy", &plain);
    write_zip(&e, NULL);
    hand_file_refuse("array 'x': cut off");
}

// The functions of the archive, without a reader of arrays in front of them.
TEST(test_zip_read) {
    SrArena arena = SR_ARENA_INIT;
    SrZip zip;
    char *bytes, four[4];
    size_t n;
    Entry e = stored_array();
    write_zip(&e, NULL);
    CHECK_OK(sr_file_read(hand_file_path, 4096, &bytes, &n));
    CHECK_OK(sr_zip_open(&zip, &arena, bytes, n, hand_file_path));
    const SrZipEntry *x = sr_zip_find(&zip, "x.npy");
    CHECK(x && !sr_zip_find(&zip, "y.npy"));
    CHECK_OK(sr_zip_read(x, hand_file_path, four, 4));
    CHECK(memcmp(four, "\x93NUM", 4) == 0);
    CHECK_FAILS(sr_zip_read(x, hand_file_path, four, x->bytes + 1), SR_ERR_CONFIG,
                "'x.npy' has only");
    CHECK_FAILS(sr_zip_open(&zip, &arena, bytes, 21, hand_file_path), SR_ERR_CONFIG,
                "it is cut off");
    static const char empty[22] = "PK\5\6";
    CHECK_OK(sr_zip_open(&zip, &arena, empty, sizeof empty, hand_file_path));
    CHECK(zip.n == 0 && !sr_zip_find(&zip, "x.npy"));
    sr_arena_deinit(&arena);
    sr_free(bytes);
}

// An archive of more than 4 GiB, which takes little of the disk: a hole lies between its arrays.
TEST(test_beyond_4_gib) {
    SrText array = SR_TEXT_INIT;
    SrZipWriter z;
    SrWeights w;
    add_array(&array, F4, numbers, sizeof numbers);
    CHECK_OK(sr_zip_begin(&z, hand_file_path));
    CHECK_OK(sr_zip_add(&z, "near.npy", NULL, 0, array.s, array.len));
    z.at = ((uint64_t)1 << 32) + 64;
    CHECK_INT(fseeko(z.file.f, (off_t)z.at, SEEK_SET), 0);
    CHECK_OK(sr_zip_add(&z, "far.npy", NULL, 0, array.s, array.len));
    CHECK_FAILS(sr_zip_add(&z, "more", NULL, 0, array.s, UINT32_MAX), SR_ERR_CONFIG,
                "'more' has more than 4 GiB; write .safetensors");
    CHECK_OK(sr_zip_commit(&z));
    sr_text_deinit(&array);
    CHECK_OK(sr_weights_open(&w, hand_file_path));
    CHECK_INT(w.n, 2);
    CHECK_NEAR(hand_file_element(&w, "near", 1), 2, 0);
    CHECK_NEAR(hand_file_element(&w, "far", 3), 4, 0);
    CHECK(w.zip.entries[0].begin > UINT32_MAX);
    sr_weights_close(&w);
}

// ---- arrays -------------------------------------------------------------------------------------

// Byte strings are rows of bytes, which end in zeros.
TEST(test_byte_strings) {
    SrText out = SR_TEXT_INIT;
    SrWeights w;
    SrTensor t;
    add_array(&out, HEADER("|S3", "True", "(2,)"), "a\0\0bcd", 6);
    hand_file_write(&out);
    CHECK_OK(sr_weights_open(&w, hand_file_path));
    CHECK_OK(sr_weights_read(&w, 0, &t));
    CHECK(t.dtype == SR_U8 && sr_shape_equal(t.shape, SR_SHAPE(2, 3)));
    CHECK(memcmp(t.data, "a\0\0bcd", 6) == 0);
    sr_weights_close(&w);
    add_array(&out, HEADER("|S3", "False", "(1, 2)"), "a\0\0bcd", 6);
    hand_file_write(&out);
    hand_file_refuse("its element type is not a little-endian number");
    add_array(&out, HEADER("|S0", "False", "(2,)"), "", 0);
    hand_file_write(&out);
    hand_file_refuse("element type");
    add_array(&out, HEADER("<u4", "False", "(1,)"), "abcd", 4);
    hand_file_write(&out);
    hand_file_refuse("its element type is not a little-endian number");
}

// ---- numbers ------------------------------------------------------------------------------------

// Every type of elements as floats, more of them than one piece holds.
TEST(test_floats) {
    enum { N = 1500 };
    static double x[N];
    static float out[N];
    static int8_t i8[N];
    static int16_t i16[N];
    static int32_t i32[N];
    static int64_t i64[N];
    static uint8_t u8[N];
    static float f32[N];
    static uint16_t half[N];
    for (int i = 0; i < N; i++) {
        x[i] = i8[i] = (int8_t)(i % 128 - 64);
        i16[i] = i8[i], i32[i] = i8[i], i64[i] = i8[i], f32[i] = i8[i];
        u8[i] = (uint8_t)(i % 3);
        half[i] = 0x3C00; // 1
    }
    const struct {
        SrDtype dtype;
        void *data;
    } signs[] = {{SR_I8, i8},   {SR_I16, i16}, {SR_I32, i32},
                 {SR_I64, i64}, {SR_F32, f32}, {SR_F64, x}};
    for (int k = 0; k < SR_COUNT(signs); k++) {
        sr_weights_floats(&(SrTensor){SR_SHAPE(N), signs[k].dtype, signs[k].data}, out);
        for (int i = 0; i < N; i++)
            CHECK_NEAR(out[i], x[i], 0);
    }
    const SrDtype bytes[] = {SR_U8, SR_BOOL};
    for (int k = 0; k < SR_COUNT(bytes); k++) {
        sr_weights_floats(&(SrTensor){SR_SHAPE(N), bytes[k], u8}, out);
        CHECK_NEAR(out[N - 1], (N - 1) % 3, 0);
    }
    sr_weights_floats(&(SrTensor){SR_SHAPE(N), SR_F16, half}, out);
    CHECK_NEAR(out[N - 1], 1, 0);
    half[0] = 0x7C00, half[1] = 0xFC00; // infinities
    sr_weights_floats(&(SrTensor){SR_SHAPE(N), SR_F16, half}, out);
    CHECK(isinf(out[0]) && out[0] > 0 && isinf(out[1]) && out[1] < 0);
    half[0] = 0x3F80; // 1
    sr_weights_floats(&(SrTensor){SR_SHAPE(1), SR_BF16, half}, out);
    CHECK_NEAR(out[0], 1, 0);
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, hand_file_begin, hand_file_end)
SR_TESTS(archive_refusals, in_folder(test_zip64_fields), in_folder(test_zip64_record),
         in_folder(test_kinds_of_entries), in_folder(test_deflated_arrays),
         in_folder(test_zip_read), in_folder(test_beyond_4_gib), in_folder(test_byte_strings),
         unit(test_floats))
