// Tests the group constructors dino, lr_decay and linear_eval_heads: members of each group, its
// rate and its decay.
#include "base/mem.h"
#include "base/text/yaml_load.h"
#include "tests/check.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/optim/optim.h"
#include "trainer/optim/param_groups.h"
#include "trainer/run/run.h"
#include "trunks/shared/depth.h"

typedef struct {
    const char *name;
    SrRole role;
} Row;

static const Row resnet[] = {
    {"trunk._feature_blocks.conv1.weight", SR_ROLE_WEIGHT},
    {"trunk._feature_blocks.bn1.weight", SR_ROLE_NORM_WEIGHT},
    {"trunk._feature_blocks.bn1.bias", SR_ROLE_NORM_BIAS},
    {"trunk._feature_blocks.layer1.0.conv1.weight", SR_ROLE_WEIGHT},
    {"trunk._feature_blocks.layer4.1.downsample.1.weight", SR_ROLE_NORM_WEIGHT},
    {"heads.0.clf.0.weight", SR_ROLE_WEIGHT},
    {"heads.0.clf.0.bias", SR_ROLE_BIAS},
    {NULL, SR_ROLE_OTHER},
};

static const Row vit[] = {
    {"trunk.cls_token", SR_ROLE_OTHER},
    {"trunk.patch_embed.proj.bias", SR_ROLE_BIAS},
    {"trunk.blocks.0.norm1.weight", SR_ROLE_NORM_WEIGHT},
    {"trunk.blocks.11.mlp.fc1.weight", SR_ROLE_WEIGHT},
    {"trunk.norm.bias", SR_ROLE_NORM_BIAS},
    {"heads.0.prototypes0.weight_g", SR_ROLE_WEIGHT},
    {NULL, SR_ROLE_OTHER},
};

static const Row probes[] = {
    {"heads.0.channel_bn.weight", SR_ROLE_NORM_WEIGHT},
    {"heads.0.channel_bn.bias", SR_ROLE_NORM_BIAS},
    {"heads.0.clf.clf.0.weight", SR_ROLE_WEIGHT},
    {"heads.1.channel_bn.weight", SR_ROLE_NORM_WEIGHT},
    {"heads.1.clf.clf.0.bias", SR_ROLE_BIAS},
    {NULL, SR_ROLE_OTHER},
};

typedef struct {
    SrArena arena;
    SrParams *params;
    SrParamGroups groups;
} Case;

static SrStatus build(Case *c, const Row *rows, const SrOptimizerConfig *config) {
    *c = (Case){.params = NULL};
    CHECK_OK(sr_params_new(&c->params));
    for (int i = 0; rows[i].name; i++) {
        SrSlot slot = {.name = "weight",
                       .shape = SR_SHAPE(2),
                       .dtype = SR_F32,
                       .kind = SR_SLOT_PARAM,
                       .role = rows[i].role};
        int index = 0;
        CHECK_OK(sr_params_add(c->params, rows[i].name, &slot, &index));
    }
    return sr_param_groups(c->params, config, &c->arena, &c->groups);
}

static void close_case(Case *c) {
    sr_params_free(c->params);
    sr_arena_deinit(&c->arena);
}

static void check_group(const Case *c, int g, const char *members, double decay, bool scheduled,
                        double scale) {
    char text[128] = "";
    CHECK(g < c->groups.n);
    const SrParamGroup *group = &c->groups.groups[g];
    for (int i = 0; i < group->n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", i ? " " : "",
                 group->params[i]);
    CHECK_STR(text, members);
    CHECK_NEAR(group->weight_decay, decay, 0);
    CHECK_INT(group->regularised, scheduled);
    CHECK_NEAR(group->lr_scale, scale, 1e-12);
    CHECK(!group->head_lr);
}

// Returns the depth of a toy transformer, as trunks describe their layers.
static int toy_layers(const void *params) { return *(const int *)params; }
static const SrTrunk toy = {
    .name = "toy", .layers = toy_layers, .depth = sr_depth_of_blocks, .decays_by_name = true};

