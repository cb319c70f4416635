// Tests schedules: values at known points, keys of other kinds, and errors that name the key to
// change.
#include <math.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "base/text/yaml_load.h"
#include "tests/check.h"
#include "trainer/schedules/schedule.h"

// Returns the value at one point of a schedule in flow style.
static double at(const char *text, int num_epochs, double where) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree = NULL;
    SrSchedule *schedule = NULL;
    CHECK_OK(sr_yaml_parse(&arena, text, strlen(text), "test", &tree));
    CHECK_OK(sr_schedule_new(tree, "lr", num_epochs, &arena, &schedule));
    double value = sr_schedule_value(schedule, where);
    sr_arena_deinit(&arena);
    return value;
}

static SrStatus build(const char *text, int num_epochs) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree = NULL;
    SrSchedule *schedule = NULL;
    SrStatus status = sr_yaml_parse(&arena, text, strlen(text), "test.yaml", &tree);
    if (status == SR_OK)
        status = sr_schedule_new(tree, "lr", num_epochs, &arena, &schedule);
    sr_arena_deinit(&arena);
    return status;
}

TEST(test_closed_forms) {
    CHECK_NEAR(at("{name: constant, value: 0.3}", 1, 0.7), 0.3, 0);
    CHECK_NEAR(at("{name: linear, start_value: 1.0, end_value: 3.0}", 1, 0.25), 1.5, 1e-15);
    CHECK_NEAR(at("{name: cosine, start_value: 2.0, end_value: 1.0}", 1, 0.0), 2.0, 1e-15);
    CHECK_NEAR(at("{name: cosine, start_value: 2.0, end_value: 1.0}", 1, 0.5), 1.5, 1e-15);
    CHECK_NEAR(at("{name: polynomial, base_value: 4.0, power: 2.0}", 1, 0.5), 1.0, 1e-15);
    CHECK_NEAR(at("{name: inverse_sqrt, start_value: 4.0, warmup_interval_length: 0.25}", 1, 0.25),
               4.0, 1e-15);
    CHECK_NEAR(at("{name: inverse_sqrt, start_value: 4.0, warmup_interval_length: 0.25}", 1, 0.0),
               2.0, 1e-15);
    CHECK_NEAR(
        at("{name: step_with_fixed_gamma, base_value: 1.0, gamma: 0.5, num_decays: 3}", 1, 0.6),
        0.25, 0);
}

// 3/10 of 10 epochs is epoch 3, although 0.3 * 10 may round to less: an epsilon prevents it.
TEST(test_steps_change_on_the_boundary) {
    const char *multistep = "{name: multistep, values: [1.0, 0.1, 0.01], milestones: [3, 7]}";
    CHECK_NEAR(at(multistep, 10, 0.29), 1.0, 0);
    CHECK_NEAR(at(multistep, 10, 3.0 / 10), 0.1, 0);
    CHECK_NEAR(at(multistep, 10, 7.0 / 10), 0.01, 0);
    CHECK_NEAR(at("{name: step, values: [1.0, 2.0, 3.0]}", 3, 1.0 / 3), 2.0, 0);
    CHECK_NEAR(at("{name: step, values: [1.0, 2.0, 3.0]}", 3, 0.9999999), 3.0, 0);
}

TEST(test_composite_scales_as_told) {
    const char *fixed =
        "{name: composite, lengths: [0.1, 0.9], interval_scaling: [rescaled, fixed], schedulers: ["
        "{name: linear, start_value: 0.0, end_value: 1.0}, {name: cosine, start_value: 1.0, "
        "end_value: 0.0}]}";
    CHECK_NEAR(at(fixed, 1, 0.05), 0.5, 1e-15);
    CHECK_NEAR(at(fixed, 1, 0.1), 0.5 * (1 + cos(0.1 * M_PI)), 1e-15);
    const char *rescaled = "{name: composite, lengths: [0.1, 0.9], interval_scaling: [rescaled, "
                           "rescaled], schedulers: ["
                           "{name: linear, start_value: 0.0, end_value: 1.0}, {name: cosine, "
                           "start_value: 1.0, end_value: 0.0}]}";
    CHECK_NEAR(at(rescaled, 1, 0.1), 1.0, 1e-12);
    CHECK_NEAR(at(rescaled, 1, 0.55), 0.5, 1e-12);
}

