// Tests the C interface sslrun.h: layers, features from several threads, preprocessing of images,
// nearest neighbours, misuse, and its example as a program.
#include "sslrun.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"
#include "tests/check.h"
#include "tests/comma_locale.h"
#include "tests/data/fixture.h"
#include "tests/program.h"

TEST(test_use) {
    SrFeatureModel *m;
    SrFeatureShape s;
    float x[2 * 3 * 16 * 16];
    for (int i = 0; i < 2 * 3 * 16 * 16; i++)
        x[i] = sinf((float)i);
    CHECK_INT(sr_feature_model_open("tests/cli/tiny.yaml", 2, 16, 16, &m), 0);
    CHECK_INT(sr_feature_model_node(m, 1, &s), 1);
    CHECK_STR(s.name, "conv1");
    CHECK(s.rank == 4 && s.shape[1] == 4 && s.shape[3] == 16);
    CHECK_INT(sr_feature_model_node(m, 1000, &s), 0);
    CHECK(sr_feature_model_run(m, x) != 0);
    CHECK(strstr(sr_status_message(), "sr_feature_model_tap first"));
    CHECK_INT(sr_feature_model_tap(m, "layer2,flatten:f", NULL, 0), 0);
    CHECK_INT(sr_feature_model_run(m, x), 0);
    const float *f = sr_feature_model_output(m, 1, &s);
    CHECK_STR(s.name, "f");
    CHECK(s.rank == 2 && s.shape[0] == 2 && s.shape[1] == 32);
    float first = f[0];
    CHECK_INT(sr_feature_model_run(m, x), 0);
    CHECK_NEAR(sr_feature_model_output(m, 1, &s)[0], first, 0);
    CHECK(sr_feature_model_output(m, 2, &s) == NULL);
    CHECK_INT(sr_feature_model_tap(m, "layer1", NULL, 1), 0); // a second call requests other layers
    CHECK_INT(sr_feature_model_run(m, x), 0);
    CHECK(sr_feature_model_tap(m, "layer9", NULL, 0) != 0);
    CHECK(strstr(sr_status_message(), "there is no layer 'layer9'"));
    CHECK(sr_feature_model_output(m, 0, &s) == NULL);
    sr_feature_model_close(m);
    CHECK(sr_feature_model_open("resnet51", 1, 32, 32, &m) != 0);
    CHECK(m == NULL && strstr(sr_status_message(), "did you mean 'resnet50'"));
    CHECK(sr_feature_model_open("resnet50", 0, 32, 32, &m) != 0);
    CHECK(sr_feature_model_open("tests/cli/tiny.safetensors", 1, 0, 0, &m) != 0);
    sr_feature_model_close(NULL);
    CHECK_STR(sr_version(), SR_VERSION);
    sr_log_set_level(SR_LOG_INFO); // a library is silent; later tests are not
}

// ---- several threads ----------------------------------------------------------------------------

enum { SIDE = 16, IMAGES = 5, D = 32, TURNS = 4 };

typedef struct {
    SrFeatureModel *model;
    const float *x; // (IMAGES, 3, SIDE, SIDE)
    float f[TURNS][IMAGES * D];
    int failed;
} Caller;

static void *call(void *arg) {
    Caller *c = arg;
    for (int turn = 0; turn < TURNS; turn++) {
        float *out = c->f[turn];
        c->failed |= sr_feature_model_features(c->model, c->x, IMAGES, &out);
    }
    return NULL;
}

