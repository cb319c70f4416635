// Models far larger than this machine's memory can be planned: `sslrun check` of VISSL's largest
// recipes, and of ViT-G (Zhai et al., arXiv:2106.04560, table 2), counts the parameters that
// follow from the sizes in their papers.
#include <math.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/check.h"
#include "trainer/config/config.h"
#include "trainer/run/run.h"

static int64_t parameters(const char *file, const char *const *overrides, int n) {
    SrConfig *config = NULL;
    SrRun *run = NULL;
    char home[4096];
    CHECK(getcwd(home, sizeof home));
    CHECK(chdir("tests/vissl") == 0); // VISSL's names are found in ./configs/config
    sr_log_set_level(SR_LOG_ERROR);
    CHECK_OK(sr_config_load(file, overrides, n, &config));
    CHECK_OK(sr_run_open(config, SR_RUN_CHECK, &run));
    sr_log_set_level(SR_LOG_INFO);
    CHECK(chdir(home) == 0);
    int64_t count = run->cost.parameters;
    CHECK_INT(run->cost.plan.forward_flops > 0, 1);
    sr_run_close(run);
    sr_config_free(config);
    return count;
}

static int64_t layer(int64_t in, int64_t out) { return in * out + out; }

// Returns the parameters of blocks of one width, of which the first changes the width: 1x1,
// grouped 3x3, squeeze-excitation, 1x1 and norms.
static int64_t regnet_stage(int64_t in, int64_t width, int blocks, int64_t group) {
    int64_t n = in * width + 2 * width;
    for (int b = 0; b < blocks; b++, in = width) {
        int64_t squeeze = (int64_t)lrint(0.25 * (double)in);
        n += in * width + width * group * 9 + width * width + 6 * width;
        n += layer(width, squeeze) + layer(squeeze, width);
    }
    return n;
}

TEST(test_regnet_10b) {
    static const char *const model[] = {"+config/pretrain/seer/models=regnet10B"};
    static const int64_t widths[] = {32, 2020, 4040, 11110, 28280};
    static const int blocks[] = {2, 7, 17, 1};
    int64_t n = 3 * 32 * 9 + 64;
    for (int s = 0; s < 4; s++)
        n += regnet_stage(widths[s], widths[s + 1], blocks[s], 1010);
    n += layer(28280, 8192) + layer(8192, 8192) + layer(8192, 256) + 16000 * 256; // SwAV's head
    CHECK(n > 9600000000);
    CHECK(parameters("pretrain/swav/swav_8node_resnet", model, 1) == n);
}

// Returns the parameters of a transformer for 224 pixels with DINO's head, whose last layer has
// one scale per prototype.
static int64_t dino_vit(int64_t D, int64_t layers, int64_t mlp, int64_t patch) {
    int64_t places = (224 / patch) * (224 / patch);
    int64_t block = layer(D, 3 * D) + layer(D, D) + layer(D, mlp) + layer(mlp, D) + 4 * D;
    int64_t head = layer(D, 2048) + layer(2048, 2048) + layer(2048, 256) + 65536 * 257;
    return layer(3 * patch * patch, D) + D + (1 + places) * D + layers * block + 2 * D + head;
}

TEST(test_transformers) {
#define VIT "config.MODEL.TRUNK.VISION_TRANSFORMERS."
    static const char *const heads[] = {VIT
                                        "NUM_HEADS=20"}; // the file's 40 do not divide its width
    static const char *const giant[] = {
        VIT "PATCH_SIZE=14",
        VIT "NUM_LAYERS=48",
        VIT "NUM_HEADS=16",
        VIT "HIDDEN_DIM=1664",
        VIT "MLP_DIM=8192",
        "config.MODEL.HEAD.PARAMS=[[dino_head, {in_dim: 1664, num_clusters: "
        "[65536], normalize_last_layer: true}]]"};
#undef VIT
    CHECK(parameters("pretrain/dino/dino_8gpus_vit_h16_debug", giant, SR_COUNT(giant)) ==
          dino_vit(1664, 48, 8192, 14));
    CHECK(parameters("pretrain/dino/dino_8gpus_vit_3b_debug", NULL, 0) ==
          dino_vit(2560, 32, 10240, 16));
    CHECK(parameters("pretrain/dino/dino_8gpus_vit_7b_debug", NULL, 0) ==
          dino_vit(4096, 32, 16384, 16));
    CHECK(parameters("pretrain/dino/dino_8gpus_vit_13b_debug", heads, 1) ==
          dino_vit(5140, 40, 20560, 16));
}

SR_TESTS(vissl_giants, unit(test_regnet_10b), unit(test_transformers))
