// Tests plugins that a configuration needs: all missing ones in one line, misspelt names with the
// closest name, names of sharded modules read as the plain ones. Nothing is required of a method
// if nothing learns.
#include "base/text/yaml_load.h"
#include "tests/check.h"
#include "trainer/config/vissl/missing_plugins.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/config/vissl/vissl_names.h"

static SrStatus needs(const char *text) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree = NULL;
    CHECK_OK(sr_yaml_parse(&arena, text, strlen(text), "test.yaml", &tree));
    SrStatus status = sr__missing_plugins_check(tree, &arena, NULL);
    sr_arena_deinit(&arena);
    return status;
}

// The names exist only on VISSL's own clusters, so that no later plugin changes the line.
TEST(test_all_in_one_line) {
    CHECK_FAILS(needs("DATA: {TRAIN: {DATA_SOURCES: [manifold]}}\n"
                      "LOSS: {name: swav_loss}\n"
                      "OPTIMIZER: {name: zero}\n"),
                SR_ERR_CONFIG,
                "this configuration needs data source 'manifold', optimizer 'zero', which are not "
                "implemented");
    CHECK_FAILS(needs("DATA: {TEST: {DATA_SOURCES: [airstore]}}"), SR_ERR_CONFIG,
                "DATA.TEST.DATA_SOURCES: airstore is storage inside Facebook");
    CHECK_FAILS(needs("LOSS: {name: swav_loss}\nDATA: {TRAIN: {DATA_SOURCES: [manifold]}}\n"),
                SR_ERR_CONFIG,
                "this configuration needs data source 'manifold', which is not implemented");
    CHECK_FAILS(needs("LOSS: {name: swav_loss}\n"
                      "DATA: {TRAIN: {TRANSFORMS: [{name: Blur, transform_type: augly}]}}\n"),
                SR_ERR_CONFIG, "needs augly's transform 'Blur', which is not implemented");
    CHECK_OK(needs("LOSS: {name: swav_loss}\nMODEL: {TRUNK: {NAME: resnet}}\n"));
}

TEST(test_misspelt) {
    CHECK_FAILS(needs("MODEL: {TRUNK: {NAME: resnett}}\n"), SR_ERR_CONFIG,
                "test.yaml:1: MODEL.TRUNK.NAME: unknown trunk 'resnett'; did you mean 'resnet'?");
    CHECK_FAILS(needs("LOSS: {name: swav_los}\n"), SR_ERR_CONFIG, "did you mean 'swav_loss'?");
    CHECK_FAILS(needs("MODEL: {HEAD: {PARAMS: [[[mlp, {}], [mlpp, {}]]]}}\n"), SR_ERR_CONFIG,
                "MODEL.HEAD.PARAMS: unknown head 'mlpp'; did you mean 'mlp'?");
    CHECK_FAILS(needs("MODEL: {HEAD: {PARAMS: [[swav_hed, {}]]}}\n"), SR_ERR_CONFIG, "'swav_head'");
    CHECK_FAILS(needs("DATA: {TEST: {TRANSFORMS: [{name: ToTensr}]}}\n"), SR_ERR_CONFIG,
                "DATA.TEST.TRANSFORMS: unknown transform 'ToTensr'; did you mean 'ToTensor'?");
    CHECK_FAILS(
        needs(
            "DATA: {TRAIN: {TRANSFORMS: [{name: ImgPilMultiCropRandomApply, prob: [1], transforms: "
            "[{name: ImgPilGausianBlur}]}]}}\n"),
        SR_ERR_CONFIG, "did you mean 'ImgPilGaussianBlur'?");
    CHECK_FAILS(needs("DATA: {TRAIN: {COLLATE_FUNCTION: multicrop_colator}}\n"), SR_ERR_CONFIG,
                "did you mean 'multicrop_collator'?");
    CHECK_FAILS(needs("DATA: {TRAIN: {DATA_SOURCES: [disk_foldr]}}\n"), SR_ERR_CONFIG,
                "'disk_folder'");
    CHECK_FAILS(needs("OPTIMIZER: {name: sdg}\n"), SR_ERR_CONFIG, "did you mean 'sgd'?");
    CHECK_FAILS(needs("OPTIMIZER: {name: unlikely_to_be_near}\n"), SR_ERR_CONFIG,
                "unknown optimizer 'unlikely_to_be_near' (known: adam");
}