// Three threads with images of their own, two of them on one handle, get the bits of a single
// thread.
TEST(test_threads) {
    static float x[3][IMAGES * 3 * SIDE * SIDE];
    static Caller callers[3];
    SrFeatureModel *model[2];
    pthread_t thread[3];
    float alone[IMAGES * D], *out = alone;
    for (int i = 0; i < 2; i++) {
        CHECK_INT(sr_feature_model_open("tests/cli/tiny.yaml", 2, 0, 0, &model[i]), 0);
        CHECK_INT(sr_feature_model_tap(model[i], "flatten", NULL, 0), 0);
    }
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < SR_COUNT(x[t]); i++)
            x[t][i] = sinf((float)(i * (t + 1)));
        callers[t] = (Caller){.model = model[t / 2], .x = x[t]};
        pthread_create(&thread[t], NULL, call, &callers[t]);
    }
    for (int t = 0; t < 3; t++)
        pthread_join(thread[t], NULL);
    for (int t = 0; t < 3; t++) {
        CHECK_INT(callers[t].failed, 0);
        CHECK_INT(sr_feature_model_features(model[0], x[t], IMAGES, &out), 0);
        for (int turn = 0; turn < TURNS; turn++)
            CHECK(memcmp(callers[t].f[turn], alone, sizeof alone) == 0);
    }
    CHECK(memcmp(callers[0].f[0], callers[1].f[0], sizeof alone) != 0);
    CHECK(sr_feature_model_features(model[0], x[0], 0, &out) != 0);
    for (int i = 0; i < 2; i++)
        sr_feature_model_close(model[i]);
    sr_log_set_level(SR_LOG_INFO);
}

// Any number of rows gives the features of full batches; a size that is not whole images is
// refused.
TEST(test_rows) {
    static float x[IMAGES * 3 * SIDE * SIDE];
    float f[IMAGES * D], one[D], *out = f;
    SrFeatureModel *m;
    for (int i = 0; i < SR_COUNT(x); i++)
        x[i] = cosf((float)i);
    CHECK_INT(sr_feature_model_open("tests/cli/tiny.yaml", 4, SIDE, SIDE, &m), 0);
    CHECK(sr_feature_model_features(m, x, 1, &out) != 0);
    CHECK(strstr(sr_status_message(), "sr_feature_model_tap first"));
    CHECK_INT(sr_feature_model_tap(m, "flatten", NULL, 0), 0);
    CHECK_INT(sr_feature_model_features(m, x, IMAGES, &out), 0);
    out = one;
    for (int i = 0; i < IMAGES; i++) {
        CHECK_INT(sr_feature_model_features(m, x + i * 3 * SIDE * SIDE, 1, &out), 0);
        CHECK(memcmp(one, f + i * D, sizeof one) == 0);
    }
    CHECK_INT(sr_feature_model_tap(m, "flatten", NULL, 1), 0);
    CHECK(sr_feature_model_features(m, x, 1, &out) != 0);
    CHECK(strstr(sr_status_message(), "give 4 images, not 1"));
    sr_feature_model_close(m);
    sr_log_set_level(SR_LOG_INFO);
}

// A model of a graph takes the graph's images, which need not be square.
TEST(test_model_of_a_graph) {
    enum { N = 5, H = 16, W = 24, LAYER = 4 * H * W };
    static float x[N * 3 * H * W], f[2][N * LAYER];
    SrModelGraph *graph;
    SrFeatureModel *m[2];
    int batch, h, w;
    for (int i = 0; i < SR_COUNT(x); i++)
        x[i] = sinf((float)i);
    CHECK_INT(sr_model_graph_open("tests/cli/tiny.yaml", NULL, 2, H, W, &graph), 0);
    CHECK_INT(sr_feature_model_open_graph(graph, &m[0]), 0);
    CHECK_INT(sr_feature_model_open("tests/cli/tiny.yaml", 2, H, W, &m[1]), 0);
    for (int i = 0; i < 2; i++) {
        float *out = f[i];
        sr_feature_model_size(m[i], &batch, &h, &w);
        CHECK(batch == 2 && h == H && w == W);
        CHECK_INT(sr_feature_model_tap(m[i], "conv1", NULL, 0), 0);
        CHECK_INT(sr_feature_model_features(m[i], x, N, &out), 0);
    }
    CHECK(memcmp(f[0], f[1], sizeof f[0]) == 0);
    for (int i = 0; i < 2; i++)
        sr_feature_model_close(m[i]);
    sr_model_graph_close(graph);
    sr_log_set_level(SR_LOG_INFO);
}

