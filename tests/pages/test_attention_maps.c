// Tests attention maps: shares computed by hand, with and without a class token. The page of a
// transformer has them, that of another trunk has none.
#include "pages/photos/attention_maps.h"

#include <stdio.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

static ProgramResult result; // too large for the stack of a test

// Two heads, a class token and two patches: the map is the row of the class token without itself,
// scaled to sum 1.
TEST(test_class_token) {
    const float att[2 * 3 * 3] = {0.5f, 0.1f, 0.4f, 9, 9, 9, 9, 9, 9,
                                  0.2f, 0.6f, 0.2f, 9, 9, 9, 9, 9, 9};
    float share[4];
    sr_attention_shares(att, 2, 3, 1, 2, share);
    CHECK_NEAR(share[0], 0.2, 1e-6);
    CHECK_NEAR(share[1], 0.8, 1e-6);
    CHECK_NEAR(share[2], 0.75, 1e-6);
    CHECK_NEAR(share[3], 0.25, 1e-6);
}

// Without a class token the map is the mean attention that each token receives: the mean of its
// column.
TEST(test_all_tokens) {
    const float att[2 * 2] = {0.9f, 0.1f, 0.5f, 0.5f};
    float share[2];
    sr_attention_shares(att, 1, 2, 2, 1, share);
    CHECK_NEAR(share[0], 0.7, 1e-6);
    CHECK_NEAR(share[1], 0.3, 1e-6);
}

static const char config[] =
    "config:\n"
    "  DATA:\n"
    "    TRAIN: {DATA_SOURCES: [synthetic], RANDOM_SYNTHETIC_IMAGES: True, DATA_LIMIT: 40, "
    "BATCHSIZE_PER_REPLICA: 8, COLLATE_FUNCTION: simclr_collator,\n"
    "      TRANSFORMS: [{name: ImgReplicatePil}, {name: RandomResizedCrop, size: 16}, {name: "
    "ToTensor}, {name: Normalize}]}\n"
    "  MODEL:\n"
    "    TRUNK: {NAME: vision_transformer, VISION_TRANSFORMERS: {IMAGE_SIZE: 16, PATCH_SIZE: 4, "
    "NUM_LAYERS: 2, NUM_HEADS: 2, HIDDEN_DIM: 16, MLP_DIM: 32}}\n"
    "    HEAD: {PARAMS: [[mlp, {dims: [16, 8]}]]}\n"
    "  LOSS: {name: simclr_info_nce_loss, simclr_info_nce_loss: {buffer_params: {embedding_dim: "
    "8}}}\n"
    "  OPTIMIZER: {num_epochs: 1, param_schedulers: {lr: {name: constant, value: 0.05}}}\n";

static bool page_says(const char *dir, const char *text) {
    char path[128], *page;
    size_t n;
    snprintf(path, sizeof path, "%s/run/report.html", dir);
    CHECK_OK(sr_file_read(path, 1 << 24, &page, &n));
    bool says = strstr(page, text) != NULL;
    sr_free(page);
    return says;
}

static void train(const char *dir, const char *file) {
    char folder[128];
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s/run", dir);
    program_run(&result, 1,
                (const char *const[]){file, folder, "TEST_MODEL=True", "OPTIMIZER.num_epochs=1",
                                      "--restart", NULL});
    if (result.code != 0)
        fail_msg("%s", result.err);
}

TEST(test_report) {
    char dir[64], file[96];
    temp_dir_make(dir);
    snprintf(file, sizeof file, "%s/vit.yaml", dir);
    fixture_write(dir, "vit.yaml", config, sizeof config - 1);
    train(dir, file);
    CHECK(page_says(dir, "Where the last attention looks"));
    CHECK(page_says(dir,
                    "each of 4 x 4 patches: the image, the mean of 2 heads, then 2 single heads"));
    CHECK(page_says(dir, "style=\"width:396px;height:"));
    temp_dir_remove(dir);
    temp_dir_make(dir);
    train(dir, "tests/cli/tiny.yaml");
    CHECK(page_says(dir, "Nearest neighbours before and after training"));
    CHECK(!page_says(dir, "Where the last attention looks"));
    temp_dir_remove(dir);
}

SR_TESTS(attention_maps, unit(test_class_token), unit(test_all_tokens), unit(test_report))
