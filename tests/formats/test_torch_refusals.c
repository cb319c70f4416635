// Tests rare values in files of weights, built by hand byte by byte: scalars, shared and misplaced
// storages, Zip64 fields, compressed arrays and byte strings.  Each is read right, or refused with
// its reason.
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "formats/weights/weights.h"
#include "formats/weights/zip_write.h"
#include "tests/check.h"
#include "tests/formats/weights_bound.h"
#include "tests/temp_dir.h"

static char dir[64], path[128];

static int set_up(void **state) {
    (void)state;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/file", dir);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    temp_dir_remove(dir);
    return 0;
}

static void add_number(SrText *out, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++)
        sr_text_addn(out, (char[]){i < 8 ? (char)(v >> (8 * i)) : 0}, 1);
}

static void write_file(SrText *text) {
    CHECK_OK(sr_file_write(path, text->s, text->len));
    sr_text_deinit(text);
}

// Refuses the file at `path` when it is opened or when its tensors are read.
static void refuse_file(const char *message) {
    SrStatus status;
    weights_bound_check(path, &status);
    if (status != SR_ERR_CONFIG || !strstr(sr_status_message(), message) ||
        !strstr(sr_status_message(), path))
        fail_msg("status %d, \"%s\", expected \"%s\"", (int)status, sr_status_message(), message);
}

static double element(SrWeights *w, const char *name, int64_t i) {
    SrTensor t = {0};
    double out = 0;
    int at = sr_weights_find(w, name);
    CHECK(at >= 0);
    CHECK_OK(sr_weights_read(w, at, &t));
    sr_weights_doubles(&t, i, 1, &out);
    return out;
}

// ---- pickles ------------------------------------------------------------------------------------

static void add_text(SrText *out, const char *s) {
    sr_text_add(out, "X");
    add_number(out, strlen(s), 4);
    sr_text_add(out, s);
}

static void add_int(SrText *out, int64_t v) {
    sr_text_add(out, "\x8a\x08");
    add_number(out, (uint64_t)v, 8);
}

#define GLOBAL(module, name) "c" module "\n" name "\n"
#define TENSOR_OF GLOBAL("torch._utils", "_rebuild_tensor_v2")

// Adds the name of a storage of `type` ("FloatStorage") under a key.
static void add_storage(SrText *out, const char *type, const char *key, int64_t count) {
    sr_text_add(out, "(");
    add_text(out, "storage");
    sr_text_printf(out, GLOBAL("torch", "%s"), type);
    add_text(out, key);
    add_text(out, "cpu");
    add_int(out, count);
    sr_text_add(out, "tQ");
}

// Adds a tensor of one dimension.
static void add_tensor(SrText *out, const char *type, const char *key, int64_t count,
                       int64_t offset, int64_t size, int64_t stride) {
    sr_text_add(out, TENSOR_OF "(");
    add_storage(out, type, key, count);
    add_int(out, offset);
    sr_text_add(out, "(");
    add_int(out, size);
    sr_text_add(out, "t(");
    add_int(out, stride);
    sr_text_add(out, "ttR");
}

// Writes an archive with this pickle and, if it is not NULL, one storage named "0".
static void write_torch(SrText *pickle, const void *storage, size_t bytes) {
    SrZipWriter z;
    CHECK_OK(sr_zip_begin(&z, path));
    CHECK_OK(sr_zip_add(&z, "archive/data.pkl", NULL, 0, pickle->s, pickle->len));
    if (storage)
        CHECK_OK(sr_zip_add(&z, "archive/data/0", NULL, 0, storage, bytes));
    CHECK_OK(sr_zip_commit(&z));
    sr_text_deinit(pickle);
}

static const float numbers[4] = {1, 2, 3, 4};

static void refuse_torch(SrText *pickle, const char *message) {
    write_torch(pickle, numbers, sizeof numbers);
    refuse_file(message);
}

#define NUMPY_SCALAR GLOBAL("numpy.core.multiarray", "scalar") "(" GLOBAL("numpy", "dtype") "("

static void add_scalar(SrText *out, const char *key, const char *type, const void *data, int n) {
    add_text(out, key);
    sr_text_add(out, NUMPY_SCALAR);
    add_text(out, type);
    sr_text_add(out, "tRC"); // SHORT_BINBYTES
    add_number(out, (uint64_t)n, 1);
    sr_text_addn(out, data, (size_t)n);
    sr_text_add(out, "tR");
}

