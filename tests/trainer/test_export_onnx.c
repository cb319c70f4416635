// Tests ONNX files, read back by the test's own protobuf reader: tensors, names that collide, ops
// without a counterpart. That other programs accept and compute the files is checked by
// tests/parity/export.py.
#include "trainer/model/export_onnx.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/yaml_load.h"
#include "graph/ir/builder.h"
#include "kernels/activation/softmax.h"
#include "kernels/basic/pad.h"
#include "kernels/conv/conv2d.h"
#include "kernels/pool/pool2d.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trunks/trunk.h"

static char dir[64], path[128];

static int set_up(void **state) {
    (void)state;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/m.onnx", dir);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    temp_dir_remove(dir);
    return 0;
}

// ---- the part of protobuf that onnx.proto needs

typedef struct {
    const unsigned char *at, *end;
} Message;

static uint64_t read_varint(Message *m) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        CHECK(m->at < m->end && shift < 64);
        value |= (uint64_t)(*m->at & 127) << shift;
        if (!(*m->at++ & 128))
            return value;
    }
}

// Reads the next field: its number, and the value of a varint or the bytes. Returns false at the
// end.
static bool next(Message *m, int *field, uint64_t *value, Message *bytes) {
    if (m->at == m->end)
        return false;
    uint64_t tag = read_varint(m);
    *field = (int)(tag >> 3);
    size_t n = 0;
    if ((tag & 7) == 0) {
        *value = read_varint(m);
    } else {
        CHECK((tag & 7) == 2 || (tag & 7) == 5);
        n = (tag & 7) == 5 ? 4 : read_varint(m);
        CHECK(n <= (size_t)(m->end - m->at));
    }
    *bytes = (Message){m->at, m->at + n};
    m->at += n;
    return true;
}

// Returns the i-th field with this number.
static Message field(Message m, int number, int i) {
    int f;
    uint64_t value;
    Message bytes;
    while (next(&m, &f, &value, &bytes))
        if (f == number && i-- == 0)
            return bytes;
    return (Message){NULL, NULL};
}

static int count(Message m, int number) {
    int n = 0;
    while (field(m, number, n).at)
        n++;
    return n;
}

static void check_text(Message m, const char *expected) {
    CHECK_INT(m.end - m.at, (int64_t)strlen(expected));
    CHECK(memcmp(m.at, expected, strlen(expected)) == 0);
}

// ---- a small trunk

typedef struct {
    SrExtraction part;
    SrParams *params;
    SrGraph *whole;
    SrBuilder *b;
} Trunk;

static SrNodeId start(Trunk *t) {
    *t = (Trunk){.params = NULL};
    CHECK_OK(sr_params_new(&t->params));
    CHECK_OK(sr_graph_new(t->params, &t->whole));
    CHECK_OK(sr_builder_new(t->whole, &t->b));
    return sr_build_input(t->b, "x", SR_SHAPE(1, 6, 5, 3), SR_F32);
}

static SrStatus export_nodes(Trunk *t, const char *nodes) {
    SrArena arena = SR_ARENA_INIT;
    SrTaps taps;
    CHECK_OK(sr_builder_status(t->b));
    CHECK_OK(sr_params_allocate(t->params));
    sr_params_init(t->params, 1);
    CHECK_OK(sr_taps_parse(nodes, &arena, &taps));
    CHECK_OK(sr_graph_extract(t->whole, NULL, &taps, &t->part));
    SrStatus status = sr_export_onnx(&t->part, "small", path);
    sr_extraction_free(&t->part);
    sr_arena_deinit(&arena);
    return status;
}

static void finish(Trunk *t) {
    sr_builder_free(t->b);
    sr_graph_free(t->whole);
    sr_params_free(t->params);
}

static SrNodeId add_conv(Trunk *t, SrNodeId x) {
    SrConv2dParams p = {
        .out_channels = 4, .kernel_h = 3, .padding_h = 1, .padding_w = -1, .bias = true};
    return sr_build(t->b, "conv2d", "conv1", &p, x);
}