// Missing keys have the defaults of fvcore and ClassyVision.
TEST(test_warmup_stable_decay) {
    static const char line[] =
        "{name: warmup_stable_decay, start_value: 1, value: 3, end_value: 1, "
        "warmup: 0.1, decay: 0.4}",
                      root[] = "{name: warmup_stable_decay, value: 3, end_value: 1, warmup: 0, "
                               "decay: 0.4, shape: sqrt}";
    CHECK_NEAR(at(line, 10, 0), 1, 0);
    CHECK_NEAR(at(line, 10, 0.05), 2, 1e-15);
    CHECK_NEAR(at(line, 10, 0.1), 3, 0);
    CHECK_NEAR(at(line, 10, 0.6), 3, 1e-15);
    CHECK_NEAR(at(line, 10, 0.8), 2, 1e-15);
    CHECK_NEAR(at(root, 10, 0), 3, 0);
    CHECK_NEAR(at(root, 10, 0.7), 2, 1e-15); // a quarter of the fall has half of its depth
    CHECK_NEAR(at("{name: warmup_stable_decay, value: 3, decay: 0}", 10, 0.99), 3, 0);
    CHECK_FAILS(build("{name: warmup_stable_decay, value: 3, warmup: 0.5, decay: 0.6}", 10),
                SR_ERR_CONFIG, "test.yaml:1: lr: warmup (0.5) and decay (0.6) add up to more");
}

TEST(test_keys_left_out) {
    const char *even = "{name: multistep, values: [1.0, 0.1, 0.01]}"; // 4 + 4 + 2 of 10 epochs
    CHECK_NEAR(at(even, 10, 0.3), 1.0, 0);
    CHECK_NEAR(at(even, 10, 0.4), 0.1, 0);
    CHECK_NEAR(at(even, 10, 0.7), 0.1, 0);
    CHECK_NEAR(at(even, 10, 0.8), 0.01, 0);
    CHECK_NEAR(at(even, 4, 0.75), 0.1, 0); // 2 + 2 of 4 epochs
    const char *rescaled = "{name: composite, lengths: [0.1, 0.9], schedulers: [{name: linear, "
                           "start_value: 0.0, end_value: 1.0}, {name: cosine, start_value: 1.0, "
                           "end_value: 0.0}]}";
    CHECK_NEAR(at(rescaled, 1, 0.05), 0.5, 1e-12);
    CHECK_NEAR(at(rescaled, 1, 0.55), 0.5, 1e-12);
}

TEST(test_warm_restarts) {
    const char *half = "{name: cosine_warm_restart, start_value: 1.0, end_value: 0.0, "
                       "restart_interval_length: 0.25,"
                       " wave_type: half, lr_multiplier: 0.5}";
    CHECK_NEAR(at(half, 1, 0.125), 0.5, 1e-15);
    CHECK_NEAR(at(half, 1, 0.25), 0.5, 1e-15);
    CHECK_NEAR(at(half, 1, 0.75), 0.125, 1e-15);
    const char *full = "{name: cosine_warm_restart, start_value: 1.0, end_value: 0.0, "
                       "restart_interval_length: 0.25,"
                       " wave_type: full}";
    CHECK_NEAR(at(full, 1, 0.25), 0.0, 1e-15);
    CHECK_NEAR(at(full, 1, 0.5), 1.0, 1e-15);
    // Adaptive full waves reach their peak one interval early, the first one too.
    const char *adaptive =
        "{name: cosine_warm_restart, start_value: 1.0, end_value: 0.0, is_adaptive: True,"
        " restart_interval_length: 0.5, wave_type: full}";
    CHECK_NEAR(at(adaptive, 1, 0.0), 0.5, 1e-15);
}