static void check_meta(const SrWeights *w, const char *key, const char *value) {
    const char *meta = sr_weights_meta(w, key);
    if (!meta || strcmp(meta, value) != 0)
        fail_msg("%s is %s, expected %s", key, meta ? meta : "missing", value);
}

TEST(test_numpy_scalars) {
    SrText p = SR_TEXT_INIT;
    SrWeights w;
    float f = 0.5f;
    double d = -2.25;
    int64_t i = -7;
    sr_text_add(&p, "}(");
    add_scalar(&p, "f4", "f4", &f, 4);
    add_scalar(&p, "f8", "f8", &d, 8);
    add_scalar(&p, "i8", "i8", &i, 8);
    add_scalar(&p, "short f4", "f4", &f, 3);
    add_scalar(&p, "short f8", "f8", &d, 7);
    add_scalar(&p, "short i8", "i8", &i, 4);
    add_scalar(&p, "unknown", "M8", &i, 8);
    add_text(&p, "no bytes");
    sr_text_add(&p, NUMPY_SCALAR);
    add_text(&p, "f8");
    sr_text_add(&p, "tRK\1tR");
    add_text(&p, "no type");
    sr_text_add(&p, GLOBAL("numpy.core.multiarray", "scalar") "(K\1K\1tR");
    add_text(&p, "one argument");
    sr_text_add(&p, GLOBAL("numpy.core.multiarray", "scalar") "(K\1tRu.");
    write_torch(&p, NULL, 0);
    CHECK_OK(sr_weights_open(&w, path));
    CHECK_INT(w.n_meta, 10);
    check_meta(&w, "f4", "0.5");
    check_meta(&w, "f8", "-2.25");
    check_meta(&w, "i8", "-7");
    check_meta(&w, "short f4", "None");
    check_meta(&w, "short f8", "None");
    check_meta(&w, "short i8", "None");
    check_meta(&w, "unknown", "None");
    check_meta(&w, "no bytes", "None");
    check_meta(&w, "no type", "None");
    check_meta(&w, "one argument", "None");
    sr_weights_close(&w);
}

// An OrderedDict of protocol 2 takes its pairs as an argument.
TEST(test_dicts) {
    SrText p = SR_TEXT_INIT;
    SrWeights w;
    sr_text_add(&p, GLOBAL("collections", "OrderedDict") "((");
    sr_text_add(&p, "("), add_text(&p, "a"), sr_text_add(&p, "K\1l");
    sr_text_add(&p, "("), add_text(&p, "b"), sr_text_add(&p, "K\2l");
    sr_text_add(&p, "ltR(");
    add_text(&p, "defaults");
    sr_text_add(&p, GLOBAL("collections", "defaultdict") "(" GLOBAL("builtins", "dict") "tR(");
    add_text(&p, "c"), sr_text_add(&p, "\x89u");
    add_text(&p, "no pairs");
    sr_text_add(&p, GLOBAL("collections", "OrderedDict") "(K\5tR");
    add_text(&p, "namespace");
    sr_text_add(&p, GLOBAL("argparse", "Namespace") ")\x81}(");
    add_text(&p, "x"), sr_text_add(&p, "K\3ub");
    add_text(&p, "numbered"); // the state has one key, which is no text
    sr_text_add(&p, GLOBAL("argparse", "Namespace") ")\x81}(K\6K\7ub");
    add_text(&p, "versions"); // PyTorch's metadata: left out
    sr_text_add(&p, GLOBAL("collections", "OrderedDict") ")R}(");
    add_text(&p, "_metadata"), sr_text_add(&p, "K\1ub");
    add_text(&p, "bytes"); // an e with an acute accent, as latin1
    sr_text_add(&p, GLOBAL("_codecs", "encode") "(");
    add_text(&p, "\xc3\xa9t\xc3");
    add_text(&p, "latin1");
    sr_text_add(&p, "tRu.");
    write_torch(&p, NULL, 0);
    CHECK_OK(sr_weights_open(&w, path));
    check_meta(&w, "a", "1");
    check_meta(&w, "b", "2");
    check_meta(&w, "defaults.c", "False");
    check_meta(&w, "namespace.x", "3");
    check_meta(&w, "numbered.6", "7");
    check_meta(&w, "bytes", "\xe9t\xc3");
    CHECK_INT(w.n_meta, 6);
    sr_weights_close(&w);
    sr_text_add(&p, GLOBAL("collections", "OrderedDict") "((K\1ltR.");
    refuse_torch(&p, "an OrderedDict holds something other than pairs");
    sr_text_add(&p, GLOBAL("collections", "OrderedDict") "(((K\1lltR.");
    refuse_torch(&p, "an OrderedDict holds something other than pairs");
    sr_text_add(&p, GLOBAL("_codecs", "encode") "(K\1tR.");
    refuse_torch(&p, "bytes are not valid text");
    sr_text_add(&p, GLOBAL("_codecs", "encode") ")R.");
    refuse_torch(&p, "bytes are not valid text");
    sr_text_add(&p, "(K\1d.");
    refuse_torch(&p, "a dict has a key without a value");
    sr_text_add(&p, "}(K\1u.");
    refuse_torch(&p, "it adds items to a value that takes none");
    sr_text_addn(&p, "}(G\0\0\0\0\0\0\0\0K\1u.", 15);
    refuse_torch(&p, "a key below '' is neither text nor a number");
}

