// Tests weights that a stranger made to do harm: pickles that would execute code in Python, .npy
// files of each version with one violation each, and headers of safetensors that its document
// forbids.  All are refused in one line, within the memory bound, and nothing is executed.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "formats/weights/safetensors.h"
#include "formats/weights/weights.h"
#include "formats/weights/zip_write.h"
#include "tests/check.h"
#include "tests/formats/weights_bound.h"
#include "tests/temp_dir.h"

static char dir[64], path[128], canary[128];

static int set_up(void **state) {
    (void)state;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/file", dir);
    snprintf(canary, sizeof canary, "%s/canary", dir);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    temp_dir_remove(dir);
    return 0;
}

// Reads the file at `path` within the bound of memory.
static SrStatus read_all(void) {
    SrStatus status;
    weights_bound_check(path, &status);
    CHECK(!sr_file_exists(canary));
    if (status != SR_OK)
        CHECK(strstr(sr_status_message(), path));
    return status;
}

// ---- pickles ------------------------------------------------------------------------------------

static void add_text(SrText *out, const char *s) {
    size_t n = strlen(s);
    const char head[5] = {'X', (char)n, (char)(n >> 8), 0, 0};
    sr_text_addn(out, head, 5);
    sr_text_add(out, s);
}

static void add_global(SrText *out, const char *module, const char *name) {
    sr_text_printf(out, "c%s\n%s\n", module, name);
}

// Adds the opcodes that call the function on the stack with a command as its argument.
static void add_call(SrText *out) {
    char command[160];
    snprintf(command, sizeof command, "touch %s", canary);
    sr_text_add(out, "(");
    add_text(out, command);
    sr_text_add(out, "tR");
}

static SrStatus open_pickle(const SrText *pickle, bool legacy) {
    static const char old[] = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
                              "\x80\x02M\xe9\x03."
                              "\x80\x02}.";
    SrZipWriter z;
    if (legacy) {
        SrText all = SR_TEXT_INIT;
        sr_text_addn(&all, old, sizeof old - 1);
        sr_text_addn(&all, pickle->s, pickle->len);
        CHECK_OK(sr_file_write_text(path, &all));
        sr_text_deinit(&all);
    } else {
        CHECK_OK(sr_zip_begin(&z, path));
        CHECK_OK(sr_zip_add(&z, "archive/data.pkl", NULL, 0, pickle->s, pickle->len));
        CHECK_OK(sr_zip_commit(&z));
    }
    return read_all();
}

static void refuse_pickle(SrText *pickle, const char *message) {
    for (int legacy = 0; legacy < 2; legacy++) {
        SrStatus status = open_pickle(pickle, legacy);
        if (status != SR_ERR_CONFIG || !strstr(sr_status_message(), message))
            fail_msg("status %d, \"%s\", expected \"%s\"", (int)status, sr_status_message(),
                     message);
    }
    sr_text_deinit(pickle);
}

