// Tests safetensors files: a written file reads back, and a file with a wrong header is refused
// with a reason.
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/text/text.h"
#include "formats/weights/checkpoint_sums.h"
#include "formats/weights/safetensors.h"
#include "formats/weights/weights.h"
#include "tests/check.h"
#include "tests/failures.h"
#include "tests/temp_dir.h"

static char dir[64], path[128];

static int set_up(void **state) {
    (void)state;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/t.safetensors", dir);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    temp_dir_remove(dir);
    return 0;
}

// Writes a file with this header and `data_bytes` bytes 0, 1, 2, ...; header_bytes is the length
// that the file claims.
static void write_raw(const char *header, uint64_t header_bytes, int data_bytes) {
    SrText text = SR_TEXT_INIT;
    for (int i = 0; i < 8; i++)
        sr_text_addn(&text, (char[]){(char)(header_bytes >> (8 * i) & 0xFF)}, 1);
    sr_text_add(&text, header);
    for (int i = 0; i < data_bytes; i++)
        sr_text_addn(&text, (char[]){(char)i}, 1);
    CHECK_OK(sr_file_write_text(path, &text));
    sr_text_deinit(&text);
}

static SrStatus open_raw(SrSafetensors *st, const char *header, int data_bytes) {
    write_raw(header, strlen(header), data_bytes);
    return sr_safetensors_open(st, path);
}

static void refuses(const char *header, int data_bytes, const char *message) {
    SrSafetensors st;
    int64_t live = sr_mem_live();
    CHECK_FAILS(open_raw(&st, header, data_bytes), SR_ERR_CONFIG, message);
    CHECK(strstr(sr_status_message(), path)); // every message names the file
    CHECK_INT(sr_mem_live(), live);
    CHECK(!st.map && st.n == 0);
}

static SrNamedTensor named(const char *name, SrDtype dtype, SrShape shape, const void *data) {
    return (SrNamedTensor){name, {shape, dtype, (void *)(uintptr_t)data}};
}

TEST(test_round_trip) {
    static const float weights[6] = {1, -2.5f, 0, 3e-38f, INFINITY, 7};
    static const int64_t step = 1ll << 60;
    static const uint8_t bytes[3] = {0, 128, 255};
    SrNamedTensor tensors[] = {named("trunk.w", SR_F32, SR_SHAPE(2, 3), weights),
                               named("step", SR_I64, SR_SCALAR, &step),
                               named("empty", SR_F64, SR_SHAPE(0, 4), NULL),
                               named("odd \"name\"\n\xc3\xa9", SR_U8, SR_SHAPE(3), bytes)};
    const char *const keys[] = {"config", "format"}, *const values[] = {"a: \"b\"\n", "pt"};
    CHECK_OK(sr_safetensors_save(path, tensors, 4, keys, values, 2));
    SrSafetensors st;
    CHECK_OK(sr_safetensors_open(&st, path));
    CHECK_INT(st.n, 4);
    CHECK_INT((uintptr_t)sr_safetensors_find(&st, "trunk.w")->data % 64,
              0); // the mapping is page aligned
    for (int i = 0; i < 4; i++) {
        const SrTensor *ours = &tensors[i].tensor,
                       *theirs = sr_safetensors_find(&st, tensors[i].name);
        CHECK(theirs && sr_shape_equal(ours->shape, theirs->shape) && ours->dtype == theirs->dtype);
        size_t n = (size_t)sr_shape_count(ours->shape) * sr_dtype_bytes(ours->dtype);
        CHECK(n == 0 || memcmp(ours->data, theirs->data, n) == 0);
    }
    CHECK_STR(sr_safetensors_meta(&st, "config"), "a: \"b\"\n");
    CHECK_STR(sr_safetensors_meta(&st, "format"), "pt");
    CHECK(!sr_safetensors_meta(&st, "x") && !sr_safetensors_find(&st, "x"));
    CHECK(!sr_safetensors_find(&st, "__metadata__"));
    sr_safetensors_close(&st);
    sr_safetensors_close(&st); // a second close is allowed
}

