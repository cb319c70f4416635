// Every input of the configuration fuzzer's corpus goes through the loader, so that an old
// failure cannot return.
#include "base/log.h"
#include "tests/check.h"
#include "tests/fuzz/seeds.h"
#include "tests/trainer/config_input.h"

static int try_config(const uint8_t *data, size_t bytes) {
    config_input_try((const char *)data, bytes);
    return 0;
}

TEST(test_corpus) {
    sr_log_set_level(SR_LOG_ERROR); // silences thousands of lines about ignored keys
    seeds_run("config", 301, try_config);
    sr_log_set_level(SR_LOG_INFO);
}

SR_TESTS(config_corpus, unit(test_corpus))
