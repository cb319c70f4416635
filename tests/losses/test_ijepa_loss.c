// Tests ijepa_loss: the options that size its predictor.
#include "tests/check.h"
#include "tests/trainer/tiny_model.h"

// pred_mlp_ratio sets the width of the MLPs: 12 channels times 1.5.
TEST(test_predictor_width) {
    const SrLoss *loss;
    TinyModel t;
    CHECK_OK(sr_loss_find("ijepa_loss", &loss));
    CHECK_OK(tiny_model_start_example(
        &t, loss, &loss->examples[0],
        "{patch_size: 4, num_pred_masks: 1, pred_emb_dim: 12, pred_depth: 1, "
        "pred_num_heads: 2, pred_mlp_ratio: 1.5}",
        1));
    const SrParam *p =
        tiny_model_param(&t, "loss.heads.predictor.predictor_blocks.0.mlp.fc1.weight");
    CHECK(p != NULL);
    CHECK_INT(p->shape.d[0], 18);
    CHECK_INT(p->shape.d[1], 12);
    tiny_model_close(&t);
}

SR_TESTS(ijepa_loss, unit(test_predictor_width))