TEST(test_keys_of_other_kinds_are_left_alone) {
    CHECK_NEAR(
        at("{auto_lr_scaling: {auto_scale: False}, name: constant, value: 0.3, values: [1.0], "
           "milestones: [9],"
           " schedulers: [], lengths: [], interval_scaling: [], start_value: 1, end_value: 0}",
           1, 0.0),
        0.3, 0);
    CHECK_FAILS(build("{name: constant, value: 0.3, valeu: 1}", 1), SR_ERR_CONFIG, "valeu");
}

TEST(test_update_interval) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree = NULL;
    SrSchedule *s = NULL;
    const char *text = "{name: cosine, start_value: 1, end_value: 0, update_interval: epoch}";
    CHECK_OK(sr_yaml_parse(&arena, text, strlen(text), "test", &tree));
    CHECK_OK(sr_schedule_new(tree, "lr", 1, &arena, &s));
    CHECK(sr_schedule_per_epoch(s));
    sr_yaml_remove(tree, "update_interval");
    CHECK_OK(sr_schedule_new(tree, "lr", 1, &arena, &s));
    CHECK(!sr_schedule_per_epoch(s));
    sr_arena_deinit(&arena);
    CHECK_FAILS(build("{name: constant, value: 1, update_interval: sometimes}", 1), SR_ERR_CONFIG,
                "update_interval");
}

TEST(test_errors_name_the_key) {
    CHECK_FAILS(build("{name: cosin, start_value: 1, end_value: 0}", 1), SR_ERR_CONFIG, "cosine");
    CHECK_FAILS(build("{name: cosine, start_value: 1}", 1), SR_ERR_CONFIG, "end_value");
    CHECK_FAILS(build("{name: multistep, values: [1, 2], milestones: [30, 60]}", 90), SR_ERR_CONFIG,
                "milestones");
    CHECK_FAILS(build("{name: multistep, values: [1, 2, 3], milestones: [60, 30]}", 90),
                SR_ERR_CONFIG, "rising order");
    CHECK_FAILS(build("{name: multistep, values: [1, 2, 3], milestones: [30, 60]}", 20),
                SR_ERR_CONFIG, "num_epochs=20");
    CHECK_FAILS(build("{name: multistep, values: [1, 0.1, 0.01], milestones: [30, 60]}", 40),
                SR_ERR_CONFIG, ".milestones=[30] ");
    CHECK_FAILS(build("{name: multistep, values: [1, 0.1, 0.01], milestones: [30, 60]}", 40),
                SR_ERR_CONFIG, ".values=[1,0.1]");
    CHECK_FAILS(build("{name: composite, schedulers: [{name: constant, value: 1}], lengths: [0.5], "
                      "interval_scaling: [fixed]}",
                      1),
                SR_ERR_CONFIG, "add up to 1");
    CHECK_FAILS(build("{name: composite, schedulers: [{name: constant, value: 1}], lengths: [1], "
                      "interval_scaling: []}",
                      1),
                SR_ERR_CONFIG, "interval_scaling");
    CHECK_FAILS(build("{name: composite, schedulers: [{name: constan, value: 1}], lengths: [1], "
                      "interval_scaling: [fixed]}",
                      1),
                SR_ERR_CONFIG, "lr.schedulers.0");
    CHECK_FAILS(build("[1, 2]", 1), SR_ERR_CONFIG, "map");
    CHECK_FAILS(build("{value: 1}", 1), SR_ERR_CONFIG, "lr.name");
}

