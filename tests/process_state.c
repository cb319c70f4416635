// The state of the process as main found it (process_state.h).
#include "tests/process_state.h"

#include <locale.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "kernels/conv/conv.h"
#include "kernels/cpu.h"

static struct {
    SrCpuLevel level;
    bool emulates;
    int threads;
    char folder[4096];
} start;

void process_state_remember(void) {
    start.level = sr_cpu_level();
    start.emulates = sr_cpu_emulates_tiles();
    start.threads = sr_parallel_threads();
    if (!getcwd(start.folder, sizeof start.folder))
        start.folder[0] = '\0';
}

// The rest begins as its header says.
int process_state_restore(void **state) {
    (void)state;
    sr_mem_fail_at(0);
    sr_cpu_set_level(start.level);
    sr_cpu_emulate_tiles(start.emulates);
    sr_cpu_set_second_cache(0);
    sr_conv_allow(SR_CONV_ALL);
    sr_conv_fp32(SR_CONV_FP32_AUTO);
    sr_conv_pairs(SR_CONV_PAIRS_ALWAYS);
    sr_conv_pairs_measure(NULL);
    sr_parallel_set_threads(start.threads);
    sr_stop_set(NULL, NULL);
    sr_log_close();
    sr_log_set_level(SR_LOG_INFO);
    setlocale(LC_ALL, "C");
    return chdir(start.folder);
}
