// Tests the contract of kernels/op.h, checked for every op of the registry and every one of its
// cases: forward and gradient against the reference, bits over threads and instruction sets,
// options, strange shapes.
#include "base/parallel.h"
#include "tests/check.h"
#include "tests/kernels/op_call.h"
#include "tests/machine.h"

typedef void (*CaseBody)(const SrOp *op, const SrOpCase *example, bool train);

static void each_case(CaseBody body) {
    for (int i = 0; sr_op_at(i); i++)
        for (int k = 0; op_wanted(sr_op_at(i)) && k < sr_op_at(i)->n_cases; k++)
            for (int train = 0; train < 2; train++)
                body(sr_op_at(i), &sr_op_at(i)->cases[k], train);
}

// Fails unless |a - b| <= tolerance * max |b| + 1e-6 for all n numbers.
static void check_close(const char *what, const SrOp *op, const SrOpCase *example, bool train,
                        const float *a, const double *b, int64_t n, double tolerance) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(b[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - b[i]) <= tolerance * largest + 1e-6))
            fail_msg("%s %s %s: %s[%lld] is %.9g, expected %.9g", op->name, example->params,
                     train ? "train" : "eval", what, (long long)i, (double)a[i], b[i]);
}

static void forward_case(const SrOp *op, const SrOpCase *example, bool train) {
    OpCall c;
    op_call_init(&c, op, example, 1, train, 1);
    op_call_forward(&c);
    op_call_reference(&c);
    check_close("y", op, example, train, c.y.data, c.y64, sr_shape_count(c.y_shape), 1e-5);
    for (int i = 0; i < c.n_w; i++) {
        if (c.slots[i].dtype == SR_I64)
            CHECK_INT(*(int64_t *)c.w[i].data, (int64_t)c.w64[i][0]);
        else
            check_close(c.slots[i].name, op, example, train, c.w[i].data, c.w64[i],
                        sr_shape_count(c.slots[i].shape), 1e-5);
    }
    op_call_deinit(&c);
}

TEST(test_forward_matches_reference) { each_case(forward_case); }

static void save_state(OpCall *c, double **kept) {
    for (int i = 0; i < c->n_w; i++) {
        size_t bytes = (size_t)sr_shape_count(c->slots[i].shape) * sizeof(double);
        kept[i] = op_call_alloc(c, bytes);
        memcpy(kept[i], c->w64[i], bytes);
    }
}

// Returns sum over y of dy * y at the present x64 and w64. Restores the state slots from `kept`.
static double objective(OpCall *c, double *const *kept) {
    op_call_reference(c);
    double sum = 0;
    for (int64_t i = 0, n = sr_shape_count(c->y_shape); i < n; i++)
        sum += (double)c->dy[i] * c->y64[i];
    for (int i = 0; i < c->n_w; i++)
        if (c->slots[i].kind == SR_SLOT_STATE)
            memcpy(c->w64[i], kept[i], (size_t)sr_shape_count(c->slots[i].shape) * sizeof(double));
    return sum;
}