// No rate and no decay lies outside 0 .. 1e6; the message names key and line.
TEST(test_rates_are_bounded) {
    CHECK_FAILS(build("{name: constant, value: -0.1}", 10), SR_ERR_CONFIG,
                ":1: lr.value is -0.1, expected a number from 0 to 1000000");
    CHECK_FAILS(build("{name: constant, value: .nan}", 10), SR_ERR_CONFIG, "lr.value is .nan");
    CHECK_FAILS(build("{name: constant, value: 1e10}", 10), SR_ERR_CONFIG, "lr.value is 1e10");
    CHECK_FAILS(build("{name: constant, value: .inf}", 10), SR_ERR_CONFIG, "lr.value is .inf");
    CHECK_FAILS(build("{name: cosine, start_value: 0.1, end_value: -1e-9}", 10), SR_ERR_CONFIG,
                "lr.end_value is -1e-9");
    CHECK_FAILS(build("{name: multistep, values: [0.1, -0.01], milestones: [5]}", 10),
                SR_ERR_CONFIG, "lr.values is -0.01");
    CHECK_FAILS(build("{name: composite, schedulers: [{name: linear, start_value: 0, end_value: "
                      "2e6}], lengths: [1]}",
                      10),
                SR_ERR_CONFIG, "lr.schedulers.0.end_value is 2e6");
    CHECK_NEAR(at("{name: constant, value: 1e6}", 10, 0), 1e6, 0);
}

// Composite schedules may be nested up to a limit.
TEST(test_nesting_is_bounded) {
    SrText text = {0};
    for (int i = 0; i < 20; i++)
        sr_text_add(&text,
                    "{name: composite, lengths: [1], interval_scaling: [rescaled], schedulers: [");
    sr_text_add(&text, "{name: constant, value: 1}");
    for (int i = 0; i < 20; i++)
        sr_text_add(&text, "]}");
    CHECK_FAILS(build(text.s, 1), SR_ERR_CONFIG, "deeper");
    sr_text_deinit(&text);
}

// Every kind has an example. Without any one of its required keys it is refused by the name of
// that key, and its values are finite and repeatable.
static void check_required(const SrScheduleKind *kind, const char *example) {
    for (int k = 0; k < SR_COUNT(kind->required) && kind->required[k]; k++) {
        char text[512];
        const char *key = strstr(example, kind->required[k]);
        CHECK(key);
        // The key is renamed, so that it belongs to no kind.
        snprintf(text, sizeof text, "{name: %s, %.*sun_%s", kind->name, (int)(key - example) - 1,
                 example + 1, key);
        CHECK_FAILS(build(text, 10), SR_ERR_CONFIG, kind->required[k]);
    }
}

static void check_example(const SrScheduleKind *kind, const char *example) {
    char text[512];
    double least = INFINITY, most = -INFINITY;
    snprintf(text, sizeof text, "{name: %s, %s", kind->name, example + 1);
    for (int i = 0; i < 100; i++) {
        double where = i / 100.0, value = at(text, 10, where);
        if (!isfinite(value) || value != at(text, 10, where))
            fail_msg("%s at %g: %g", text, where, value);
        least = fmin(least, value);
        most = fmax(most, value);
    }
    if ((least < most) == (strcmp(kind->name, "constant") == 0))
        fail_msg("%s goes from %g to %g", text, least, most);
    check_required(kind, example);
}

TEST(test_every_kind) {
    for (int i = 0; sr_schedule_kind_at(i); i++) {
        const SrScheduleKind *kind = sr_schedule_kind_at(i);
        if (!kind->examples[0])
            fail_msg("schedule %s has no example", kind->name);
        for (int e = 0; e < SR_COUNT(kind->examples) && kind->examples[e]; e++)
            check_example(kind, kind->examples[e]);
    }
}

SR_TESTS(schedule, unit(test_every_kind), unit(test_closed_forms),
         unit(test_steps_change_on_the_boundary), unit(test_warmup_stable_decay),
         unit(test_keys_left_out), unit(test_composite_scales_as_told), unit(test_warm_restarts),
         unit(test_keys_of_other_kinds_are_left_alone), unit(test_update_interval),
         unit(test_errors_name_the_key), unit(test_rates_are_bounded),
         unit(test_nesting_is_bounded))