TEST(test_no_tensors) {
    SrSafetensors st;
    CHECK_OK(sr_safetensors_save(path, NULL, 0, NULL, NULL, 0));
    CHECK_OK(sr_safetensors_open(&st, path));
    CHECK(st.n == 0 && st.n_meta == 0);
    sr_safetensors_close(&st);
}

// Tensors are listed in the order of their data, whatever the order of the header, and are
// aligned even if the file's are not.
TEST(test_foreign_file) {
    SrSafetensors st;
    CHECK_OK(
        open_raw(&st,
                 "{\"b\":{\"shape\":[1],\"dtype\":\"F32\",\"data_offsets\":[1,5]}, "
                 "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"extra\":1}}  ",
                 5));
    CHECK_STR(st.tensors[0].name, "a");
    CHECK_STR(st.tensors[1].name, "b");
    const SrTensor *b = sr_safetensors_find(&st, "b");
    CHECK_INT((uintptr_t)b->data % 4, 0);
    CHECK(memcmp(b->data, "\1\2\3\4", 4) == 0);
    sr_safetensors_close(&st);
}

#define TENSOR(dtype, shape, offsets) \
    "{\"t\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

TEST(test_lying_headers) {
    refuses("", 0, "not valid JSON");
    refuses("[]", 0, "an object in braces");
    refuses("{", 0, "not valid JSON");
    refuses("{\"t\":1}", 0, "element type 'none'");
    refuses(TENSOR("\"F99\"", "[1]", "[0,4]"), 4,
            "tensor 't': element type 'F99' is not supported");
    refuses(TENSOR("32", "[1]", "[0,4]"), 4, "element type '32'");
    refuses(TENSOR("\"F32\"", "1", "[0,4]"), 4, "no shape");
    refuses(TENSOR("\"F32\"", "[-1]", "[0,4]"), 4, "a dimension");
    refuses(TENSOR("\"F32\"", "[1.5]", "[0,4]"), 4, "a dimension");
    refuses(TENSOR("\"F32\"", "[\"1\"]", "[0,4]"), 4, "a dimension");
    refuses(TENSOR("\"F32\"", "[4294967296]", "[0,4]"), 4, "a dimension");
    refuses(TENSOR("\"F32\"", "[1,1,1,1,1,1,1]", "[0,4]"), 4, "more dimensions");
    refuses(TENSOR("\"F32\"", "[2147483647,2147483647,2147483647]", "[0,4]"), 4, "overflows");
    refuses(TENSOR("\"F32\"", "[65536,65536,65536,16384]", "[0,0]"), 0,
            "overflows"); // 2^62 * 4 is 0 in 64 bits
    refuses(TENSOR("\"F32\"", "[2]", "[0,4]"), 4, "does not agree with its shape");
    refuses(TENSOR("\"F32\"", "[1]", "[0,8]"), 4, "beyond the end");
    refuses(TENSOR("\"F32\"", "[1]", "[4,0]"), 4, "data_offsets");
    refuses(TENSOR("\"F32\"", "[1]", "[-4,0]"), 4, "data_offsets");
    refuses(TENSOR("\"F32\"", "[1]", "[0]"), 4, "data_offsets");
    refuses(TENSOR("\"F32\"", "[1]", "[0,1e30]"), 4, "data_offsets");
    refuses(TENSOR("\"F32\"", "[1]", "[null,4]"), 4, "data_offsets");
    refuses(TENSOR("\"F32\"", "[1]", "\"x\""), 4, "data_offsets");
    refuses(TENSOR("\"F32\"", "[1]", "[0,4]"), 5, "1 bytes follow the last tensor");
    refuses(TENSOR("\"F32\"", "[1]", "[1,5]"), 5, "a gap before it");
    refuses("{}", 1, "1 bytes follow");
}

