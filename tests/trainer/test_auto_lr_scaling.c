// Tests auto_lr_scaling: worked examples, and configurations that it refuses.
#include "base/log.h"
#include "base/text/text.h"
#include "base/text/yaml_load.h"
#include "base/text/yaml_print.h"
#include "tests/check.h"
#include "trainer/schedules/auto_lr_scaling.h"

// Scales the configuration `text` and compares it with `expected`, both in flow style.
static void check_scaled(const char *text, int batch, int node_batch, int nodes,
                         const char *expected) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree = NULL, *want = NULL;
    SrText got = {0}, wanted = {0};
    CHECK_OK(sr_yaml_parse(&arena, text, strlen(text), "test", &tree));
    CHECK_OK(sr_yaml_parse(&arena, expected, strlen(expected), "test", &want));
    CHECK_OK(sr_schedule_auto_scale(tree, "lr", batch, node_batch, nodes, &arena));
    sr_yaml_print_flow(tree, &got);
    sr_yaml_print_flow(want, &wanted);
    CHECK_STR(got.s, wanted.s);
    sr_text_deinit(&got);
    sr_text_deinit(&wanted);
    sr_arena_deinit(&arena);
}

#define AUTO(base, type)                                    \
    "auto_lr_scaling: {auto_scale: True, base_value: " base \
    ", base_lr_batch_size: 256, scaling_type: " type "}"

TEST(test_switched_off) {
    check_scaled("{name: constant, value: 0.1, auto_lr_scaling: {auto_scale: False}}", 32, 32, 1,
                 "{name: constant, value: 0.1, auto_lr_scaling: {auto_scale: False}}");
    check_scaled("{name: constant, value: 0.1}", 32, 32, 1, "{name: constant, value: 0.1}");
}

TEST(test_each_kind) {
    check_scaled("{" AUTO("0.3", "linear") ", name: linear, start_value: 0.5, end_value: 1.0}", 32,
                 32, 1,
                 "{" AUTO("0.3", "linear") ", name: linear, start_value: 0.5, end_value: 0.0375}");
    check_scaled(
        "{" AUTO("0.15", "linear") ", name: cosine, start_value: 0.15, end_value: 0.015}", 64, 64,
        1, "{" AUTO("0.15", "linear") ", name: cosine, start_value: 0.0375, end_value: 0.00375}");
    check_scaled(
        "{" AUTO("0.1",
                 "linear") ", name: multistep, values: [0.1, 0.01, 0.001], milestones: [1, 2]}",
        32, 32, 1,
        "{" AUTO("0.1", "linear") ", name: multistep, values: [0.0125, 0.00125, 0.000125], "
                                  "milestones: [1, 2]}");
    check_scaled("{" AUTO("0.1", "linear") ", name: step, values: [0.7]}", 512, 512, 1,
                 "{" AUTO("0.1", "linear") ", name: step, values: [0.2]}");
    check_scaled("{" AUTO("0.2", "sqrt") ", name: constant, value: 9.0}", 64, 64, 1,
                 "{" AUTO("0.2", "sqrt") ", name: constant, value: 0.1}");
    check_scaled("{" AUTO("0.2", "linear") ", name: inverse_sqrt, start_value: 9.0}", 128, 128, 1,
                 "{" AUTO("0.2", "linear") ", name: inverse_sqrt, start_value: 0.1}");
    check_scaled("{" AUTO("0.2", "linear") ", name: step_with_fixed_gamma, base_value: 9.0}", 128,
                 128, 1,
                 "{" AUTO("0.2", "linear") ", name: step_with_fixed_gamma, base_value: 0.1}");
}

#define WARM(a, b, c, d)                                            \
    "schedulers: [{name: linear, start_value: " a ", end_value: " b \
    "}, {name: cosine, start_value: " c ", end_value: " d "}]"

