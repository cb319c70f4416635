// Tests ops that run on bfloat16 (SR_OP_BF16): each of their cases on every instruction set, with
// the checks of op_half.h.
#include "base/bf16.h"
#include "base/compiler.h"
#include "kernels/basic/cast.h"
#include "tests/check.h"
#include "tests/kernels/op_call.h"
#include "tests/kernels/op_half.h"
#include "tests/machine.h"

static void each_case(void (*body)(const SrOp *op, const SrOpCase *example, bool train)) {
    SrCpuLevel best = test_machine()->level;
    static const char *const at_least[] = {"conv2d", "batch_norm", "relu", "add", "max_pool2d"};
    for (int level = SR_CPU_PLAIN; level <= (int)best; level++) {
        test_machine_level((SrCpuLevel)level);
        for (int i = 0; sr_op_at(i); i++) {
            const SrOp *op = sr_op_at(i);
            for (int k = 0; (op->flags & SR_OP_BF16) && op_wanted(op) && k < op->n_cases; k++)
                for (int train = 0; train < 2; train++)
                    body(op, &op->cases[k], train);
        }
    }
    test_machine_level(best);
    for (int i = 0; i < SR_COUNT(at_least); i++) {
        const SrOp *op;
        CHECK_OK(sr_op_find(at_least[i], &op));
        CHECK(op->flags & SR_OP_BF16 && op->n_cases > 0);
    }
}

TEST(test_forward_matches_reference) { each_case(op_half_forward); }

static void backward_case(const SrOp *op, const SrOpCase *example, bool train) {
    op_half_backward(op, example, train, 1);
}

TEST(test_backward_matches_floats) { each_case(backward_case); }

TEST(test_threads_keep_bits) { each_case(op_half_threads); }

static void mixed_case(const SrOp *op, const SrOpCase *example, bool train) {
    if (train && (op->flags & SR_OP_MIXES))
        op_half_mixed(op, example);
}

TEST(test_types_mix) {
    each_case(mixed_case);
    CHECK(op_named("layer_norm")->flags & op_named("add")->flags & SR_OP_MIXES);
}

// Every float rounds by the definition of bfloat16: halfway cases to even; NaN and infinity stay.
TEST(test_rounding) {
    const float in[] = {1, 1.00390625f, 1.01171875f, -1.0039064f, INFINITY, 3.3961776e38f,
                        0, -0.0f,       1.0f / 3};
    const uint16_t out[] = {0x3F80, 0x3F80, 0x3F82, 0xBF81, 0x7F80, 0x7F80, 0, 0x8000, 0x3EAB};
    SrCpuLevel best = test_machine()->level;
    for (int level = SR_CPU_PLAIN; level <= (int)best; level++) {
        test_machine_level((SrCpuLevel)level);
        for (int i = 0; i < SR_COUNT(in); i++) {
            float many[19], nan[19];
            SrBf16 got[19], not [19];
            for (int j = 0; j < 19; j++) {
                many[j] = in[i];
                memcpy(&nan[j], &(uint32_t){0x7F800001u}, sizeof nan[j]);
            }
            sr_cast(test_machine(), SR_BF16, got, SR_F32, many, 19);
            sr_cast(test_machine(), SR_BF16, not, SR_F32, nan, 19);
            for (int j = 0; j < 19; j++) {
                CHECK_INT(got[j], out[i]);
                CHECK(isnan(sr_bf16_float(not [j])));
            }
            CHECK_INT(sr_bf16_round(in[i]), out[i]);
        }
    }
    test_machine_level(best);
}

SR_TESTS(op_bf16, unit(test_rounding), unit(test_forward_matches_reference),
         unit(test_backward_matches_floats), unit(test_threads_keep_bits), unit(test_types_mix))
