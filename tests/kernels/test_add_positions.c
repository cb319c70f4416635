// Tests how position embeddings are resampled, by what any resampling keeps: its reference shares
// the taps with the kernel.
#include "tests/check.h"
#include "tests/kernels/op_call.h"

static const SrOpCase cases[] = {
    {"{from_h: 1, from_w: 9, to_h: 1, to_w: 3, antialias: True}", 1, {SR_SHAPE(1, 3, 1)}, false},
    {"{from_h: 1, from_w: 3, to_h: 1, to_w: 9, antialias: True}", 1, {SR_SHAPE(1, 9, 1)}, false},
    {"{from_h: 1, from_w: 9, to_h: 1, to_w: 3}", 1, {SR_SHAPE(1, 3, 1)}, false},
    {"{from_h: 1, from_w: 3, to_h: 1, to_w: 9}", 1, {SR_SHAPE(1, 9, 1)}, false},
    {"{from_h: 1, from_w: 4, to_h: 1, to_w: 7, align_corners: True}",
     1,
     {SR_SHAPE(1, 7, 1)},
     false},
};

// Adds embeddings, of which number i is `value(i)`, to tokens of 0. Returns the tokens.
static const float *resample(OpCall *c, double (*value)(int i, int n)) {
    float *x = c->x[0].data, *w = c->w[0].data;
    int from = (int)sr_shape_count(c->w[0].shape);
    memset(x, 0, sizeof *x * (size_t)sr_shape_count(c->x[0].shape));
    for (int i = 0; i < from; i++)
        w[i] = (float)value(i, from);
    op_call_forward(c);
    return c->y.data;
}

static double one(int i, int n) { return 0 * i * n + 1; }

static double ramp(int i, int n) { return i - (n - 1) / 2.0; }

// Equal embeddings stay equal, and a ramp around 0 stays a ramp around 0.
TEST(test_resampling) {
    for (int k = 0; k < SR_COUNT(cases); k++) {
        OpCall c;
        op_call_init(&c, op_named("add_positions"), &cases[k], 1, false, 1);
        int to = (int)sr_shape_count(c.y_shape);
        const float *y = resample(&c, one);
        for (int i = 0; i < to; i++)
            CHECK_NEAR(y[i], 1, 1e-6);
        y = resample(&c, ramp);
        for (int i = 0; i < to; i++) {
            CHECK_NEAR(y[i] + y[to - 1 - i], 0, 1e-6);
            CHECK(i == 0 || y[i] > y[i - 1]);
        }
        op_call_deinit(&c);
    }
}

SR_TESTS(add_positions, unit(test_resampling))