TEST(test_wire) {
    Trunk t;
    char *data;
    size_t bytes;
    SrNodeId x = start(&t);
    sr_build(t.b, "relu", "relu", NULL, add_conv(&t, x));
    CHECK_OK(export_nodes(&t, "relu:conv1")); // an output with the name of another node
    CHECK_OK(sr_file_read(path, 1 << 20, &data, &bytes));
    Message model = {(unsigned char *)data, (unsigned char *)data + bytes},
            graph = field(model, 7, 0);
    check_text(field(model, 2, 0), "sslrun");
    CHECK_INT(count(graph, 1), 3); // Conv, Relu, and an Identity that gives the output its name
    Message conv = field(graph, 1, 0), last = field(graph, 1, 2);
    check_text(field(conv, 4, 0), "Conv");
    check_text(field(conv, 1, 1), "conv1.weight");
    check_text(field(conv, 2, 0), "conv1:value");
    CHECK_INT(count(conv, 5), 5);
    check_text(field(last, 2, 0), "conv1");
    check_text(field(field(graph, 11, 0), 1, 0), "x");
    check_text(field(field(graph, 12, 0), 1, 0), "conv1");
    Message shape =
        field(field(field(field(graph, 12, 0), 2, 0), 1, 0), 2, 0); // type, tensor_type, shape
    CHECK_INT(count(shape, 1), 4);
    check_text(field(field(shape, 1, 0), 2, 0), "N");
    Message channels = field(shape, 1, 1);
    CHECK(channels.end - channels.at == 2 && channels.at[0] == 8 && channels.at[1] == 4);
    CHECK_INT(count(graph, 5), 2);
    Message weight = field(graph, 5, 0), raw = field(weight, 9, 0);
    check_text(field(weight, 8, 0), "conv1.weight");
    const SrParam *p = sr_params_at(t.params, sr_params_find(t.params, "conv1.weight"));
    CHECK_INT(raw.end - raw.at, (int64_t)(4 * 3 * 3 * 3 * sizeof(float)));
    CHECK(memcmp(raw.at, p->value, 4 * 3 * 3 * 3 * sizeof(float)) == 0);
    sr_free(data);
    finish(&t);
}

// A softmax over the channels, which are the last axis during the computation; the temperature
// divides first.
// A softmax divides by its temperature, unless that is 1.
TEST(test_softmax) {
    static const char *const ops[] = {"Conv",    "Transpose", "Div",
                                      "Softmax", "Transpose", "Identity"};
    static const double temperatures[] = {0.5, 2, 1};
    for (int k = 0; k < SR_COUNT(temperatures); k++) {
        Trunk t;
        char *data;
        size_t bytes;
        int n = 0;
        SrNodeId x = start(&t);
        sr_build(t.b, "softmax", "act", &(SrSoftmaxParams){.temperature = temperatures[k]},
                 add_conv(&t, x));
        CHECK_OK(export_nodes(&t, "act"));
        CHECK_OK(sr_file_read(path, 1 << 20, &data, &bytes));
        Message graph =
            field((Message){(unsigned char *)data, (unsigned char *)data + bytes}, 7, 0);
        for (int i = 0; i < SR_COUNT(ops); i++)
            if (temperatures[k] != 1 || strcmp(ops[i], "Div") != 0)
                check_text(field(field(graph, 1, n++), 4, 0), ops[i]);
        CHECK_INT(count(graph, 1), n);
        sr_free(data);
        finish(&t);
    }
}

TEST(test_refused) {
    Trunk t;
    SrNodeId x = start(&t);
    sr_build(t.b, "l2_normalize", "act", NULL, add_conv(&t, x));
    CHECK_FAILS(export_nodes(&t, "act"), SR_ERR_CONFIG,
                "node 'act' (l2_normalize) has no counterpart");
    CHECK(!sr_file_exists(path));
    finish(&t);
    x = start(&t);
    sr_build(t.b, "adaptive_max_pool2d", "pool", &(SrAdaptivePool2dParams){.out_h = 4, .out_w = 5},
             add_conv(&t, x));
    CHECK_FAILS(export_nodes(&t, "pool"), SR_ERR_CONFIG, "do not tile");
    finish(&t);
    x = start(&t);
    add_conv(&t, x);
    CHECK_FAILS(export_nodes(&t, "x,conv1"), SR_ERR_CONFIG, "layer 'x' is the input itself");
    finish(&t);
}

// ---- every trunk

