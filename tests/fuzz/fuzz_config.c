// libFuzzer target: YAML text and overrides through composing, checking, inference, the model and its plan.
//
// No input may take 5 seconds (-timeout, libFuzzer's) or 256 MiB (config_input.c counts what the project allocates;
// libFuzzer's own limit has room for the sanitizers' shadow and quarantine).
#include <stdint.h>

#include "base/log.h"
#include "tests/trainer/config_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    sr_log_set_level(SR_LOG_ERROR);
    config_input_try((const char *)data, bytes);
    return 0;
}