TEST(test_lying_maps) {
    refuses("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
            "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
            3, "tensor 'b': it overlaps");
    refuses("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
            "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
            2, "tensor 'a': occurs twice");
    refuses("{\"__metadata__\":5}", 0, "__metadata__ is not a map");
    refuses("{\"__metadata__\":{\"a\":5}}", 0, "metadata 'a' is not a string");
    refuses("{\"__metadata__\":{\"a\":\"1\"},\"__metadata__\":{\"b\":\"2\"}}", 0,
            "__metadata__ occurs twice");
}

// Headers of one more tensor, and of one more pair of metadata, than are read.
TEST(test_limits) {
    SrText t = SR_TEXT_INIT;
    for (int i = 0; i <= 100000; i++)
        sr_text_printf(&t, "%s\"%d\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                       i ? "," : "{", i);
    sr_text_add(&t, "}");
    refuses(t.s, 0, "more than 100000 tensors");
    sr_text_deinit(&t);
    for (int i = 0; i <= 65536; i++)
        sr_text_printf(&t, "%s\"%d\":\"\"", i ? "," : "{\"__metadata__\":{", i);
    sr_text_add(&t, "}}");
    refuses(t.s, 0, "has more than 65536 keys");
    sr_text_deinit(&t);
}

TEST(test_lying_lengths) {
    SrSafetensors st;
    const uint64_t claims[] = {3,          100,        100000001,     1ull << 40,
                               1ull << 63, UINT64_MAX, UINT64_MAX - 7};
    for (int i = 0; i < (int)(sizeof claims / sizeof claims[0]); i++) {
        write_raw("{}", claims[i], 0);
        CHECK_FAILS(sr_safetensors_open(&st, path), SR_ERR_CONFIG, "not a safetensors file");
    }
    for (int n = 0; n < 8; n++) {
        CHECK_OK(sr_file_write(path, "\2\0\0\0\0\0\0", (size_t)n));
        CHECK_FAILS(sr_safetensors_open(&st, path), SR_ERR_CONFIG, "not a safetensors file");
    }
    CHECK_FAILS(sr_safetensors_open(&st, dir), SR_ERR_IO, "not a regular file");
    CHECK_FAILS(sr_safetensors_open(&st, "/nonexistent"), SR_ERR_IO, "No such file");
}

static void save_two(void) {
    static const float a[20] = {1, 2, 3};
    static const int32_t b[7] = {4, 5};
    SrNamedTensor tensors[] = {named("a", SR_F32, SR_SHAPE(4, 5), a),
                               named("b", SR_I32, SR_SHAPE(7), b)};
    const char *const key = "k", *const value = "v";
    CHECK_OK(sr_safetensors_save(path, tensors, 2, &key, &value, 1));
}

// A file cut at any place is refused.
TEST(test_truncated) {
    char *whole;
    size_t bytes;
    SrSafetensors st;
    save_two();
    CHECK_OK(sr_file_read(path, 10000, &whole, &bytes));
    for (size_t n = 0; n < bytes; n++) {
        CHECK_INT(truncate(path, (off_t)(bytes - 1 - n)), 0);
        CHECK_INT(sr_safetensors_open(&st, path), SR_ERR_CONFIG);
    }
    sr_free(whole);
}

// With any byte flipped the file is refused, or all of its tensors can be read.
TEST(test_flipped_bytes) {
    char *whole;
    size_t bytes;
    save_two();
    CHECK_OK(sr_file_read(path, 10000, &whole, &bytes));
    SrRng rng = sr_rng(1, SR_RNG_TEST, 0, 0, 0, 0);
    unsigned sum = 0; // sum of all bytes, so that a sanitizer sees each being read
    for (int i = 0; i < 300; i++) {
        size_t at = sr_rng_below(&rng, 220);
        char old = whole[at];
        whole[at] = (char)sr_rng_u32(&rng);
        CHECK_OK(sr_file_write(path, whole, bytes));
        whole[at] = old;
        SrSafetensors st;
        SrStatus status = sr_safetensors_open(&st, path);
        CHECK(status == SR_OK || status == SR_ERR_CONFIG);
        for (int t = 0; t < st.n; t++) {
            const SrTensor *tensor = &st.tensors[t].tensor;
            size_t n = (size_t)sr_shape_count(tensor->shape) * sr_dtype_bytes(tensor->dtype);
            for (size_t k = 0; k < n; k++)
                sum += ((const unsigned char *)tensor->data)[k];
        }
        sr_safetensors_close(&st);
    }
    CHECK(sum > 0);
    sr_free(whole);
}

// Each allocation of reading and writing fails once: a memory error, no leak, and the old file in
// place.
TEST(test_without_memory) {
    float w[4] = {1, 2, 3, 4};
    SrNamedTensor tensor = named("w", SR_F32, SR_SHAPE(4), w);
    const char *const key = "k", *const value = "v";
    CHECK_OK(sr_safetensors_save(path, &tensor, 1, &key, &value, 1));
    w[0] = 9;
    int64_t live = sr_mem_live();
    for (int n = 1; n < 1000; n++) {
        sr_mem_fail_at(n);
        SrStatus saved = sr_safetensors_save(path, &tensor, 1, &key, &value, 1);
        sr_mem_fail_at(n);
        SrSafetensors st = {0};
        SrStatus opened = sr_safetensors_open(&st, path);
        sr_mem_fail_at(0);
        CHECK(saved == SR_OK || saved == SR_ERR_MEMORY);
        CHECK(opened == SR_OK || opened == SR_ERR_MEMORY);
        if (opened == SR_OK)
            CHECK(((const float *)sr_safetensors_find(&st, "w")->data)[0] ==
                  (saved == SR_OK ? 9 : 1));
        sr_safetensors_close(&st);
        CHECK_INT(sr_mem_live(), live);
        if (saved == SR_OK && opened == SR_OK)
            return;
    }
    fail_msg("never succeeded");
}

// A copy of an unaligned tensor needs memory.
static SrStatus open_unaligned(void *arg) {
    SrSafetensors st;
    (void)arg;
    SR_TRY(sr_safetensors_open(&st, path));
    sr_safetensors_close(&st);
    return SR_OK;
}

TEST(test_unaligned_without_memory) {
    write_raw(TENSOR("\"F64\"", "[10000]", "[0,80000]"),
              strlen(TENSOR("\"F64\"", "[10000]", "[0,80000]")), 80000);
    CHECK(strlen(TENSOR("\"F64\"", "[10000]", "[0,80000]")) % 8 != 0);
    CHECK(fail_allocations(open_unaligned, NULL) > 1);
}

// A header and tensors that are longer than the buffers of the C library.
static SrStatus save_whole(void *arg) {
    enum { N = 100 };
    static const float a[4000] = {1, 2, 3};
    static char names[N][200];
    SrNamedTensor tensors[N];
    const char *const key = "k", *const value = "v";
    (void)arg;
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "a tensor of a long name, number %150d", i);
        tensors[i] = named(names[i], SR_F32, SR_SHAPE(i == 5 ? 4000 : i % 3), a);
    }
    return sr_safetensors_save(path, tensors, N, &key, &value, 1);
}

