// Tests MODEL.FEATURE_EVAL_SETTINGS: all 64 combinations of its five flags and the map of pooling
// ops: which are refused with which advice, and what model each of the others builds.
#include <stdio.h>

#include "base/text/text.h"
#include "tests/check.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/model/weights_init.h"

enum { EVAL = 32, TRUNK = 16, BOTH = 8, EXTRACT = 4, WHOLE = 2, MAP = 1, COMBINATIONS = 64 };

// One row per combination of EVAL_MODE_ON, FREEZE_TRUNK_ONLY and FREEZE_TRUNK_AND_HEAD. One
// letter per combination of EXTRACT_TRUNK_FEATURES_ONLY (X), EVAL_TRUNK_AND_HEAD (W) and the map
// (M): none, M, W, WM, X, XM, XW, XWM.
static const char expected[] =
    "....ffhh" // pretraining; with a map: heads on several layers
    ".m.mhhhh" // FREEZE_TRUNK_AND_HEAD
    ".m.mffhh" // FREEZE_TRUNK_ONLY
    "xxxxxxxx" // both of them
    "....ffhh" // EVAL_MODE_ON: fine-tuning; with W heads keep their weights
    "....hhhh" // everything frozen: features after the head
    "......hh" // frozen trunk: linear evaluation; with X features only
    "xxxxxxxx";

static const char *advice(char letter) {
    return letter == 'x'   ? "exclude each other; for a linear evaluation set EVAL_MODE_ON and "
                             "FREEZE_TRUNK_ONLY"
           : letter == 'h' ? "removes the heads, but FREEZE_TRUNK_AND_HEAD and EVAL_TRUNK_AND_HEAD "
                             "need them; for features of "
           : letter == 'f' ? "needs a frozen trunk; for features of trunk layers set EVAL_MODE_ON, "
                             "FREEZE_TRUNK_ONLY"
                           : "over a frozen trunk needs EVAL_MODE_ON; for a linear evaluation set";
}

static SrStatus configure(int flags, SrConfig **out) {
    SrText text = SR_TEXT_INIT;
    sr_text_printf(&text,
                   "MODEL: {" TINY_TRUNK
                   ", HEAD: {PARAMS: [[mlp, {dims: [32, 3]}]]}, FEATURE_EVAL_SETTINGS: "
                   "{EVAL_MODE_ON: %s, FREEZE_TRUNK_ONLY: %s, FREEZE_TRUNK_AND_HEAD: %s, "
                   "EXTRACT_TRUNK_FEATURES_ONLY: %s, EVAL_TRUNK_AND_HEAD: %s, "
                   "LINEAR_EVAL_FEAT_POOL_OPS_MAP: %s}}\n"
                   "LOSS: {name: cross_entropy_multiple_output_single_target}\n",
                   flags & EVAL ? "True" : "False", flags & TRUNK ? "True" : "False",
                   flags & BOTH ? "True" : "False", flags & EXTRACT ? "True" : "False",
                   flags & WHOLE ? "True" : "False",
                   flags & MAP ? "[[res5, [AdaptiveAvgPool2d, [[1, 1]]]]]" : "[]");
    SrStatus status = sr_config_parse(text.s, "case.yaml", NULL, 0, out);
    sr_text_deinit(&text);
    return status;
}

// Returns the number of entries whose names start with `prefix`; learning: only those that learn.
static int entries(SrParams *params, const char *prefix, bool learning) {
    int n = 0;
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        n += sr_text_starts(p->name, prefix) && (p->trainable || !learning);
    }
    return n;
}

// Returns whether the trunk is in evaluation mode: it uses its running statistics and does not
// change them.
static bool in_evaluation(const SrGraph *graph) {
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++) {
        const SrNode *node = sr_graph_at(graph, id);
        if (node->op && strcmp(node->op->name, "batch_norm") == 0)
            return node->eval_from == 0;
    }
    fail_msg("no batch norm");
    return false;
}

static void check_model(const SrConfig *config, int flags) {
    static const int size = 8;
    bool frozen = flags & (TRUNK | BOTH), eval = flags & EVAL, features = flags & EXTRACT;
    SrModel *model;
    SrOutputGraph g;
    CHECK_OK(sr_model_new(config, &model));
    CHECK_OK(sr_model_build_outputs(model, 2, 1, &size, &size, &g));
    SrParams *params = sr_model_params(model);
    CHECK_INT(g.n_outputs, 1);
    CHECK_INT(sr_shape_last(sr_graph_at(g.graph, g.outputs[0])->shape), features ? 32 : 3);
    CHECK_INT(entries(params, "heads.", false), features ? 0 : 2);
    CHECK_INT(entries(params, "heads.", true), features || flags & BOTH ? 0 : 2);
    CHECK_INT(entries(params, "trunk.", true) > 0, !frozen);
    CHECK_INT(entries(params, "trunk.base_model.", false) > 0, frozen && eval && flags & MAP);
    CHECK_INT(in_evaluation(g.graph), frozen && eval);
    CHECK_INT(sr_weights_source(config).skip_heads, eval && !(flags & WHOLE));
    CHECK_INT(config->learns, !(flags & BOTH) && !features);
    sr_model_free(model);
}

TEST(test_all_combinations) {
    CHECK_INT(strlen(expected), COMBINATIONS);
    for (int flags = 0; flags < COMBINATIONS; flags++) {
        SrConfig *config = NULL;
        SrStatus status = configure(flags, &config);
        bool refused = expected[flags] != '.';
        if (refused != (status != SR_OK) ||
            (refused && !strstr(sr_status_message(), advice(expected[flags]))))
            fail_msg("combination %d: expected '%c', got %d: %s", flags, expected[flags],
                     (int)status, sr_status_message());
        if (!refused)
            check_model(config, flags);
        sr_config_free(config);
    }
}

// The advice follows file, line and key.
TEST(test_place) {
    SrConfig *config;
    CHECK_FAILS(configure(TRUNK | BOTH, &config), SR_ERR_CONFIG,
                "case.yaml:1: MODEL.FEATURE_EVAL_SETTINGS: FREEZE");
}

SR_TESTS(feature_eval_settings, unit(test_all_combinations), unit(test_place))