TEST(test_dino) {
    Case c;
    SrOptimizerConfig config = {.param_group_constructor = "dino", .weight_decay = 0.04};
    CHECK_OK(build(&c, vit, &config));
    CHECK_INT(c.groups.n, 2);
    check_group(&c, 0, "0 3 5", 0.04, true, 0);
    check_group(&c, 1, "1 2 4", 0, false, 0);
    close_case(&c);
    CHECK_OK(build(&c, probes + 2, &config)); // two regularised names only
    close_case(&c);
}

TEST(test_lr_decay_resnet) {
    Case c;
    SrOptimizerConfig config = {.param_group_constructor = "lr_decay",
                                .weight_decay = 0.5,
                                .layer_decay = 0.5,
                                .regularize_bias = true};
    CHECK_OK(sr_trunk_find("resnet", &config.trunk));
    CHECK_OK(build(&c, resnet, &config));
    CHECK_INT(c.groups.n, 5);
    check_group(&c, 0, "0 2", 0.5, true, 1.0 / 32); // conv1 and the bias of bn1
    check_group(&c, 1, "1", 0, false, 1.0 / 32);
    check_group(&c, 2, "3", 0.5, true, 1.0 / 16);
    check_group(&c, 3, "4", 0, false, 0.5); // downsample.1 is a batch norm
    check_group(&c, 4, "5 6", 0.5, true, 1);
    close_case(&c);
}

TEST(test_lr_decay_transformer) {
    Case c;
    SrOptimizerConfig config = {.param_group_constructor = "lr_decay",
                                .weight_decay = 0.5,
                                .layer_decay = 0.5,
                                .trunk = &toy,
                                .trunk_params = &(const int){12}};
    CHECK_OK(build(&c, vit, &config));
    CHECK_INT(c.groups.n, 6);
    check_group(&c, 0, "0", 0.5, true, pow(0.5, 13));
    check_group(&c, 1, "1", 0, false, pow(0.5, 13));
    check_group(&c, 2, "2", 0, false, pow(0.5, 12)); // block 0 has depth 1
    check_group(&c, 3, "3", 0.5, true, 0.5);         // block 11 has depth 12, like the last norm
    check_group(&c, 4, "4", 0, false, 0.5);
    check_group(&c, 5, "5", 0.5, true, 1);
    close_case(&c);
}

TEST(test_linear_eval_heads) {
    static const char list[] = "[{lr: 2.0, weight_decay: 0.1, regularize_bn: true}, {lr: 0.5}]";
    Case c;
    SrArena arena = SR_ARENA_INIT;
    SrYaml *heads = NULL;
    CHECK_OK(sr_yaml_parse(&arena, list, strlen(list), "test.yaml", &heads));
    SrOptimizerConfig config = {.param_group_constructor = "linear_eval_heads",
                                .weight_decay = 0.3,
                                .regularize_bias = false,
                                .linear_eval_heads = heads};
    CHECK_OK(build(&c, probes, &config));
    CHECK_INT(c.groups.n, 3);
    check_group(&c, 0, "1", 0, false, 2);
    check_group(&c, 1, "0 2", 0.1, false, 2);
    check_group(&c, 2, "3 4", 0, false, 0.5);
    close_case(&c);
    CHECK_FAILS(build(&c, resnet, &config), SR_ERR_CONFIG, "FREEZE_TRUNK_ONLY");
    close_case(&c);
    heads->n = 1;
    CHECK_FAILS(build(&c, probes, &config), SR_ERR_CONFIG, "has 1 entries, none for heads.1");
    close_case(&c);
    sr_arena_deinit(&arena);
}

static SrStatus load(const char *optimizer) {
    SrConfig *config = NULL;
    char text[512];
    snprintf(text, sizeof text,
             "LOSS: {name: swav_loss}\nOPTIMIZER: {%s}\nDATA: {TRAIN: {COLLATE_FUNCTION: "
             "multicrop_collator}}\n"
             "MODEL: {HEAD: {PARAMS: [[swav_head, {dims: [2048, 16], num_clusters: [7]}]]}}\n",
             optimizer);
    SrStatus status = sr_config_parse(text, "test.yaml", NULL, 0, &config);
    sr_config_free(config);
    return status;
}

