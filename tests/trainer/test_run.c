// Tests building runs: an error and no leak when any allocation fails, settings of memory and
// convolutions, and learning rates.
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/conv/conv.h"
#include "kernels/machine.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/run/run.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/run_rates.h"

#define CONFIG "tests/cli/tiny.yaml"

// Trying every allocation would take minutes; growing strides pass through all phases of
// building.
TEST(test_out_of_memory) {
    SrConfig *config;
    SrRun *run;
    CHECK_OK(sr_config_load(CONFIG, NULL, 0, &config));
    int64_t live = sr_mem_live(), failures = 0;
    for (int64_t n = 1;; n += 1 + n / 25) {
        sr_mem_fail_at(n);
        SrStatus status = sr_run_open(config, SR_RUN_BENCH, &run);
        sr_mem_fail_at(0);
        if (status == SR_OK)
            break;
        if (status != SR_ERR_MEMORY || sr_mem_live() != live)
            fail_msg("allocation %lld: status %d (%s), %lld blocks left", (long long)n, (int)status,
                     sr_status_message(), (long long)(sr_mem_live() - live));
        failures++;
    }
    sr_run_close(run);
    CHECK_INT(sr_mem_live(), live);
    CHECK(failures > 50);
    sr_config_free(config);
}

// Computes one step of the tiny configuration with overrides. Returns the loss, the memory of the
// plan in *bytes and up to n first weights.
static double one_step_with(const char *const *overrides, int n_overrides, size_t *bytes,
                            float *weights, int64_t n) {
    SrConfig *config;
    SrRun *run;
    double loss;
    CHECK_OK(sr_config_load(CONFIG, overrides, n_overrides, &config));
    CHECK_OK(sr_run_open(config, SR_RUN_BENCH, &run));
    for (int v = 0; v < run->graph.n_views; v++) {
        SrTensor x = sr_plan_input(run->plan, run->graph.views[v]);
        for (int64_t i = 0; i < sr_shape_count(x.shape); i++)
            ((float *)x.data)[i] = (float)((i * 7919 + v) % 1013) / 500 - 1;
    }
    SrStepArgs args = {.lr = 0.1, .lr_head = 0.1};
    CHECK_OK(sr_step_run(&run->step, &args, &loss));
    *bytes = run->cost.plan.activation_bytes;
    const SrParam *p = sr_params_at(sr_model_params(run->model), 0);
    memcpy(weights, p->value, sizeof(float) * (size_t)SR_MIN(n, sr_shape_count(p->shape)));
    sr_run_close(run);
    sr_config_free(config);
    return loss;
}

static double one_step(const char *override, size_t *bytes, float *weights, int64_t n) {
    return one_step_with(&override, 1, bytes, weights, n);
}

// Segments need less memory and change no bit; other convolutions change bits slightly.
TEST(test_activation_checkpointing) {
    enum { N = 64 };
    float with[N] = {0}, without[N] = {0}, direct[N] = {0};
    size_t less, more, other;
    double a = one_step("MODEL.ACTIVATION_CHECKPOINTING.USE_ACTIVATION_CHECKPOINTING=True", &less,
                        with, N);
    double b = one_step("SEED_VALUE=0", &more, without, N);
    double c = one_step("MACHINE.WINOGRAD=none", &other, direct, N);
    CHECK(a == b && memcmp(with, without, sizeof with) == 0);
    CHECK(less < more);
    CHECK(memcmp(direct, without, sizeof with) != 0);
    CHECK_NEAR(c, b, 1e-3);
}

// Kept values are not recomputed, at the price of memory, and no bit changes. A small step keeps
// its values under auto.
TEST(test_recompute) {
    enum { N = 64 };
    float kept[N] = {0}, again[N] = {0}, by_itself[N] = {0};
    size_t more, less, of_itself;
    double a = one_step("MACHINE.RECOMPUTE=never", &more, kept, N);
    double b = one_step("MACHINE.RECOMPUTE=always", &less, again, N);
    double c = one_step("MACHINE.RECOMPUTE=auto", &of_itself, by_itself, N);
    CHECK(a == b && b == c);
    CHECK(memcmp(kept, again, sizeof kept) == 0 && memcmp(kept, by_itself, sizeof kept) == 0);
    CHECK(less < more && of_itself == more);
}