TEST(test_full_disk) { fail_writes(save_whole, NULL, path, 40); }

// ---- checkpoints --------------------------------------------------------------------------------

static char *decimal(uint32_t sum, char out[16]) {
    snprintf(out, 16, "%u", (unsigned)sum);
    return out;
}

// Writes a checkpoint of one tensor "w" with these values; NULL leaves the key out.
static void write_checkpoint(const char *version, const char *checksums) {
    static const float w[2] = {1, 2};
    const SrNamedTensor tensor = named("w", SR_F32, SR_SHAPE(2), w);
    const char *keys[4] = {"format"}, *values[4] = {SR_CHECKPOINT_NAME};
    char sum[16];
    int n = 1;
    if (version)
        keys[n] = "format_version", values[n++] = version;
    if (checksums)
        keys[n] = "checksums", values[n++] = checksums;
    keys[n] = "metadata_checksum";
    values[n] = decimal(sr_checkpoint_metadata_sum(keys, values, n), sum);
    CHECK_OK(sr_safetensors_save(path, &tensor, 1, keys, values, n + 1));
}

static SrStatus verify(void) {
    SrSafetensors st;
    CHECK_OK(sr_safetensors_open(&st, path));
    SrStatus status = sr_checkpoint_verify(&st, path);
    sr_safetensors_close(&st);
    return status;
}