TEST(test_checked_with_the_configuration) {
    CHECK_OK(load("param_group_constructor: lr_decay, layer_wise_lr_decay: {decay: 0.75}"));
    CHECK_FAILS(
        load("param_group_constructor: dinno"), SR_ERR_CONFIG,
        "OPTIMIZER.param_group_constructor: unknown constructor 'dinno'; did you mean 'dino'?");
    CHECK_FAILS(load("param_group_constructor: linear_eval_heads"), SR_ERR_CONFIG,
                "one for each head");
    CHECK_FAILS(load("param_group_constructor: linear_eval_heads, linear_eval_heads: [{lr: 0}]"),
                SR_ERR_CONFIG, "above 0");
    CHECK_FAILS(load("param_group_constructor: linear_eval_heads, linear_eval_heads: [{rl: 1}]"),
                SR_ERR_CONFIG, "expected lr, weight_decay or regularize_bn");
    CHECK_FAILS(load("layer_wise_lr_decay: {decay: 0}"), SR_ERR_CONFIG, "decay");
    const SrTrunk shallow = {.name = "shallow"};
    SrOptimizerConfig config = {.param_group_constructor = "lr_decay", .trunk = &shallow};
    CHECK_FAILS(sr_param_groups_check(&config), SR_ERR_CONFIG, "the trunk shallow does not give");
}

// The factor of a group multiplies the scheduled rate in every step.
TEST(test_scaled_steps) {
    static const Row rows[] = {
        {"trunk.a.bias", SR_ROLE_BIAS}, {"heads.0.weight", SR_ROLE_WEIGHT}, {NULL, 0}};
    Case c;
    SrOptim *optim = NULL;
    SrOptimizerConfig config = {.name = "sgd",
                                .param_group_constructor = "lr_decay",
                                .layer_decay = 0.5,
                                .trunk = &toy,
                                .trunk_params = &(const int){1}};
    CHECK_OK(build(&c, rows, &config));
    CHECK_OK(sr_params_allocate(c.params));
    CHECK_OK(sr_optim_new(c.params, &config, &optim));
    for (int i = 0; i < 2; i++) {
        ((float *)sr_params_at(c.params, i)->value)[0] = 1;
        sr_params_at(c.params, i)->grad[0] = 1;
    }
    sr_optim_step(optim, 0.5, 0.5, NULL);
    CHECK_NEAR(((float *)sr_params_at(c.params, 0)->value)[0], 0.75, 0); // depth 1 of 2
    CHECK_NEAR(((float *)sr_params_at(c.params, 1)->value)[0], 0.5, 0);
    sr_optim_free(optim);
    close_case(&c);
}

// ---- groups of a configuration

// Runs one step of an example at a rate of 1 without momentum. *before gets the parameters before
// the step.
static SrRun *one_step(const char *file, const char *const *overrides, int n, SrConfig **config,
                       float **before) {
    SrRun *run;
    double loss;
    CHECK_OK(sr_config_load(file, overrides, n, config));
    CHECK_OK(sr_run_open(*config, SR_RUN_BENCH, &run));
    SrParams *params = sr_model_params(run->model);
    *before = sr_calloc((size_t)sr_params_count(params), sizeof **before);
    for (int i = 0; i < sr_params_count(params); i++)
        (*before)[i] =
            sr_params_at(params, i)->trainable ? *(float *)sr_params_at(params, i)->value : 0;
    for (int v = 0; v < run->graph.n_views; v++) {
        SrTensor x = sr_plan_input(run->plan, run->graph.views[v]);
        for (int64_t i = 0; i < sr_shape_count(x.shape); i++)
            ((float *)x.data)[i] = (float)((i * 7919 + v) % 1013) / 500 - 1;
    }
    CHECK_OK(sr_step_run(&run->step, &(SrStepArgs){.lr = 1, .lr_head = 1}, &loss));
    return run;
}

static void end(SrRun *run, SrConfig *config, float *before) {
    sr_free(before);
    sr_run_close(run);
    sr_config_free(config);
}