TEST(test_lists) {
    SrText p = SR_TEXT_INIT;
    SrWeights w;
    sr_text_add(&p, "}(");
    add_text(&p, "ten"), sr_text_add(&p, "(");
    for (int i = 0; i < 10; i++)
        sr_text_printf(&p, "K%c", i + 1);
    sr_text_add(&p, "l");
    add_text(&p, "kinds"), sr_text_add(&p, "(N\x88\x89" GLOBAL("torch", "float32"));
    add_storage(&p, "FloatStorage", "0", 4);
    sr_text_add(&p, "l");
    add_text(&p, "empty"), add_text(&p, "");
    add_text(&p, "nested"), sr_text_add(&p, "(K\1(K\2K\3ll");
    for (int i = 0; i < 100; i++) {
        char key[16];
        snprintf(key, sizeof key, "many %d", i);
        add_text(&p, key), sr_text_add(&p, "K\1");
    }
    sr_text_add(&p, "u.");
    write_torch(&p, numbers, sizeof numbers);
    CHECK_OK(sr_weights_open(&w, path));
    check_meta(&w, "ten", "[1, 2, 3, 4, 5, 6, 7, 8, ... 10 items]");
    check_meta(&w, "kinds", "[None, True, False, float32, [...]]");
    check_meta(&w, "empty", "");
    check_meta(&w, "nested.0", "1");
    check_meta(&w, "nested.1", "[2, 3]");
    check_meta(&w, "many 99", "1");
    CHECK_INT(w.n_meta, 105);
    CHECK_INT(w.n, 0);
    CHECK_INT(sr_weights_find(&w, "ten"), -1);
    sr_weights_close(&w);
}

TEST(test_extents) {
    static const struct {
        int64_t offset, size, stride;
        const char *message;
    } cases[] = {
        {0, 5, 1, "reaches beyond the end of its storage"},
        {1, 4, 1, "reaches beyond the end of its storage"},
        {0, 3, 2, "reaches beyond the end of its storage"},
        {-1, 1, 1, "reaches beyond the end of its storage"},
        {-1, 0, 1, "reaches beyond the end of its storage"},
        {0, -1, 1, "a size or stride that is negative or beyond 2^31"},
        {0, (int64_t)1 << 31, 0, "a size or stride that is negative or beyond 2^31"},
        {0, 2, -1, "a size or stride that is negative or beyond 2^31"},
        {0, 5, INT64_MAX / 2, "sizes and strides that overflow"},
        {INT64_MAX, 2, 1, "sizes and strides that overflow"},
    };
    SrText p = SR_TEXT_INIT;
    SrWeights w;
    for (int i = 0; i < SR_COUNT(cases); i++) {
        sr_text_add(&p, "}");
        add_text(&p, "t");
        add_tensor(&p, "FloatStorage", "0", 4, cases[i].offset, cases[i].size, cases[i].stride);
        sr_text_add(&p, "s.");
        refuse_torch(&p, cases[i].message);
        CHECK(strstr(sr_status_message(), "tensor 't'"));
    }
    sr_text_add(&p, "}"); // an empty tensor may begin anywhere
    add_text(&p, "t");
    add_tensor(&p, "FloatStorage", "0", 4, 9, 0, 1);
    sr_text_add(&p, "s.");
    write_torch(&p, numbers, sizeof numbers);
    CHECK_OK(sr_weights_open(&w, path));
    CHECK_INT(w.tensors[0].bytes, 0);
    sr_weights_close(&w);
    for (int rank = 2; rank <= 3; rank++) { // one number seen as 2^62 or 2^93 of them
        sr_text_add(&p, TENSOR_OF "(");
        add_storage(&p, "FloatStorage", "0", 4);
        add_int(&p, 0), sr_text_add(&p, "(");
        for (int i = 0; i < rank; i++)
            add_int(&p, INT32_MAX);
        sr_text_add(&p, "t(");
        for (int i = 0; i < rank; i++)
            add_int(&p, 0);
        sr_text_add(&p, "ttR.");
        refuse_torch(&p, "a shape that overflows");
    }
}

