// Tests the files of weights of sslrun.h: numbers that are written read back equal in every format,
// other types become floats, and mistakes leave an older file as it is.
#include "sslrun.h"

#include <pthread.h>

#include "base/file.h"
#include "base/mem.h"
#include "formats/weights/safetensors.h"
#include "tests/check.h"
#include "tests/temp_dir.h"

enum { N = 6 };

static const float matrix[N] = {1, -2.5f, 3e-20f, 4, -0.f, 6}, scalar = 7;
static const SrTensorInfo tensors[] = {{.name = "layer.weight", .rank = 2, .shape = {2, 3}},
                                       {.name = "scale", .rank = 0}};
static const float *const numbers[] = {matrix, &scalar};

TEST(test_round_trip) {
    static const char *const endings[] = {"safetensors", "pth", "npz"};
    char dir[64], path[96];
    temp_dir_make(dir);
    for (int e = 0; e < 3; e++) {
        SrWeightsFile *file;
        SrTensorInfo t;
        float x[N];
        snprintf(path, sizeof path, "%s/w.%s", dir, endings[e]);
        CHECK_OK((SrStatus)sr_weights_file_write(path, tensors, numbers, 2));
        CHECK_OK((SrStatus)sr_weights_file_open(path, &file));
        CHECK_INT(sr_weights_file_tensor(file, 0, &t), 1);
        CHECK_STR(t.name, "layer.weight");
        CHECK_STR(t.dtype, "F32");
        CHECK(t.rank == 2 && t.shape[0] == 2 && t.shape[1] == 3 && t.count == N);
        CHECK_INT(sr_weights_file_tensor(file, 1, &t), 1);
        CHECK(t.rank == 0 && t.count == 1);
        CHECK_INT(sr_weights_file_tensor(file, 2, NULL), 0);
        CHECK_OK((SrStatus)sr_weights_file_read(file, "layer.weight", x, N));
        CHECK(memcmp(x, matrix, sizeof x) == 0);
        CHECK_OK((SrStatus)sr_weights_file_read(file, "scale", x, 1));
        CHECK_NEAR(x[0], 7, 0);
        CHECK_FAILS((SrStatus)sr_weights_file_read(file, "scale", x, 2), SR_ERR_CONFIG,
                    "scale has 1 numbers [], but there is room for 2");
        CHECK_FAILS((SrStatus)sr_weights_file_read(file, "bias", x, 1), SR_ERR_CONFIG,
                    "has no tensor 'bias'");
        CHECK_FAILS((SrStatus)sr_weights_file_read(file, NULL, x, 1), SR_ERR_CONFIG, "is NULL");
        CHECK_FAILS((SrStatus)sr_weights_file_read(file, "scale", NULL, 1), SR_ERR_CONFIG,
                    "is NULL");
        sr_weights_file_close(file);
    }
    temp_dir_remove(dir);
}

// Halves and counters are read as floats: 0x3E00 is 1.5, 0xC000 is -2.
TEST(test_types) {
    uint16_t half[] = {0x3E00, 0xC000};
    int64_t counter = 3;
    double wide[3] = {0.5, 1e300, -2};
    SrNamedTensor saved[] = {{"half", {SR_SHAPE(2), SR_F16, half}},
                             {"counter", {SR_SCALAR, SR_I64, &counter}},
                             {"wide", {SR_SHAPE(3), SR_F64, wide}}};
    char dir[64], path[96];
    SrWeightsFile *file;
    SrTensorInfo t;
    float x[3];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/w.safetensors", dir);
    CHECK_OK(sr_safetensors_save(path, saved, 3, NULL, NULL, 0));
    CHECK_OK((SrStatus)sr_weights_file_open(path, &file));
    CHECK_OK((SrStatus)sr_weights_file_read(file, "half", x, 2));
    CHECK(x[0] == 1.5f && x[1] == -2);
    CHECK_OK((SrStatus)sr_weights_file_read(file, "counter", x, 1));
    CHECK(x[0] == 3);
    CHECK_OK((SrStatus)sr_weights_file_read(file, "wide", x, 3));
    CHECK(x[0] == 0.5f && isinf(x[1]) && x[2] == -2);
    for (int i = 0; sr_weights_file_tensor(file, i, &t); i++)
        if (strcmp(t.name, "counter") == 0)
            CHECK_STR(t.dtype, "I64");
    sr_weights_file_close(file);
    temp_dir_remove(dir);
}