// ---- images -------------------------------------------------------------------------------------

// A flat colour stays flat through resize and crop, so each channel is (value / 255 - mean) /
// deviation.
TEST(test_preprocess) {
    static const double mean[] = {0.485, 0.456, 0.406}, deviation[] = {0.229, 0.224, 0.225};
    static float x[3 * 224 * 224];
    uint8_t pixels[20 * 30 * 3];
    int batch, h, w;
    size_t bytes;
    SrFeatureModel *m;
    for (int i = 0; i < SR_COUNT(pixels); i++)
        pixels[i] = (uint8_t)(50 * (i % 3 + 1));
    void *png = fixture_png(pixels, 20, 30, 3, &bytes);
    CHECK_INT(sr_feature_model_open("resnet18", 1, 0, 0, &m), 0);
    sr_feature_model_size(m, &batch, &h, &w);
    CHECK(batch == 1 && h == 224 && w == 224);
    CHECK_INT(sr_feature_model_preprocess(m, png, bytes, x), 0);
    for (int i = 0; i < SR_COUNT(x); i++) {
        int c = i / (224 * 224);
        CHECK_NEAR(x[i], (50.0 * (c + 1) / 255 - mean[c]) / deviation[c], 1e-5);
    }
    CHECK(sr_feature_model_preprocess(m, "no image", 8, x) != 0);
    sr_feature_model_close(m);
    CHECK_INT(sr_feature_model_open("tests/cli/tiny.yaml", 1, 0, 0, &m), 0);
    sr_feature_model_size(m, &batch, &h, &w);
    CHECK(h == 16 && w == 16); // the size of the first view in training
    sr_feature_model_close(m);
    CHECK_INT(sr_feature_model_open("resnet18", 1, 64, 96, &m), 0);
    CHECK_INT(sr_feature_model_preprocess(m, png, bytes, x), 0);
    sr_feature_model_close(m);
    sr_free(png);
    sr_log_set_level(SR_LOG_INFO);
}

// ---- neighbours ---------------------------------------------------------------------------------

static double product(const float *a, const float *b, int d, bool cosine) {
    double ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < d; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return cosine ? ab / sqrt(aa * bb) : ab;
}

// Compared with all products in double precision, no omitted row is better than the last one
// returned.
TEST(test_neighbours) {
    enum { N = 700, M = 300, DIM = 9, K = 6 };
    static float rows[N * DIM], queries[M * DIM], similarity[M * K];
    static int64_t row[M * K];
    for (int i = 0; i < N * DIM; i++)
        rows[i] = sinf((float)(i * i % 9973));
    for (int i = 0; i < M * DIM; i++)
        queries[i] = cosf((float)(i * 7));
    for (int cosine = 0; cosine < 2; cosine++) {
        SrKnnIndex *index;
        CHECK_INT(sr_knn_index_open(rows, N, DIM, cosine, &index), 0);
        CHECK_INT(sr_knn_index_search(index, queries, M, K, row, similarity), 0);
        for (int q = 0; q < M; q++) {
            int better = 0;
            for (int j = 0; j < K; j++)
                CHECK_NEAR(similarity[q * K + j],
                           product(queries + q * DIM, rows + row[q * K + j] * DIM, DIM, cosine),
                           1e-5);
            for (int i = 0; i < N; i++)
                better += product(queries + q * DIM, rows + i * DIM, DIM, cosine) >
                          (double)similarity[q * K + K - 1] + 1e-5;
            CHECK(better < K);
        }
        CHECK(sr_knn_index_search(index, queries, 1, N + 1, row, similarity) != 0);
        CHECK(strstr(sr_status_message(), "701 neighbours are asked for, but there are 700 rows"));
        CHECK(sr_knn_index_search(index, queries, 0, 1, row, similarity) != 0);
        sr_knn_index_close(index);
    }
    SrKnnIndex *none;
    CHECK(sr_knn_index_open(rows, 0, DIM, 0, &none) != 0 && none == NULL);
    sr_knn_index_close(NULL);
}