// Functions by which pickles take over a program, from published attacks.
TEST(test_foreign_globals) {
    static const char *const globals[][2] = {
        {"posix", "system"},
        {"os", "system"},
        {"nt", "system"},
        {"builtins", "eval"},
        {"builtins", "exec"},
        {"builtins", "getattr"},
        {"builtins", "__import__"},
        {"__builtin__", "eval"},
        {"__builtin__", "apply"},
        {"subprocess", "Popen"},
        {"subprocess", "check_output"},
        {"runpy", "_run_code"},
        {"importlib", "import_module"},
        {"pty", "spawn"},
        {"bdb", "Bdb.run"},
        {"timeit", "timeit"},
        {"cProfile", "run"},
        {"pickle", "loads"},
        {"_pickle", "Unpickler"},
        {"marshal", "loads"},
        {"types", "FunctionType"},
        {"functools", "partial"},
        {"operator", "attrgetter"},
        {"copyreg", "_reconstructor"},
        {"webbrowser", "open"},
        {"socket", "create_connection"},
        {"shutil", "rmtree"},
        {"torch", "load"},
        {"torch.hub", "load"},
        {"torch._utils", "_rebuild_tensor_v2.__globals__"},
        {"torch.storage", "_load_from_bytes"},
        {"torch.jit.unsupported_tensor_ops", "execWrapper"},
        {"torch.utils.data.datapipes.utils.decoder", "basichandlers"},
        {"numpy.testing._private.utils", "runstring"},
        {"numpy", "load"},
        {"collections", "OrderedDict.__init__"},
        {"collections ", "OrderedDict"},
        {"", ""},
    };
    for (int i = 0; i < SR_COUNT(globals); i++) {
        SrText plain = SR_TEXT_INIT, stacked = SR_TEXT_INIT, nested = SR_TEXT_INIT;
        add_global(&plain, globals[i][0], globals[i][1]);
        add_call(&plain);
        sr_text_add(&plain, ".");
        refuse_pickle(&plain, "has executed nothing");
        // The names come from the stack.
        add_text(&stacked, globals[i][0]);
        add_text(&stacked, globals[i][1]);
        sr_text_add(&stacked, "\x93");
        add_call(&stacked);
        sr_text_add(&stacked, ".");
        refuse_pickle(&stacked, "has executed nothing");
        // The call is an argument of one that a state dict needs.
        add_global(&nested, "collections", "OrderedDict");
        sr_text_add(&nested, "((");
        add_text(&nested, "key");
        add_global(&nested, globals[i][0], globals[i][1]);
        add_call(&nested);
        sr_text_add(&nested, "tltR.");
        refuse_pickle(&nested, "has executed nothing");
    }
}

typedef struct {
    const char *bytes;
    size_t n; // bytes: a text ends at its first NUL
} Bytes;
#define BYTES(s) \
    { s, sizeof s - 1 }

// Opcodes that call, import or build by other ways, and types that are no functions.
TEST(test_other_ways_to_call) {
    static const Bytes pickles[] = {
        BYTES("(X\4\0\0\0trueiposix\nsystem\n."),  // INST
        BYTES("(cposix\nsystem\nX\4\0\0\0trueo."), // OBJ
        BYTES(")\x82\1."),                         // EXT1
        BYTES(")\x83\1\2."),                       // EXT2
        BYTES("Pposix.system\n."),                 // PERSID
        BYTES("(X\4\0\0\0truetQ."),                // BINPERSID of what is no storage
        BYTES("cbuiltins\nint\n(X\1\0\0\0001tR."), // a name, called
        BYTES("ctorch\nFloatStorage\n(K\1tR."),    // a type of storages, called
        BYTES("X\4\0\0\0true(X\1\0\0\0xtR."),      // a text, called
        BYTES("ccollections\nOrderedDict\n(K\1"),  // cut off
        BYTES("ccollections\nOrderedDict"),        // cut off within a name
        BYTES("(((((tR."),                         // nothing to call
        BYTES("R."),
        BYTES("\x93."),
        BYTES("K\1K\2\x93."), // names that are numbers
        BYTES("}(X\14\0\0\0__setstate__cposix\nsystem\nub."),
        BYTES(""),
        BYTES("."),
    };
    for (int i = 0; i < SR_COUNT(pickles); i++) {
        SrText p = SR_TEXT_INIT;
        sr_text_addn(&p, pickles[i].bytes, pickles[i].n);
        for (int legacy = 0; legacy < 2; legacy++)
            if (open_pickle(&p, legacy) != SR_ERR_CONFIG)
                fail_msg("pickle %d was read", i);
        sr_text_deinit(&p);
    }
}

// Calls within calls, a hundred thousand deep.
TEST(test_deep_calls) {
    SrText p = SR_TEXT_INIT;
    for (int i = 0; i < 100000; i++)
        sr_text_add(&p, "ccollections\nOrderedDict\n(");
    for (int i = 0; i < 100000; i++)
        sr_text_add(&p, "tR");
    sr_text_add(&p, ".");
    refuse_pickle(&p, "");
    for (int i = 0; i < 100000; i++) // lists of one list
        sr_text_add(&p, "]");
    for (int i = 0; i < 99999; i++)
        sr_text_add(&p, "a");
    sr_text_add(&p, ".");
    refuse_pickle(&p, "");
}

