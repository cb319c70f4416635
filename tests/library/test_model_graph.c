// Tests the edited graphs of sslrun.h: what cutting, inserting, replacing and removing do to nodes,
// weights and features, bit by bit; models that outlive their graph; files; a failure of every
// allocation; two threads.
#include "sslrun.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

enum { BATCH = 2, SIDE = 32, PIXELS = BATCH * 3 * SIDE * SIDE, ROOM = BATCH * 64 * 16 * 16 };

static float images[PIXELS]; // (BATCH, 3, SIDE, SIDE)
static ProgramResult result; // too large for the stack of a test

static SrModelGraph *open_resnet18(void) {
    SrModelGraph *g;
    for (int i = 0; i < PIXELS; i++)
        images[i] = sinf((float)i);
    CHECK_OK((SrStatus)sr_model_graph_open("resnet18", NULL, BATCH, SIDE, SIDE, &g));
    return g;
}

// Computes one layer of a model, which may hold any weights.  Returns its numbers for the batch.
static int64_t layer_of_model(SrFeatureModel *m, const char *layer, const char *weights, float *f) {
    SrFeatureShape s;
    int64_t n = 1;
    CHECK_OK((SrStatus)sr_feature_model_tap(m, layer, weights, 0));
    CHECK(sr_feature_model_output(m, 0, &s) != NULL);
    for (int i = 0; i < s.rank; i++)
        n *= s.shape[i];
    CHECK(n <= ROOM);
    CHECK_OK((SrStatus)sr_feature_model_features(m, images, BATCH, &f));
    return n;
}

static int64_t layer_of(const SrModelGraph *g, const char *layer, float *f) {
    SrFeatureModel *m;
    CHECK_OK((SrStatus)sr_feature_model_open_graph(g, &m));
    int64_t n = layer_of_model(m, layer, NULL, f);
    sr_feature_model_close(m);
    return n;
}

