// Restores the state of the process that main found (process_state.h).
#include "tests/process_state.h"

#include <locale.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "data/sandbox.h"
#include "tests/machine.h"

static struct {
    int threads;
    char folder[4096];
} start;

void process_state_remember(void) {
    start.threads = sr_parallel_threads();
    if (!getcwd(start.folder, sizeof start.folder))
        start.folder[0] = '\0';
}

// Threads and folder return to the values that main found, everything else to the initial values
// that the headers document.
int process_state_restore(void **state) {
    (void)state;
    sr_mem_fail_at(0);
    test_machine_reset();
    sr_parallel_set_threads(start.threads);
    sr_stop_set(NULL, NULL);
    sr_sandbox_leave();
    sr_log_close();
    sr_log_set_level(SR_LOG_INFO);
    setlocale(LC_ALL, "C");
    return chdir(start.folder);
}