// The expanded maps of inverted residuals, and the stem's, are recomputed too.
TEST(test_recompute_expansions) {
    enum { N = 64 };
    const char *overrides[] = {"MACHINE.RECOMPUTE=never", "MODEL.TRUNK.NAME=mobilenet_v2",
                               "MODEL.HEAD.PARAMS.0.1.dims=[1280, 16, 8]",
                               "DATA.TRAIN.TRANSFORMS.0.size_crops=[64, 32]"};
    float kept[N] = {0}, again[N] = {0};
    size_t more, less;
    double a = one_step_with(overrides, 4, &more, kept, N);
    overrides[0] = "MACHINE.RECOMPUTE=always";
    double b = one_step_with(overrides, 4, &less, again, N);
    CHECK(a == b && memcmp(kept, again, sizeof kept) == 0);
    CHECK(less * 100 < more * 60); // 51; without the expansions 76
}

static const char *design_under(const char *override) {
    SrConfig *config;
    SrRun *run;
    SrConvShape s = {16, 28, 28, 128, 128, 3, 3, 1, 1, 1, 1, 1, 1, 1, 0, 0, SR_F32, NULL};
    sr_conv_shape(&s);
    CHECK_OK(sr_config_load(CONFIG, &override, 1, &config));
    CHECK_OK(sr_run_open(config, SR_RUN_BENCH, &run));
    s.machine = sr_plan_machine(run->plan);
    SrConv c = sr_conv_choose(&s);
    const char *name = sr_conv_design(&c, SR_CONV_FORWARD);
    sr_run_close(run);
    sr_config_free(config);
    return name;
}

// MACHINE.FP32 selects the convolution's design; without tile registers it changes nothing.
TEST(test_fp32) {
    CHECK_STR(design_under("MACHINE.FP32=ieee"), "winograd4");
    CHECK_STR(design_under("MACHINE.FP32=x3"),
              sr_machine_has_tiles(sr_machine_default()) ? "tiles" : "winograd4");
    CHECK_STR(design_under("MACHINE.FP32=auto"), "winograd4");
}

TEST(test_checkpoint_out_of_memory) {
    char dir[64], path[128];
    SrConfig *config;
    SrRun *run;
    SrPosition at = {.iteration = 3};
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/a.safetensors", dir);
    CHECK_OK(sr_config_load(CONFIG, NULL, 0, &config));
    CHECK_OK(sr_run_open(config, SR_RUN_BENCH, &run));
    SrCheckpointParts parts = sr_run_parts(run);
    int64_t live = sr_mem_live(), failures = 0;
    SrStatus saved = SR_ERR_MEMORY, loaded = SR_ERR_MEMORY;
    for (int64_t n = 1; saved != SR_OK; n++) {
        sr_mem_fail_at(n);
        saved = sr_checkpoint_save(path, &parts, &at);
        sr_mem_fail_at(0);
        CHECK(saved == SR_OK || saved == SR_ERR_MEMORY);
        CHECK_INT(sr_mem_live(), live);
        failures += saved != SR_OK;
    }
    for (int64_t n = 1; loaded != SR_OK; n++) {
        sr_mem_fail_at(n);
        loaded = sr_checkpoint_load(path, &parts, &at);
        sr_mem_fail_at(0);
        CHECK(loaded == SR_OK || loaded == SR_ERR_MEMORY);
        CHECK_INT(sr_mem_live(), live);
        failures += loaded != SR_OK;
    }
    CHECK(failures > 5);
    sr_run_close(run);
    sr_config_free(config);
    temp_dir_remove(dir);
}