// ---- .npy ---------------------------------------------------------------------------------------

typedef struct {
    const char *name, *header;
    int data; // bytes
    const char *message;
} Npy;

#define DICT(descr, order, shape) \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }\n"
#define F4(shape) DICT("'<f4'", "False", shape)

// claimed < 0: the header's own length.
static void write_npy(int version, const char *header, int64_t claimed, int data) {
    SrText t = SR_TEXT_INIT;
    uint64_t n = claimed < 0 ? strlen(header) : (uint64_t)claimed;
    char head[12] = {'\x93', 'N', 'U', 'M', 'P', 'Y', (char)version, 0};
    for (int i = 0; i < 4; i++)
        head[8 + i] = (char)(n >> (8 * i));
    sr_text_addn(&t, head, version == 1 ? 10 : 12);
    sr_text_add(&t, header);
    for (int i = 0; i < data; i++)
        sr_text_addn(&t, "\0", 1);
    CHECK_OK(sr_file_write_text(path, &t));
    sr_text_deinit(&t);
}

static void refuse_npy(const Npy *npy, int version) {
    SrStatus status = read_all();
    if (status != SR_ERR_CONFIG || !strstr(sr_status_message(), npy->message))
        fail_msg("version %d, %s: status %d, \"%s\"", version, npy->name, (int)status,
                 sr_status_message());
}

static const Npy npys[] = {
    {"no dict", "[1, 2]\n", 8, "its header is not a dict"},
    {"an empty header", "", 8, "its header"},
    {"an empty dict", "{}\n", 8, "incomplete"},
    {"no shape", "{'descr': '<f4', 'fortran_order': False, }\n", 8, "incomplete"},
    {"no order", "{'descr': '<f4', 'shape': (2,), }\n", 8, "incomplete"},
    {"a key twice", "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n",
     8, "one twice"},
    {"an unknown key", "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'eval': 'posix'}\n",
     8, "unknown key"},
    {"a call", "{'descr': __import__('os').system('touch canary'), }\n", 8, "element type"},
    {"a dict that stays open", "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)", 8,
     "damaged"},
    {"a quote that stays open", "{'descr': '<f4, 'fortran_order': False, 'shape': (2,)}", 8, ""},
    {"objects", DICT("'|O'", "False", "(2,)"), 16, "element type"},
    {"big endian", DICT("'>f4'", "False", "(2,)"), 8, "element type"},
    {"a structure", DICT("[('a', '<f4'), ('b', '<i4')]", "False", "(1,)"), 8, "element type"},
    {"complex numbers", DICT("'<c8'", "False", "(1,)"), 8, "element type"},
    {"dates", DICT("'<M8[ns]'", "False", "(1,)"), 8, "element type"},
    {"floats of three bytes", DICT("'<f3'", "False", "(1,)"), 3, "element type"},
    {"floats of no bytes", DICT("'<f0'", "False", "(1,)"), 0, "element type"},
    {"a width below 0", DICT("'<f-4'", "False", "(1,)"), 4, "no size"},
    {"a width beyond all bounds", DICT("'<U99999999999999999999'", "False", "(1,)"), 4, "size"},
    {"a width that is no number", DICT("'<fx'", "False", "(1,)"), 4, "size"},
    {"no order of bytes", DICT("'f4'", "False", "(2,)"), 8, "element type"},
    {"a shape that is no tuple", F4("2"), 8, "not a tuple"},
    {"a dimension below 0", F4("(-2,)"), 8, "whole numbers"},
    {"a dimension with a fraction", F4("(2.0,)"), 8, ""},
    {"a dimension that is a text", F4("('2',)"), 8, "whole numbers"},
    {"a dimension beyond 2^31", F4("(4294967296,)"), 8, "2^31"},
    {"a dimension beyond 2^64", F4("(99999999999999999999,)"), 8, "2^63"},
    {"seven dimensions", F4("(1, 1, 1, 1, 1, 1, 2)"), 8, "6 dimensions"},
    {"a product that overflows", F4("(2147483647, 2147483647, 2147483647)"), 8, ""},
    {"a product that is 0 in 64 bits", F4("(65536, 65536, 65536, 16384)"), 0, ""},
    {"an order that is neither", DICT("'<f4'", "None", "(2,)"), 8, "neither True nor False"},
    {"fewer numbers", F4("(3,)"), 8, "truncated"},
    {"more numbers", F4("(1,)"), 8, "more bytes"},
    {"ten gigabytes that are not there", F4("(50000, 50000)"), 8, "truncated"},
};