// ---- NULL pointers ------------------------------------------------------------------------------

#define REFUSES(call) CHECK_FAILS((SrStatus)(call), SR_ERR_CONFIG, "is NULL")

TEST(test_null) {
    static float x[3 * SIDE * SIDE];
    float *f = x;
    int n = 9, h = 9, w = 9;
    int64_t row;
    SrFeatureModel *m, *none;
    SrKnnIndex *index, *no_index;
    CHECK_INT(sr_feature_model_open("tests/cli/tiny.yaml", 1, 0, 0, &m), 0);
    REFUSES(sr_feature_model_open(NULL, 1, 0, 0, &none));
    CHECK(none == NULL);
    CHECK_FAILS((SrStatus)sr_feature_model_open("resnet18", 1, 0, 0, NULL), SR_ERR_CONFIG,
                "sr_feature_model_open: the argument `out` is NULL");
    sr_feature_model_size(NULL, &n, &h, &w);
    CHECK(n == 0 && h == 0 && w == 0);
    sr_feature_model_size(m, NULL, NULL, &w);
    CHECK_INT(w, 16);
    CHECK_INT(sr_feature_model_node(NULL, 0, NULL), 0);
    CHECK_INT(sr_feature_model_node(m, 0, NULL), 1);
    REFUSES(sr_feature_model_tap(NULL, "layer1", NULL, 0));
    REFUSES(sr_feature_model_tap(m, NULL, NULL, 0));
    REFUSES(sr_feature_model_preprocess(NULL, "a", 1, x));
    REFUSES(sr_feature_model_preprocess(m, NULL, 1, x));
    REFUSES(sr_feature_model_preprocess(m, "a", 1, NULL));
    REFUSES(sr_feature_model_features(NULL, x, 1, &f));
    REFUSES(sr_feature_model_features(m, NULL, 1, &f));
    REFUSES(sr_feature_model_features(m, x, 1, NULL));
    CHECK_INT(sr_feature_model_tap(m, "layer1", NULL, 0), 0);
    f = NULL;
    CHECK_FAILS((SrStatus)sr_feature_model_features(m, x, 1, &f), SR_ERR_CONFIG,
                "out[0], for layer layer1, is NULL");
    REFUSES(sr_feature_model_run(NULL, x));
    REFUSES(sr_feature_model_run(m, NULL));
    CHECK(sr_feature_model_output(NULL, 0, NULL) == NULL);
    CHECK_INT(sr_knn_index_open(x, 1, 1, 0, &index), 0);
    REFUSES(sr_knn_index_open(NULL, 1, 1, 0, &no_index));
    CHECK(no_index == NULL);
    REFUSES(sr_knn_index_open(x, 1, 1, 0, NULL));
    REFUSES(sr_knn_index_search(NULL, x, 1, 1, &row, x));
    REFUSES(sr_knn_index_search(index, NULL, 1, 1, &row, x));
    REFUSES(sr_knn_index_search(index, x, 1, 1, NULL, x));
    REFUSES(sr_knn_index_search(index, x, 1, 1, &row, NULL));
    sr_knn_index_close(index);
    sr_feature_model_close(m);
}

// ---- memory -------------------------------------------------------------------------------------

