// Tests refusals of ops: each wrong shape or option gives one line that names the op, what it got
// and what it expects.
#include "base/text/yaml_load.h"
#include "tests/check.h"
#include "tests/kernels/op_call.h"

typedef struct {
    const char *op, *params;
    int n_in;
    SrShape x[3];
    const char *message; // part of the expected message
} Refusal;

// clang-format off
static const Refusal refusals[] = {
    {"conv2d", "{}", 1, {SR_SHAPE(2, 3)}, "conv2d: input [2, 3]: expected 4 dimensions"},
    {"conv2d", "{out_channels: 6, groups: 4}", 1, {SR_SHAPE(1, 5, 5, 4)}, "multiples of groups 4"},
    {"conv2d", "{out_channels: 6, groups: 3}", 1, {SR_SHAPE(1, 5, 5, 4)}, "multiples of groups 3"},
    {"conv2d", "{kernel_h: 7}", 1, {SR_SHAPE(1, 5, 9, 4)}, "at least as large as the 7 x 7 kernel"},
    {"conv2d", "{kernel_h: 3, dilation_h: 3}", 1, {SR_SHAPE(1, 6, 6, 4)}, "at least as large as"},
    {"linear", "{}", 1, {SR_SHAPE(5)}, "2 to 6 dimensions"},
    {"weight_norm_linear", "{}", 1, {SR_SHAPE(5)}, "2 to 6 dimensions"},
    {"batch_norm", "{}", 2, {SR_SHAPE(4, 3), SR_SHAPE(4, 3)}, "1 inputs (residual: false)"},
    {"batch_norm", "{residual: true}", 1, {SR_SHAPE(4, 3)}, "2 inputs (residual: true)"},
    {"batch_norm", "{residual: true}", 2, {SR_SHAPE(4, 3), SR_SHAPE(3, 3)}, "[4, 3], [3, 3]"},
    {"group_norm", "{num_groups: 4}", 1, {SR_SHAPE(2, 5, 5, 6)}, "multiple of num_groups 4"},
    {"add", "{}", 3, {SR_SHAPE(2), SR_SHAPE(2), SR_SHAPE(3)}, "[2], [2], [3]: expected equal shapes"},
    {"concat", "{}", 2, {SR_SHAPE(2, 3), SR_SHAPE(2, 4)}, "agree after the first dimension"},
    {"concat", "{}", 2, {SR_SHAPE(2, 3), SR_SHAPE(2)}, "agree after the first dimension"},
    {"slice", "{begin: 3, count: 2}", 1, {SR_SHAPE(4, 2)}, "3 .. 4 inside"},
    {"slice", "{begin: 2147483647, count: 2147483647}", 1, {SR_SHAPE(4, 2)}, "inside"},
    {"merge_rows", "{count: 3}", 1, {SR_SHAPE(4, 2)}, "divisible by 3"},
    {"select_tokens", "{begin: 2, count: 2}", 1, {SR_SHAPE(2, 3, 4)}, "tokens 2 .. 3 inside"},
    {"select_tokens", "{count: 2, squeeze: true}", 1, {SR_SHAPE(2, 3, 4)}, "one token, not 2"},
    {"swap_tokens", "{}", 1, {SR_SHAPE(2, 3)}, "3 dimensions"},
    {"max_pool2d", "{kernel_h: 3, padding_h: 2}", 1, {SR_SHAPE(1, 5, 5, 1)}, "at most half the kernel"},
    {"max_pool2d", "{kernel_h: 3}", 1, {SR_SHAPE(1, 2, 5, 1)}, "at least as large as the 3 x 3 kernel"},
    {"avg_pool2d", "{kernel_h: 300}", 1, {SR_SHAPE(1, 400, 400, 1)}, "at most 65535 cells"},
    {"adaptive_max_pool2d", "{}", 1, {SR_SHAPE(1, 300, 300, 1)}, "at most 65535 pixels"},
    {"adaptive_avg_pool2d", "{}", 1, {SR_SHAPE(1, 3, 3)}, "4 dimensions"},
    {"sinkhorn", "{}", 1, {SR_SHAPE(4)}, "2 dimensions"},
    {"swav_cross_entropy", "{num_crops: 3}", 2, {SR_SHAPE(4, 5), SR_SHAPE(2, 5)}, "scores of 3 crops"},
    {"swav_cross_entropy", "{}", 2, {SR_SHAPE(4, 5), SR_SHAPE(2, 5)}, "codes of 2"},
    {"swav_cross_entropy", "{}", 2, {SR_SHAPE(4, 5), SR_SHAPE(4, 6)}, "scores of 2 crops"},
    {"swav_cross_entropy", "{crops_for_assign: [0, 2]}", 2, {SR_SHAPE(4, 5), SR_SHAPE(4, 5)},
     "crops_for_assign holds 2: expected crops 0 .. 1"},
};
// clang-format on

