// Every shipped configuration can be planned, with generated images instead of files.
#include "base/log.h"
#include "base/text/text.h"
#include "tests/check.h"
#include "trainer/config/config.h"
#include "trainer/config/vissl/compose.h"
#include "trainer/run/run.h"

static const char *const drawn[] = {
    "DATA.TRAIN.DATA_SOURCES=[synthetic]",
    "DATA.TRAIN.DATA_PATHS=[]",
    "DATA.TEST.DATA_SOURCES=[synthetic]",
    "DATA.TEST.DATA_PATHS=[]",
};

static SrStatus plan(const char *name) {
    SrConfig *config = NULL;
    SrRun *run = NULL;
    SR_TRY(sr_config_load(name, drawn, SR_COUNT(drawn), &config));
    SrStatus status = sr_run_open(config, SR_RUN_CHECK, &run);
    if (status == SR_OK)
        sr_run_close(run);
    sr_config_free(config);
    return status;
}

TEST(test_all_are_planned) {
    SrArena arena = SR_ARENA_INIT;
    SrStrings names;
    int failed = 0;
    CHECK_OK(sr_config_names(&arena, &names));
    SrLogLevel level = sr_log_set_level(SR_LOG_ERROR);
    for (int i = 0; i < names.n; i++) {
        if (sr_text_starts(names.v[i], "optimizer/")) // a part, which test_shipped_configs.c adds
            continue;
        if (plan(names.v[i]) != SR_OK) {
            print_error("%s: %s\n", names.v[i], sr_status_message());
            failed++;
        }
    }
    sr_log_set_level(level);
    sr_arena_deinit(&arena);
    CHECK_INT(failed, 0);
    CHECK(names.n > 80);
}

SR_TESTS(recipes, unit(test_all_are_planned))