static bool same(const float *a, const float *b, int64_t n) {
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static int count_nodes(const SrModelGraph *g) {
    int n = 0;
    while (sr_model_graph_node(g, n, NULL))
        n++;
    return n;
}

static int count_tensors(const SrModelGraph *g) {
    int n = 0;
    while (sr_model_graph_tensor(g, n, NULL))
        n++;
    return n;
}

static SrGraphNode node_of(const SrModelGraph *g, const char *name) {
    SrGraphNode node = {.name = NULL};
    if (!sr_model_graph_node(g, sr_model_graph_find(g, name), &node))
        fail_msg("there is no node %s", name);
    return node;
}

// Returns the tensor's number; -1: there is none.
static int tensor_of(const SrModelGraph *g, const char *name, SrTensorInfo *out) {
    for (int i = 0; sr_model_graph_tensor(g, i, out); i++)
        if (strcmp(out->name, name) == 0)
            return i;
    return -1;
}

// ---- edits --------------------------------------------------------------------------------------

TEST(test_nodes) {
    SrModelGraph *g = open_resnet18();
    SrFeatureModel *m;
    SrFeatureShape shape;
    SrGraphNode node;
    CHECK_OK((SrStatus)sr_feature_model_open("resnet18", BATCH, SIDE, SIDE, &m));
    int n = count_nodes(g);
    for (int i = 0; i < n; i++) { // the same list as a model's
        CHECK_INT(sr_model_graph_node(g, i, &node), 1);
        CHECK_INT(sr_feature_model_node(m, i, &shape), 1);
        CHECK_STR(node.name, shape.name);
        CHECK(node.rank == shape.rank &&
              memcmp(node.shape, shape.shape, (size_t)node.rank * sizeof(int)) == 0);
        CHECK_INT(sr_model_graph_find(g, node.name), i);
        for (int k = 0; k < node.n_inputs; k++)
            CHECK(node.inputs[k] >= 0 && node.inputs[k] < i);
    }
    CHECK_INT(sr_feature_model_node(m, n, NULL), 0);
    CHECK_STR(node_of(g, "x").op, "input");
    CHECK_INT(node_of(g, "x").n_inputs, 0);
    CHECK_STR(node_of(g, "conv1").op, "conv2d");
    CHECK_INT(node_of(g, "conv1").inputs[0], sr_model_graph_find(g, "x"));
    CHECK_STR(node_of(g, "layer2").name, "layer2.1.relu_1"); // a module means its last node
    CHECK_INT(sr_model_graph_find(g, "layer9"), -1);
    CHECK(strstr(sr_status_message(), "there is no layer 'layer9'"));
    sr_feature_model_close(m);
    sr_model_graph_close(g);
}

// The part that is left gives the bits of the same layer of the whole network.
TEST(test_cut) {
    static float whole[ROOM], part[ROOM];
    SrTensorInfo t;
    SrFeatureModel *m;
    SrModelGraph *g = open_resnet18();
    CHECK_OK((SrStatus)sr_feature_model_open("resnet18", BATCH, SIDE, SIDE, &m));
    int64_t n = layer_of_model(m, "layer2", NULL, whole);
    int tensors = count_tensors(g);
    CHECK_INT(n, BATCH * 128 * 4 * 4);
    CHECK_OK((SrStatus)sr_model_graph_cut(g, "layer2"));
    CHECK_INT(layer_of(g, "layer2", part), n);
    CHECK(same(whole, part, n));
    SrGraphNode last;
    CHECK_INT(sr_model_graph_node(g, count_nodes(g) - 1, &last), 1);
    CHECK_STR(last.name, "layer2.1.relu_1");
    CHECK(tensor_of(g, "layer2.1.conv2.weight", &t) >= 0 && t.count == 128 * 128 * 9);
    CHECK_INT(tensor_of(g, "layer3.0.conv1.weight", &t), -1);
    CHECK_INT(tensor_of(g, "fc.weight", &t), -1);
    CHECK(count_tensors(g) < tensors);
    CHECK_OK((SrStatus)sr_model_graph_cut(g, "layer1.0.relu,bn1")); // a second cut, of two nodes
    CHECK_INT(sr_model_graph_find(g, "layer1.1.conv1"), -1);
    n = layer_of_model(m, "layer1.0.relu", NULL, whole);
    CHECK_INT(layer_of(g, "layer1.0.relu", part), n);
    CHECK(same(whole, part, n));
    CHECK_FAILS((SrStatus)sr_model_graph_cut(g, "layer4"), SR_ERR_CONFIG, "layer4");
    sr_feature_model_close(m);
    sr_model_graph_close(g);
}

// An identity changes no bit of a later layer; all readers of its input read it; removed, the list
// is that of the beginning.
TEST(test_insert_and_remove) {
    static float before[ROOM], after[ROOM];
    SrModelGraph *g = open_resnet18();
    int nodes = count_nodes(g), tensors = count_tensors(g);
    int64_t n = layer_of(g, "layer3", before);
    CHECK_OK((SrStatus)sr_model_graph_insert(g, "layer1", "probe", "identity", NULL));
    CHECK_INT(count_nodes(g), nodes + 1);
    CHECK_INT(count_tensors(g), tensors);
    SrGraphNode probe = node_of(g, "layer1.1.probe"), node;
    CHECK_STR(probe.op, "identity");
    int source = sr_model_graph_find(g, "layer1.1.relu_1"), readers = 0,
        id = sr_model_graph_find(g, "layer1.1.probe");
    CHECK_INT(probe.n_inputs, 1);
    CHECK_INT(probe.inputs[0], source);
    for (int i = 0; sr_model_graph_node(g, i, &node); i++)
        for (int k = 0; k < node.n_inputs; k++) {
            CHECK(node.inputs[k] != source || i == id);
            readers += node.inputs[k] == id;
        }
    CHECK_INT(readers, 2); // layer2.0.conv1 and layer2.0.downsample.0
    CHECK_INT(layer_of(g, "layer3", after), n);
    CHECK(same(before, after, n));
    CHECK_INT(layer_of(g, "layer1.1.probe", before), BATCH * 64 * 8 * 8);
    CHECK_FAILS((SrStatus)sr_model_graph_insert(g, "layer1", "probe", "identity", NULL),
                SR_ERR_CONFIG, "layer1.1.probe");
    CHECK_OK((SrStatus)sr_model_graph_remove(g, "layer1.1.probe"));
    CHECK_INT(count_nodes(g), nodes);
    CHECK_INT(sr_model_graph_find(g, "layer1.1.probe"), -1);
    CHECK_FAILS((SrStatus)sr_model_graph_remove(g, "x"), SR_ERR_CONFIG, "x has no input");
    sr_model_graph_close(g);
}

// Computes fc = W x + b over the pooled features in double precision.
static void check_linear(const SrModelGraph *g, int classes) {
    enum { D = 512 };
    static float x[BATCH * D], y[ROOM], weight[10 * D], bias[10];
    CHECK_INT(layer_of(g, "flatten", x), BATCH * D);
    CHECK_INT(layer_of(g, "fc", y), BATCH * classes);
    CHECK_OK((SrStatus)sr_model_graph_read(g, "fc.weight", weight, (int64_t)classes * D));
    CHECK_OK((SrStatus)sr_model_graph_read(g, "fc.bias", bias, classes));
    for (int i = 0; i < BATCH * classes; i++) {
        const float *w = weight + i % classes * D, *row = x + i / classes * D;
        double sum = (double)bias[i % classes];
        for (int d = 0; d < D; d++)
            sum += (double)w[d] * (double)row[d];
        CHECK_NEAR(y[i], sum, 1e-4 * (1 + fabs(sum)));
    }
}

TEST(test_replace) {
    static float kept[64 * 3 * 7 * 7], now[64 * 3 * 7 * 7], before[ROOM], after[ROOM];
    SrTensorInfo t;
    SrModelGraph *g = open_resnet18();
    int nodes = count_nodes(g), tensors = count_tensors(g);
    CHECK(tensor_of(g, "fc.weight", &t) >= 0 && t.shape[0] == 1000 && t.shape[1] == 512);
    // Another classifier has the names of the old one and weights of its own.
    CHECK_OK((SrStatus)sr_model_graph_replace(g, "fc", "linear", "{out_features: 10}"));
    CHECK(tensor_of(g, "fc.weight", &t) >= 0 && t.shape[0] == 10 && t.shape[1] == 512);
    CHECK_INT(count_tensors(g), tensors);
    CHECK_INT(count_nodes(g), nodes);
    CHECK_INT(node_of(g, "fc").shape[1], 10);
    check_linear(g, 10);
    // Weights whose name and shape stay keep their values: a stride of 1 makes larger maps.
    int64_t n = 64 * 3 * 7 * 7;
    CHECK_OK((SrStatus)sr_model_graph_read(g, "conv1.weight", kept, n));
    CHECK_OK((SrStatus)sr_model_graph_replace(
        g, "conv1", "conv2d", "{out_channels: 64, kernel_h: 7, padding_h: 3, stride_h: 1}"));
    CHECK_OK((SrStatus)sr_model_graph_read(g, "conv1.weight", now, n));
    CHECK(same(kept, now, n));
    CHECK_INT(node_of(g, "conv1").shape[2], SIDE);
    CHECK_INT(node_of(g, "layer4").shape[2], 2);
    // A wrong edit leaves everything as it is.
    n = layer_of(g, "layer4", before);
    CHECK_FAILS((SrStatus)sr_model_graph_replace(g, "fc", "lineal", NULL), SR_ERR_CONFIG,
                "did you mean 'linear'");
    CHECK_FAILS((SrStatus)sr_model_graph_replace(g, "fc", "linear", "{out_feature: 3}"),
                SR_ERR_CONFIG, "out_features");
    CHECK_FAILS((SrStatus)sr_model_graph_replace(g, "fc", "relu", "{slope: 3}"), SR_ERR_CONFIG,
                "relu");
    CHECK_FAILS((SrStatus)sr_model_graph_replace(g, "fc", "linear", "{out_features: "),
                SR_ERR_CONFIG, "options");
    CHECK_FAILS((SrStatus)sr_model_graph_replace(g, "layer1.0.conv1", "conv2d",
                                                 "{out_channels: 32, kernel_h: 3, padding_h: 1}"),
                SR_ERR_CONFIG, "layer1.0.bn1: slot weight must be F32 [32]");
    CHECK_INT(count_nodes(g), nodes);
    CHECK_INT(layer_of(g, "layer4", after), n);
    CHECK(same(before, after, n));
    CHECK_OK((SrStatus)sr_model_graph_replace(g, "relu", "identity", NULL));
    CHECK_INT(layer_of(g, "layer4", after), n);
    CHECK(!same(before, after, n));
    sr_model_graph_close(g);
}

TEST(test_tags) {
    int n;
    SrModelGraph *g = open_resnet18();
    CHECK_OK((SrStatus)sr_model_graph_tag(g, "layer?.0.conv1", 4, &n));
    CHECK_INT(n, 4);
    CHECK_OK((SrStatus)sr_model_graph_tag(g, "layer1.*", 1, NULL));
    CHECK_OK((SrStatus)sr_model_graph_insert(g, "conv1", "probe", "identity", NULL));
    CHECK_OK((SrStatus)sr_model_graph_cut(g, "layer2"));
    CHECK_INT(node_of(g, "layer1.0.conv1").tags, 5); // edits keep tags
    CHECK_INT(node_of(g, "layer2.0.conv1").tags, 4);
    CHECK_INT(node_of(g, "probe").tags, 0);
    CHECK_FAILS((SrStatus)sr_model_graph_tag(g, "layer7*", 1, &n), SR_ERR_CONFIG, "layer7*");
    CHECK_INT(n, 0);
    sr_model_graph_close(g);
}

// ---- weights ------------------------------------------------------------------------------------

// A model has a copy: neither edits of its graph, new weights, nor the graph's end change it.
TEST(test_models_are_copies) {
    enum { N = 64 * 3 * 7 * 7 };
    static float first[ROOM], f[ROOM], zeros[N], back[N];
    float *out = f, counter;
    SrFeatureModel *early, *late;
    SrModelGraph *g = open_resnet18();
    CHECK_OK((SrStatus)sr_feature_model_open_graph(g, &early));
    CHECK_OK((SrStatus)sr_feature_model_open_graph(g, &late));
    int64_t n = layer_of_model(early, "layer1", NULL, first);
    CHECK_OK((SrStatus)sr_model_graph_set(g, "conv1.weight", zeros, N));
    CHECK_OK((SrStatus)sr_model_graph_read(g, "conv1.weight", back, N));
    CHECK(same(zeros, back, N));
    CHECK_OK((SrStatus)sr_feature_model_features(early, images, BATCH, &out));
    CHECK(same(first, f, n));
    CHECK_INT(layer_of(g, "conv1", f), BATCH * 64 * 16 * 16);
    for (int i = 0; i < BATCH * 64 * 16 * 16; i++)
        CHECK_NEAR(f[i], 0, 0);
    CHECK_OK((SrStatus)sr_model_graph_set(g, "bn1.num_batches_tracked", (const float[]){7}, 1));
    CHECK_OK((SrStatus)sr_model_graph_read(g, "bn1.num_batches_tracked", &counter, 1));
    CHECK_NEAR(counter, 7, 0);
    CHECK_FAILS((SrStatus)sr_model_graph_set(g, "conv1.weight", zeros, 5), SR_ERR_CONFIG,
                "conv1.weight has 9408 numbers [64, 3, 7, 7], but there is room for 5");
    CHECK_FAILS((SrStatus)sr_model_graph_read(g, "conv9.weight", back, N), SR_ERR_CONFIG,
                "no tensor 'conv9.weight'");
    sr_model_graph_close(g);
    CHECK_INT(layer_of_model(late, "layer1", NULL, f), n); // tapped when the graph is gone
    CHECK(same(first, f, n));
    sr_feature_model_close(early);
    sr_feature_model_close(late);
}

// Weights that a graph writes give its bits to a model by name, and its ONNX file is the program's.
TEST(test_files) {
    static float of_graph[ROOM], of_file[ROOM], bias[64];
    char dir[64], weights[96], a[96], b[96];
    char *x, *y;
    size_t nx, ny;
    SrFeatureModel *m;
    SrModelGraph *g = open_resnet18(), *again;
    temp_dir_make(dir);
    snprintf(weights, sizeof weights, "%s/w.safetensors", dir);
    snprintf(a, sizeof a, "%s/a.onnx", dir);
    snprintf(b, sizeof b, "%s/b.onnx", dir);
    for (int i = 0; i < 64; i++)
        bias[i] = 0.01f * (float)i;
    CHECK_OK((SrStatus)sr_model_graph_set(g, "bn1.bias", bias, 64));
    CHECK_OK((SrStatus)sr_model_graph_save(g, weights));
    int64_t n = layer_of(g, "layer2", of_graph);
    CHECK_OK((SrStatus)sr_feature_model_open("resnet18", BATCH, SIDE, SIDE, &m));
    CHECK_INT(layer_of_model(m, "layer2", weights, of_file), n);
    CHECK(same(of_graph, of_file, n));
    sr_feature_model_close(m);
    CHECK_OK((SrStatus)sr_model_graph_open("resnet18", weights, BATCH, SIDE, SIDE, &again));
    CHECK_INT(layer_of(again, "layer2", of_file), n);
    CHECK(same(of_graph, of_file, n));
    sr_model_graph_close(again);
    CHECK_OK((SrStatus)sr_model_graph_export(g, "layer2,flatten:f", a));
    program_run(&result, 1,
                (const char *const[]){"export", "resnet18", "--weights", weights, "--nodes",
                                      "layer2,flatten:f", "--size", "32", "--out", b, NULL});
    CHECK_INT(result.code, 0);
    CHECK_OK(sr_file_read(a, 1 << 28, &x, &nx));
    CHECK_OK(sr_file_read(b, 1 << 28, &y, &ny));
    CHECK(nx == ny && memcmp(x, y, nx) == 0);
    sr_free(x);
    sr_free(y);
    CHECK_FAILS((SrStatus)sr_model_graph_export(g, "layer9", a), SR_ERR_CONFIG, "layer9");
    CHECK_FAILS((SrStatus)sr_model_graph_save(g, "weights.txt"), SR_ERR_CONFIG, ".safetensors");
    CHECK_FAILS((SrStatus)sr_model_graph_open("resnet34", weights, BATCH, SIDE, SIDE, &again),
                SR_ERR_CONFIG, "does not fit the trunk");
    CHECK(again == NULL);
    sr_model_graph_close(g);
    temp_dir_remove(dir);
}

// An export keeps height and width: four sizes of images give four files.
TEST(test_sizes_of_exports) {
    static const int sizes[][2] = {{16, 24}, {24, 16}, {16, 16}, {24, 24}};
    char dir[64], path[96], *file[SR_COUNT(sizes)];
    size_t n[SR_COUNT(sizes)];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/a.onnx", dir);
    for (int i = 0; i < SR_COUNT(sizes); i++) {
        SrModelGraph *g;
        CHECK_OK((SrStatus)sr_model_graph_open("tests/cli/tiny.yaml", NULL, 1, sizes[i][0],
                                               sizes[i][1], &g));
        CHECK_OK((SrStatus)sr_model_graph_export(g, "layer2", path));
        sr_model_graph_close(g);
        CHECK_OK(sr_file_read(path, 1 << 28, &file[i], &n[i]));
        for (int k = 0; k < i; k++)
            CHECK(n[k] != n[i] || memcmp(file[k], file[i], n[i]) != 0);
    }
    for (int i = 0; i < SR_COUNT(sizes); i++)
        sr_free(file[i]);
    temp_dir_remove(dir);
}

// A configuration's tensors have VISSL's names, and so have those of a new node.
TEST(test_configuration) {
    SrTensorInfo t;
    SrModelGraph *g;
    CHECK_OK((SrStatus)sr_model_graph_open("tests/cli/tiny.yaml", NULL, 2, 0, 0, &g));
    CHECK_INT(node_of(g, "x").shape[2], 16);
    CHECK(tensor_of(g, "trunk._feature_blocks.conv1.weight", &t) >= 0);
    CHECK_STR(t.dtype, "F32");
    CHECK_OK((SrStatus)sr_model_graph_insert(g, "layer1", "extra", "batch_norm", NULL));
    CHECK(tensor_of(g, "trunk._feature_blocks.layer1.1.extra.running_mean", &t) >= 0);
    CHECK_INT(t.count, 4);
    sr_model_graph_close(g);
    CHECK_FAILS((SrStatus)sr_model_graph_open("resnet51", NULL, 1, 32, 32, &g), SR_ERR_CONFIG,
                "did you mean 'resnet50'");
    CHECK(g == NULL);
}

// ---- misuse, memory, threads --------------------------------------------------------------------

#define REFUSES(call) CHECK_FAILS((SrStatus)(call), SR_ERR_CONFIG, "is NULL")

TEST(test_null) {
    float x = 0;
    SrModelGraph *g = open_resnet18(), *none;
    SrFeatureModel *m;
    REFUSES(sr_model_graph_open(NULL, NULL, 1, 0, 0, &none));
    CHECK(none == NULL);
    REFUSES(sr_model_graph_open("resnet18", NULL, 1, 0, 0, NULL));
    CHECK_INT(sr_model_graph_node(NULL, 0, NULL), 0);
    CHECK_INT(sr_model_graph_tensor(NULL, 0, NULL), 0);
    CHECK_INT(sr_model_graph_find(NULL, "conv1"), -1);
    CHECK_INT(sr_model_graph_find(g, NULL), -1);
    REFUSES(sr_model_graph_cut(NULL, "layer1"));
    REFUSES(sr_model_graph_cut(g, NULL));
    REFUSES(sr_model_graph_insert(NULL, "conv1", "a", "relu", NULL));
    REFUSES(sr_model_graph_insert(g, NULL, "a", "relu", NULL));
    REFUSES(sr_model_graph_insert(g, "conv1", NULL, "relu", NULL));
    REFUSES(sr_model_graph_insert(g, "conv1", "a", NULL, NULL));
    REFUSES(sr_model_graph_replace(NULL, "relu", "relu", NULL));
    REFUSES(sr_model_graph_replace(g, NULL, "relu", NULL));
    REFUSES(sr_model_graph_replace(g, "relu", NULL, NULL));
    REFUSES(sr_model_graph_remove(NULL, "relu"));
    REFUSES(sr_model_graph_remove(g, NULL));
    REFUSES(sr_model_graph_tag(NULL, "*", 1, NULL));
    REFUSES(sr_model_graph_tag(g, NULL, 1, NULL));
    REFUSES(sr_model_graph_read(NULL, "fc.bias", &x, 1));
    REFUSES(sr_model_graph_read(g, NULL, &x, 1));
    REFUSES(sr_model_graph_read(g, "fc.bias", NULL, 1000));
    REFUSES(sr_model_graph_set(NULL, "fc.bias", &x, 1));
    REFUSES(sr_model_graph_set(g, NULL, &x, 1));
    REFUSES(sr_model_graph_set(g, "fc.bias", NULL, 1000));
    REFUSES(sr_model_graph_save(NULL, "a.safetensors"));
    REFUSES(sr_model_graph_save(g, NULL));
    REFUSES(sr_model_graph_export(NULL, "fc", "a.onnx"));
    REFUSES(sr_model_graph_export(g, NULL, "a.onnx"));
    REFUSES(sr_model_graph_export(g, "fc", NULL));
    REFUSES(sr_feature_model_open_graph(NULL, &m));
    CHECK(m == NULL);
    REFUSES(sr_feature_model_open_graph(g, NULL));
    sr_model_graph_close(g);
    sr_model_graph_close(NULL);
}

// Opens a graph, edits it in every way and opens a model.  Returns the status of the first call
// that fails.
static int whole_way(void) {
    SrModelGraph *g = NULL;
    SrFeatureModel *m = NULL;
    int status = sr_model_graph_open("tests/cli/tiny.yaml", NULL, 1, 0, 0, &g);
    if (status == 0)
        status = sr_model_graph_insert(g, "layer1", "probe", "batch_norm", "{eps: 0.001}");
    if (status == 0)
        status = sr_model_graph_replace(g, "relu", "identity", NULL);
    if (status == 0)
        status = sr_model_graph_remove(g, "layer1.1.probe");
    if (status == 0)
        status = sr_model_graph_cut(g, "layer2");
    if (status == 0)
        status = sr_feature_model_open_graph(g, &m);
    if (status == 0)
        status = sr_feature_model_tap(m, "layer1", NULL, 0);
    sr_feature_model_close(m);
    sr_model_graph_close(g);
    return status;
}

TEST(test_out_of_memory) {
    enum { TRIES = 60 };
    int failed = 0;
    CHECK_INT(whole_way(), 0);
    int64_t live = sr_mem_live(), before = sr_mem_calls();
    CHECK_INT(whole_way(), 0);
    int64_t calls = sr_mem_calls() - before;
    for (int i = 0; i < TRIES; i++) {
        int64_t n = calls - calls * i / TRIES;
        sr_mem_fail_at(n);
        int status = whole_way();
        sr_mem_fail_at(0);
        failed += status != 0;
        if ((status != 0 && status != SR_ERR_MEMORY) || sr_mem_live() != live)
            fail_msg("allocation %lld of %lld: status %d, %s, %lld blocks kept", (long long)n,
                     (long long)calls, status, sr_status_message(),
                     (long long)(sr_mem_live() - live));
    }
    CHECK(failed > TRIES / 2);
}

typedef struct {
    const char *cut;
    float f[ROOM];
    int64_t n;
    int failed;
} Worker;

static void *work(void *arg) {
    Worker *w = arg;
    SrModelGraph *g = NULL;
    SrFeatureModel *m = NULL;
    float *out = w->f;
    w->failed = sr_model_graph_open("resnet18", NULL, BATCH, SIDE, SIDE, &g) ||
                sr_model_graph_insert(g, "layer1", "probe", "identity", NULL) ||
                sr_model_graph_cut(g, w->cut) || sr_feature_model_open_graph(g, &m) ||
                sr_feature_model_tap(m, w->cut, NULL, 0);
    for (int turn = 0; turn < 3 && !w->failed; turn++)
        w->failed = sr_feature_model_features(m, images, BATCH, &out);
    sr_feature_model_close(m);
    sr_model_graph_close(g);
    return NULL;
}

// Two threads edit graphs and compute with models of their own at the same time.
TEST(test_threads) {
    static Worker workers[2] = {{.cut = "layer2"}, {.cut = "layer3"}};
    static float alone[ROOM];
    pthread_t thread[2];
    SrModelGraph *g = open_resnet18();
    for (int t = 0; t < 2; t++)
        pthread_create(&thread[t], NULL, work, &workers[t]);
    for (int t = 0; t < 2; t++)
        pthread_join(thread[t], NULL);
    for (int t = 0; t < 2; t++) {
        CHECK_INT(workers[t].failed, 0);
        CHECK(same(workers[t].f, alone, layer_of(g, workers[t].cut, alone)));
    }
    sr_model_graph_close(g);
}

SR_TESTS(model_graph, unit(test_nodes), unit(test_cut), unit(test_insert_and_remove),
         unit(test_replace), unit(test_tags), unit(test_models_are_copies), unit(test_files),
         unit(test_sizes_of_exports), unit(test_configuration), unit(test_null),
         unit(test_out_of_memory), unit(test_threads))