TEST(test_npy) {
    for (int version = 1; version <= 3; version++) {
        write_npy(version, F4("(2,)"), -1, 8); // the form that all others violate
        CHECK_OK(read_all());
        for (int i = 0; i < SR_COUNT(npys); i++) {
            write_npy(version, npys[i].header, -1, npys[i].data);
            refuse_npy(&npys[i], version);
        }
        static const int64_t claims[] = {0, 1, 40, 200, 65535};
        for (int i = 0; i < SR_COUNT(claims); i++) { // of 58 or so
            write_npy(version, F4("(2,)"), claims[i], 8);
            refuse_npy(&(Npy){"a length of the header that is not its own", "", 0, ""}, version);
        }
        if (version > 1) {
            write_npy(version, F4("(2,)"), UINT32_MAX, 8);
            refuse_npy(&(Npy){"a header of 4 GiB", "", 0, ""}, version);
        }
    }
    static const int versions[] = {0, 4, 255};
    for (int i = 0; i < SR_COUNT(versions); i++) {
        write_npy(versions[i], F4("(2,)"), -1, 8);
        refuse_npy(&(Npy){"an unknown version", "", 0, ""}, versions[i]);
    }
}

// Each first part of a whole file is refused.
TEST(test_npy_cut_off) {
    char *whole;
    size_t bytes;
    write_npy(1, F4("(2,)"), -1, 8);
    CHECK_OK(sr_file_read(path, 4096, &whole, &bytes));
    for (size_t n = 0; n < bytes; n++) {
        CHECK_OK(sr_file_write(path, whole, n));
        CHECK(read_all() == SR_ERR_CONFIG);
    }
    sr_free(whole);
}

// ---- safetensors --------------------------------------------------------------------------------

static void write_safetensors(const char *header, uint64_t claimed, int data) {
    SrText t = SR_TEXT_INIT;
    for (int i = 0; i < 8; i++)
        sr_text_addn(&t, (char[]){(char)(claimed >> (8 * i))}, 1);
    sr_text_add(&t, header);
    for (int i = 0; i < data; i++)
        sr_text_addn(&t, "\0", 1);
    CHECK_OK(sr_file_write_text(path, &t));
    sr_text_deinit(&t);
}

#define ENTRY(name, dtype, shape, offsets) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