TEST(test_checksums) {
    static const float w[2] = {1, 2};
    char sum[16], good[64], more[64];
    decimal(sr_checkpoint_sum(0, w, sizeof w), sum);
    snprintf(good, sizeof good, "{\"w\": %s}", sum);
    snprintf(more, sizeof more, "{\"w\": %s, \"x\": 1}", sum);
    write_checkpoint("1", good);
    CHECK_OK(verify());
    write_checkpoint(NULL, good);
    CHECK_FAILS(verify(), SR_ERR_CONFIG, "has checkpoint format (none), but this version");
    write_checkpoint("2", good);
    CHECK_FAILS(verify(), SR_ERR_CONFIG, "has checkpoint format 2, but this version");
    write_checkpoint("1", NULL);
    CHECK_FAILS(verify(), SR_ERR_IO, "damaged checkpoint: it has no checksums");
    write_checkpoint("1", "{\"w\": 7}");
    CHECK_FAILS(verify(), SR_ERR_IO, "the checksum of 'w' differs");
    write_checkpoint("1", "{}");
    CHECK_FAILS(verify(), SR_ERR_IO, "the checksum of 'w' differs");
    write_checkpoint("1", more);
    CHECK_FAILS(verify(), SR_ERR_IO, "damaged checkpoint: tensors are missing");
    write_checkpoint("1", "{\"w\": ");
    CHECK_FAILS(verify(), SR_ERR_IO, "damaged checkpoint: its checksums are not JSON");
}

// A file of another program may have metadata of any name.
TEST(test_foreign_checksums) {
    static const float w[2] = {1, 2};
    const SrNamedTensor tensor = named("w", SR_F32, SR_SHAPE(2), w);
    const char *const keys[] = {"format", "checksums"}, *const values[] = {"pt", "sha256:00"};
    SrWeights weights;
    CHECK_OK(sr_safetensors_save(path, &tensor, 1, keys, values, 2));
    CHECK_OK(sr_weights_open(&weights, path));
    CHECK_OK(sr_weights_verify_sums(&weights));
    sr_weights_close(&weights);
    CHECK_FAILS(verify(), SR_ERR_CONFIG, "is not a checkpoint of sslrun");
    write_checkpoint("1", "{\"w\": 7}");
    CHECK_OK(sr_weights_open(&weights, path));
    CHECK_FAILS(sr_weights_verify_sums(&weights), SR_ERR_IO, "the checksum of 'w' differs");
    sr_weights_close(&weights);
    write_checkpoint("1", NULL); // there is nothing to compare
    CHECK_OK(sr_weights_open(&weights, path));
    CHECK_OK(sr_weights_verify_sums(&weights));
    sr_weights_close(&weights);
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
SR_TESTS(safetensors, in_folder(test_round_trip), in_folder(test_no_tensors),
         in_folder(test_foreign_file), in_folder(test_lying_headers), in_folder(test_lying_maps),
         in_folder(test_lying_lengths), in_folder(test_truncated), in_folder(test_flipped_bytes),
         in_folder(test_without_memory), in_folder(test_limits),
         in_folder(test_unaligned_without_memory), in_folder(test_full_disk),
         in_folder(test_checksums), in_folder(test_foreign_checksums))
