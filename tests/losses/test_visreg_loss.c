// Tests the weights of visreg_loss's terms: each option multiplies its term, and lambda divides the
// loss between prediction and regularisation.
#include <stdio.h>

#include "tests/check.h"
#include "tests/trainer/tiny_model.h"

// Returns the loss of the first step, which draws the same images, weights and directions each
// time.
static double first_loss(double lambda, double scale, double center, double shape) {
    static const int sizes[] = {16, 16};
    char loss[200];
    TinyModel t;
    snprintf(loss, sizeof loss,
             "name: visreg_loss, visreg_loss: {slices: 8, lambda: %g, scale_weight: %g, "
             "center_weight: %g, shape_weight: %g}",
             lambda, scale, center, shape);
    CHECK_OK(tiny_model_start(&t, TINY_TRUNK ", HEAD: {PARAMS: [[mlp, {dims: [32, 8]}]]}", loss, 8,
                              2, sizes));
    double value = tiny_model_step(&t, 0);
    tiny_model_close(&t);
    return value;
}

TEST(test_weights) {
    double spread = first_loss(0, 1, 1, 1), scale = first_loss(1, 1, 0, 0),
           center = first_loss(1, 0, 1, 0), shape = first_loss(1, 0, 0, 1);
    CHECK(spread > 0 && scale > 0 && center > 0 && shape > 0);
    CHECK_NEAR(first_loss(1, 0, 0, 0), 0, 1e-7); // all goes to the regularisation, which has none
    double whole = 0.7 * spread + 0.3 * (2 * scale + 3 * center + 5 * shape);
    CHECK_NEAR(first_loss(0.3, 2, 3, 5), whole, 1e-4 * whole);
}

SR_TESTS(visreg_loss, unit(test_weights))
