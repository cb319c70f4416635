// Tests losses over patches (MAE, I-JEPA, iBOT): which masks and blocks they draw, and what they
// refuse.
#include "tests/check.h"

#include "tests/trainer/tiny_model.h"

#define VIT SR_LOSS_EXAMPLE_VIT
#define MODEL "TRUNK: {" VIT "}, HEAD: {PARAMS: [[identity, {}]]}"
#define MAE \
    "name: mae_loss, mae_loss: {decoder_embed_dim: 8, decoder_depth: 1, decoder_num_heads: 2"
#define IJEPA "name: ijepa_loss, ijepa_loss: {pred_emb_dim: 8, pred_depth: 1, pred_num_heads: 2"

static const int size[] = {16, 0};

static void start(TinyModel *t, const char *loss, int replicas) {
    CHECK_OK(tiny_model_start_world(t, replicas, MODEL, loss, 8 / replicas, 1, size));
    tiny_model_step(t, 0.05);
}

static SrTensor input(TinyModel *t, const char *name) {
    return sr_plan_input(t->plan, sr_graph_find(t->graph.graph, name));
}

TEST(test_mae_draws) {
    TinyModel t, half;
    start(&t, MAE "}", 1);
    const int64_t *visible = input(&t, "loss.visible").data; // (8, 4)
    const float *mask = input(&t, "loss.mask").data;         // (8, 16)
    for (int i = 0; i < 8; i++) {
        int hidden = 0;
        for (int k = 0; k < 16; k++)
            hidden += mask[16 * i + k] > 0;
        CHECK_INT(hidden, 12);
        for (int k = 0; k < 4; k++)
            CHECK(mask[16 * i + visible[4 * i + k]] < 1);
    }
    CHECK(memcmp(visible, visible + 4, 4 * sizeof *visible) != 0);
    // The images of the second replica are 4 to 7 of the step.
    start(&half, MAE "}", 2);
    CHECK(memcmp(visible + 16, input(&half, "loss.visible").data, 16 * sizeof *visible) == 0);
    tiny_model_close(&half);
    tiny_model_close(&t);
}

// Draws contexts of this many patches; no target covers them.
static void ijepa_draws(const char *loss, int patches) {
    TinyModel t;
    bool seen[16] = {false};
    start(&t, loss, 1);
    for (int step = 0; step < 20; step++) {
        tiny_model_step(&t, 0.05);
        SrTensor context = input(&t, "loss.visible"), targets = input(&t, "loss.targets");
        const int64_t *c = context.data, *q = targets.data; // (8, C), (2 * 8, T)
        int C = context.shape.d[1], T = targets.shape.d[1];
        CHECK_INT(C, patches);
        for (int i = 0; i < 8 * C; i++)
            CHECK(c[i] >= 0 && c[i] < 16);
        for (int r = 0; r < 16 * T; r++) {
            CHECK(q[r] >= 0 && q[r] < 16);
            seen[q[r]] = true;
            for (int k = 0; k < C; k++)
                CHECK(c[r / T % 8 * C + k] != q[r]);
        }
    }
    for (int patch = 0; patch < 16; patch++)
        CHECK(seen[patch]); // 20 steps of 8 images aim at every patch
    tiny_model_close(&t);
}

TEST(test_ijepa_draws) {
    ijepa_draws(IJEPA ", num_pred_masks: 2, enc_keep: 0.4}", 6);
    ijepa_draws(IJEPA ", num_pred_masks: 2, enc_keep: 0.07}", 1);
}

// Returns the height and width of the box around patches of a grid of 8 x 8.
static void box(const int64_t *patch, int n, int *h, int *w) {
    int top = 8, left = 8, bottom = -1, right = -1;
    for (int i = 0; i < n; i++) {
        int y = (int)patch[i] / 8, x = (int)patch[i] % 8;
        top = SR_MIN(top, y), bottom = SR_MAX(bottom, y);
        left = SR_MIN(left, x), right = SR_MAX(right, x);
    }
    *h = bottom - top + 1, *w = right - left + 1;
}