// lr follows a cosine per step from 0.3 to 0.003 over all updates; a schedule per epoch is
// constant within an epoch.
TEST(test_rates) {
    SrConfig *config;
    SrRun *run;
    double lr, head, first;
    CHECK_OK(sr_config_load(CONFIG, NULL, 0, &config));
    CHECK_OK(sr_run_open(config, SR_RUN_TRAIN, &run));
    CHECK_INT(run->steps_per_epoch, 8);
    CHECK_INT(run->max_iterations, 24);
    sr_run_rates(run, 0, &lr, &head);
    CHECK_NEAR(lr, 0.3, 1e-12);
    CHECK_NEAR(head, lr, 0);
    sr_run_rates(run, 12, &lr, &head);
    CHECK_NEAR(lr, 0.003 + 0.297 / 2, 1e-12);
    sr_run_close(run);
    sr_config_free(config);
    const char *per_epoch = "OPTIMIZER.param_schedulers.lr.update_interval=epoch";
    CHECK_OK(sr_config_load(CONFIG, &per_epoch, 1, &config));
    CHECK_OK(sr_run_open(config, SR_RUN_TRAIN, &run));
    sr_run_rates(run, 8, &first, &head);
    sr_run_rates(run, 15, &lr, &head);
    CHECK_NEAR(lr, first, 0);
    sr_run_rates(run, 16, &lr, &head);
    CHECK(lr < first);
    sr_run_close(run);
    sr_config_free(config);
}

// Settings that would train on something other than requested are refused with the key to change.
TEST(test_refused) {
    static const char *const one_row[] = {
        "DATA.TRAIN.BATCHSIZE_PER_REPLICA=1",
        "MODEL.TEMP_FROZEN_PARAMS_ITER_MAP=[]",
        "DATA.TRAIN.COLLATE_FUNCTION=default_collate",
        "DATA.TRAIN.TRANSFORMS=[{name: Resize, size: [16, 16]}, {name: ToTensor}]",
        "LOSS.name=CrossEntropyLoss",
        "MODEL.HEAD.PARAMS=[[mlp, {dims: [32, 16, 4], use_bn: True}]]",
    };
    SrConfig *config;
    SrRun *run;
    CHECK_OK(sr_config_load(CONFIG, one_row, SR_COUNT(one_row), &config));
    CHECK_FAILS(sr_run_open(config, SR_RUN_CHECK, &run), SR_ERR_CONFIG,
                "DATA.TRAIN.BATCHSIZE_PER_REPLICA is 1, so the batch norm heads.0.");
    sr_config_free(config);
    CHECK_OK(sr_config_load(CONFIG, one_row + 1, SR_COUNT(one_row) - 1, &config));
    CHECK_OK(sr_run_open(config, SR_RUN_CHECK, &run));
    sr_run_close(run);
    sr_config_free(config);
    static const char *const views[] = {
        "DATA.TRAIN.COLLATE_FUNCTION=simclr_collator",
        "LOSS.name=CrossEntropyLoss",
        "MODEL.HEAD.PARAMS=[[mlp, {dims: [32, 4]}]]",
    };
    CHECK_OK(sr_config_load(CONFIG, views, SR_COUNT(views), &config));
    CHECK_FAILS(sr_run_open(config, SR_RUN_CHECK, &run), SR_ERR_CONFIG,
                "DATA.TRAIN.COLLATE_FUNCTION: simclr_collator: puts all views into one tensor");
    sr_config_free(config);
    const char *many = "NEAREST_NEIGHBOR.TOPK=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]";
    CHECK_FAILS(sr_config_load(CONFIG, &many, 1, &config), SR_ERR_CONFIG, "TOPK has 17 entries");
}

SR_TESTS(run, unit(test_refused), unit(test_activation_checkpointing), unit(test_recompute),
         unit(test_recompute_expansions), unit(test_fp32), unit(test_out_of_memory),
         unit(test_checkpoint_out_of_memory), unit(test_rates))