// Fails unless the first number of a parameter moved by -rate * gradient, up to the rounding of
// that sum.
static void check_rate(SrRun *run, const float *before, const char *name, double rate) {
    SrParams *params = sr_model_params(run->model);
    int i = sr_params_find(params, name);
    if (i < 0)
        fail_msg("no parameter %s", name);
    const SrParam *p = sr_params_at(params, i);
    double moved = (double)*(float *)p->value - (double)before[i], grad = (double)p->grad[0];
    CHECK(fabs(grad) > 1e-5);
    CHECK_NEAR(moved, -rate * grad, 1e-6 + 1e-4 * rate * fabs(grad));
}

#define PLAIN "OPTIMIZER.momentum=0", "OPTIMIZER.nesterov=False", "OPTIMIZER.weight_decay=0"

TEST(test_configured) {
    static const char *const decay[] = {PLAIN, "OPTIMIZER.param_group_constructor=lr_decay",
                                        "OPTIMIZER.layer_wise_lr_decay.decay=0.5"},
                             *const dino[] = {PLAIN, "OPTIMIZER.weight_decay=0.25",
                                              "OPTIMIZER.param_group_constructor=dino"},
                             *const heads[] = {
                                 PLAIN, "OPTIMIZER.param_group_constructor=linear_eval_heads",
                                 "+OPTIMIZER.linear_eval_heads=[{lr:0.5},{lr:0.125}]"};
    SrConfig *config;
    float *before;
    SrRun *run =
        one_step("configs/examples/single_output.yaml", decay, SR_COUNT(decay), &config, &before);
    check_rate(run, before, "heads.0.clf.0.weight", 1);
    check_rate(run, before, "trunk._feature_blocks.layer4.0.conv1.weight", 0.5);
    check_rate(run, before, "trunk._feature_blocks.layer3.0.conv1.weight", 0.25);
    check_rate(run, before, "trunk._feature_blocks.layer1.0.bn1.weight", 0.0625);
    check_rate(run, before, "trunk._feature_blocks.conv1.weight", 0.03125);
    end(run, config, before);
    run = one_step("configs/examples/single_output.yaml", dino, SR_COUNT(dino), &config, &before);
    const SrParamGroups *groups = sr_optim_groups(run->optim);
    CHECK_INT(groups->n, 2);
    CHECK_NEAR(groups->groups[0].weight_decay + groups->groups[1].weight_decay, 0.25, 0);
    check_rate(run, before, "trunk._feature_blocks.bn1.bias", 1);
    end(run, config, before);
    run = one_step("configs/examples/frozen_trunk.yaml", heads, SR_COUNT(heads), &config, &before);
    check_rate(run, before, "heads.0.clf.clf.0.weight", 0.5);
    check_rate(run, before, "heads.1.clf.clf.0.weight", 0.125);
    end(run, config, before);
}

// A check without memory refuses what a constructor refuses.
TEST(test_configured_wrongly) {
    static const char named[] = "OPTIMIZER.param_group_constructor=linear_eval_heads";
    static const struct {
        const char *file, *list, *message;
    } rows[] = {{"configs/examples/frozen_trunk.yaml", "+OPTIMIZER.linear_eval_heads=[{lr:1}]",
                 "OPTIMIZER.linear_eval_heads has 1 entries, none for heads.1."},
                {"configs/examples/single_output.yaml", "+OPTIMIZER.linear_eval_heads=[{lr:1}]",
                 "set MODEL.FEATURE_EVAL_SETTINGS.FREEZE_TRUNK_ONLY"}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        const char *overrides[] = {named, rows[i].list};
        SrConfig *config;
        SrRun *run;
        CHECK_OK(sr_config_load(rows[i].file, overrides, 2, &config));
        CHECK_FAILS(sr_run_open(config, SR_RUN_CHECK, &run), SR_ERR_CONFIG, rows[i].message);
        sr_config_free(config);
    }
}

SR_TESTS(param_groups_named, unit(test_dino), unit(test_lr_decay_resnet),
         unit(test_lr_decay_transformer), unit(test_linear_eval_heads),
         unit(test_checked_with_the_configuration), unit(test_scaled_steps), unit(test_configured),
         unit(test_configured_wrongly))
