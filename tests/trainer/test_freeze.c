// Tests TEMP_FROZEN_PARAMS_ITER_MAP: which parameters a name matches, and for how many iterations
// each is frozen.
#include "base/text/yaml_load.h"
#include "tests/check.h"
#include "trainer/model/freeze.h"

static const char *const names[] = {"trunk.w", "heads.0.prototypes0.weight_v",
                                    "heads.0.prototypes0.weight_g"};

static SrParams *make_params(void) {
    SrParams *params = NULL;
    CHECK_OK(sr_params_new(&params));
    for (int i = 0; i < 3; i++) {
        SrSlot slot = {
            .name = "weight", .shape = SR_SHAPE(2), .dtype = SR_F32, .kind = SR_SLOT_PARAM};
        int index = 0;
        CHECK_OK(sr_params_add(params, names[i], &slot, &index));
    }
    CHECK_INT(sr_params_set_trainable(params, "*weight_g", false), 1);
    return params;
}

// Freezes one name for 3 iterations; head: HEAD.PARAMS.
static SrStatus freeze(const char *name, const char *head, SrFreeze *out, SrArena *arena,
                       SrParams *params) {
    static SrFrozenUntil entries[2];
    SrYaml *tree = NULL;
    CHECK_OK(sr_yaml_parse(arena, head, strlen(head), "test.yaml", &tree));
    entries[0] = (SrFrozenUntil){"trunk.w", 1};
    entries[1] = (SrFrozenUntil){name, 3};
    SrModelConfig config = {.n_frozen_until = 2, .frozen_until = entries, .head_params = tree};
    return sr_freeze_new(params, &config, arena, out);
}

TEST(test_iterations) {
    SrArena arena = SR_ARENA_INIT;
    SrParams *params = make_params();
    SrFreeze f;
    CHECK_OK(freeze(names[1], "[]", &f, &arena, params));
    CHECK(sr_freeze_at(&f, 0)[0] && sr_freeze_at(&f, 0)[1] && !sr_freeze_at(&f, 0)[2]);
    CHECK(!sr_freeze_at(&f, 1)[0] && sr_freeze_at(&f, 1)[1]);
    CHECK(sr_freeze_at(&f, 2)[1]);
    CHECK(!sr_freeze_at(&f, 3));
    sr_params_free(params);
    sr_arena_deinit(&arena);
}

// DINO's files freeze weight_g for some iterations, although normalize_last_layer freezes it
// permanently.
TEST(test_frozen_for_good) {
    SrArena arena = SR_ARENA_INIT;
    SrParams *params = make_params();
    SrFreeze f;
    CHECK_OK(freeze(names[2], "[]", &f, &arena, params));
    CHECK(sr_freeze_at(&f, 0)[2]);
    CHECK_FAILS(freeze("heads.0.prototype0.weight_v", "[]", &f, &arena, params), SR_ERR_CONFIG,
                "did you mean 'heads.0.prototypes0.weight_v'?");
    sr_params_free(params);
    sr_arena_deinit(&arena);
}

// iBOT's files also name the prototypes of patches, which shared_head shares with the class
// token.
TEST(test_shared_head) {
    SrArena arena = SR_ARENA_INIT;
    SrParams *params = make_params();
    SrFreeze f;
    static const char patches[] = "heads.0.prototypes1.weight_v";
    CHECK_OK(freeze(patches, "[[ibot_head, {shared_head: true}]]", &f, &arena, params));
    CHECK(sr_freeze_at(&f, 2)[1]);
    CHECK_FAILS(freeze(patches, "[[ibot_head, {shared_head: false}]]", &f, &arena, params),
                SR_ERR_CONFIG, "no parameter has the name");
    sr_params_free(params);
    sr_arena_deinit(&arena);
}

SR_TESTS(freeze, unit(test_iterations), unit(test_frozen_for_good), unit(test_shared_head))
