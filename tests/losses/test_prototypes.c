// Prototypes of a head are found by name and renormalised row by row; scores of both kinds agree
// with plain loops.
#include "tests/check.h"

#include "losses/shared/prototypes.h"

static int add(SrParams *params, const char *name, SrShape shape) {
    SrSlot slot = {.name = name, .shape = shape, .dtype = SR_F32, .kind = SR_SLOT_PARAM};
    int index;
    CHECK_OK(sr_params_add(params, name, &slot, &index));
    return index;
}

static float *value(SrParams *params, int index) { return sr_params_at(params, index)->value; }

TEST(test_find) {
    SrParams *params;
    SrPrototypes p;
    CHECK_OK(sr_params_new(&params));
    CHECK_FAILS(sr_prototypes_find(params, "", 0, &p), SR_ERR_CONFIG, "num_clusters");
    add(params, "heads.0.prototypes1.weight", SR_SHAPE(7, 4));
    add(params, "loss.momentum_encoder.heads.0.prototypes1.weight", SR_SHAPE(7, 4));
    add(params, "heads.0.prototypes10.weight", SR_SHAPE(9, 4));
    CHECK_OK(sr_prototypes_find(params, "", 1, &p));
    CHECK_INT(p.P, 7);
    CHECK_INT(p.D, 4);
    CHECK_INT(p.norm, -1);
    CHECK_STR(sr_params_at(params, p.weight)->name, "heads.0.prototypes1.weight");
    CHECK_OK(sr_prototypes_find(params, "loss.momentum_encoder.", 1, &p));
    CHECK_STR(sr_params_at(params, p.weight)->name,
              "loss.momentum_encoder.heads.0.prototypes1.weight");
    add(params, "heads.1.0.prototypes1.weight", SR_SHAPE(7, 4));
    CHECK_FAILS(sr_prototypes_find(params, "", 1, &p), SR_ERR_CONFIG, "2 heads");
    sr_params_free(params);
}

TEST(test_normalize) {
    SrParams *params;
    SrPrototypes p;
    CHECK_OK(sr_params_new(&params));
    int index = add(params, "heads.0.prototypes0.weight", SR_SHAPE(3, 2));
    CHECK_OK(sr_params_allocate(params));
    CHECK_OK(sr_prototypes_find(params, "", 0, &p));
    memcpy(value(params, index), (const float[]){3, 4, 0, 0, -2e-20f, 0}, 6 * sizeof(float));
    sr_prototypes_normalize(params, &p);
    const float *w = value(params, index);
    CHECK_NEAR((double)w[0], 0.6, 1e-7);
    CHECK_NEAR((double)w[1], 0.8, 1e-7);
    CHECK_NEAR((double)w[2], 0, 0);         // a row of zeros stays
    CHECK_NEAR((double)w[4], -2e-8, 1e-14); // shorter than PyTorch's floor of 1e-12
    sr_params_free(params);
}

TEST(test_scores) {
    static const float x[] = {1, 2, 3, -1, 0, 2};
    SrParams *params;
    SrPrototypes plain, normed;
    float scores[6];
    CHECK_OK(sr_params_new(&params));
    int w = add(params, "heads.0.prototypes0.weight", SR_SHAPE(3, 2));
    int v = add(params, "heads.0.prototypes1.weight_v", SR_SHAPE(2, 2));
    int g = add(params, "heads.0.prototypes1.weight_g", SR_SHAPE(2, 1));
    CHECK_OK(sr_params_allocate(params));
    CHECK_OK(sr_prototypes_find(params, "", 0, &plain));
    CHECK_OK(sr_prototypes_find(params, "", 1, &normed));
    memcpy(value(params, w), (const float[]){1, 0, 0, 1, 2, -1}, 6 * sizeof(float));
    memcpy(value(params, v), (const float[]){3, 4, 0, 2}, 4 * sizeof(float));
    memcpy(value(params, g), (const float[]){5, 0.5f}, 2 * sizeof(float));
    sr_prototypes_scores(params, &plain, x, 2, scores);
    CHECK_NEAR((double)scores[2], 0, 1e-6);
    CHECK_NEAR((double)scores[3], 3, 1e-6);
    CHECK_NEAR((double)scores[5], 7, 1e-6);
    sr_prototypes_scores(params, &normed, x, 3, scores);
    CHECK_NEAR((double)scores[0], 11, 1e-5); // 5 (3, 4) / 5 times (1, 2)
    CHECK_NEAR((double)scores[1], 1, 1e-6);  // 0.5 (0, 1) times (1, 2)
    CHECK_NEAR((double)scores[4], 8, 1e-5);
    sr_params_free(params);
}

SR_TESTS(prototypes, unit(test_find), unit(test_normalize), unit(test_scores))