// Headers that test_safetensors.c does not hold, for the reader of all formats and for the one of
// checkpoints.
TEST(test_safetensors) {
    static const struct {
        const char *header;
        int data;
        bool legal;
    } cases[] = {
        {"{" ENTRY("a", "F32", "[1]", "[0,4]") "}", 4, true},
        {"{" ENTRY("b", "F32", "[1]", "[4,8]") "," ENTRY("a", "F32", "[1]", "[0,4]") "}", 8, true},
        {"{" ENTRY("b", "F32", "[1]", "[8,12]") "," ENTRY("a", "F32", "[1]", "[0,4]") "}", 12,
         false}, // unsorted, with a hole between
        {"{" ENTRY("b", "F32", "[1]", "[2,6]") "," ENTRY("a", "F32", "[1]", "[0,4]") "}", 6, false},
        {"{" ENTRY("a", "F32", "[1]", "[0,4]") "," ENTRY("b", "F32", "[1]", "[0,4]") "}", 4,
         false}, // the same bytes twice
        {"{" ENTRY("a", "F32", "[0]", "[0,0]") "," ENTRY("b", "F32", "[1]", "[0,4]") "}", 4, true},
        {"{" ENTRY("a", "F32", "[1]", "[0,4]") "}   ", 4, true}, // padding
        {"{" ENTRY("a", "F32", "[1]", "[0,4]") "}x", 4, false},
        {"{" ENTRY("a", "F32", "[1]", "[0,4]") "}{}", 4, false},
        {"\xef\xbb\xbf{" ENTRY("a", "F32", "[1]", "[0,4]") "}", 4, false}, // a mark of the order
        {"{" ENTRY("\xff", "F32", "[1]", "[0,4]") "}", 4, false},          // not UTF-8
        {"{" ENTRY("a\\u0000b", "F32", "[1]", "[0,4]") "}", 4, false},
        {"{" ENTRY("a", "f32", "[1]", "[0,4]") "}", 4, false},
        {"{" ENTRY("a", "F32", "[1]", "[0,4,8]") "}", 4, false},
        {"{" ENTRY("a", "F32", "[1]", "[0.0,4.5]") "}", 4, false},
        {"{" ENTRY("a", "F32", "[1]", "[0,18446744073709551616]") "}", 4, false},
        {"{" ENTRY("a", "F32", "[1]", "[18446744073709551612,4]") "}", 4, false},
        {"{" ENTRY("a", "F32", "[1]", "[0,\"4\"]") "}", 4, false},
        {"{" ENTRY("a", "F32", "[true]", "[0,4]") "}", 4, false},
        {"{" ENTRY("a", "F32", "[1,null]", "[0,4]") "}", 4, false},
        {"{" ENTRY("a", "BOOL", "[4]", "[0,1]") "}", 1, false},
        {"{" ENTRY("a", "F8_E4M3", "[5]", "[0,4]") "}", 4, false},
        {"{" ENTRY("a", "F32", "[]", "[0,4]") "}", 4, true},
        {"{" ENTRY("a", "F32", "[]", "[0,8]") "}", 8, false},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
         false},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, false},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, false},
        {"{\"a\":[]}", 0, false},
        {"{\"__metadata__\":{\"k\":\"v\",\"k\":\"w\"}," ENTRY("a", "F32", "[1]", "[0,4]") "}", 4,
         false},
        {"{\"__metadata__\":{\"k\":{\"l\":\"v\"}}," ENTRY("a", "F32", "[1]", "[0,4]") "}", 4,
         false},
        {"{\"__metadata__\":[\"k\"]," ENTRY("a", "F32", "[1]", "[0,4]") "}", 4, false},
        {"{\"__metadata__\":{},\"__metadata__\":{}," ENTRY("a", "F32", "[1]", "[0,4]") "}", 4,
         false},
        {"null", 0, false},
        {"\"text\"", 0, false},
        {"{'a': 1}", 0, false},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        SrSafetensors st;
        write_safetensors(cases[i].header, strlen(cases[i].header), cases[i].data);
        SrStatus status = read_all();
        if (status != (cases[i].legal ? SR_OK : SR_ERR_CONFIG))
            fail_msg("case %d: status %d, %s", i, (int)status, sr_status_message());
        status = sr_safetensors_open(&st, path);
        if (status != (cases[i].legal ? SR_OK : SR_ERR_CONFIG))
            fail_msg("case %d, checkpoints: status %d, %s", i, (int)status, sr_status_message());
        sr_safetensors_close(&st);
    }
}

// A header of 101 MB, in a file that is as long but holds nothing, takes no memory.
TEST(test_long_header) {
    write_safetensors("{", 101000000, 0);
    CHECK_INT(truncate(path, 120000000), 0);
    CHECK_FAILS(read_all(), SR_ERR_CONFIG, "not a safetensors file");
    write_safetensors("{", 99000000, 0);
    CHECK_INT(truncate(path, 120000000), 0);
    CHECK(read_all() == SR_ERR_CONFIG);
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
SR_TESTS(stranger_weights, in_folder(test_foreign_globals), in_folder(test_other_ways_to_call),
         in_folder(test_deep_calls), in_folder(test_npy), in_folder(test_npy_cut_off),
         in_folder(test_safetensors), in_folder(test_long_header))