static void check_stays(const char *path, const char *text) {
    char *data;
    size_t n;
    CHECK_OK(sr_file_read(path, 100, &data, &n));
    CHECK_STR(data, text);
    sr_free(data);
}

TEST(test_mistakes) {
    char dir[64], path[96], other[96];
    SrWeightsFile *file;
    SrTensorInfo twice[] = {tensors[0], tensors[0]}, wrong = tensors[0];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/w.safetensors", dir);
    snprintf(other, sizeof other, "%s/none/w.safetensors", dir);
    CHECK_OK(sr_file_write(path, "old", 3));
#define REFUSED(n, list, status, text) \
    CHECK_FAILS((SrStatus)sr_weights_file_write(path, list, numbers, n), status, text)
    REFUSED(2, twice, SR_ERR_CONFIG, "tensors 0 and 1 are both called 'layer.weight'");
    wrong.rank = 7;
    REFUSED(1, &wrong, SR_ERR_CONFIG, "'layer.weight' has rank 7; expected 0 to 6");
    wrong.rank = 2;
    wrong.shape[1] = 0;
    REFUSED(1, &wrong, SR_ERR_CONFIG, "dimension 1 of its shape is 0");
    wrong.name = "";
    REFUSED(1, &wrong, SR_ERR_CONFIG, "tensor 0 has no name");
    REFUSED(0, tensors, SR_ERR_CONFIG, "0 tensors");
#undef REFUSED
    CHECK_FAILS((SrStatus)sr_weights_file_write(path, tensors, &(const float *){NULL}, 1),
                SR_ERR_CONFIG, "tensor 0 has no numbers");
    check_stays(path, "old");
    CHECK_FAILS((SrStatus)sr_weights_file_write(other, tensors, numbers, 2), SR_ERR_IO, "none");
    CHECK_FAILS((SrStatus)sr_weights_file_write("w.bin", tensors, numbers, 2), SR_ERR_CONFIG,
                "the format is not known");
    CHECK_FAILS((SrStatus)sr_weights_file_open(path, &file), SR_ERR_CONFIG, "w.safetensors");
    CHECK(file == NULL);
    temp_dir_remove(dir);
}

TEST(test_null) {
    float x = 0;
    SrWeightsFile *file;
    const float *const one[] = {&x};
#define REFUSES(call) CHECK_FAILS((SrStatus)(call), SR_ERR_CONFIG, "is NULL")
    REFUSES(sr_weights_file_open(NULL, &file));
    CHECK(file == NULL);
    REFUSES(sr_weights_file_open("a", NULL));
    CHECK_INT(sr_weights_file_tensor(NULL, 0, NULL), 0);
    REFUSES(sr_weights_file_read(NULL, "a", &x, 1));
    REFUSES(sr_weights_file_write(NULL, tensors, one, 1));
    REFUSES(sr_weights_file_write("a.npz", NULL, one, 1));
    REFUSES(sr_weights_file_write("a.npz", tensors, NULL, 1));
    sr_weights_file_close(NULL);
}

typedef struct {
    SrWeightsFile *file;
    const char *name;
    int failed;
} Reader;

static void *read_often(void *arg) {
    Reader *r = arg;
    float x[N];
    bool is_matrix = strcmp(r->name, "layer.weight") == 0;
    for (int i = 0; i < 200; i++) {
        r->failed |= sr_weights_file_read(r->file, r->name, x, is_matrix ? N : 1);
        r->failed |= memcmp(x, is_matrix ? matrix : &scalar, is_matrix ? sizeof x : 4) != 0;
    }
    return NULL;
}

// Two threads read one file.
TEST(test_threads) {
    char dir[64], path[96];
    SrWeightsFile *file;
    pthread_t thread[2];
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/w.npz", dir);
    CHECK_OK((SrStatus)sr_weights_file_write(path, tensors, numbers, 2));
    CHECK_OK((SrStatus)sr_weights_file_open(path, &file));
    Reader readers[] = {{file, "layer.weight", 0}, {file, "scale", 0}};
    for (int t = 0; t < 2; t++)
        pthread_create(&thread[t], NULL, read_often, &readers[t]);
    for (int t = 0; t < 2; t++)
        pthread_join(thread[t], NULL);
    CHECK(!readers[0].failed && !readers[1].failed);
    sr_weights_file_close(file);
    temp_dir_remove(dir);
}

SR_TESTS(weights_file, unit(test_round_trip), unit(test_types), unit(test_mistakes),
         unit(test_null), unit(test_threads))
