// Tests assignment of parameters to optimiser groups: every role, in trunk and head, under all
// four switches.
#include "tests/check.h"
#include "trainer/optim/param_groups.h"

static const struct {
    const char *name;
    SrRole role;
} table[] = {
    {"trunk.conv1.weight", SR_ROLE_WEIGHT},
    {"trunk.conv1.bias", SR_ROLE_BIAS},
    {"trunk.bn1.weight", SR_ROLE_NORM_WEIGHT},
    {"trunk.bn1.bias", SR_ROLE_NORM_BIAS},
    {"trunk.gn.weight", SR_ROLE_OTHER},
    {"heads.0.weight", SR_ROLE_WEIGHT},
    {"heads.0.bias", SR_ROLE_BIAS},
    {"heads.1.weight", SR_ROLE_NORM_WEIGHT},
    {"heads.1.bias", SR_ROLE_NORM_BIAS},
    {"trunk.frozen.weight", SR_ROLE_WEIGHT},
};

static SrParams *make_params(void) {
    SrParams *params = NULL;
    CHECK_OK(sr_params_new(&params));
    for (int i = 0; i < (int)(sizeof table / sizeof table[0]); i++) {
        SrSlot slot = {.name = "weight",
                       .shape = SR_SHAPE(2),
                       .dtype = SR_F32,
                       .kind = SR_SLOT_PARAM,
                       .role = table[i].role};
        int index = 0;
        CHECK_OK(sr_params_add(params, table[i].name, &slot, &index));
    }
    CHECK_INT(sr_params_set_trainable(params, "trunk.frozen.*", false), 1);
    return params;
}

// Checks decay, head and members of a group; members: indices such as "0 2 5".
static void check_group(const SrParamGroup *g, double decay, bool head, const char *members) {
    char text[128] = "";
    for (int i = 0; i < g->n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", i ? " " : "",
                 g->params[i]);
    CHECK_STR(text, members);
    CHECK_NEAR(g->weight_decay, decay, 0);
    CHECK_INT(g->head_lr, head);
}

static void check(SrOptimizerConfig config, const char *trunk, const char *trunk_free,
                  const char *head, const char *head_free) {
    SrArena arena = SR_ARENA_INIT;
    SrParams *params = make_params();
    SrParamGroups groups = {0};
    config.param_group_constructor = "default";
    config.weight_decay = 0.5;
    CHECK_OK(sr_param_groups(params, &config, &arena, &groups));
    CHECK_INT(groups.n, 5);
    check_group(&groups.groups[0], 0.5, false, trunk);
    check_group(&groups.groups[1], 0, false, trunk_free);
    check_group(&groups.groups[2], 0.5, true, head);
    check_group(&groups.groups[3], 0, true, head_free);
    check_group(&groups.groups[4], 0.5, false, "4");
    sr_params_free(params);
    sr_arena_deinit(&arena);
}

TEST(test_switches) {
    check((SrOptimizerConfig){.regularize_bn = true, .regularize_bias = true}, "0 1 2 3", "",
          "5 6 7 8", "");
    check((SrOptimizerConfig){.regularize_bn = false, .regularize_bias = true}, "0 1", "2 3", "5 6",
          "7 8");
    check((SrOptimizerConfig){.regularize_bn = true, .regularize_bias = false}, "0 2", "1 3", "5 7",
          "6 8");
    check((SrOptimizerConfig){.regularize_bn = false, .regularize_bias = false}, "0", "1 2 3", "5",
          "6 7 8");
}

TEST(test_named_parameters_do_not_decay) {
    static const char *const names[] = {"conv1.weight", "gn", "heads"};
    SrOptimizerConfig config = {.regularize_bias = true,
                                .param_group_constructor = "default",
                                .weight_decay = 0.5,
                                .non_regularized_parameters = {3, names}};
    SrArena arena = SR_ARENA_INIT;
    SrParams *params = make_params();
    SrParamGroups groups = {0};
    CHECK_OK(sr_param_groups(params, &config, &arena, &groups));
    CHECK_INT(groups.n, 5);
    check_group(&groups.groups[0], 0.5, false, "1");
    check_group(&groups.groups[2], 0.5, true, "");
    // They have no decay anyway and keep the rate of heads.
    check_group(&groups.groups[3], 0, true, "7 8");
    check_group(&groups.groups[4], 0, false, "0 4 5 6");
    CHECK_STR(groups.groups[4].name, "remaining unregularised");
    sr_params_free(params);
    sr_arena_deinit(&arena);
}

TEST(test_head_decay_and_single_group) {
    SrOptimizerConfig config = {.regularize_bias = true,
                                .param_group_constructor = "default",
                                .weight_decay = 0.5,
                                .head_use_different_wd = true,
                                .head_weight_decay = 0.25};
    SrArena arena = SR_ARENA_INIT;
    SrParams *params = make_params();
    SrParamGroups groups = {0};
    CHECK_OK(sr_param_groups(params, &config, &arena, &groups));
    check_group(&groups.groups[2], 0.25, true, "5 6");
    config.construct_single_param_group_only = true;
    CHECK_OK(sr_param_groups(params, &config, &arena, &groups));
    CHECK_INT(groups.n, 1);
    check_group(&groups.groups[0], 0.5, false, "0 1 2 3 4 5 6 7 8");
    sr_params_free(params);
    sr_arena_deinit(&arena);
}

SR_TESTS(param_groups, unit(test_switches), unit(test_named_parameters_do_not_decay),
         unit(test_head_decay_and_single_group))