// With several nodes the warm-up starts at the rate for the batch of one node.
TEST(test_warm_up_of_eight_nodes) {
    check_scaled(
        "{" AUTO("0.3", "linear") ", name: composite, " WARM("0.3", "4.8", "4.8", "0.0048") "}",
        4096, 512, 8,
        "{" AUTO("0.3", "linear") ", name: composite, " WARM("0.6", "4.8", "4.8", "0.0048") "}");
}

// With one node the warm-up would start at the rate where it ends: it is removed, and the next
// schedule covers its part.
TEST(test_warm_up_of_one_node_goes) {
    check_scaled(
        "{" AUTO("0.3", "linear") ", name: composite, " WARM("0.3", "4.8", "4.8", "0.0048") "}", 32,
        32, 1,
        "{" AUTO("0.3",
                 "linear") ", name: cosine, schedulers: [{name: cosine, start_value: 0.0375, "
                           "end_value: 3.75e-05}], start_value: 0.0375, end_value: 3.75e-05}");
}

static SrStatus scale(const char *text) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree = NULL;
    SrStatus status = sr_yaml_parse(&arena, text, strlen(text), "test.yaml", &tree);
    if (status == SR_OK)
        status = sr_schedule_auto_scale(tree, "lr", 32, 32, 1, &arena);
    sr_arena_deinit(&arena);
    return status;
}

// A saved configuration is scaled again when it is loaded: no rate may change by a single bit.
TEST(test_twice_is_once) {
    sr_log_set_level(SR_LOG_WARN);
    static const char *const texts[] = {
        "{" AUTO("0.3", "linear") ", name: composite, " WARM("0.3", "4.8", "4.8", "0.0048") "}",
        "{" AUTO("0.3", "sqrt") ", name: cosine, start_value: 0.7, end_value: 0.003}",
        "{" AUTO("0.1",
                 "sqrt") ", name: multistep, values: [0.1, 0.01, 0.001], milestones: [1, 2]}",
    };
    for (int i = 0; i < 3; i++) {
        for (int batch = 1; batch < 300; batch += 13) {
            SrArena arena = SR_ARENA_INIT;
            SrYaml *tree = NULL;
            CHECK_OK(sr_yaml_parse(&arena, texts[i], strlen(texts[i]), "test", &tree));
            CHECK_OK(sr_schedule_auto_scale(tree, "lr", batch, batch, 1, &arena));
            SrYaml *once = sr_yaml_copy(&arena, tree);
            CHECK_OK(sr_schedule_auto_scale(tree, "lr", batch, batch, 1, &arena));
            CHECK(sr_yaml_equal(tree, once));
            sr_arena_deinit(&arena);
        }
    }
    sr_log_set_level(SR_LOG_INFO);
}

TEST(test_errors) {
    CHECK_FAILS(scale("{" AUTO("0.1", "cubic") ", name: constant}"), SR_ERR_CONFIG, "scaling_type");
    CHECK_FAILS(
        scale("{" AUTO("0.1", "linear") ", name: cosine, start_value: 0.0, end_value: 0.0}"),
        SR_ERR_CONFIG, "start_value");
    CHECK_FAILS(scale("{" AUTO("0.1", "linear") ", name: cosine, start_value: high}"),
                SR_ERR_CONFIG, "start_value");
    CHECK_FAILS(scale("{" AUTO("0.1", "linear") ", name: multistep, values: []}"), SR_ERR_CONFIG,
                "values");
    CHECK_FAILS(scale("{" AUTO("0.1", "linear") ", name: composite, schedulers: 3}"), SR_ERR_CONFIG,
                "schedulers");
    CHECK_FAILS(scale("{" AUTO("0.1", "linear") ", name: composite, schedulers: [3]}"),
                SR_ERR_CONFIG, "map");
    CHECK_FAILS(scale("{" AUTO("0.1", "linear") ", name: lineer}"), SR_ERR_CONFIG, "linear");
}

SR_TESTS(auto_lr_scaling, unit(test_switched_off), unit(test_each_kind),
         unit(test_warm_up_of_eight_nodes), unit(test_warm_up_of_one_node_goes),
         unit(test_twice_is_once), unit(test_errors))