// Adds a call with the arguments `before`, the storage "0", and `after`.
static void refuse_call(const char *before, const char *after, const char *message) {
    SrText p = SR_TEXT_INIT;
    sr_text_add(&p, before);
    add_storage(&p, "FloatStorage", "0", 4);
    sr_text_add(&p, after);
    refuse_torch(&p, message);
}

TEST(test_arguments) {
    static const char lists[] = "the sizes and strides of a tensor are not two lists";
    refuse_call(TENSOR_OF "(", "K\1(K\1ttR.", "a tensor has no storage or no offset");
    refuse_call(TENSOR_OF "(K\1", "(K\1t(K\1ttR.", "a tensor has no storage or no offset");
    refuse_call(TENSOR_OF "(", "N(K\1t(K\1ttR.", "a tensor has no storage or no offset");
    refuse_call(TENSOR_OF "(", "K\1K\1(K\1ttR.", lists);
    refuse_call(TENSOR_OF "(", "K\1(K\1tK\1tR.", lists);
    refuse_call(TENSOR_OF "(", "K\1(K\1t(K\1K\1ttR.", lists);
    refuse_call(TENSOR_OF "(", "K\1(Nt(K\1ttR.", lists);
    refuse_call(TENSOR_OF "(", "K\1(K\1K\1K\1K\1K\1K\1K\1t(K\1ttR.", lists);
    refuse_call(GLOBAL("torch._utils", "_rebuild_parameter") "(", "tR.",
                "a parameter has no tensor");
    refuse_call("", "0" GLOBAL("torch._utils", "_rebuild_parameter") ")R.",
                "a parameter has no tensor");
    refuse_call(GLOBAL("torch", "float32") "(", "tR.", "it calls a type that is not a function");
    refuse_call(GLOBAL("torch", "IntStorage") "(", "tR.", "it calls a type that is not a function");
    refuse_call("(K\1", "o.", "opcode 0x6f");
}

TEST(test_parameter) {
    SrText p = SR_TEXT_INIT;
    SrWeights w;
    sr_text_add(&p, "}");
    add_text(&p, "w");
    sr_text_add(&p, GLOBAL("torch._utils", "_rebuild_parameter") "(");
    add_tensor(&p, "FloatStorage", "0", 4, 1, 2, 2);
    sr_text_add(&p, "\x88)tRs.");
    write_torch(&p, numbers, sizeof numbers);
    CHECK_OK(sr_weights_open(&w, path));
    CHECK_NEAR(element(&w, "w", 0), 2, 0);
    CHECK_NEAR(element(&w, "w", 1), 4, 0);
    sr_weights_close(&w);
}