static SrStatus export_example(const SrTrunk *trunk, const SrTrunkExample *example) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *map = NULL;
    SrTrunkOutput out;
    Trunk t = {.params = NULL};
    void *options = sr_arena_alloc(&arena, trunk->params_bytes + 1);
    CHECK_OK(sr_yaml_parse(&arena, example->options, strlen(example->options), "example", &map));
    CHECK_OK(sr_options_parse(trunk->options, map, trunk->subtree, &arena, options));
    CHECK_OK(sr_params_new(&t.params));
    CHECK_OK(sr_graph_new(t.params, &t.whole));
    CHECK_OK(sr_builder_new(t.whole, &t.b));
    sr_builder_set_param_prefix(t.b, sr_trunk_param_prefix(trunk));
    SrNodeId x = sr_build_input(t.b, "x", SR_SHAPE(2, example->side, example->side, 3), SR_F32);
    CHECK_OK(
        sr_trunk_build(trunk, t.b, options, &(SrTrunkInput){.image = x, .mask = SR_NO_NODE}, &out));
    SrStatus status = export_nodes(&t, "flatten");
    finish(&t);
    sr_arena_deinit(&arena);
    return status;
}

enum { MOST_MESSAGES = 8192 };
typedef struct {
    Message nodes[MOST_MESSAGES], names[MOST_MESSAGES]; // names: weights, inputs and values so far
    int n_nodes, n_names;
} Names;

static bool defined(const Names *names, Message name) {
    for (int i = names->n_names - 1; i >= 0; i--) {
        Message m = names->names[i];
        if (m.end - m.at == name.end - name.at &&
            memcmp(m.at, name.at, (size_t)(m.end - m.at)) == 0)
            return true;
    }
    return false;
}

static void add_name(Names *names, Message name) {
    CHECK(names->n_names < MOST_MESSAGES);
    CHECK(!defined(names, name));
    names->names[names->n_names++] = name;
}

// Every input of a node is the output of an earlier node, a weight or the image, and no name
// occurs twice.
static void check_structure(void) {
    static Names names;
    char *data;
    size_t bytes;
    int f;
    uint64_t value;
    Message m;
    names.n_nodes = names.n_names = 0;
    CHECK_OK(sr_file_read(path, 1 << 26, &data, &bytes));
    Message graph = field((Message){(unsigned char *)data, (unsigned char *)data + bytes}, 7, 0);
    check_text(field(field(graph, 12, 0), 1, 0), "flatten");
    while (next(&graph, &f, &value, &m))
        if (f == 1 && names.n_nodes < MOST_MESSAGES)
            names.nodes[names.n_nodes++] = m;
        else if (f == 5 || f == 11)
            add_name(&names, field(m, f == 5 ? 8 : 1, 0));
    CHECK(names.n_nodes > 1);
    for (int i = 0; i < names.n_nodes; i++) {
        for (int k = 0, n_in = count(names.nodes[i], 1); k < n_in; k++)
            CHECK(defined(&names, field(names.nodes[i], 1, k)));
        add_name(&names, field(names.nodes[i], 2, 0));
    }
    sr_free(data);
}

TEST(test_every_trunk) {
    for (int i = 0; sr_trunk_at(i); i++) {
        const SrTrunk *trunk = sr_trunk_at(i);
        SrStatus status = export_example(trunk, &trunk->examples.v[0]);
        if (status != SR_OK)
            print_message("%s: %s\n", trunk->name, sr_status_message());
        CHECK_OK(status);
        check_structure();
    }
}

TEST(test_out_of_memory) {
    SrStatus status = SR_ERR_MEMORY;
    Trunk t;
    SrArena arena = SR_ARENA_INIT;
    SrTaps taps;
    SrNodeId x = start(&t);
    sr_build(t.b, "pad", "pad", &(SrPadParams){.before = 1}, add_conv(&t, x));
    CHECK_OK(sr_params_allocate(t.params));
    sr_params_init(t.params, 1);
    CHECK_OK(sr_taps_parse("pad", &arena, &taps));
    CHECK_OK(sr_graph_extract(t.whole, NULL, &taps, &t.part));
    for (int n = 1; status != SR_OK; n++) {
        int64_t live = sr_mem_live();
        sr_mem_fail_at(n);
        status = sr_export_onnx(&t.part, "small", path);
        sr_mem_fail_at(0);
        CHECK(status == SR_OK || (status == SR_ERR_MEMORY && !sr_file_exists(path)));
        CHECK_INT(sr_mem_live(), live);
    }
    sr_extraction_free(&t.part);
    sr_arena_deinit(&arena);
    finish(&t);
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
SR_TESTS(export_onnx, in_folder(test_wire), in_folder(test_softmax), in_folder(test_refused),
         in_folder(test_every_trunk), in_folder(test_out_of_memory))
