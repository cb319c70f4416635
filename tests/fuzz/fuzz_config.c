// libFuzzer target: YAML text and overrides through composing, checking and inference.
// Bounds are libFuzzer's: -rss_limit_mb=256 -timeout=5.
#include <stdint.h>

#include "base/log.h"
#include "tests/trainer/config_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    sr_log_set_level(SR_LOG_ERROR);
    config_input_try((const char *)data, bytes);
    return 0;
}