TEST(test_sharded_names) {
    CHECK_OK(needs("MODEL: {TRUNK: {NAME: resnet_fsdp}, HEAD: {PARAMS: [[swav_head_fsdp, {}], "
                   "[[mlp_fsdp, {}]]]}}\n"
                   "OPTIMIZER: {name: sgd_fsdp}\n"));
    CHECK_FAILS(needs("MODEL: {TRUNK: {NAME: resnett_fsdp}}\n"), SR_ERR_CONFIG,
                "unknown trunk 'resnett_fsdp'");
}

TEST(test_frozen_models_need_no_method) {
    static const char method[] = "LOSS: {name: unheard_of}\nOPTIMIZER: {name: unheard_of}\n";
    char text[512];
    snprintf(text, sizeof text, "MODEL: {FEATURE_EVAL_SETTINGS: {FREEZE_TRUNK_AND_HEAD: True}}\n%s",
             method);
    CHECK_OK(needs(text));
    snprintf(text, sizeof text,
             "MODEL: {FEATURE_EVAL_SETTINGS: {EXTRACT_TRUNK_FEATURES_ONLY: True}}\n%s", method);
    CHECK_OK(needs(text));
    snprintf(text, sizeof text, "MODEL: {FEATURE_EVAL_SETTINGS: {FREEZE_TRUNK_ONLY: True}}\n%s",
             method);
    CHECK_FAILS(needs(text), SR_ERR_CONFIG, "unheard_of");
}

// Suggestions name built plugins only: 'regnet' and 'beit' are VISSL's and may not be built here.
TEST(test_suggestions_are_built) {
    for (int i = 0; sr__vissl_name_at(SR_NAME_TRUNK, i); i++) {
        char text[256], shown[64] = "";
        snprintf(text, sizeof text, "MODEL: {TRUNK: {NAME: %sx}}\n",
                 sr__vissl_name_at(SR_NAME_TRUNK, i));
        CHECK_FAILS(needs(text), SR_ERR_CONFIG, "unknown trunk");
        const char *hint = strstr(sr_status_message(), "did you mean '");
        if (hint && sscanf(hint, "did you mean '%63[^']", shown) == 1 &&
            !sr__is_built_name(SR_NAME_TRUNK, shown))
            fail_msg("%s: %s", text, sr_status_message());
    }
}

// The table holds VISSL's names, whether built or not, and none of sslrun's own methods.
TEST(test_tables_hold_what_is_vissls) {
    CHECK(sr__is_vissl_name(SR_NAME_TRUNK, "resnet") && sr__is_built_name(SR_NAME_TRUNK, "resnet"));
    for (int kind = 0; kind < SR_NAME_KINDS; kind++) {
        CHECK(sr__built_name_at(kind, 0) && *sr__name_kind(kind));
        for (int i = 0; sr__vissl_name_at(kind, i); i++)
            CHECK(!strstr(sr__vissl_name_at(kind, i), "_fsdp"));
    }
    CHECK(sr__is_vissl_name(SR_NAME_LOSS, "swav_loss"));
    CHECK(!sr__is_vissl_name(SR_NAME_LOSS, "byol_loss"));
}

SR_TESTS(missing_plugins, unit(test_all_in_one_line), unit(test_misspelt), unit(test_sharded_names),
         unit(test_frozen_models_need_no_method), unit(test_suggestions_are_built),
         unit(test_tables_hold_what_is_vissls))
