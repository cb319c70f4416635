// Tests low-rank adapters: their gradient against differences in double, the form of the weight,
// which parameters learn in a run, resumption, and refusals.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/weights/weights.h"
#include "tests/check.h"
#include "tests/checkpoint_pair.h"
#include "tests/program.h"
#include "tests/temp_dir.h"
#include "trainer/model/lora.h"

#define CONFIG "tests/cli/tiny.yaml"
#define VIT                                                                                   \
    "MODEL.TRUNK.NAME=vision_transformer", "MODEL.TRUNK.VISION_TRANSFORMERS.IMAGE_SIZE=16",   \
        "MODEL.TRUNK.VISION_TRANSFORMERS.PATCH_SIZE=4",                                       \
        "MODEL.TRUNK.VISION_TRANSFORMERS.NUM_LAYERS=3",                                       \
        "MODEL.TRUNK.VISION_TRANSFORMERS.NUM_HEADS=2",                                        \
        "MODEL.TRUNK.VISION_TRANSFORMERS.HIDDEN_DIM=16",                                      \
        "MODEL.TRUNK.VISION_TRANSFORMERS.MLP_DIM=32", "MODEL.HEAD.PARAMS.0.1.dims=[16,16,8]", \
        "OPTIMIZER.param_schedulers.lr={name: constant, value: 0.3}"
#define LORA "MODEL.LORA.USE_LORA=True", "MODEL.LORA.RANK=2", "MODEL.LORA.ALPHA=6"

static ProgramResult result; // two large texts: too large for the stack of a test
#define RUN(threads, ...) program_run(&result, threads, (const char *const[]){__VA_ARGS__, NULL})

static void expect_done(void) {
    if (result.code != 0)
        fail_msg("exit code %d: %s", result.code, result.err);
}

// ---- arithmetic ---------------------------------------------------------------------------------

enum { ROWS = 12, IN = 7, RANK = 3 };

// Loss of W = W0 + s B A in double: the sum of sin(W) times (1 + index).
static double loss_of(const float *start, const double *a, const double *b, double s) {
    double sum = 0;
    for (int o = 0; o < ROWS; o++)
        for (int j = 0; j < IN; j++) {
            double w = start[o * IN + j];
            for (int k = 0; k < RANK; k++)
                w += s * b[o * RANK + k] * a[k * IN + j];
            sum += sin(w) * (1 + 0.1 * (o * IN + j));
        }
    return sum;
}

static double slope(const float *start, double *a, double *b, double s, double *at) {
    const double h = 1e-5, was = *at;
    *at = was + h;
    double up = loss_of(start, a, b, s);
    *at = was - h;
    double down = loss_of(start, a, b, s);
    *at = was;
    return (up - down) / (2 * h);
}

TEST(test_gradient) {
    static const char *target = "linear";
    SrConfig config = {.model = {.trunk_name = "toy",
                                 .use_lora = true,
                                 .lora_rank = RANK,
                                 .lora_alpha = 6,
                                 .lora_targets = {1, &target}}};
    SrSlot slot = {.name = "weight",
                   .shape = SR_SHAPE(ROWS, IN),
                   .dtype = SR_F32,
                   .kind = SR_SLOT_PARAM,
                   .role = SR_ROLE_WEIGHT,
                   .init = {SR_INIT_NORMAL, 1}};
    SrParams *params;
    SrArena arena = SR_ARENA_INIT;
    SrLora lora;
    int weight;
    double a[RANK * IN], b[ROWS * RANK];
    CHECK_OK(sr_params_new(&params));
    CHECK_OK(sr_params_add(params, "trunk.fc.weight", &slot, &weight));
    CHECK_OK(sr_lora_add(&lora, params, &config, &arena));
    CHECK_INT(lora.n, 1);
    CHECK_OK(sr_params_allocate(params));
    sr_params_init(params, 3);
    sr_lora_start(&lora);
    SrParam w = *sr_params_at(params, weight), pa = *sr_params_at(params, lora.v[0].a),
            pb = *sr_params_at(params, lora.v[0].b);
    const float *start = sr_params_at(params, lora.v[0].start)->value;
    float *fa = pa.value, *fb = pb.value, *fw = w.value;
    CHECK(memcmp(start, fw, ROWS * IN * sizeof *fw) == 0);
    for (int i = 0; i < ROWS * RANK; i++)
        fb[i] = 0.1f * (float)sin(i);
    for (int i = 0; i < RANK * IN; i++)
        a[i] = fa[i];
    for (int i = 0; i < ROWS * RANK; i++)
        b[i] = fb[i];
    sr_lora_merge(&lora);
    for (int o = 0; o < ROWS; o++)
        for (int j = 0; j < IN; j++) {
            double sum = start[o * IN + j];
            for (int k = 0; k < RANK; k++)
                sum += 2 * b[o * RANK + k] * a[k * IN + j];
            CHECK_NEAR(fw[o * IN + j], sum, 1e-6);
            w.grad[o * IN + j] = (float)(cos(sum) * (1 + 0.1 * (o * IN + j)));
        }
    sr_lora_backward(&lora);
    for (int i = 0; i < RANK * IN; i++)
        CHECK_NEAR(pa.grad[i], slope(start, a, b, 2, &a[i]), 2e-5);
    for (int i = 0; i < ROWS * RANK; i++)
        CHECK_NEAR(pb.grad[i], slope(start, a, b, 2, &b[i]), 2e-4);
    sr_params_free(params);
    sr_arena_deinit(&arena);
}

