// Tests the op nt_xent on a step with one image: the loss is 0 without negatives, and the
// decoupled loss refuses such a step.
#include "kernels/losses/nt_xent.h"

#include "tests/check.h"
#include "tests/kernels/op_call.h"

enum { VIEWS = 3, D = 4 };

TEST(test_one_image_gives_zero) {
    const SrOpCase example = {"{num_crops: 3, temperature: 0.2}", 1, {SR_SHAPE(VIEWS, D)}, false};
    OpCall c;
    op_call_init(&c, op_named("nt_xent"), &example, 1, true, 1);
    c.dy[0] = 1;
    op_call_forward(&c);
    op_call_backward(&c);
    CHECK(*(const float *)c.y.data == 0);
    for (int i = 0; i < VIEWS * D; i++)
        CHECK(c.dx[0][i] == 0);
    op_call_deinit(&c);
}

// The decoupled loss would be the log of an empty sum, -infinity.
TEST(test_decoupled_refuses_one_image) {
    const SrOp *op = op_named("nt_xent");
    SrShape x = SR_SHAPE(VIEWS, D), y;
    SrNtXentParams p = {.num_crops = VIEWS, .temperature = 0.2, .decoupled = true};
    CHECK_FAILS(op->infer(&p, &x, 1, &y), SR_ERR_CONFIG, "at least two images");
    p.decoupled = false;
    CHECK_OK(op->infer(&p, &x, 1, &y));
}

SR_TESTS(nt_xent, unit(test_one_image_gives_zero), unit(test_decoupled_refuses_one_image))
