// Tests hooks by which an op describes itself to the passes of the graph compiler, checked
// against the op's own reference for every op of the registry.
#include "tests/check.h"
#include "tests/kernels/op_call.h"

// Runs `body` on each case of an op and returns in how many it was true.
static int cases_of(const SrOp *op, bool (*body)(OpCall *c)) {
    int n = 0;
    for (int k = 0; k < op->n_cases; k++) {
        OpCall c;
        op_call_init(&c, op, &op->cases[k], 1, false, 3);
        n += body(&c);
        op_call_deinit(&c);
    }
    return n;
}

// Runs `body` on the cases of every op. The ops `one` and `other` (NULL: none) must have such
// cases, so that a lost hook fails the test.
static void each_case(bool (*body)(OpCall *c), const char *one, const char *other) {
    int found = 0;
    for (int i = 0; sr_op_at(i); i++) {
        const char *name = sr_op_at(i)->name;
        bool named = strcmp(name, one) == 0 || (other && strcmp(name, other) == 0);
        found += cases_of(sr_op_at(i), body) > 0 && named;
    }
    CHECK_INT(found, other ? 2 : 1);
}

// In evaluation mode the op is y = a x + b per channel, with the a and b that its hook returns.
static bool affine_case(OpCall *c) {
    const float *w[SR_OP_MAX_SLOTS];
    int C = sr_shape_last(c->y_shape);
    double *ab = op_call_alloc(c, 2 * (size_t)C * sizeof *ab);
    for (int i = 0; i < c->n_w; i++)
        w[i] = c->w[i].data;
    if (!c->op->affine || !c->op->affine(c->params, w, C, ab, ab + C))
        return false;
    op_call_reference(c);
    for (int64_t i = 0; i < sr_shape_count(c->y_shape); i++)
        CHECK_NEAR(c->y64[i], ab[i % C] * c->x64[0][i] + ab[C + i % C], 1e-9);
    return true;
}

TEST(test_affine) { each_case(affine_case, "batch_norm", NULL); }

// The inverse hook applied to an op's value gives its input.
static bool inverse_case(OpCall *c) {
    void *params = op_call_alloc(c, c->op->params_bytes + 1);
    if (!c->op->inverse || !c->op->inverse(c->params, params))
        return false;
    op_call_reference(c);
    int64_t n = sr_shape_count(c->y_shape);
    double *x = op_call_alloc(c, (size_t)n * sizeof *x);
    memcpy(x, c->x64[0], (size_t)n * sizeof *x);
    memcpy(c->x64[0], c->y64, (size_t)n * sizeof *x);
    c->params = params;
    op_call_reference(c);
    for (int64_t i = 0; i < n; i++)
        CHECK_NEAR(c->y64[i], x[i], 1e-9);
    return true;
}

TEST(test_inverse) { each_case(inverse_case, "identity", "scale"); }

static bool is_activation(const SrOp *op) { return op->fuses_as && op->max_in == 1; }

// With its activation switched on, an op computes the activation of its value.
static bool activated_case(OpCall *c, const SrOp *act) {
    bool *on = sr_op_switch(c->op, c->params, act->fuses_as);
    int64_t n = sr_shape_count(c->y_shape);
    if (!on)
        return false;
    op_call_forward(c);
    double *x = op_call_alloc(c, (size_t)n * sizeof *x),
           *y = op_call_alloc(c, (size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++)
        x[i] = (double)((float *)c->y.data)[i];
    act->reference(&(SrRefCall){.n_in = 1,
                                .x_shape = &c->y_shape,
                                .x = (const double *const[]){x},
                                .y_shape = c->y_shape,
                                .y = y});
    *on = true;
    op_call_forward(c);
    for (int64_t i = 0; i < n; i++)
        CHECK_NEAR((double)((float *)c->y.data)[i], y[i], 1e-5);
    *on = false;
    return true;
}

// A case that has an activation already takes no other.
static bool is_activated_case(const OpCall *c) {
    for (int i = 0; sr_op_at(i); i++) {
        const bool *on = is_activation(sr_op_at(i))
                             ? sr_op_switch(c->op, c->params, sr_op_at(i)->fuses_as)
                             : NULL;
        if (on && *on)
            return true;
    }
    return false;
}

static bool activated_by_any(OpCall *c) {
    bool any = false;
    for (int i = 0; sr_op_at(i) && !is_activated_case(c); i++)
        if (is_activation(sr_op_at(i)))
            any |= activated_case(c, sr_op_at(i));
    return any;
}

TEST(test_fused_activations) { each_case(activated_by_any, "conv2d", "batch_norm"); }

// Ops that fuse into others, and ops whose weights can be scaled, have the properties that the
// passes assume.
static int64_t flops_of(const SrOp *op, const SrOpCase *example, int rows) {
    OpCall c;
    op_call_init(&c, op, example, rows, false, 3);
    int64_t n = op->flops(c.params, c.shapes, c.n_in, c.y_shape);
    op_call_deinit(&c);
    return n;
}

// An op that counts its operations has some, and twice as many for twice the images, or more where
// it compares all pairs of images.
TEST(test_flops) {
    int counted = 0;
    for (int i = 0; sr_op_at(i); i++) {
        const SrOp *op = sr_op_at(i);
        for (int k = 0; op->flops && k < op->n_cases; k++) {
            int64_t once = flops_of(op, &op->cases[k], 1);
            if (once <= 0 || flops_of(op, &op->cases[k], 2) < 2 * once)
                fail_msg("%s, case %d: %d operations", op->name, k, (int)once);
            counted++;
        }
    }
    CHECK(counted > 10);
}

TEST(test_descriptors) {
    for (int i = 0; sr_op_at(i); i++) {
        const SrOp *op = sr_op_at(i);
        if (op->fuses_as)
            CHECK(op->params_bytes == 0 && op->slots == NULL);
        if (!(op->flags & SR_OP_FOLDS_AFFINE))
            continue;
        OpCall c;
        op_call_init(&c, op, &op->cases[0], 1, false, 3);
        bool *bias = sr_op_switch(op, c.params, "bias");
        SrSlot slots[SR_OP_MAX_SLOTS];
        CHECK(bias != NULL);
        *bias = true;
        CHECK_INT(op->slots(c.params, c.shapes, c.n_in, slots), 2);
        CHECK_INT(slots[0].shape.d[0], sr_shape_last(c.y_shape));
        CHECK(sr_shape_equal(slots[1].shape, SR_SHAPE(sr_shape_last(c.y_shape))));
        op_call_deinit(&c);
    }
}

SR_TESTS(op_hooks, unit(test_affine), unit(test_inverse), unit(test_fused_activations),
         unit(test_flops), unit(test_descriptors))