// The parts of a persistent id, each wrong in turn.
TEST(test_persistent_ids) {
    static const char type[] = GLOBAL("torch", "FloatStorage"), dict[] = GLOBAL("builtins", "dict"),
                      zero[] = "X\1\0\0\0"
                               "0";
    static const struct {
        const char *kind; // "storage" by default
        const char *type;
        bool keyed;
        int64_t count;
        const char *end;
        const char *message;
    } cases[] = {
        {"storage", type, true, 4, "tQ.", NULL},
        {"storage", type, true, 4, "NtQ.", NULL},
        {"storage", type, true, 4, "K\1tQ.", "views of storages (PyTorch before 0.4)"},
        {"module", type, true, 4, "tQ.", "a persistent id is not a storage"},
        {NULL, type, true, 4, "tQ.", "a persistent id is not a storage"},
        {"storage", dict, true, 4, "tQ.", "a persistent id is not a storage"},
        {"storage", "N", true, 4, "tQ.", "a persistent id is not a storage"},
        {"storage", type, false, 4, "tQ.", "a persistent id is not a storage"},
        {"storage", type, true, -4, "tQ.", "a persistent id is not a storage"},
        {"storage", type, true, 4, "0NtQ.", "a persistent id is not a storage"},
        {"storage", type, true, 4, "0tQ.", "a persistent id is not a storage"},
        {"storage", type, true, 4, "t0K\1Q.", "a persistent id is not a storage"},
        {"storage", type, true, INT64_MAX, "tQ.", "claims an impossible number of elements"},
        {"storage", type, true, 5, "tQ.", "has 16 bytes, its tensors need 20"},
    };
    SrWeights w;
    for (int i = 0; i < SR_COUNT(cases); i++) {
        SrText p = SR_TEXT_INIT;
        sr_text_add(&p, "(");
        if (cases[i].kind)
            add_text(&p, cases[i].kind);
        else
            sr_text_add(&p, "N");
        sr_text_add(&p, cases[i].type);
        sr_text_addn(&p, cases[i].keyed ? zero : "N", cases[i].keyed ? sizeof zero - 1 : 1);
        add_text(&p, "cpu");
        add_int(&p, cases[i].count);
        sr_text_add(&p, cases[i].end);
        write_torch(&p, numbers, sizeof numbers);
        if (cases[i].message) {
            refuse_file(cases[i].message);
        } else {
            CHECK_OK(sr_weights_open(&w, path));
            sr_weights_close(&w);
        }
    }
}

// Opens {"a": {"b": t}, "a.b": t}, whose tensors have one name after their keys are joined.
TEST(test_equal_names) {
    SrText p = SR_TEXT_INIT;
    sr_text_add(&p, "}(");
    add_text(&p, "a"), sr_text_add(&p, "}"), add_text(&p, "b");
    add_tensor(&p, "FloatStorage", "0", 4, 0, 4, 1);
    sr_text_add(&p, "s");
    add_text(&p, "a.b");
    add_tensor(&p, "FloatStorage", "0", 4, 0, 4, 1);
    sr_text_add(&p, "u.");
    refuse_torch(&p, "two tensors are called 'a.b'");
}

TEST(test_bounds) {
    SrText p = SR_TEXT_INIT;
    char key[201] = {0};
    memset(key, 'k', 200);
    for (int i = 0; i < 6; i++)
        sr_text_add(&p, "}"), add_text(&p, key);
    sr_text_add(&p, "Nssssss.");
    refuse_torch(&p, "a name of more than 1024 bytes");
    sr_text_add(&p, "}"); // a list of one tensor, a hundred thousand times and once more
    add_text(&p, "t");
    sr_text_add(&p, "(");
    add_tensor(&p, "FloatStorage", "0", 4, 0, 4, 1);
    sr_text_add(&p, "q\1");
    for (int i = 0; i < 100000; i++)
        sr_text_add(&p, "h\1");
    sr_text_add(&p, "ls.");
    refuse_torch(&p, "more than 100000 tensors");
    sr_text_add(&p, "X"); // a number of the memo that only so long a file may have
    add_number(&p, 1100000, 4);
    for (int i = 0; i < 110000; i++)
        sr_text_add(&p, "0123456789");
    sr_text_add(&p, "r");
    add_number(&p, 1099999, 4);
    sr_text_add(&p, ".");
    refuse_torch(&p, "more than a million values");
    sr_text_add(&p, "c");
    for (int i = 0; i < 128; i++)
        sr_text_add(&p, "m");
    sr_text_add(&p, "\nname\n.");
    refuse_torch(&p, "the name of a global is cut off or too long");
}

TEST(test_names_of_storages) {
    SrText p = SR_TEXT_INIT;
    SrZipWriter z;
    char name[700];
    sr_text_add(&p, "}");
    add_text(&p, "t");
    add_tensor(&p, "FloatStorage", "1", 4, 0, 4, 1);
    sr_text_add(&p, "s.");
    refuse_torch(&p, "storage 'archive/data/1' is not in the archive");
    memset(name, 'f', sizeof name);
    strcpy(name + 600, "/data.pkl");
    CHECK_OK(sr_zip_begin(&z, path));
    CHECK_OK(sr_zip_add(&z, name, NULL, 0, "N.", 2));
    CHECK_OK(sr_zip_commit(&z));
    refuse_file("a folder name of 601 bytes");
    CHECK_OK(sr_zip_begin(&z, path));
    CHECK_OK(sr_zip_add(&z, "data.pkl", NULL, 0, "N.", 2)); // without a folder
    CHECK_OK(sr_zip_commit(&z));
    SrWeights w;
    CHECK_OK(sr_weights_open(&w, path));
    check_meta(&w, "", "None");
    sr_weights_close(&w);
    CHECK_OK(sr_zip_begin(&z, path));
    CHECK_OK(sr_zip_add(&z, "archive/notdata.pkl", NULL, 0, "N.", 2));
    CHECK_OK(sr_zip_commit(&z));
    refuse_file("data.pkl");
}