// I-JEPA (arXiv:2301.08243, section 3): the context lies in a square block, and targets in blocks
// whose height / width is the aspect ratio.
TEST(test_ijepa_blocks) {
    static const int large[] = {32, 0};
    TinyModel t;
    CHECK_OK(tiny_model_start(
        &t,
        "TRUNK: {NAME: vision_transformer, VISION_TRANSFORMERS: {IMAGE_SIZE: 32, PATCH_SIZE: 4, "
        "NUM_LAYERS: 1, NUM_HEADS: 2, HIDDEN_DIM: 8, MLP_DIM: 8}}, HEAD: {PARAMS: [[identity, "
        "{}]]}",
        IJEPA ", num_pred_masks: 1, pred_mask_scale: [0.13, 0.13], aspect_ratio: [2, 2], "
              "enc_mask_scale: [0.25, 0.25], enc_keep: 0.1}",
        8, 1, large));
    int tallest = 0, widest = 0;
    for (int step = 0; step < 20; step++) {
        tiny_model_step(&t, 0.05);
        SrTensor context = input(&t, "loss.visible"), targets = input(&t, "loss.targets");
        int C = context.shape.d[1], T = targets.shape.d[1], h, w;
        CHECK_INT(C, 6);
        CHECK_INT(T, 8); // 8.32 patches as 4 x 2
        for (int i = 0; i < 8; i++) {
            box((const int64_t *)targets.data + i * T, T, &h, &w);
            CHECK(h == 4 && w == 2);
            box((const int64_t *)context.data + i * C, C, &h, &w);
            tallest = SR_MAX(tallest, h), widest = SR_MAX(widest, w);
        }
    }
    CHECK_INT(tallest, 4); // 16 patches as 4 x 4
    CHECK_INT(widest, 4);
    tiny_model_close(&t);
}

TEST(test_refuses) {
    static const struct {
        const char *model, *loss, *says;
    } cases[] = {
        {MODEL, MAE ", mask_ratio: 0.99}", "leaves 0 of 16 patches visible"},
        {MODEL, "name: mae_loss, mae_loss: {decoder_embed_dim: 12, decoder_num_heads: 5}",
         "decoder_num_heads 5"},
        {MODEL, IJEPA ", pred_mask_scale: [0.3, 0.3]}", "leave too few patches for a context"},
        {MODEL, IJEPA ", ema: [0.9]}", "LOSS.ijepa_loss.ema"},
        {"TRUNK: {NAME: resnet, RESNETS: {DEPTH: 18, WIDTH_MULTIPLIER: 0.0625}}, HEAD: {PARAMS: "
         "[[identity, {}]]}",
         MAE ", patch_size: 4}", "takes no choice of visible patches"},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        TinyModel t;
        CHECK_FAILS(tiny_model_open(&t, cases[i].model, cases[i].loss, 4, 1, size), SR_ERR_CONFIG,
                    cases[i].says);
        tiny_model_close(&t);
    }
}

// The bounds of the mask are allowed: one visible patch, and one hidden one.
TEST(test_least_masks) {
    static const char *const losses[] = {MAE ", mask_ratio: 0.9}", MAE ", mask_ratio: 0.05}"};
    for (int i = 0; i < SR_COUNT(losses); i++) {
        TinyModel t;
        start(&t, losses[i], 1);
        CHECK_INT(input(&t, "loss.visible").shape.d[1], i ? 15 : 1);
        tiny_model_close(&t);
    }
}

// A patch_size other than the trunk's is replaced by the trunk's instead of being refused: the mask
// has the trunk's 16 patches.
TEST(test_patch_size_is_the_trunks) {
    TinyModel t;
    CHECK_OK(tiny_model_open(&t, MODEL, MAE ", patch_size: 8}", 4, 1, size));
    CHECK_INT(sr_graph_at(t.graph.graph, sr_graph_find(t.graph.graph, "loss.mask"))->shape.d[1],
              16);
    tiny_model_close(&t);
}

SR_TESTS(token_grid, unit(test_mae_draws), unit(test_ijepa_draws), unit(test_ijepa_blocks),
         unit(test_refuses), unit(test_least_masks), unit(test_patch_size_is_the_trunks))