static void check_refusal(const Refusal *r) {
    SrArena arena = SR_ARENA_INIT;
    const SrOp *op = op_named(r->op);
    SrYaml *map;
    CHECK_OK(sr_yaml_parse(&arena, r->params, strlen(r->params), r->op, &map));
    void *params = sr_arena_alloc(&arena, op->params_bytes + 1);
    if (op->options)
        CHECK_OK(sr_options_parse(op->options, map, r->op, &arena, params));
    SrShape y;
    CHECK_FAILS(op->infer(params, r->x, r->n_in, &y), SR_ERR_CONFIG, r->message);
    CHECK(strncmp(sr_status_message(), r->op, strlen(r->op)) == 0);
    sr_arena_deinit(&arena);
}

TEST(test_refusals) {
    for (int i = 0; i < SR_COUNT(refusals); i++)
        check_refusal(&refusals[i]);
}

TEST(test_option_ranges) {
    const struct {
        const char *op, *params, *message;
    } bad[] = {
        {"sinkhorn", "{epsilon: 0}", "epsilon"},
        {"sinkhorn", "{form: exact}", "form"},
        {"dropout", "{p: 1.5}", "p"},
        {"conv2d", "{kernel: 3}", "kernel"},
        {"swav_cross_entropy", "{temperature: 0}", "temperature"},
    };
    for (int i = 0; i < SR_COUNT(bad); i++) {
        SrArena arena = SR_ARENA_INIT;
        const SrOp *op = op_named(bad[i].op);
        SrYaml *map;
        CHECK_OK(sr_yaml_parse(&arena, bad[i].params, strlen(bad[i].params), op->name, &map));
        void *params = sr_arena_alloc(&arena, op->params_bytes);
        CHECK_FAILS(sr_options_parse(op->options, map, op->name, &arena, params), SR_ERR_CONFIG,
                    bad[i].message);
        sr_arena_deinit(&arena);
    }
}

// An op that takes few inputs has an example with the fewest and one with the most. No example has
// the inputs that only plans add (a fused residual), or a temperature, which must be positive.
TEST(test_numbers_of_inputs) {
    for (int i = 0; sr_op_at(i); i++) {
        const SrOp *op = sr_op_at(i);
        int fewest = op->max_in, most = 0;
        for (int k = 0; k < op->n_cases; k++) {
            fewest = SR_MIN(fewest, op->cases[k].n_in);
            most = SR_MAX(most, op->cases[k].n_in);
        }
        bool shown = op->max_in <= 4 && !(op->flags & SR_OP_FUSED_NO_GRAD) &&
                     strcmp(op->name, "softmax") != 0;
        if (fewest != op->min_in || (shown && most != op->max_in))
            fail_msg("%s takes %d to %d inputs, its examples have %d to %d", op->name, op->min_in,
                     op->max_in, fewest, most);
    }
}

SR_TESTS(op_errors, unit(test_refusals), unit(test_option_ranges), unit(test_numbers_of_inputs))