// ---- PyTorch's old format -----------------------------------------------------------------------

// Begins a file of the old format: the magic number, the version and the facts of a machine.
static void add_legacy(SrText *out, const char *version) {
    static const char magic[] = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
    sr_text_addn(out, magic, sizeof magic - 1);
    sr_text_printf(out, "\x80\x02%s.\x80\x02}.", version);
}

// Writes the object {"a": tensor, "b": tensor} and the list of keys, then one storage.
static void write_legacy(const char *type_b, int64_t count_b, const char *keys, int64_t count) {
    SrText p = SR_TEXT_INIT;
    add_legacy(&p, "M\xe9\x03");
    sr_text_add(&p, "}(");
    add_text(&p, "a"), add_tensor(&p, "FloatStorage", "0", 4, 0, 2, 1);
    add_text(&p, "b"), add_tensor(&p, type_b, "0", count_b, 2, 2, 1);
    sr_text_add(&p, "u.");
    sr_text_add(&p, keys);
    add_number(&p, (uint64_t)count, 8);
    sr_text_addn(&p, (const char *)numbers, sizeof numbers);
    write_file(&p);
}

TEST(test_legacy) {
    static const char zero[] = "(U\1"
                               "0l.";
    SrWeights w;
    SrText p = SR_TEXT_INIT;
    write_legacy("FloatStorage", 4, zero, 4);
    CHECK_OK(sr_weights_open(&w, path));
    CHECK_NEAR(element(&w, "a", 1), 2, 0);
    CHECK_NEAR(element(&w, "b", 1), 4, 0); // both tensors are in one storage
    sr_weights_close(&w);
    write_legacy("IntStorage", 4, zero, 4);
    refuse_file("two tensors disagree about storage '0'");
    write_legacy("FloatStorage", 3, zero, 4);
    refuse_file(""); // which of the two claims comes first is qsort's choice
    write_legacy("FloatStorage", 4, zero, 3);
    refuse_file("storage '0' has 3 elements, not 4");
    write_legacy("FloatStorage", 4,
                 "(U\1"
                 "1l.",
                 4);
    refuse_file("damaged: storage '1' belongs to no tensor");
    write_legacy("FloatStorage", 4,
                 "(U\1"
                 "/l.",
                 4);
    refuse_file("damaged: storage '/' belongs to no tensor");
    write_legacy("FloatStorage", 4, "(K\1l.", 4);
    refuse_file("damaged: storage '' belongs to no tensor");
    write_legacy("FloatStorage", 4, "N.", 4);
    refuse_file("damaged: no list of storages");
    write_legacy("FloatStorage", 4, "(l.", 4);
    refuse_file("tensor 'a': its storage is not in the file");
    write_legacy("FloatStorage", 4,
                 "(U\1"
                 "0U\1"
                 "0l.",
                 4);
    refuse_file("storage '0' lies beyond the end (truncated?)");
    static const char *const versions[] = {"M\xea\x03", "N"};
    for (int i = 0; i < SR_COUNT(versions); i++) {
        add_legacy(&p, versions[i]);
        sr_text_add(&p, "}.(l.");
        write_file(&p);
        refuse_file("PyTorch's old format, but not version 1001");
    }
    add_legacy(&p, "M\xe9\x03");
    add_storage(&p, "DoubleStorage", "0", INT64_MAX);
    sr_text_add(&p, ".");
    sr_text_add(&p, zero);
    write_file(&p);
    refuse_file("claims an impossible number of elements");
    sr_text_add(&p, "\x80\x02}.");
    write_file(&p);
    refuse_file("the file is a bare pickle, expected a file of torch.save");
}

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
    add_number(out, 45, 2);
    add_number(out, 0, 2);
    add_number(out, (uint64_t)e->method, 2);
    add_number(out, 0, 4);
    add_number(out, e->crc, 4);
    add_number(out, far ? UINT32_MAX : e->data.len, 4);
    add_number(out, far ? UINT32_MAX : e->bytes, 4);
    add_number(out, strlen(e->name), 2);
}