static double *numeric_gradient(OpCall *c, double *const *kept, double *at, int64_t n) {
    const double h = 1e-5;
    double *g = op_call_alloc(c, (size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++) {
        double here = at[i];
        at[i] = here + h;
        double up = objective(c, kept);
        at[i] = here - h;
        g[i] = (up - objective(c, kept)) / (2 * h);
        at[i] = here;
    }
    return g;
}

// The gradients of one case by differences of the reference, which no instruction set changes.
typedef struct {
    double *dx[SR_OP_MAX_IN], *dw[SR_OP_MAX_SLOTS];
} Differences;

static void differences_init(Differences *d, OpCall *c) {
    double *kept[SR_OP_MAX_SLOTS];
    save_state(c, kept);
    for (int i = 0; i < c->n_in; i++)
        d->dx[i] = numeric_gradient(c, kept, c->x64[i], sr_shape_count(c->shapes[i]));
    for (int i = 0; i < c->n_w; i++)
        if (c->dw[i])
            d->dw[i] = numeric_gradient(c, kept, c->w64[i], sr_shape_count(c->slots[i].shape));
}

static void gradient_case(const SrOp *op, const SrOpCase *example, bool train) {
    if (op->flags & SR_OP_NO_GRAD || example->no_gradient_check)
        return;
    SrCpuLevel best = test_machine()->level;
    Differences d;
    OpCall slow, c;
    op_call_init(&slow, op, example, 1, train, 2);
    differences_init(&d, &slow);
    for (int level = SR_CPU_PLAIN; level <= (int)best; level++) {
        test_machine_level((SrCpuLevel)level);
        op_call_init(&c, op, example, 1, train, 2);
        op_call_forward(&c);
        op_call_backward(&c);
        for (int i = 0; i < c.n_in; i++)
            check_close("dx", op, example, train, c.dx[i], d.dx[i], sr_shape_count(c.shapes[i]),
                        1e-4);
        for (int i = 0; i < c.n_w; i++)
            if (c.dw[i])
                check_close(c.slots[i].name, op, example, train, c.dw[i], d.dw[i],
                            sr_shape_count(c.slots[i].shape), 1e-4);
        op_call_deinit(&c);
    }
    op_call_deinit(&slow);
}

TEST(test_gradients_match_differences) { each_case(gradient_case); }

// Returns a copy of n floats as doubles: factor * value + plus.
static double *kept_copy(OpCall *c, const float *from, int64_t n, double factor, double plus) {
    double *out = op_call_alloc(c, (size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++)
        out[i] = factor * (double)from[i] + plus;
    return out;
}

static void adding_case(const SrOp *op, const SrOpCase *example, bool train) {
    if (op->flags & SR_OP_NO_GRAD)
        return;
    OpCall c;
    op_call_init(&c, op, example, 1, train, 3);
    op_call_forward(&c);
    op_call_backward(&c);
    double *dx[SR_OP_MAX_IN] = {0}, *dw[SR_OP_MAX_SLOTS] = {0};
    bool adds = op->flags & SR_OP_ADDS_DX;
    for (int i = 0; i < c.n_in; i++) {
        int64_t n = sr_shape_count(c.shapes[i]);
        dx[i] = kept_copy(&c, c.dx[i], n, 1, adds ? 3 : 0);
        for (int64_t j = 0; adds && j < n; j++)
            c.dx[i][j] = 3;
    }
    for (int i = 0; i < c.n_w; i++)
        if (c.dw[i])
            dw[i] = kept_copy(&c, c.dw[i], sr_shape_count(c.slots[i].shape), 2, 0);
    c.dx_add = adds ? ~0u : 0;
    op_call_backward(&c);
    for (int i = 0; i < c.n_in; i++)
        check_close("added dx", op, example, train, c.dx[i], dx[i], sr_shape_count(c.shapes[i]),
                    1e-5);
    for (int i = 0; i < c.n_w; i++)
        if (c.dw[i])
            check_close("accumulated dw", op, example, train, c.dw[i], dw[i],
                        sr_shape_count(c.slots[i].shape), 1e-5);
    op_call_deinit(&c);
}

TEST(test_gradients_add_up) { each_case(adding_case); }

static void same_bits(const char *what, const SrOp *op, const SrOpCase *example, const void *a,
                      const void *b, size_t bytes) {
    if (memcmp(a, b, bytes) != 0)
        fail_msg("%s %s: bits of %s differ", op->name, example->params, what);
}

// With any one gradient not requested, and with all weights frozen, the other gradients keep
// their bits.
static void absent_case(const SrOp *op, const SrOpCase *example, bool train) {
    if (op->flags & SR_OP_NO_GRAD)
        return;
    OpCall all, some;
    op_call_init(&all, op, example, 1, train, 4);
    op_call_forward(&all);
    op_call_backward(&all);
    for (int absent = 0; absent < all.n_in; absent++) {
        op_call_init(&some, op, example, 1, train, 4);
        some.dx[absent] = NULL;
        memset(some.dw, 0, sizeof some.dw);
        op_call_forward(&some);
        op_call_backward(&some);
        for (int i = 0; i < all.n_in; i++)
            if (i != absent)
                same_bits("dx without another", op, example, all.dx[i], some.dx[i],
                          (size_t)sr_shape_count(all.shapes[i]) * sizeof(float));
        op_call_deinit(&some);
    }
    op_call_deinit(&all);
}

TEST(test_any_gradient_may_be_unwanted) { each_case(absent_case); }

static void inplace_case(const SrOp *op, const SrOpCase *example, bool train) {
    OpCall apart, shared;
    op_call_init(&apart, op, example, 1, train, 5);
    int i = op->inplace ? op->inplace(apart.params) : -1;
    if (i >= 0) {
        CHECK_INT(sr_shape_count(apart.shapes[i]), sr_shape_count(apart.y_shape));
        op_call_init(&shared, op, example, 1, train, 5);
        shared.dx[i] = shared.dy;
        op_call_forward(&apart);
        op_call_backward(&apart);
        op_call_forward(&shared);
        op_call_backward(&shared);
        for (int k = 0; k < apart.n_in; k++)
            same_bits("dx in place", op, example, apart.dx[k], shared.dx[k],
                      (size_t)sr_shape_count(apart.shapes[k]) * sizeof(float));
        op_call_deinit(&shared);
    }
    op_call_deinit(&apart);
}

TEST(test_gradient_may_take_the_place_of_dy) { each_case(inplace_case); }

static void again_case(const SrOp *op, const SrOpCase *example, bool train) {
    OpCall c;
    op_call_init(&c, op, example, 1, train, 6);
    op_call_forward(&c);
    size_t bytes = (size_t)sr_shape_count(c.y_shape) * sizeof(float), saved_bytes = 0;
    if (op->saved_bytes)
        saved_bytes = op->saved_bytes(c.params, c.shapes, c.n_in);
    void *y = op_call_alloc(&c, bytes), *saved = op_call_alloc(&c, saved_bytes),
         *w[SR_OP_MAX_SLOTS];
    memcpy(y, c.y.data, bytes);
    memcpy(saved, c.saved, saved_bytes);
    for (int i = 0; i < c.n_w; i++) {
        size_t w_bytes =
            (size_t)sr_shape_count(c.slots[i].shape) * sr_dtype_bytes(c.slots[i].dtype);
        w[i] = op_call_alloc(&c, w_bytes);
        memcpy(w[i], c.w[i].data, w_bytes);
    }
    memset(c.y.data, 0, bytes);
    c.again = true;
    op_call_forward(&c);
    same_bits("y again", op, example, y, c.y.data, bytes);
    same_bits("saved again", op, example, saved, c.saved, saved_bytes);
    for (int i = 0; i < c.n_w; i++)
        same_bits(c.slots[i].name, op, example, w[i], c.w[i].data,
                  (size_t)sr_shape_count(c.slots[i].shape) * sr_dtype_bytes(c.slots[i].dtype));
    op_call_deinit(&c);
}

TEST(test_forward_again_repeats) { each_case(again_case); }

static size_t scratch_bytes(const SrOp *op, const SrOpCase *example, int rows) {
    OpCall c;
    op_call_init(&c, op, example, rows, true, 8);
    SrOpSite site = op_call_site(&c, SR_F32);
    size_t bytes = op_scratch_bytes(op, &site);
    op_call_deinit(&c);
    return bytes;
}

// Returns so many rows that every loop of the op is split between threads. An op that compares all
// pairs of rows gets fewer: its scratch and its time grow with their square.
static int rows_for_threads(const SrOp *op, const SrOpCase *example) {
    const size_t most_scratch = (size_t)32 << 20;
    int64_t most = 1;
    for (int i = 0; i < example->n_in; i++)
        most = SR_MAX(most, sr_shape_count(example->x[i]));
    int rows = (int)(40000 / most + 1);
    while (rows > 1 && scratch_bytes(op, example, rows) > most_scratch)
        rows /= 2;
    return rows;
}

static void run_with_threads(OpCall *c, const SrOp *op, const SrOpCase *example, int rows,
                             bool train, int threads) {
    sr_parallel_set_threads(threads);
    op_call_init(c, op, example, rows, train, 8);
    op_call_forward(c);
    if (!(op->flags & SR_OP_NO_GRAD))
        op_call_backward(c);
}

static void threads_case(const SrOp *op, const SrOpCase *example, bool train) {
    int before = sr_parallel_threads(), rows = rows_for_threads(op, example);
    OpCall one, more;
    run_with_threads(&one, op, example, rows, train, 1);
    for (int threads = 2; threads <= 3; threads++) {
        run_with_threads(&more, op, example, rows, train, threads);
        same_bits("y with threads", op, example, one.y.data, more.y.data,
                  (size_t)sr_shape_count(one.y_shape) * sizeof(float));
        for (int i = 0; i < one.n_in && !(op->flags & SR_OP_NO_GRAD); i++)
            same_bits("dx with threads", op, example, one.dx[i], more.dx[i],
                      (size_t)sr_shape_count(one.shapes[i]) * sizeof(float));
        for (int i = 0; i < one.n_w; i++) {
            int64_t n = sr_shape_count(one.slots[i].shape);
            same_bits("w with threads", op, example, one.w[i].data, more.w[i].data,
                      (size_t)n * sr_dtype_bytes(one.slots[i].dtype));
            if (one.dw[i])
                same_bits("dw with threads", op, example, one.dw[i], more.dw[i],
                          (size_t)n * sizeof(float));
        }
        op_call_deinit(&more);
    }
    op_call_deinit(&one);
    sr_parallel_set_threads(before);
}

TEST(test_bits_do_not_depend_on_threads) { each_case(threads_case); }

// Lower instruction sets agree with the reference too; the forward tests above ran on the best one.
TEST(test_lower_levels) {
    SrCpuLevel best = test_machine()->level;
    for (int level = SR_CPU_PLAIN; level < (int)best; level++) {
        test_machine_level((SrCpuLevel)level);
        each_case(forward_case);
        each_case(again_case);
    }
    test_machine_level(best);
}

TEST(test_descriptors) {
    int n = 0;
    for (; sr_op_at(n); n++) {
        const SrOp *op = sr_op_at(n);
        CHECK(op_named(op->name) == op);
        CHECK(op->help && op->infer && op->forward && op->reference);
        CHECK((op->backward == NULL) == ((op->flags & SR_OP_NO_GRAD) != 0));
        CHECK(op->n_cases > 0);
        CHECK((op->options == NULL) == (op->params_bytes == 0));
        // Constants and parameters that serve as values (relative_coords, relative_bias) have no
        // inputs.
        CHECK(op->min_in >= 0 && op->max_in >= op->min_in && op->max_in <= SR_OP_MAX_IN);
    }
    CHECK(n > 10);
    const SrOp *none;
    CHECK_FAILS(sr_op_find("rellu", &none), SR_ERR_CONFIG,
                "unknown operation 'rellu'; did you mean 'relu'?");
    CHECK(sr_op_at(-1) == NULL);
}

// A shape that an op cannot take gives an error of one line that names the op, and never a crash.
TEST(test_strange_shapes) {
    const SrShape strange[] = {SR_SCALAR, SR_SHAPE(3), SR_SHAPE(1, 1), SR_SHAPE(2, 1, 1, 1),
                               SR_SHAPE(1, 2, 3, 4, 5, 6)};
    for (int i = 0; sr_op_at(i); i++)
        for (int k = 0; k < SR_COUNT(strange); k++) {
            const SrOp *op = sr_op_at(i);
            OpCall c;
            op_call_init(&c, op, &op->cases[0], 1, true, 9);
            SrShape x[SR_OP_MAX_IN], y;
            for (int j = 0; j < op->min_in; j++)
                x[j] = strange[k];
            SrStatus status = op->infer(c.params, x, op->min_in, &y);
            if (status != SR_OK) {
                CHECK_INT(status, SR_ERR_CONFIG);
                CHECK(strstr(sr_status_message(), op->name) != NULL);
                CHECK(strchr(sr_status_message(), '\n') == NULL);
            }
            op_call_deinit(&c);
        }
}

// A view keeps the numbers of its input; the plan relies on it and runs no kernel.
static void view_case(const SrOp *op, const SrOpCase *example, bool train) {
    OpCall c;
    op_call_init(&c, op, example, 1, train, 10);
    if (op->is_view && op->is_view(c.params, c.shapes, c.n_in)) {
        op_call_forward(&c);
        same_bits("a view", op, example, c.x[0].data, c.y.data,
                  (size_t)sr_shape_count(c.y_shape) * sizeof(float));
    }
    op_call_deinit(&c);
}

TEST(test_views) { each_case(view_case); }

SR_TESTS(op, unit(test_descriptors), unit(test_forward_matches_reference),
         unit(test_gradients_match_differences), unit(test_gradients_add_up),
         unit(test_any_gradient_may_be_unwanted), unit(test_gradient_may_take_the_place_of_dy),
         unit(test_forward_again_repeats), unit(test_bits_do_not_depend_on_threads),
         unit(test_lower_levels), unit(test_strange_shapes), unit(test_views))
