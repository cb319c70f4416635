// Tests rare values in files of PyTorch, built by hand byte by byte: scalars, dicts, shared and
// misplaced storages, and the old format.  Each is read right, or refused with its reason.
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "formats/weights/weights.h"
#include "formats/weights/zip_write.h"
#include "tests/check.h"
#include "tests/formats/hand_file.h"

// ---- pickles ------------------------------------------------------------------------------------

static void add_text(SrText *out, const char *s) {
    sr_text_add(out, "X");
    hand_file_number(out, strlen(s), 4);
    sr_text_add(out, s);
}

static void add_int(SrText *out, int64_t v) {
    sr_text_add(out, "\x8a\x08");
    hand_file_number(out, (uint64_t)v, 8);
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
    CHECK_OK(sr_zip_begin(&z, hand_file_path));
    CHECK_OK(sr_zip_add(&z, "archive/data.pkl", NULL, 0, pickle->s, pickle->len));
    if (storage)
        CHECK_OK(sr_zip_add(&z, "archive/data/0", NULL, 0, storage, bytes));
    CHECK_OK(sr_zip_commit(&z));
    sr_text_deinit(pickle);
}

static const float numbers[4] = {1, 2, 3, 4};

static void refuse_torch(SrText *pickle, const char *message) {
    write_torch(pickle, numbers, sizeof numbers);
    hand_file_refuse(message);
}

#define NUMPY_SCALAR GLOBAL("numpy.core.multiarray", "scalar") "(" GLOBAL("numpy", "dtype") "("

static void add_scalar(SrText *out, const char *key, const char *type, const void *data, int n) {
    add_text(out, key);
    sr_text_add(out, NUMPY_SCALAR);
    add_text(out, type);
    sr_text_add(out, "tRC"); // SHORT_BINBYTES
    hand_file_number(out, (uint64_t)n, 1);
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
    CHECK_OK(sr_weights_open(&w, hand_file_path));
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
    CHECK_OK(sr_weights_open(&w, hand_file_path));
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
    CHECK_OK(sr_weights_open(&w, hand_file_path));
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
    CHECK_OK(sr_weights_open(&w, hand_file_path));
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
    CHECK_OK(sr_weights_open(&w, hand_file_path));
    CHECK_NEAR(hand_file_element(&w, "w", 0), 2, 0);
    CHECK_NEAR(hand_file_element(&w, "w", 1), 4, 0);
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
            hand_file_refuse(cases[i].message);
        } else {
            CHECK_OK(sr_weights_open(&w, hand_file_path));
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
    hand_file_number(&p, 1100000, 4);
    for (int i = 0; i < 110000; i++)
        sr_text_add(&p, "0123456789");
    sr_text_add(&p, "r");
    hand_file_number(&p, 1099999, 4);
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
    CHECK_OK(sr_zip_begin(&z, hand_file_path));
    CHECK_OK(sr_zip_add(&z, name, NULL, 0, "N.", 2));
    CHECK_OK(sr_zip_commit(&z));
    hand_file_refuse("a folder name of 601 bytes");
    CHECK_OK(sr_zip_begin(&z, hand_file_path));
    CHECK_OK(sr_zip_add(&z, "data.pkl", NULL, 0, "N.", 2)); // without a folder
    CHECK_OK(sr_zip_commit(&z));
    SrWeights w;
    CHECK_OK(sr_weights_open(&w, hand_file_path));
    check_meta(&w, "", "None");
    sr_weights_close(&w);
    CHECK_OK(sr_zip_begin(&z, hand_file_path));
    CHECK_OK(sr_zip_add(&z, "archive/notdata.pkl", NULL, 0, "N.", 2));
    CHECK_OK(sr_zip_commit(&z));
    hand_file_refuse("data.pkl");
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
    hand_file_number(&p, (uint64_t)count, 8);
    sr_text_addn(&p, (const char *)numbers, sizeof numbers);
    hand_file_write(&p);
}

TEST(test_legacy) {
    static const char zero[] = "(U\1"
                               "0l.";
    SrWeights w;
    SrText p = SR_TEXT_INIT;
    write_legacy("FloatStorage", 4, zero, 4);
    CHECK_OK(sr_weights_open(&w, hand_file_path));
    CHECK_NEAR(hand_file_element(&w, "a", 1), 2, 0);
    CHECK_NEAR(hand_file_element(&w, "b", 1), 4, 0); // both tensors are in one storage
    sr_weights_close(&w);
    write_legacy("IntStorage", 4, zero, 4);
    hand_file_refuse("two tensors disagree about storage '0'");
    write_legacy("FloatStorage", 3, zero, 4);
    hand_file_refuse(""); // which of the two claims comes first is qsort's choice
    write_legacy("FloatStorage", 4, zero, 3);
    hand_file_refuse("storage '0' has 3 elements, not 4");
    write_legacy("FloatStorage", 4,
                 "(U\1"
                 "1l.",
                 4);
    hand_file_refuse("damaged: storage '1' belongs to no tensor");
    write_legacy("FloatStorage", 4,
                 "(U\1"
                 "/l.",
                 4);
    hand_file_refuse("damaged: storage '/' belongs to no tensor");
    write_legacy("FloatStorage", 4, "(K\1l.", 4);
    hand_file_refuse("damaged: storage '' belongs to no tensor");
    write_legacy("FloatStorage", 4, "N.", 4);
    hand_file_refuse("damaged: no list of storages");
    write_legacy("FloatStorage", 4, "(l.", 4);
    hand_file_refuse("tensor 'a': its storage is not in the file");
    write_legacy("FloatStorage", 4,
                 "(U\1"
                 "0U\1"
                 "0l.",
                 4);
    hand_file_refuse("storage '0' lies beyond the end (truncated?)");
    static const char *const versions[] = {"M\xea\x03", "N"};
    for (int i = 0; i < SR_COUNT(versions); i++) {
        add_legacy(&p, versions[i]);
        sr_text_add(&p, "}.(l.");
        hand_file_write(&p);
        hand_file_refuse("PyTorch's old format, but not version 1001");
    }
    add_legacy(&p, "M\xe9\x03");
    add_storage(&p, "DoubleStorage", "0", INT64_MAX);
    sr_text_add(&p, ".");
    sr_text_add(&p, zero);
    hand_file_write(&p);
    hand_file_refuse("claims an impossible number of elements");
    sr_text_add(&p, "\x80\x02}.");
    hand_file_write(&p);
    hand_file_refuse("the file is a bare pickle, expected a file of torch.save");
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, hand_file_begin, hand_file_end)
SR_TESTS(torch_refusals, in_folder(test_numpy_scalars), in_folder(test_dicts),
         in_folder(test_lists), in_folder(test_extents), in_folder(test_arguments),
         in_folder(test_parameter), in_folder(test_persistent_ids), in_folder(test_equal_names),
         in_folder(test_bounds), in_folder(test_names_of_storages), in_folder(test_legacy))