// Runs everything from opening to neighbours. Returns the status of the first call that fails. f:
// (D)
static int whole_way(const void *png, size_t bytes, float *f) {
    static float x[3 * SIDE * SIDE];
    float *out = f, similarity;
    int64_t row;
    SrFeatureModel *m = NULL;
    SrKnnIndex *index = NULL;
    int status = sr_feature_model_open("tests/cli/tiny.yaml", 1, 0, 0, &m);
    if (status == 0)
        status = sr_feature_model_tap(m, "flatten", NULL, 0);
    if (status == 0)
        status = sr_feature_model_preprocess(m, png, bytes, x);
    if (status == 0)
        status = sr_feature_model_features(m, x, 1, &out);
    if (status == 0)
        status = sr_knn_index_open(f, 1, D, 1, &index);
    if (status == 0)
        status = sr_knn_index_search(index, f, 1, 1, &row, &similarity);
    sr_knn_index_close(index);
    sr_feature_model_close(m);
    return status;
}

// Returns whether the error reports memory; a failed allocation of a decoder is reported as an
// unreadable file.
static bool told_of_memory(int status) {
    return status == SR_ERR_MEMORY ||
           (status == SR_ERR_IO && strstr(sr_status_message(), "mem") != NULL);
}

// Each allocation may fail: the call returns an error or succeeds without that memory, and
// nothing leaks.
TEST(test_out_of_memory) {
    enum { TRIES = 30 };
    uint8_t pixels[20 * 20 * 3] = {0};
    size_t bytes;
    float right[D], f[D];
    int failed = 0;
    void *png = fixture_png(pixels, 20, 20, 3, &bytes);
    int64_t live = sr_mem_live(), before = sr_mem_calls();
    CHECK_INT(whole_way(png, bytes, right), 0);
    int64_t calls = sr_mem_calls() - before;
    CHECK_INT(sr_mem_live(), live);
    for (int i = 0; i < TRIES; i++) {
        // The last allocations are sslrun's own.
        int64_t n = i < TRIES / 3 ? calls - i : 1 + calls * i / TRIES;
        sr_mem_fail_at(n);
        int status = whole_way(png, bytes, f);
        sr_mem_fail_at(0);
        bool well = status == 0 ? memcmp(f, right, sizeof f) == 0 : told_of_memory(status);
        failed += status != 0;
        if (!well || sr_mem_live() != live)
            fail_msg("allocation %lld of %lld: status %d, %s, %lld blocks kept", (long long)n,
                     (long long)calls, status, sr_status_message(),
                     (long long)(sr_mem_live() - live));
    }
    CHECK(failed > TRIES / 2);
    sr_free(png);
    sr_log_set_level(SR_LOG_INFO);
}

// GTK, R and Python's locale.setlocale may set a decimal comma; models and recipes with fractions
// still open.
TEST(test_decimal_comma) {
    static const char *const trunks[] = {"tests/cli/tiny.yaml", "configs/swav.yaml",
                                         "configs/photos.yaml", "efficientnet_b0", "mobilenet_v2"};
    SrFeatureModel *m;
    comma_locale_set();
    for (int i = 0; i < SR_COUNT(trunks); i++) {
        CHECK_OK((SrStatus)sr_feature_model_open(trunks[i], 1, 32, 32, &m));
        sr_feature_model_close(m);
    }
}

TEST(test_example) {
    char self[PROGRAM_SELF], command[4200], line[128];
    program_folder(self);
    snprintf(command, sizeof command, "%s/example-features", self);
    FILE *out = popen(command, "r");
    CHECK(out && fgets(line, sizeof line, out));
    CHECK_STR(line, "176 nodes, the last is fc\n");
    CHECK(fgets(line, sizeof line, out) && strstr(line, "layer1 [2, 256, 16, 16]"));
    CHECK(fgets(line, sizeof line, out) && strstr(line, "embedding [2, 2048, 1, 1]"));
    CHECK_INT(pclose(out), 0);
}

SR_TESTS(feature_model, unit(test_use), unit(test_threads), unit(test_rows),
         unit(test_model_of_a_graph), unit(test_preprocess), unit(test_neighbours), unit(test_null),
         unit(test_out_of_memory), unit(test_decimal_comma), unit(test_example))