// Writes an archive of one entry. `before` precedes the record at its end.
static void write_zip(Entry *e, const SrText *before) {
    SrText out = SR_TEXT_INIT;
    sr_text_addn(&out, "PK\3\4", 4);
    add_common(&out, e, false);
    add_number(&out, 0, 2);
    sr_text_add(&out, e->name);
    sr_text_addn(&out, e->data.s, e->data.len);
    size_t directory = out.len;
    sr_text_addn(&out, "PK\1\2", 4);
    add_number(&out, 45, 2);
    add_common(&out, e, e->far);
    add_number(&out, e->extra.len, 2);
    add_number(&out, 0, 2 + 2 + 2 + 4);
    add_number(&out, e->far ? UINT32_MAX : 0, 4);
    sr_text_add(&out, e->name);
    if (e->extra.len)
        sr_text_addn(&out, e->extra.s, e->extra.len);
    size_t bytes = out.len - directory;
    if (before)
        sr_text_addn(&out, before->s, before->len);
    sr_text_addn(&out, "PK\5\6\0\0\0\0\1\0\1\0", 12);
    add_number(&out, bytes, 4);
    add_number(&out, directory, 4);
    add_number(&out, 0, 2);
    write_file(&out);
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
    add_number(out, strlen(header), 2);
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
    add_number(extra, (uint64_t)id, 2);
    add_number(extra, (uint64_t)(8 * n), 2);
    for (int i = 0; i < n; i++)
        add_number(extra, i == 2 ? 0 : value, 8); // the offset is 0
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
    CHECK_OK(sr_weights_open(&w, path));
    CHECK_NEAR(element(&w, "x", 3), 4, 0);
    sr_weights_close(&w);
    e = stored_array();
    e.far = true;
    add_field(&e.extra, 1, 2, e.bytes); // without the offset
    write_zip(&e, NULL);
    refuse_file("begins beyond the end of the data");
    e = stored_array();
    e.far = true;
    add_field(&e.extra, 1, 3, e.bytes);
    e.extra.s[2]++; // longer than the extra fields are
    write_zip(&e, NULL);
    refuse_file("begins beyond the end of the data");
    e = stored_array();
    add_field(&e.extra, 1, 3, 5); // sizes that fit 32 bits win
    write_zip(&e, NULL);
    CHECK_OK(sr_weights_open(&w, path));
    CHECK_NEAR(element(&w, "x", 3), 4, 0);
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
        add_number(&record, 44, 8);
        add_number(&record, 45, 2 + 2 + 4 + 4);
        add_number(&record, 1, 8);
        add_number(&record, wrong == 2 ? 200001 : 1, 8);
        add_number(&record, bytes, 8);
        add_number(&record, directory, 8);
        sr_text_addn(&record, "PK\6\7\0\0\0\0", 8);
        add_number(&record, wrong == 3 ? UINT64_MAX : directory + bytes, 8);
        add_number(&record, 1, 4);
        write_zip(&e, &record);
        sr_text_deinit(&record);
        if (wrong) {
            refuse_file(wrong == 2 ? "claims more entries"
                                   : "its Zip64 record is not where the archive says");
            continue;
        }
        CHECK_OK(sr_weights_open(&w, path));
        CHECK_NEAR(element(&w, "x", 0), 1, 0);
        sr_weights_close(&w);
    }
}

TEST(test_kinds_of_entries) {
    Entry e = stored_array();
    e.bytes++;
    write_zip(&e, NULL);
    refuse_file("is stored with two different sizes");
    e = stored_array();
    e.method = 12;
    write_zip(&e, NULL);
    refuse_file("is compressed by a method other than deflate");
    e = stored_array();
    e.name = "x.txt";
    write_zip(&e, NULL);
    refuse_file("neither data.pkl (PyTorch) nor *.npy files (NumPy)");
    SrText pickle = SR_TEXT_INIT;
    sr_text_add(&pickle, "N.");
    e = deflated("archive/data.pkl", &pickle);
    write_zip(&e, NULL);
    refuse_file("data.pkl is compressed, but torch.save stores it uncompressed");
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
            refuse_file(cases[i].message);
            continue;
        }
        CHECK_OK(sr_weights_open(&w, path));
        CHECK_NEAR(element(&w, "x", 1), i ? 3 : 2, 0); // columns vary fastest, or rows
        CHECK_NEAR(element(&w, "x", 3), 4, 0);
        sr_weights_close(&w);
    }
    add_array(&plain, F4, numbers, sizeof numbers);
    plain.s[8] = (char)200;
    Entry e = deflated("x.npy", &plain);
    write_zip(&e, NULL);
    refuse_file("array 'x': not NumPy's format, or its header is cut off");
    sr_text_add(&plain, "\x93NUMPY\1");
    e = deflated("x.npy", &plain);
    write_zip(&e, NULL);
    refuse_file("array 'x': cut off");
}