// ---- runs ---------------------------------------------------------------------------------------

static SrTensor tensor(SrWeights *w, const char *name) {
    SrTensor t;
    int i = sr_weights_find(w, name);
    if (i < 0)
        fail_msg("no tensor %s", name);
    CHECK_OK(sr_weights_read(w, i, &t));
    return t;
}

static bool moved(SrWeights *a, SrWeights *b, const char *name) {
    SrTensor x = tensor(a, name), y = tensor(b, name);
    return memcmp(x.data, y.data, (size_t)sr_shape_count(x.shape) * sizeof(float)) != 0;
}

// Adapters, norms and the last block learn, and the trunk's other weights stay.  The checkpoint
// holds the sums.
TEST(test_run) {
    char dir[64], to_base[128], to_run[128], to_two[128], weights[160], base[160], run[160],
        two[160];
    SrWeights a, b;
    temp_dir_make(dir);
    snprintf(to_base, sizeof to_base, "CHECKPOINT.DIR=%s/base", dir);
    snprintf(to_run, sizeof to_run, "CHECKPOINT.DIR=%s/run", dir);
    snprintf(to_two, sizeof to_two, "CHECKPOINT.DIR=%s/two", dir);
    snprintf(weights, sizeof weights, "MODEL.WEIGHTS_INIT.PARAMS_FILE=%s/base", dir);
    snprintf(base, sizeof base, "%s/base/checkpoint.safetensors", dir);
    snprintf(run, sizeof run, "%s/run/checkpoint.safetensors", dir);
    snprintf(two, sizeof two, "%s/two/checkpoint.safetensors", dir);
    RUN(1, CONFIG, to_base, VIT, "OPTIMIZER.num_epochs=1");
    expect_done();
    RUN(1, CONFIG, to_run, VIT, LORA, weights, "OPTIMIZER.num_epochs=2");
    expect_done();
    CHECK_OK(sr_weights_open(&a, base));
    CHECK_OK(sr_weights_open(&b, run));
#define BLOCK(i) "trunk.blocks." #i "."
    CHECK(moved(&a, &b, BLOCK(0) "attn.qkv.weight") && moved(&a, &b, BLOCK(0) "norm1.weight"));
    CHECK(!moved(&a, &b, BLOCK(0) "mlp.fc1.weight") && !moved(&a, &b, BLOCK(1) "attn.proj.weight"));
    CHECK(moved(&a, &b, BLOCK(2) "mlp.fc1.weight") &&
          !moved(&a, &b, "trunk.patch_embed.proj.weight"));
    SrTensor w = tensor(&b, BLOCK(0) "attn.qkv.weight"),
             old = tensor(&a, BLOCK(0) "attn.qkv.weight");
    static const char *const parts[] = {"q", "v"};
    for (int p = 0; p < 2; p++) {
        char name[128];
        snprintf(name, sizeof name, "lora.a." BLOCK(0) "attn.qkv.weight.%s", parts[p]);
        const float *pa = tensor(&b, name).data;
        snprintf(name, sizeof name, "lora.b." BLOCK(0) "attn.qkv.weight.%s", parts[p]);
        const float *pb = tensor(&b, name).data;
        for (int o = 0; o < 16; o++)
            for (int j = 0; j < 16; j++) {
                int at = (32 * p + o) * 16 + j;
                double sum = ((const float *)old.data)[at];
                for (int k = 0; k < 2; k++)
                    sum += 3.0 * pb[o * 2 + k] * pa[k * 16 + j];
                CHECK_NEAR(((const float *)w.data)[at], sum, 1e-6);
            }
    }
    // Keys have no adapter.
    CHECK(memcmp((const float *)w.data + 256, (const float *)old.data + 256, 256 * 4) == 0);
    sr_weights_close(&a);
    sr_weights_close(&b);
    // A run that resumes with another number of threads ends in the same bits.
    RUN(2, CONFIG, to_two, VIT, LORA, weights, "OPTIMIZER.num_epochs=1");
    expect_done();
    RUN(2, CONFIG, to_two, VIT, LORA, weights, "OPTIMIZER.num_epochs=2");
    expect_done();
    CHECK(strstr(result.err, "resuming from"));
    check_same_checkpoint(run, two, 60);
    temp_dir_remove(dir);
}

static void refused(const char *key, const char *text) {
    RUN(1, "check", CONFIG, "MODEL.LORA.USE_LORA=True", key);
    if (result.code != 2 || !strstr(result.err, text))
        fail_msg("expected exit code 2 and \"%s\", got %d and:\n%s", text, result.code, result.err);
}

TEST(test_refused) {
    refused("MODEL.LORA.RANK=2", "the trunk resnet has no layer for an adapter");
    refused("MODEL.LORA.TARGETS=[q]", "there is no target 'q'");
    RUN(1, "check", CONFIG, "MODEL.LORA.USE_LORA=True", "MODEL.TRUNK.NAME=mobilenet_v2",
        "MODEL.HEAD.PARAMS.0.1.dims=[1280,16,8]");
    CHECK(result.code == 2 && strstr(result.err, "does not number its blocks"));
    RUN(1, "check", CONFIG, "MODEL.LORA.USE_LORA=True", "MODEL.LORA.TARGETS=[conv1x1]");
    expect_done();
}

SR_TESTS(lora, unit(test_gradient), unit(test_run), unit(test_refused))