// The functions of the archive, without a reader of arrays in front of them.
TEST(test_zip_read) {
    SrArena arena = SR_ARENA_INIT;
    SrZip zip;
    char *bytes, four[4];
    size_t n;
    Entry e = stored_array();
    write_zip(&e, NULL);
    CHECK_OK(sr_file_read(path, 4096, &bytes, &n));
    CHECK_OK(sr_zip_open(&zip, &arena, bytes, n, path));
    const SrZipEntry *x = sr_zip_find(&zip, "x.npy");
    CHECK(x && !sr_zip_find(&zip, "y.npy"));
    CHECK_OK(sr_zip_read(x, path, four, 4));
    CHECK(memcmp(four, "\x93NUM", 4) == 0);
    CHECK_FAILS(sr_zip_read(x, path, four, x->bytes + 1), SR_ERR_CONFIG, "'x.npy' has only");
    CHECK_FAILS(sr_zip_open(&zip, &arena, bytes, 21, path), SR_ERR_CONFIG, "it is cut off");
    static const char empty[22] = "PK\5\6";
    CHECK_OK(sr_zip_open(&zip, &arena, empty, sizeof empty, path));
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
    CHECK_OK(sr_zip_begin(&z, path));
    CHECK_OK(sr_zip_add(&z, "near.npy", NULL, 0, array.s, array.len));
    z.at = ((uint64_t)1 << 32) + 64;
    CHECK_INT(fseeko(z.file.f, (off_t)z.at, SEEK_SET), 0);
    CHECK_OK(sr_zip_add(&z, "far.npy", NULL, 0, array.s, array.len));
    CHECK_FAILS(sr_zip_add(&z, "more", NULL, 0, array.s, UINT32_MAX), SR_ERR_CONFIG,
                "'more' has more than 4 GiB; write .safetensors");
    CHECK_OK(sr_zip_commit(&z));
    sr_text_deinit(&array);
    CHECK_OK(sr_weights_open(&w, path));
    CHECK_INT(w.n, 2);
    CHECK_NEAR(element(&w, "near", 1), 2, 0);
    CHECK_NEAR(element(&w, "far", 3), 4, 0);
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
    write_file(&out);
    CHECK_OK(sr_weights_open(&w, path));
    CHECK_OK(sr_weights_read(&w, 0, &t));
    CHECK(t.dtype == SR_U8 && sr_shape_equal(t.shape, SR_SHAPE(2, 3)));
    CHECK(memcmp(t.data, "a\0\0bcd", 6) == 0);
    sr_weights_close(&w);
    add_array(&out, HEADER("|S3", "False", "(1, 2)"), "a\0\0bcd", 6);
    write_file(&out);
    refuse_file("its element type is not a little-endian number");
    add_array(&out, HEADER("|S0", "False", "(2,)"), "", 0);
    write_file(&out);
    refuse_file("element type");
    add_array(&out, HEADER("<u4", "False", "(1,)"), "abcd", 4);
    write_file(&out);
    refuse_file("its element type is not a little-endian number");
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

#define in_folder(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
SR_TESTS(torch_refusals, in_folder(test_numpy_scalars), in_folder(test_dicts),
         in_folder(test_lists), in_folder(test_extents), in_folder(test_arguments),
         in_folder(test_parameter), in_folder(test_persistent_ids), in_folder(test_equal_names),
         in_folder(test_bounds), in_folder(test_names_of_storages), in_folder(test_legacy),
         in_folder(test_zip64_fields), in_folder(test_zip64_record),
         in_folder(test_kinds_of_entries), in_folder(test_deflated_arrays),
         in_folder(test_zip_read), in_folder(test_beyond_4_gib), in_folder(test_byte_strings),
         unit(test_floats))
